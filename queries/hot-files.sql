-- Files that agents change most often, with the number of sessions
SELECT
    path,
    COUNT(DISTINCT runtime || ' ' || session_id) AS sessions,
    COUNT(*) AS changes,
    SUM(lines_added) AS lines_added,
    SUM(lines_removed) AS lines_removed
FROM file_changes
GROUP BY path
ORDER BY changes DESC, sessions DESC, path
LIMIT 50
