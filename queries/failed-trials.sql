-- Trials that failed by their verdict: task, session, model, cost, how the log ends, and the judge's words
SELECT
    v.task,
    v.trial,
    v.session_id,
    v.runtime,
    s.canonical_model AS model,
    s.status,
    s.error_kind,
    s.turns,
    s.cost_usd,
    v.message
FROM verdicts v
JOIN sessions s ON s.session_id = v.session_id AND s.runtime = v.runtime
WHERE v.passed = FALSE AND v.name = 'verdict'
ORDER BY v.task NULLS LAST, v.trial NULLS LAST, v.session_id, v.runtime
