//! Tests of groups, aggregates and windows.

use super::{answer, check};

#[test]
fn groups_are_ordered_and_filtered_by_aggregates() {
    check(&[
        ("SELECT tool FROM tool_calls GROUP BY tool ORDER BY COUNT(*) DESC, tool", "Bash;Edit;Read"),
        ("SELECT tool, COUNT(*) FROM tool_calls GROUP BY tool ORDER BY COUNT(*) DESC, tool", "Bash,2;Edit,1;Read,1"),
        ("SELECT tool, COUNT(*) AS n FROM tool_calls GROUP BY tool HAVING n > 1 ORDER BY SUM(tokens)", "Bash,2"),
        ("SELECT UPPER(tool) AS t FROM tool_calls GROUP BY t HAVING MAX(tokens) > 5 ORDER BY MIN(tokens)", "READ"),
        ("SELECT COUNT(*) AS n FROM tool_calls HAVING COUNT(*) > 9", ""),
        (
            "SELECT tool, SUM(tokens) AS tokens FROM tool_calls GROUP BY tool HAVING SUM(tokens) > 1 ORDER BY tool",
            "Bash,5;Read,7",
        ),
        (
            "SELECT tool, MAX(tokens) AS status, MIN(status) AS tokens FROM tool_calls GROUP BY tool HAVING MIN(status) > 'a' AND status > 5",
            "Read,7,ok",
        ),
        ("SELECT tool, tokens * 2 AS twice FROM tool_calls GROUP BY tool, tokens HAVING SUM(twice) > 10", "Read,14"),
        (
            "SELECT STDDEV(tokens) AS a, stddev_samp(tokens) AS b, sum(tokens) AS c, SUM(tokens) AS d FROM tool_calls",
            "3.05505,3.05505,13,13",
        ),
        (
            "SELECT VARIANCE(tokens) AS a, VAR_SAMP(tokens) AS b FROM tool_calls GROUP BY runtime ORDER BY a",
            "2.0,2.0;-,-",
        ),
        ("SELECT runtime, BOOL_OR(tokens > 1) AS x FROM tool_calls GROUP BY runtime", "no function BOOL_OR…"),
        (
            "SELECT runtime, DATE_TRUNC('day', status) AS x FROM sessions GROUP BY runtime",
            "status has to be in GROUP BY…",
        ),
        (
            "SELECT tool, SUM(COUNT(*)) OVER () AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM tool_calls GROUP BY tool ORDER BY tool",
            "Bash,4,1;Edit,4,2;Read,4,2",
        ),
        (
            "SELECT s.status AS a, c.status AS b, COUNT(*) AS n FROM sessions s JOIN tool_calls c ON c.session_id = s.session_id GROUP BY s.status, c.status ORDER BY s.status, c.status",
            "error,ok,1;ok,error,1;ok,ok,1",
        ),
        ("SELECT runtime, COUNT(*) AS n FROM sessions GROUP BY ALL ORDER BY n", "pi,1;codex,2"),
        (
            "SELECT status, COUNT(*) FROM sessions",
            "status has to be in GROUP BY, or in an aggregate such as MAX(status)",
        ),
        ("SELECT runtime, UPPER(status) FROM sessions GROUP BY runtime", "status has to be in GROUP BY…"),
        ("SELECT runtime, COUNT(*) FROM sessions GROUP BY ROLLUP (runtime)", "ROLLUP, CUBE and GROUPING SETS…"),
    ]);
}

