-- Trials that failed by their verdict: task, model, cost, the judge's words, session, and how the log ends
SELECT
    v.task,
    s.canonical_model AS model,
    s.cost_usd,
    v.message,
    v.session_id,
    s.status,
    s.error_kind,
    s.turns,
    v.runtime,
    v.trial
FROM verdicts v
JOIN sessions s ON s.session_id = v.session_id AND s.runtime = v.runtime
WHERE v.passed = FALSE AND v.name = 'verdict'
ORDER BY v.task NULLS LAST, v.trial NULLS LAST, v.session_id, v.runtime
