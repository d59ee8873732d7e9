-- Sessions that cost money, did not succeed and changed no file
SELECT
    session_id,
    runtime,
    canonical_model,
    project,
    status,
    error_kind,
    turns,
    tool_calls,
    tool_errors,
    duration_ms,
    cost_usd
FROM sessions
WHERE status IN ('error', 'aborted', 'incomplete') AND file_changes = 0 AND cost_usd > 0
ORDER BY cost_usd DESC, session_id, runtime
LIMIT 50
