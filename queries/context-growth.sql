-- Growth of prompts: tokens of context that each turn of the main agent adds, by runtime and model
WITH steps AS (
    SELECT
        runtime,
        canonical_model,
        context_tokens,
        context_tokens - LAG(context_tokens) OVER (PARTITION BY runtime, session_id ORDER BY turn) AS growth
    FROM turns
    WHERE grain = 'turn' AND NOT is_subagent AND context_tokens > 0
)
SELECT
    runtime,
    canonical_model,
    COUNT(*) AS turns,
    MAX(context_tokens) AS largest_context,
    MEDIAN(growth) AS median_growth,
    SUM(CASE WHEN growth > 10000 THEN 1 ELSE 0 END) AS leaps_over_10k,
    SUM(CASE WHEN growth < 0 THEN 1 ELSE 0 END) AS shrinks
FROM steps
GROUP BY runtime, canonical_model
ORDER BY median_growth DESC NULLS LAST, runtime, canonical_model NULLS LAST
