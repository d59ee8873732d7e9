-- Reasons why sessions do not succeed, by runtime, with their cost
SELECT
    runtime,
    status,
    error_kind,
    COUNT(*) AS sessions,
    SUM(turns) AS turns,
    SUM(total_tokens) AS total_tokens,
    SUM(cost_usd) AS cost_usd,
    MIN(session_id) AS example
FROM sessions
WHERE status IN ('error', 'aborted', 'incomplete')
GROUP BY runtime, status, error_kind
ORDER BY sessions DESC, runtime, status, error_kind NULLS LAST
