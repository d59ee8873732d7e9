-- Trials whose log ends cleanly although the verdict is that they failed, by model, and the other way round
SELECT
    s.canonical_model AS model,
    COUNT(*) AS trials,
    SUM(CASE WHEN v.passed = FALSE AND s.status = 'success' THEN 1 ELSE 0 END) AS clean_but_failed,
    SUM(CASE WHEN v.passed = TRUE AND s.status <> 'success' THEN 1 ELSE 0 END) AS passed_but_not_clean,
    SUM(CASE WHEN v.passed = FALSE AND s.status = 'success' THEN s.cost_usd ELSE 0.0 END) AS cost_usd
FROM verdicts v
JOIN sessions s ON s.session_id = v.session_id AND s.runtime = v.runtime
WHERE v.passed IS NOT NULL AND v.name = 'verdict'
GROUP BY s.canonical_model
ORDER BY clean_but_failed DESC, model NULLS LAST
