-- Cost of a changed line, by runtime and model, over sessions whose log contains the lines
SELECT
    runtime,
    canonical_model,
    COUNT(*) AS sessions,
    SUM(lines_added) AS lines_added,
    SUM(lines_removed) AS lines_removed,
    SUM(cost_usd) AS cost_usd,
    SUM(cost_usd)
        / NULLIF(SUM(CASE WHEN cost_usd IS NOT NULL THEN lines_added + lines_removed ELSE 0 END), 0)
        AS cost_per_line_usd,
    CAST(SUM(output_tokens) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN output_tokens IS NOT NULL THEN lines_added + lines_removed ELSE 0 END), 0)
        AS output_tokens_per_line
FROM sessions
WHERE lines_added + lines_removed > 0
GROUP BY runtime, canonical_model
ORDER BY cost_per_line_usd DESC NULLS LAST, runtime, canonical_model NULLS LAST
