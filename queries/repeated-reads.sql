-- Reads that one session repeated: the same file with the same arguments
SELECT
    runtime,
    session_id,
    target AS path,
    COUNT(*) - COUNT(DISTINCT args_hash) AS repeated_reads,
    COUNT(*) AS reads,
    SUM(result_bytes) AS result_bytes
FROM tool_calls
WHERE category = 'read' AND target IS NOT NULL AND status = 'ok' AND args_hash IS NOT NULL
GROUP BY runtime, session_id, target
HAVING COUNT(*) > COUNT(DISTINCT args_hash)
ORDER BY repeated_reads DESC, reads DESC, result_bytes DESC NULLS LAST, runtime, session_id, path
LIMIT 50
