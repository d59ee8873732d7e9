-- Verdicts by judge and name: how many, how many passed, and how many are about no session
SELECT
    judge,
    name,
    COUNT(*) AS verdicts,
    SUM(CASE WHEN passed THEN 1 ELSE 0 END) AS passed,
    AVG(score) AS mean_score,
    SUM(CASE WHEN session_id IS NULL THEN 1 ELSE 0 END) AS without_session
FROM verdicts
GROUP BY judge, name
ORDER BY verdicts DESC, judge NULLS LAST, name
