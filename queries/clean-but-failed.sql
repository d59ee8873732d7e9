-- Trials whose log ends cleanly although the verdict is that they failed, by model, and the other way round
SELECT
    s.canonical_model AS model,
    COUNT(*) AS trials,
    SUM(CASE WHEN o.passed = FALSE AND s.status = 'success' THEN 1 ELSE 0 END) AS clean_but_failed,
    SUM(CASE WHEN o.passed = TRUE AND s.status <> 'success' THEN 1 ELSE 0 END) AS passed_but_not_clean,
    SUM(CASE WHEN o.passed = FALSE AND s.status = 'success' THEN o.cost_usd ELSE 0.0 END) AS cost_usd
FROM outcomes o
JOIN sessions s ON s.session_id = o.session_id AND s.runtime = o.runtime
WHERE o.passed IS NOT NULL
GROUP BY s.canonical_model
ORDER BY clean_but_failed DESC, model NULLS LAST
