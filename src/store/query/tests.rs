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
    let mut frame = match query(tables(), sql) {
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