#[test]
fn windows_have_the_frames_of_the_standard() {
    let of_values = |window: &str| {
        format!(
            "SELECT d, x, {window} AS s FROM (VALUES (1, 5), (2, -1), (2, 3), (3, NULL), (4, 2)) AS t (d, x) ORDER BY d, x DESC"
        )
    };
    for (window, expected) in [
        ("SUM(x) OVER (ORDER BY d)", "1,5,5;2,3,7;2,-1,7;3,-,7;4,2,9"),
        ("SUM(x) OVER (ORDER BY d DESC)", "1,5,9;2,3,4;2,-1,4;3,-,2;4,2,2"),
        ("COUNT(x) OVER (ORDER BY d)", "1,5,1;2,3,3;2,-1,3;3,-,3;4,2,4"),
        ("MIN(x) OVER (ORDER BY d)", "1,5,5;2,3,-1;2,-1,-1;3,-,-1;4,2,-1"),
        ("CAST(AVG(x) OVER (ORDER BY d) * 3 AS INTEGER)", "1,5,15;2,3,7;2,-1,7;3,-,7;4,2,6"),
        ("SUM(x) OVER ()", "1,5,9;2,3,9;2,-1,9;3,-,9;4,2,9"),
        (
            "SUM(x) OVER (ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
            "1,5,9;2,3,9;2,-1,9;3,-,9;4,2,9",
        ),
        ("SUM(x) OVER (ORDER BY d, -x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "1,5,5;2,3,8;2,-1,2;3,-,-1;4,2,2"),
        ("COUNT(*) OVER (ORDER BY d, -x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "1,5,1;2,3,2;2,-1,2;3,-,2;4,2,2"),
        (
            "LAST_VALUE(d) OVER (ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
            "1,5,4;2,3,4;2,-1,4;3,-,4;4,2,4",
        ),
        ("LAG(d, 2, 0) OVER (ORDER BY d, -x)", "1,5,0;2,3,0;2,-1,1;3,-,2;4,2,2"),
        ("LEAD(d, 1, 9) OVER (ORDER BY d, -x)", "1,5,2;2,3,2;2,-1,3;3,-,4;4,2,9"),
        ("1 - ROW_NUMBER() OVER (ORDER BY d, -x)", "1,5,0;2,3,-1;2,-1,-2;3,-,-3;4,2,-4"),
    ] {
        assert_eq!(answer(&of_values(window)), expected, "{window}");
    }
    for (window, expected) in [
        (
            "MAX(x) OVER (ORDER BY d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            "max takes no frame with a number of rows",
        ),
        ("SUM(x) OVER (ORDER BY d ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)", "a window takes the frames"),
        ("MEDIAN(x) OVER (ORDER BY d)", "MEDIAN(x) takes no ORDER BY in its window"),
        ("ROW_NUMBER() OVER (ORDER BY d, x DESC)", "a window takes one direction in its order"),
        ("SUM(x) FILTER (WHERE d > 1) OVER ()", "sum: FILTER is not supported in a window"),
    ] {
        assert!(answer(&of_values(window)).starts_with(expected), "{window}: {}", answer(&of_values(window)));
    }
    check(&[
        ("SELECT d FROM (VALUES (1, 5), (2, 7)) AS t (d, x) QUALIFY ROW_NUMBER() OVER (ORDER BY x DESC) = 1", "2"),
        ("SELECT d, SUM(x) OVER w AS s FROM (VALUES (1, 5), (2, 7)) AS t (d, x) WINDOW w AS (ORDER BY d)", "1,5;2,12"),
    ]);
}

#[test]
fn aggregates_of_constants_are_those_of_the_rows() {
    check(&[
        (
            "SELECT SUM(1) AS a, COUNT(*) AS b, SUM(2.5) AS c, AVG(5) AS d, MAX('x') AS e FROM tool_calls",
            "4,4,10.0,5.0,x",
        ),
        (
            "SELECT SUM(1) AS a, AVG(5) AS b, MIN(5) AS c, COUNT(1) AS d, COUNT(DISTINCT 1) AS e FROM tool_calls WHERE FALSE",
            "-,-,-,0,0",
        ),
        ("SELECT SUM(1) FROM tool_calls", "4"),
        ("SELECT runtime, SUM(1) AS n FROM tool_calls GROUP BY runtime ORDER BY n", "pi,1;codex,3"),
        ("SELECT runtime FROM tool_calls GROUP BY runtime HAVING SUM(1) > 1 AND SUM(1) / COUNT(*) = 1", "codex"),
        ("SELECT tool FROM tool_calls GROUP BY tool ORDER BY SUM(-1), tool", "Bash;Edit;Read"),
        (
            "SELECT SUM(CASE WHEN 1 = 1 THEN 1 ELSE 0 END) AS a, SUM(COALESCE(NULL, 1)) AS b, SUM(NULL) AS c FROM tool_calls",
            "4,4,-",
        ),
        (
            "SELECT SUM(1) FILTER (WHERE tool = 'Bash') AS a, COUNT(DISTINCT 1) AS b, SUM(DISTINCT 3) AS c FROM tool_calls",
            "2,1,3",
        ),
        (
            "SELECT tool, SUM(1) OVER (PARTITION BY runtime) AS a, SUM(2) OVER (ORDER BY tool) AS b, MAX(7) OVER () AS c FROM tool_calls ORDER BY tool, a",
            "Bash,3,4,7;Bash,3,4,7;Edit,1,6,7;Read,3,8,7",
        ),
        ("SELECT MAX(7) OVER () AS c, FIRST_VALUE('x') OVER (ORDER BY tool) AS d FROM tool_calls", "7,x;7,x;7,x;7,x"),
        ("SELECT runtime, SUM(1) OVER () AS n FROM sessions GROUP BY runtime ORDER BY runtime", "codex,2;pi,2"),
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY 3) AS a, QUANTILE_CONT(tokens, 0.5) AS b FROM tool_calls",
            "3,5.0",
        ),
        ("SELECT (SELECT SUM(1) FROM tool_calls) AS a, SUM((SELECT 2)) AS b FROM sessions", "4,6"),
        ("SELECT SUM(1) AS a, MAX(5) AS b", "1,5"),
        ("SELECT STDDEV(1) AS a FROM tool_calls", "STDDEV(1): stddev of a constant is not supported…"),
        ("SELECT LAG(1) OVER (ORDER BY tool) AS a FROM tool_calls", "LAG(1) OVER (ORDER BY tool): lag of a constant…"),
        (
            "SELECT COUNT(1+1) AS a, COUNT(-1) AS b, COUNT(CASE WHEN TRUE THEN 1 END) AS c, COUNT(NULL) AS d, COUNT(CAST(1 AS INTEGER)) AS e FROM tool_calls",
            "4,4,4,0,4",
        ),
        (
            "SELECT runtime, COUNT(1+1) OVER (PARTITION BY runtime) AS n FROM sessions ORDER BY runtime",
            "codex,2;codex,2;pi,1",
        ),
        (
            "SELECT runtime, COUNT(*) FILTER (WHERE TRUE) AS a, SUM(1) FILTER (WHERE 1 = 1) AS b, COUNT(*) FILTER (WHERE 1 = 2) AS c FROM tool_calls GROUP BY runtime ORDER BY a",
            "pi,1,1,0;codex,3,3,0",
        ),
        (
            "SELECT r, SUM(k) AS k FROM (SELECT runtime AS r, tokens AS k FROM tool_calls) GROUP BY r HAVING SUM(k) > 5",
            "codex,12",
        ),
        ("SELECT 2 WHERE 1 = 0", ""),
        ("SELECT 1 AS x UNION ALL SELECT 2 WHERE 1 = 0", "1"),
        ("SELECT (SELECT 1 WHERE 1 = 0) IS NULL AS x", "true"),
    ]);
}
