-- Share of subagents in the cost, by runtime
SELECT
    runtime,
    SUM(CASE WHEN grain = 'turn' THEN 1 ELSE 0 END) AS turns,
    SUM(CASE WHEN is_subagent AND grain = 'turn' THEN 1 ELSE 0 END) AS subagent_turns,
    SUM(total_tokens) AS total_tokens,
    SUM(CASE WHEN is_subagent THEN total_tokens ELSE 0 END) AS subagent_tokens,
    SUM(cost_usd) AS cost_usd,
    SUM(CASE WHEN is_subagent THEN cost_usd END) AS subagent_cost_usd,
    SUM(CASE WHEN is_subagent THEN cost_usd END) / NULLIF(SUM(cost_usd), 0) AS subagent_share
FROM turns
GROUP BY runtime
ORDER BY runtime
