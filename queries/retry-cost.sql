-- Cost of sessions with retries, compared to sessions of the same runtime without retries
SELECT
    runtime,
    CASE WHEN retries > 0 THEN 'with retries' ELSE 'without' END AS cohort,
    COUNT(*) AS sessions,
    SUM(retries) AS retries,
    SUM(CASE WHEN status = 'success' THEN 1 ELSE 0 END) AS ended_cleanly,
    MEDIAN(duration_ms) AS median_duration_ms,
    MEDIAN(cost_usd) AS median_cost_usd,
    SUM(cost_usd) AS cost_usd
FROM sessions
WHERE retries IS NOT NULL
GROUP BY runtime, CASE WHEN retries > 0 THEN 'with retries' ELSE 'without' END
ORDER BY runtime, cohort
