//! Tests of answers that polars alone would get wrong. The right ones are those of DuckDB.

use polars::prelude::*;

use super::run::query;
use crate::store::frames::Frames;

/// Three sessions with their calls: the tables have columns of the same names.
fn tables() -> Frames {
    let sessions = df!(
        "session_id" => ["a", "b", "c"],
        "runtime" => ["codex", "codex", "pi"],
        "status" => ["ok", "error", "ok"],
        "parent" => [None, Some("a"), Some("b")],
    );
    let calls = df!(
        "session_id" => ["a", "a", "b", "z"],
        "runtime" => ["codex", "codex", "codex", "pi"],
        "status" => ["error", "ok", "ok", "error"],
        "tool" => ["Bash", "Read", "Bash", "Edit"],
        "tokens" => [Some(5_i64), Some(7), None, Some(1)],
    );
    let tables = [("sessions", sessions.unwrap().lazy()), ("tool_calls", calls.unwrap().lazy())];
    tables.into_iter().collect()
}

/// The rows of an answer, sorted if the query does not order them, or the error.
fn answer(sql: &str) -> String {
    answer_of(tables(), sql)
}

fn answer_of(tables: Frames, sql: &str) -> String {
    let mut frame = match query(tables, sql) {
        Ok(frame) => frame,
        Err(error) => return error.to_string(),
    };
    frame.align_chunks_par();
    let cell = |column: &Column, row| match column.get(row).unwrap() {
        AnyValue::Null => "-".to_owned(),
        value => value.str_value().into_owned(),
    };
    let row = |row| frame.columns().iter().map(|column| cell(column, row)).collect::<Vec<_>>().join(",");
    let mut rows: Vec<String> = (0..frame.height()).map(row).collect();
    if !sql.contains("ORDER BY") {
        rows.sort();
    }
    rows.join(";")
}

fn check(answers: &[(&str, &str)]) {
    for (sql, expected) in answers {
        let found = answer(sql);
        let is_right = expected.strip_suffix('…').map_or(found == *expected, |start| found.starts_with(start));
        assert!(is_right, "{sql}\n   found: {found}\nexpected: {expected}");
    }
}

#[test]
fn conditions_of_joins_apply_to_their_table() {
    check(&[
        (
            "SELECT COUNT(*) FROM sessions s JOIN tool_calls c ON s.session_id = c.session_id AND c.status = 'error'",
            "1",
        ),
        (
            "SELECT COUNT(*) FROM sessions s JOIN tool_calls c ON (s.session_id = c.session_id AND (c.status = 'error' AND c.tokens > 4))",
            "1",
        ),
        (
            "SELECT COUNT(*) FROM sessions s JOIN tool_calls c ON c.session_id = s.session_id AND (c.status = 'error' OR s.status = 'error')",
            "2",
        ),
        (
            "SELECT COUNT(*) FROM sessions s JOIN tool_calls c ON s.session_id = c.session_id AND tool = 'Bash' AND s.status = 'ok'",
            "1",
        ),
        (
            "SELECT c.tool FROM sessions s, tool_calls c WHERE c.session_id = s.session_id AND c.status = 'error'",
            "Bash",
        ),
        (
            "SELECT c.tool, x.n FROM sessions s, tool_calls c JOIN (SELECT runtime, COUNT(*) AS n FROM sessions GROUP BY runtime) AS x ON x.runtime = c.runtime AND x.n = 2 WHERE c.session_id = s.session_id AND s.status = 'error'",
            "Bash,2",
        ),
        (
            "SELECT a.session_id, b.session_id AS other FROM sessions a JOIN sessions b ON b.runtime = a.runtime AND a.session_id < b.session_id",
            "a,b",
        ),
        ("SELECT COUNT(*) FROM sessions s JOIN tool_calls c ON TRUE", "12"),
        (
            "SELECT COUNT(*) FROM sessions s JOIN tool_calls c ON s.runtime = c.runtime AND s.status IS NOT DISTINCT FROM c.status",
            "3",
        ),
        ("SELECT COUNT(*) FROM sessions s JOIN tool_calls c ON UPPER(c.session_id) = UPPER(s.session_id)", "3"),
    ]);
}

