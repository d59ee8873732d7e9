-- Sessions, responses, tokens and cost of each day, in UTC
SELECT
    day,
    COUNT(DISTINCT runtime || ' ' || session_id) AS sessions,
    SUM(CASE WHEN grain = 'turn' THEN 1 ELSE 0 END) AS turns,
    SUM(total_tokens) AS total_tokens,
    SUM(output_tokens) AS output_tokens,
    SUM(cost_usd) AS cost_usd
FROM turns
GROUP BY day
ORDER BY day NULLS LAST
