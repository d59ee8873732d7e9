-- What subagents cost of the whole, by runtime
SELECT
    runtime,
    COUNT(*) AS turns,
    SUM(CASE WHEN is_subagent THEN 1 ELSE 0 END) AS subagent_turns,
    SUM(total_tokens) AS total_tokens,
    SUM(CASE WHEN is_subagent THEN total_tokens ELSE 0 END) AS subagent_tokens
FROM turns
GROUP BY runtime
ORDER BY runtime
