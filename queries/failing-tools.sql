-- Tools with the most failures, by runtime
SELECT
    runtime,
    tool,
    category,
    COUNT(*) AS calls,
    SUM(CASE WHEN status = 'error' THEN 1 WHEN status <> 'incomplete' THEN 0 END) AS errors,
    SUM(CASE WHEN status = 'denied' THEN 1 ELSE 0 END) AS denied,
    CAST(SUM(CASE WHEN status = 'error' THEN 1 WHEN status <> 'incomplete' THEN 0 END) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN status <> 'incomplete' THEN 1 ELSE 0 END), 0) AS error_rate
FROM tool_calls
GROUP BY runtime, tool, category
ORDER BY errors DESC NULLS LAST, calls DESC, runtime, tool NULLS LAST, category NULLS LAST
