-- The most expensive single responses, with their place in the logs
SELECT
    session_id,
    runtime,
    turn,
    canonical_model,
    is_subagent,
    context_tokens,
    output_tokens,
    reasoning_tokens,
    cache_read_tokens,
    cost_usd,
    source_path,
    line
FROM turns
WHERE grain = 'turn' AND cost_usd > 0
ORDER BY cost_usd DESC, runtime, session_id, turn
LIMIT 20
