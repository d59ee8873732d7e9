-- Calls that were not permitted: candidates for an allow list
SELECT
    runtime,
    tool,
    target,
    COUNT(*) AS denied,
    COUNT(DISTINCT session_id) AS sessions
FROM tool_calls
WHERE status = 'denied'
GROUP BY runtime, tool, target
ORDER BY denied DESC, runtime, tool NULLS LAST, target NULLS LAST
