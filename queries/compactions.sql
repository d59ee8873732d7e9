-- Compactions of contexts: frequency, trigger, and tokens before and after
SELECT
    runtime,
    code AS set_off_by,
    COUNT(*) AS compactions,
    COUNT(DISTINCT session_id) AS sessions,
    MEDIAN(tokens_before) AS median_tokens_before,
    MEDIAN(tokens_after) AS median_tokens_after
FROM events
WHERE kind = 'compaction'
GROUP BY runtime, code
ORDER BY compactions DESC, runtime, set_off_by NULLS LAST
