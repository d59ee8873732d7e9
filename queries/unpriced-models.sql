-- Tokens without a cost, by the model names of the logs
SELECT
    runtime,
    provider,
    model,
    COUNT(DISTINCT session_id) AS sessions,
    SUM(total_tokens) AS total_tokens
FROM turns
WHERE cost_source IS NULL AND total_tokens > 0
GROUP BY runtime, provider, model
ORDER BY total_tokens DESC, runtime, provider NULLS LAST, model NULLS LAST
