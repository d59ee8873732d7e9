-- How often each task is solved, the hardest first, with the cost of its judged trials
SELECT
    task,
    COUNT(*) AS trials,
    SUM(CASE WHEN passed THEN 1 ELSE 0 END) AS passed,
    CAST(SUM(CASE WHEN passed THEN 1 ELSE 0 END) AS DOUBLE) / COUNT(*) AS pass_rate,
    AVG(cost_usd) AS mean_cost_usd,
    MAX(cost_usd) AS max_cost_usd
FROM outcomes
WHERE passed IS NOT NULL
GROUP BY task
ORDER BY pass_rate, trials DESC, task NULLS LAST
