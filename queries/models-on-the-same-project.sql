-- Success, cost, turns and tool errors of models on projects with several models
WITH several AS (
    SELECT project
    FROM sessions
    WHERE project IS NOT NULL AND canonical_model IS NOT NULL
    GROUP BY project
    HAVING COUNT(DISTINCT canonical_model) > 1
),
results AS (
    SELECT runtime, session_id, SUM(CASE WHEN status <> 'incomplete' THEN 1 ELSE 0 END) AS calls
    FROM tool_calls
    GROUP BY runtime, session_id
)
SELECT
    s.project,
    s.canonical_model,
    COUNT(*) AS sessions,
    CAST(SUM(CASE WHEN s.status = 'success' THEN 1 ELSE 0 END) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN s.status <> 'unknown' THEN 1 ELSE 0 END), 0) AS ended_cleanly_rate,
    AVG(s.cost_usd) AS cost_per_session_usd,
    MEDIAN(s.turns) AS median_turns,
    MEDIAN(s.duration_ms) AS median_duration_ms,
    CAST(SUM(s.tool_errors) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN s.tool_errors IS NOT NULL THEN COALESCE(r.calls, s.tool_calls) ELSE 0 END), 0) AS tool_error_rate
FROM sessions s
JOIN several p ON s.project = p.project
LEFT JOIN results r ON s.runtime = r.runtime AND s.session_id = r.session_id
WHERE s.canonical_model IS NOT NULL
GROUP BY s.project, s.canonical_model
ORDER BY s.project, s.canonical_model
