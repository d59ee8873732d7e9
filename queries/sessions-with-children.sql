-- Sessions that started other sessions, with the cost of those
WITH children AS (
    SELECT
        runtime,
        parent_session_id,
        COUNT(*) AS children,
        SUM(turns) AS child_turns,
        SUM(total_tokens) AS child_tokens,
        SUM(cost_usd) AS child_cost_usd
    FROM sessions
    WHERE parent_session_id IS NOT NULL
    GROUP BY runtime, parent_session_id
)
SELECT
    p.runtime,
    p.session_id,
    p.cost_usd AS own_cost_usd,
    c.children,
    c.child_turns,
    c.child_tokens,
    c.child_cost_usd
FROM sessions p
JOIN children c ON p.runtime = c.runtime AND p.session_id = c.parent_session_id
ORDER BY c.child_cost_usd DESC NULLS LAST, p.runtime, p.session_id
