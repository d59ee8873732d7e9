-- Tasks that the same model solves in some trials and not in others, with the range of their tokens
SELECT
    o.task,
    s.canonical_model AS model,
    COUNT(*) AS trials,
    SUM(CASE WHEN o.passed THEN 1 ELSE 0 END) AS passed,
    MIN(o.total_tokens) AS least_tokens,
    MAX(o.total_tokens) AS most_tokens
FROM outcomes o
JOIN sessions s ON s.session_id = o.session_id AND s.runtime = o.runtime
WHERE o.passed IS NOT NULL AND o.task IS NOT NULL
GROUP BY o.task, s.canonical_model
HAVING SUM(CASE WHEN o.passed THEN 1 ELSE 0 END) > 0 AND SUM(CASE WHEN o.passed THEN 0 ELSE 1 END) > 0
ORDER BY trials DESC, o.task, model NULLS LAST
