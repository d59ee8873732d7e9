-- How much of each model's prompts came from the cache
SELECT
    runtime,
    model,
    SUM(input_tokens) AS input_tokens,
    SUM(cache_read_tokens) AS cache_read_tokens,
    SUM(cache_write_tokens) AS cache_write_tokens,
    SUM(cache_read_tokens) * 1.0 / SUM(context_tokens) AS cache_hit_rate
FROM turns
WHERE grain = 'turn' AND context_tokens > 0
GROUP BY runtime, model
ORDER BY runtime, model
