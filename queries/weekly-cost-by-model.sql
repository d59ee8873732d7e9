-- Cost of each model, week by week
SELECT
    week,
    model,
    COUNT(DISTINCT session_id) AS sessions,
    SUM(total_tokens) AS total_tokens,
    SUM(cost_usd) AS cost_usd
FROM turns
GROUP BY week, model
ORDER BY week NULLS LAST, model NULLS LAST
