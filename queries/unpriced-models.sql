-- Tokens that no cost covers, by the names that logs give their models
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