#[test]
fn outer_joins_keep_rows_without_a_match() {
    check(&[
        (
            "SELECT s.session_id, c.tool FROM sessions s LEFT JOIN tool_calls c ON s.session_id = c.session_id AND c.tokens > 6",
            "a,Read;b,-;c,-",
        ),
        (
            "SELECT s.session_id, c.tool FROM sessions s LEFT JOIN tool_calls c ON c.session_id = s.session_id AND s.status = 'error'",
            "a,-;b,Bash;c,-",
        ),
        (
            "SELECT s.session_id, c.tool FROM tool_calls c RIGHT JOIN sessions s ON c.session_id = s.session_id AND c.status = 'error'",
            "a,Bash;b,-;c,-",
        ),
        (
            "SELECT s.session_id, c.tool FROM tool_calls c FULL JOIN sessions s ON c.session_id = s.session_id AND s.status = 'error'",
            "-,Bash;-,Edit;-,Read;a,-;b,Bash;c,-",
        ),
        (
            "SELECT s.session_id FROM sessions s ANTI JOIN tool_calls c ON c.session_id = s.session_id AND c.status = 'error'",
            "b;c",
        ),
        (
            "SELECT s.session_id, x.n FROM sessions s LEFT JOIN (SELECT COUNT(*) AS n FROM tool_calls) AS x ON TRUE",
            "a,4;b,4;c,4",
        ),
        (
            "SELECT s.session_id, p.session_id, g.session_id AS g FROM sessions s LEFT JOIN sessions p ON s.parent = p.session_id LEFT JOIN sessions g ON p.parent = g.session_id",
            "two columns of the result have the name \"session_id\": name one of them with AS",
        ),
        (
            "SELECT s.session_id, p.session_id AS p, g.session_id AS g FROM sessions s LEFT JOIN sessions p ON s.parent = p.session_id LEFT JOIN sessions g ON p.parent = g.session_id",
            "a,-,-;b,a,-;c,b,a",
        ),
    ]);
}

#[test]
fn joins_that_would_be_wrong_are_refused() {
    check(&[
        (
            "SELECT 1 FROM sessions s LEFT JOIN tool_calls c ON s.session_id = c.session_id AND s.status < c.status",
            "s.status < c.status: ON of this join takes equalities between the tables…",
        ),
        (
            "SELECT 1 FROM sessions s LEFT JOIN tool_calls c ON s.session_id = c.session_id AND status = 'ok'",
            "status in ON: write the name of its table before it…",
        ),
        (
            "SELECT 1 FROM sessions s RIGHT JOIN tool_calls c USING (session_id)",
            "RIGHT JOIN and FULL JOIN with USING or NATURAL are not supported…",
        ),
        ("SELECT 1 FROM sessions s JOIN tool_calls c", "JOIN tool_calls c: a join needs ON or USING"),
        (
            "SELECT 1 FROM sessions s JOIN tool_calls s ON s.session_id = s.session_id",
            "two tables of the join have the name s…",
        ),
        (
            "SELECT 1 FROM sessions s JOIN (tool_calls c JOIN sessions t ON c.session_id = t.session_id) ON s.session_id = c.session_id",
            "a join in parentheses is not supported…",
        ),
    ]);
}

#[test]
fn columns_of_using_are_in_the_result_once() {
    check(&[
        (
            "SELECT * FROM sessions s JOIN (SELECT session_id, tool FROM tool_calls) c USING (session_id) WHERE s.status = 'error'",
            "b,codex,error,a,Bash",
        ),
        ("SELECT * FROM sessions NATURAL JOIN tool_calls", "a,codex,ok,-,Read,7"),
        (
            "SELECT c.session_id FROM (SELECT session_id FROM sessions) s NATURAL LEFT JOIN (SELECT session_id FROM tool_calls WHERE tool = 'Read') c",
            "-;-;a",
        ),
    ]);
}

#[test]
fn a_query_of_with_hides_a_table() {
    check(&[
        (
            "WITH sessions AS (SELECT * FROM sessions WHERE status = 'ok') SELECT COUNT(*), MAX(sessions.runtime) AS r FROM sessions",
            "2,pi",
        ),
        (
            "WITH sessions AS (SELECT session_id AS x FROM tool_calls), n AS (SELECT COUNT(*) AS n FROM sessions) SELECT n FROM n",
            "4",
        ),
    ]);
}

