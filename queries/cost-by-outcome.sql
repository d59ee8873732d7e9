-- Cost of sessions that succeeded, failed, were stopped or have no end
WITH whole AS (SELECT SUM(cost_usd) AS cost_usd FROM sessions)
SELECT
    s.status,
    COUNT(*) AS sessions,
    SUM(s.turns) AS turns,
    SUM(s.cost_usd) AS cost_usd,
    SUM(s.cost_usd) / NULLIF(MAX(w.cost_usd), 0) AS share
FROM sessions s
CROSS JOIN whole w
GROUP BY s.status
ORDER BY cost_usd DESC NULLS LAST, s.status
