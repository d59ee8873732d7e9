-- Programs that agents run in the shell, with their failures
SELECT
    target AS program,
    COUNT(*) AS calls,
    COUNT(DISTINCT runtime || ' ' || session_id) AS sessions,
    SUM(CASE WHEN status = 'error' THEN 1 WHEN status <> 'incomplete' THEN 0 END) AS errors,
    SUM(CASE WHEN status = 'denied' THEN 1 ELSE 0 END) AS denied,
    CAST(SUM(CASE WHEN status = 'error' THEN 1 WHEN status <> 'incomplete' THEN 0 END) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN status <> 'incomplete' THEN 1 ELSE 0 END), 0) AS error_rate,
    MEDIAN(duration_ms) AS median_duration_ms
FROM tool_calls
WHERE category = 'shell'
GROUP BY target
ORDER BY calls DESC, program NULLS LAST
