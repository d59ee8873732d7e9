-- How often each agent and model solves its tasks, with the cost of a judged trial and of a success
SELECT
    s.agent,
    s.canonical_model AS model,
    COUNT(*) AS trials,
    SUM(CASE WHEN o.passed THEN 1 ELSE 0 END) AS passed,
    CAST(SUM(CASE WHEN o.passed THEN 1 ELSE 0 END) AS DOUBLE) / COUNT(*) AS pass_rate,
    AVG(o.cost_usd) AS mean_cost_usd,
    SUM(o.cost_usd) / NULLIF(SUM(CASE WHEN o.passed AND o.cost_usd IS NOT NULL THEN 1 ELSE 0 END), 0)
        AS cost_per_passed_usd
FROM outcomes o
JOIN sessions s ON s.session_id = o.session_id AND s.runtime = o.runtime
WHERE o.passed IS NOT NULL
GROUP BY s.agent, s.canonical_model
ORDER BY pass_rate DESC, trials DESC, s.agent NULLS LAST, model NULLS LAST
