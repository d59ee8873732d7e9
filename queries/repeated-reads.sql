-- Files that one session read several times
SELECT
    runtime,
    session_id,
    target AS path,
    COUNT(*) AS reads,
    SUM(result_bytes) AS result_bytes
FROM tool_calls
WHERE category = 'read' AND target IS NOT NULL AND status = 'ok'
GROUP BY runtime, session_id, target
HAVING COUNT(*) > 1
ORDER BY reads DESC, result_bytes DESC NULLS LAST, runtime, session_id, path
LIMIT 50
