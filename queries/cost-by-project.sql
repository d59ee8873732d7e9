-- Cost of each project, by runtime
SELECT
    project,
    runtime,
    COUNT(*) AS sessions,
    SUM(user_turns) AS prompts,
    SUM(turns) AS turns,
    SUM(total_tokens) AS total_tokens,
    SUM(cost_usd) AS cost_usd,
    SUM(unpriced_tokens) AS unpriced_tokens
FROM sessions
GROUP BY project, runtime
ORDER BY cost_usd DESC NULLS LAST, project NULLS LAST, runtime
