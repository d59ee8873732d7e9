-- MCP servers: number of calls, failures, durations
SELECT
    mcp_server,
    COUNT(DISTINCT tool) AS tools,
    COUNT(DISTINCT runtime || ' ' || session_id) AS sessions,
    COUNT(*) AS calls,
    SUM(CASE WHEN status = 'error' THEN 1 WHEN status <> 'incomplete' THEN 0 END) AS errors,
    MEDIAN(duration_ms) AS median_duration_ms,
    SUM(result_bytes) AS result_bytes
FROM tool_calls
WHERE mcp_server IS NOT NULL
GROUP BY mcp_server
ORDER BY calls DESC, mcp_server
