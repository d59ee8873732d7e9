-- Share of each model's prompts that came from the cache, and cost of cached and uncached tokens
SELECT
    runtime,
    canonical_model,
    COUNT(*) AS turns,
    SUM(input_tokens) AS input_tokens,
    SUM(cache_read_tokens) AS cache_read_tokens,
    SUM(cache_write_tokens) AS cache_write_tokens,
    CAST(SUM(cache_read_tokens) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN cache_read_tokens IS NOT NULL THEN context_tokens ELSE 0 END), 0) AS cache_hit_rate,
    SUM(input_cost_usd) AS input_cost_usd,
    SUM(cache_read_cost_usd) AS cache_read_cost_usd,
    SUM(cache_write_cost_usd) AS cache_write_cost_usd
FROM turns
WHERE grain = 'turn' AND context_tokens > 0
GROUP BY runtime, canonical_model
ORDER BY runtime, canonical_model NULLS LAST
