-- Tools that return the most bytes into the context
SELECT
    runtime,
    category,
    tool,
    COUNT(*) AS calls,
    SUM(result_bytes) AS result_bytes,
    MEDIAN(result_bytes) AS median_result_bytes,
    MAX(result_bytes) AS largest_result_bytes
FROM tool_calls
WHERE result_bytes IS NOT NULL
GROUP BY runtime, category, tool
ORDER BY result_bytes DESC, runtime, category NULLS LAST, tool NULLS LAST
