-- Later turns of a session that read less than half of their prompt from the cache, with their cost
SELECT
    runtime,
    canonical_model,
    COUNT(*) AS later_turns,
    SUM(CASE WHEN cache_read_tokens * 2 < context_tokens THEN 1 ELSE 0 END) AS misses,
    CAST(SUM(CASE WHEN cache_read_tokens * 2 < context_tokens THEN 1 ELSE 0 END) AS DOUBLE) / COUNT(*) AS miss_rate,
    SUM(CASE WHEN cache_read_tokens * 2 < context_tokens THEN context_tokens ELSE 0 END) AS missed_context_tokens,
    SUM(CASE WHEN cache_read_tokens * 2 < context_tokens THEN cost_usd END) AS missed_cost_usd
FROM turns
WHERE grain = 'turn' AND turn > 1 AND NOT is_subagent AND context_tokens > 0 AND cache_read_tokens IS NOT NULL
GROUP BY runtime, canonical_model
ORDER BY missed_cost_usd DESC NULLS LAST, misses DESC, runtime, canonical_model NULLS LAST
