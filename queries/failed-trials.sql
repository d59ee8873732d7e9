-- Trials that failed by their verdict: task, model, cost, the judge's words, session, and how the log ends
SELECT
    o.task,
    s.canonical_model AS model,
    o.cost_usd,
    o.message,
    o.session_id,
    s.status,
    s.error_kind,
    o.turns,
    o.runtime,
    o.trial
FROM outcomes o
JOIN sessions s ON s.session_id = o.session_id AND s.runtime = o.runtime
WHERE o.passed = FALSE
ORDER BY o.task NULLS LAST, o.trial NULLS LAST, o.session_id, o.runtime