#[test]
fn columns_of_subqueries_are_not_ambiguous() {
    check(&[(
        "SELECT s.session_id FROM sessions s JOIN tool_calls c ON s.session_id = c.session_id AND s.session_id IN (SELECT session_id FROM tool_calls WHERE status = 'error')",
        "a;a",
    )]);
}

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
fn subqueries_are_values_and_use_outer_columns_in_equalities() {
    check(&[
        ("SELECT session_id FROM tool_calls WHERE tokens = (SELECT MAX(tokens) FROM tool_calls)", "a"),
        ("SELECT (SELECT COUNT(*) FROM sessions) AS s, (SELECT COUNT(*) FROM tool_calls) AS c", "3,4"),
        (
            "WITH m AS (SELECT AVG(tokens) AS a FROM tool_calls) SELECT tool FROM tool_calls WHERE tokens > (SELECT a FROM m)",
            "Bash;Read",
        ),
        (
            "SELECT session_id FROM sessions s WHERE EXISTS (SELECT 1 FROM tool_calls c WHERE c.session_id = s.session_id AND c.status = 'error')",
            "a",
        ),
        (
            "SELECT session_id FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.session_id = s.session_id) AND s.runtime = 'pi'",
            "c",
        ),
        (
            "SELECT s.session_id, c.tool FROM sessions s JOIN tool_calls c ON c.session_id = s.session_id WHERE EXISTS (SELECT 1 FROM sessions x WHERE x.status = c.status AND x.runtime = 'pi')",
            "a,Read;b,Bash",
        ),
        ("SELECT session_id FROM sessions WHERE EXISTS (SELECT 1 FROM tool_calls WHERE tool = 'x')", ""),
        (
            "SELECT session_id FROM sessions s WHERE session_id IN (SELECT c.session_id FROM tool_calls c WHERE c.status = s.status)",
            "a",
        ),
        ("SELECT (SELECT session_id FROM sessions) AS x", "a subquery as a value has to have one row and one column…"),
        (
            "SELECT session_id FROM sessions WHERE session_id IN (SELECT session_id FROM tool_calls WHERE sessions.status > 'a')",
            "sessions.status > 'a': a subquery of EXISTS or IN can use…",
        ),
        (
            "SELECT (SELECT MAX(tokens) FROM tool_calls c WHERE c.session_id = s.session_id) AS x FROM sessions s",
            "s.session_id is a column of the outer query…",
        ),
        (
            "SELECT tool_calls.status FROM sessions",
            "tool_calls.status: no table \"tool_calls\" in this FROM; there are: sessions",
        ),
        ("SELECT COUNT(*) FROM (SELECT * FROM sessions WHERE status = 'ok') AS sessions", "2"),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM tool_calls) AS sessions WHERE session_id IN (SELECT session_id FROM sessions)",
            "the subquery sessions has the name of a table…",
        ),
        ("SELECT 1 FROM tool_calls WHERE tokens > ALL (SELECT 1)", "ANY and ALL take no subquery here…"),
        (
            "SELECT 1 FROM sessions WHERE (session_id, runtime) IN (SELECT session_id, runtime FROM tool_calls)",
            "rows such as (a, b) are not supported…",
        ),
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

#[test]
fn whole_numbers_have_64_bits() {
    check(&[
        (
            "SELECT SUM(CAST(tokens AS INTEGER) * 1000000000) AS a, SUM(tokens::int * 1000000000) AS b FROM tool_calls",
            "13000000000,13000000000",
        ),
        (
            "SELECT SUM(CAST(2000000000 AS INTEGER)) AS a, SUM(CAST(tokens AS SMALLINT) * 30000) AS b FROM tool_calls",
            "8000000000,390000",
        ),
        (
            "SELECT CAST(3000000000 AS INTEGER) * CAST(1000 AS TINYINT) AS a, TRY_CAST('x' AS INTEGER) AS b",
            "3000000000000,-",
        ),
        ("SELECT CAST(2.7 AS INTEGER) AS a, CAST(-2.7 AS INT) AS b", "2,-2"),
    ]);
}

#[test]
fn numbers_are_those_of_other_engines() {
    check(&[
        (
            "SELECT ROUND(2.5) AS a, ROUND(-2.5) AS b, ROUND(0.125, 2) AS c, ROUND(1250, -2) AS d",
            "3.0,-3.0,0.13,1300.0",
        ),
        (
            "SELECT ROUND(x, 2) AS a, ROUND(-x, 4) AS b FROM (VALUES (0.57), (0.06000000001)) AS t (x) ORDER BY a",
            "0.06,-0.06;0.57,-0.57",
        ),
        ("SELECT -7 % 3 AS a, 7 % -3 AS b, MOD(-7, 3) AS c, -7 // 2 AS d", "-1,1,-1,-3"),
        ("SELECT COUNT(*) - 9 AS a, COUNT(tokens) - COUNT(*) AS b FROM tool_calls", "-5,-1"),
        ("SELECT LENGTH('ab') - 3 AS a, EXTRACT(hour FROM TIMESTAMP '2026-10-05 23:00:00') * 60 AS b", "-1,1380"),
        ("SELECT SUM(status = 'ok') - SUM(status = 'error') * 2 AS a FROM tool_calls", "-2"),
        (
            "SELECT STRPOS('a.ü.b', '.') AS a, STRPOS('ü.b', 'b') AS b, STRPOS('a', 'z') AS c, POSITION('b' IN 'abc') AS d",
            "2,3,0,2",
        ),
        ("SELECT SUBSTR('abcde', -3) AS a, SUBSTR('abcde', -3, 2) AS b", "cde,cd"),
        (
            "SELECT LOG(10, 1000) AS a, ROUND(LOG(tokens + 3, 64), 6) AS b, LOG(100) AS c FROM tool_calls WHERE tool = 'Bash' AND tokens > 1",
            "3.0,2.0,2.0",
        ),
        ("SELECT 1e3 AS a, NULL IS NOT TRUE AS b, UPPER('x') AS c", "1000.0,true,X"),
        ("SELECT INITCAP('a') AS a", "no function INITCAP"),
    ]);
}

#[test]
fn dates_are_compared_with_texts_and_subtracted() {
    let of_days = |columns: &str| {
        format!("SELECT {columns} FROM (SELECT DATE '2026-03-01' AS day, TIMESTAMP '2026-03-01 10:00:00' AS at) AS t")
    };
    for (columns, expected) in [
        ("DATE '2026-03-01' - DATE '2026-02-01' AS d", "28"),
        ("CAST(day AS DATE) - DATE '2026-02-01' AS d", "28"),
        ("DATE(at) AS d", "2026-03-01"),
        ("DATE(at) IN (DATE '2026-03-01', DATE '2026-03-02') AS d", "true"),
        ("CAST(at AS DATE) = '2026-03-01' AS d", "true"),
        ("'2026-02-28' < CAST(at AS DATE) AS d", "true"),
        ("DATE_TRUNC('week', at) BETWEEN '2026-02-23' AND '2026-03-01' AS d", "true"),
        ("CAST(at AS DATE) = 'today' AS d", "TIMESTAMP 'today' is not a time"),
        ("at - TIMESTAMP '2026-02-27 06:30:00.5' AS d", "2 days 03:29:59.5"),
        ("EXTRACT(epoch FROM (at - TIMESTAMP '2026-03-01 09:59:00')) AS d", "60.0"),
        ("CAST(day AS DATE) + 1 AS d, YEAR(at) AS y", "2026-03-02,2026"),
        ("DATE_DIFF('day', DATE '2026-02-01', at) AS d", "28"),
        ("DATE_DIFF('hours', DATE '2026-02-28', at) AS d", "34"),
        ("DATE_DIFF('hour', TIMESTAMP '1969-12-31 23:59:00', TIMESTAMP '1970-01-01 00:01:00') AS d", "1"),
        ("DATE_DIFF('minute', at, TIMESTAMP '2026-03-01 09:58:59.9') AS d", "-2"),
        ("DATE_DIFF('second', TIMESTAMP '2026-02-28 23:59:59.9', at) AS d", "36001"),
        (
            "DATE_DIFF('second', '2026-03-01 09:59:59.9', at) AS d, DATE_DIFF('second', CAST(day AS DATE), CAST(day AS DATE) + 1) AS e",
            "1,86400",
        ),
        ("DATE_DIFF('month', DATE '2026-03-31', DATE '2025-04-01') AS d", "-11"),
        ("DATE_DIFF('quarter', DATE '2025-12-31', at) AS d, DATE_DIFF('year', at, DATE '2024-12-31') AS e", "1,-2"),
        ("DATE_DIFF('hour', NULLIF(at, at), at) AS d", "-"),
        ("DATE_DIFF('week', day, at) AS d", "DATE_DIFF takes 'second', 'minute', 'hour', 'day', 'month',"),
        ("DATEDIFF(day, at) AS d", "DATE_DIFF takes 'second'"),
        ("STRFTIME(at, '%f %g %n %x %%f') AS d", "000000 000 000000000 2026-03-01 %f"),
        ("STRFTIME(CAST(at AS DATE), '%Y %H') AS d, DATE_DIFF('hour', day, at) AS e", "2026 00,10"),
        ("STRFTIME(at + INTERVAL '1 second', '%c%z') AS d", "2026-03-01 10:00:01+00"),
    ] {
        assert!(answer(&of_days(columns)).starts_with(expected), "{columns}: {}", answer(&of_days(columns)));
    }
}

#[test]
fn unions_are_ordered_as_a_whole() {
    check(&[
        ("SELECT session_id AS x FROM sessions UNION ALL SELECT tool FROM tool_calls ORDER BY x DESC LIMIT 2", "c;b"),
        ("SELECT runtime FROM sessions UNION SELECT runtime FROM tool_calls ORDER BY 1", "codex;pi"),
    ]);
}

/// Four keys, of which each row has one that is NULL, and lists.
fn sparse() -> Frames {
    let keys = df!(
        "n" => [1_i64, 2, 3],
        "a" => [None, Some("x"), Some("x")],
        "b" => [Some("x"), None, Some("x")],
        "c" => [Some("x"), Some("x"), None],
        "d" => [Some("x"), Some("x"), Some("x")],
    );
    let lists = df!("n" => [1_i64, 2, 3]).unwrap().lazy().with_column(
        when(col("n").eq(lit(1)))
            .then(lit(Series::new("".into(), [Series::new("".into(), ["p", "q"])])))
            .when(col("n").eq(lit(2)))
            .then(lit(Series::new("".into(), [Series::new_empty("".into(), &DataType::String)])))
            .otherwise(lit(NULL))
            .alias("list"),
    );
    [("keys", keys.unwrap().lazy()), ("lists", lists)].into_iter().collect()
}

/// A NULL is equal to nothing, also in joins of many keys.
#[test]
fn null_keys_match_no_row() {
    const ON: &str = "l.a = r.a AND l.b = r.b AND l.c = r.c AND l.d = r.d";
    for (sql, expected) in [
        (format!("SELECT COUNT(*) FROM keys l JOIN keys r ON {ON}"), "0"),
        (format!("SELECT COUNT(*) FROM keys l, keys r WHERE {ON}"), "0"),
        ("SELECT COUNT(*) FROM keys l JOIN keys r USING (a, b, c, d)".to_owned(), "0"),
        ("SELECT COUNT(*) FROM keys l NATURAL JOIN keys r".to_owned(), "0"),
        (format!("SELECT l.n, r.n AS other FROM keys l LEFT JOIN keys r ON {ON}"), "1,-;2,-;3,-"),
        ("SELECT l.n, r.n AS other FROM keys l LEFT JOIN keys r USING (a, b, c, d)".to_owned(), "1,-;2,-;3,-"),
        (format!("SELECT l.n FROM keys l SEMI JOIN keys r ON {ON}"), ""),
        (format!("SELECT l.n FROM keys l ANTI JOIN keys r ON {ON}"), "1;2;3"),
        (format!("SELECT l.n FROM keys l WHERE EXISTS (SELECT 1 FROM keys r WHERE {ON})"), ""),
        (format!("SELECT l.n FROM keys l WHERE NOT EXISTS (SELECT 1 FROM keys r WHERE {ON})"), "1;2;3"),
        (format!("SELECT l.n FROM keys l WHERE l.d IN (SELECT r.d FROM keys r WHERE {ON})"), ""),
        ("SELECT l.n, r.n AS other FROM keys l JOIN keys r ON l.a = r.a AND l.b = r.b AND l.d = r.d".to_owned(), "3,3"),
    ] {
        assert_eq!(answer_of(sparse(), &sql), expected, "{sql}");
    }
    let full = answer_of(sparse(), &format!("SELECT COUNT(*) FROM keys l FULL JOIN keys r ON {ON}"));
    assert!(full.contains("take at most 3 conditions in ON"), "{full}");
}

#[test]
fn empty_lists_have_no_rows() {
    for (sql, expected) in [
        ("SELECT n, UNNEST(list) AS value FROM lists", "1,p;1,q"),
        ("SELECT COUNT(*) FROM (SELECT UNNEST(list) AS value FROM lists) x", "2"),
        ("SELECT UNNEST(list) AS value FROM lists WHERE n > 1 OR n < 0", ""),
    ] {
        assert_eq!(answer_of(sparse(), sql), expected, "{sql}");
    }
}
