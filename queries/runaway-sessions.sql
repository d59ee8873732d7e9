-- The most expensive sessions, and their cost as a multiple of the median of their runtime
WITH medians AS (
    SELECT runtime, MEDIAN(cost_usd) AS median_cost_usd
    FROM sessions
    GROUP BY runtime
)
SELECT
    s.session_id,
    s.runtime,
    s.canonical_model,
    s.project,
    s.status,
    s.error_kind,
    s.turns,
    s.tool_calls,
    s.tool_errors,
    s.compactions,
    s.total_tokens,
    s.cost_usd,
    s.cost_usd / NULLIF(m.median_cost_usd, 0) AS times_median
FROM sessions s
JOIN medians m ON s.runtime = m.runtime
ORDER BY s.cost_usd DESC NULLS LAST, s.total_tokens DESC NULLS LAST, s.session_id, s.runtime
LIMIT 20
