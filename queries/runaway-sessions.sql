-- Sessions that cost the most, with what they did and how they ended
SELECT
    session_id,
    runtime,
    model,
    project,
    status,
    error_kind,
    turns,
    tool_calls,
    tool_errors,
    compactions,
    total_tokens,
    cost_usd
FROM sessions
ORDER BY cost_usd DESC NULLS LAST, total_tokens DESC NULLS LAST, session_id, runtime
LIMIT 20
