-- Lines that could not be read, by file and reason
SELECT
    r.source_path,
    s.format,
    r.reason,
    r.lines,
    r.first_line,
    r.example
FROM rejects r
JOIN sources s ON r.source_path = s.source_path
ORDER BY r.source_path, r.reason
