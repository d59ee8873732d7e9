-- Share of reasoning in the output, by model and effort
SELECT
    canonical_model,
    effort,
    SUM(CASE WHEN grain = 'turn' THEN 1 ELSE 0 END) AS turns,
    SUM(output_tokens) AS output_tokens,
    SUM(reasoning_tokens) AS reasoning_tokens,
    CAST(SUM(reasoning_tokens) AS DOUBLE) / NULLIF(SUM(output_tokens), 0) AS reasoning_share,
    SUM(output_cost_usd) AS output_cost_usd
FROM turns
WHERE reasoning_tokens IS NOT NULL
GROUP BY canonical_model, effort
ORDER BY reasoning_tokens DESC, canonical_model NULLS LAST, effort NULLS LAST
