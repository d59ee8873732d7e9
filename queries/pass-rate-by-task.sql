-- How often each task is solved, the hardest first, with the cost of its trials
SELECT
    v.task,
    COUNT(*) AS trials,
    SUM(CASE WHEN v.passed THEN 1 ELSE 0 END) AS passed,
    CAST(SUM(CASE WHEN v.passed THEN 1 ELSE 0 END) AS DOUBLE) / COUNT(*) AS pass_rate,
    AVG(s.cost_usd) AS mean_cost_usd,
    MAX(s.cost_usd) AS max_cost_usd
FROM verdicts v
JOIN sessions s ON s.session_id = v.session_id AND s.runtime = v.runtime
WHERE v.passed IS NOT NULL AND v.name = 'verdict'
GROUP BY v.task
ORDER BY pass_rate, trials DESC, v.task NULLS LAST
