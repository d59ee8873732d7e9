-- Cost of each model, week by week
SELECT
    week,
    canonical_model,
    COUNT(DISTINCT runtime || ' ' || session_id) AS sessions,
    SUM(total_tokens) AS total_tokens,
    SUM(cost_usd) AS cost_usd
FROM turns
GROUP BY week, canonical_model
ORDER BY week NULLS LAST, canonical_model NULLS LAST
