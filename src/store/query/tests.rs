//! Tests of answers that polars alone would get wrong. The right ones are those of DuckDB.

use polars::prelude::*;

use super::run::query;
use crate::store::frames::Frames;

mod aggregates;

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
fn columns_that_would_have_equal_names_have_their_text() {
    for (columns, expected) in [
        ("MIN(tokens)", "tokens"),
        ("MIN(tokens), MAX(tokens)", "MIN(tokens) MAX(tokens)"),
        ("tool, MAX(tokens), MAX(tokens)", "tool tokens MAX(tokens)"),
        ("tool, COUNT(*), COUNT(*)", "tool count COUNT(*)"),
        ("tool, MAX(tool)", "tool MAX(tool)"),
        ("UPPER(tool), LOWER(tool)", "UPPER(tool) LOWER(tool)"),
        ("tool, UPPER(tool) AS big, LOWER(tool)", "tool big LOWER(tool)"),
        ("tokens, ROUND(tokens / 3, 2)", "tokens ROUND(tokens / 3, 2)"),
        ("tokens + 1, tokens + 1", "tokens tokens + 1"),
        ("SUBSTR(tool, 1, 1), tokens", "tool tokens"),
    ] {
        let is_grouped = columns.starts_with("tool, ") && !columns.contains("LOWER");
        let group = if is_grouped { " GROUP BY tool" } else { "" };
        let frame = query(tables(), &format!("SELECT {columns} FROM tool_calls{group}")).unwrap();
        let names: Vec<&str> = frame.get_column_names().into_iter().map(PlSmallStr::as_str).collect();
        assert_eq!(names.join(" "), expected, "{columns}");
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
