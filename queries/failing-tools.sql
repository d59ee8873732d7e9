-- Tools with the most failures, by runtime
SELECT
    runtime,
    tool,
    category,
    COUNT(*) AS calls,
    SUM(CASE WHEN status = 'error' THEN 1 ELSE 0 END) AS errors,
    SUM(CASE WHEN status = 'denied' THEN 1 ELSE 0 END) AS denied,
    CAST(SUM(CASE WHEN status = 'error' THEN 1 ELSE 0 END) AS DOUBLE) / COUNT(*) AS error_rate
FROM tool_calls
GROUP BY runtime, tool, category
ORDER BY errors DESC, calls DESC, runtime, tool, category
