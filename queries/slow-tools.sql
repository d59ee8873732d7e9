-- Tools by total duration
SELECT
    runtime,
    tool,
    COUNT(*) AS timed_calls,
    SUM(duration_ms) AS duration_ms,
    MEDIAN(duration_ms) AS median_duration_ms,
    MAX(duration_ms) AS longest_ms
FROM tool_calls
WHERE duration_ms IS NOT NULL
GROUP BY runtime, tool
ORDER BY duration_ms DESC, runtime, tool NULLS LAST
