-- How often each agent and model solves its tasks, with the cost of a trial and of a success
SELECT
    s.agent,
    s.canonical_model AS model,
    COUNT(*) AS trials,
    SUM(CASE WHEN v.passed THEN 1 ELSE 0 END) AS passed,
    CAST(SUM(CASE WHEN v.passed THEN 1 ELSE 0 END) AS DOUBLE) / COUNT(*) AS pass_rate,
    AVG(s.cost_usd) AS mean_cost_usd,
    SUM(s.cost_usd) / NULLIF(SUM(CASE WHEN v.passed THEN 1 ELSE 0 END), 0) AS cost_per_passed_usd
FROM verdicts v
JOIN sessions s ON s.session_id = v.session_id AND s.runtime = v.runtime
WHERE v.passed IS NOT NULL AND v.name = 'verdict'
GROUP BY s.agent, s.canonical_model
ORDER BY pass_rate DESC, trials DESC, s.agent NULLS LAST, model NULLS LAST
