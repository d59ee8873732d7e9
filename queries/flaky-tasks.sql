-- Tasks that the same model solves in some trials and not in others, with the range of their tokens
SELECT
    v.task,
    s.canonical_model AS model,
    COUNT(*) AS trials,
    SUM(CASE WHEN v.passed THEN 1 ELSE 0 END) AS passed,
    MIN(s.total_tokens) AS least_tokens,
    MAX(s.total_tokens) AS most_tokens
FROM verdicts v
JOIN sessions s ON s.session_id = v.session_id AND s.runtime = v.runtime
WHERE v.passed IS NOT NULL AND v.name = 'verdict'
GROUP BY v.task, s.canonical_model
HAVING SUM(CASE WHEN v.passed THEN 1 ELSE 0 END) > 0 AND SUM(CASE WHEN v.passed THEN 0 ELSE 1 END) > 0
ORDER BY trials DESC, v.task NULLS LAST, model NULLS LAST
