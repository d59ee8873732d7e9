//! Runs a query.

use std::collections::BTreeSet;

use polars::prelude::*;
use polars::sql::SQLContext;
use sqlparser::ast::Statement;

use super::durations::with_texts_of_durations;
use super::error::Error;
use super::explained::explained;
use super::refused::harmless;
use super::rewrite::rewrite;
use super::scope::Tables;
use super::types::Types;
use super::values::insert_values;
use super::visit::relations_of;
use crate::store::frames::{Frames, LABELS, all_columns, names_of_tables};

/// Runs one SQL query over the tables. docs/sql.md describes the dialect.
///
/// # Errors
/// When the SQL cannot be parsed, names a table or column that does not exist, or would read or write anything but the tables.
pub fn query(tables: Frames, sql: &str) -> Result<DataFrame, Error> {
    query_rows(tables, sql, None)
}

/// As [`query`], with at most this number of rows.
///
/// # Errors
/// As [`query`].
pub fn query_rows(tables: Frames, sql: &str, limit: Option<u32>) -> Result<DataFrame, Error> {
    let sql = sql.trim().trim_end_matches(';');
    // Parser, planner and optimizer recurse, with stack frames of some kilobytes.
    let answer = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            let statement = harmless(sql)?;
            if let Statement::ExplainTable { table_name, .. } = &statement {
                return described(&tables, &table_name.to_string());
            }
            let rows = Engine { tables }.answered(statement, sql, limit)?;
            with_texts_of_durations(&rows).map_err(|error| Error::Wrong(explained(&error)))
        });
        thread.map(std::thread::ScopedJoinHandle::join)
    });
    match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(Error::Wrong("the SQL engine failed on this query".to_owned())),
        Err(error) => Err(Error::Wrong(format!("no thread for the query: {error}"))),
    }
}

/// Answers statements about tables.
struct Engine {
    tables: Frames,
}

impl Engine {
    /// The answer to a statement with that text. Subqueries that are values are answered first.
    fn answered(&self, mut statement: Statement, sql: &str, limit: Option<u32>) -> Result<DataFrame, Error> {
        let before = statement.clone();
        insert_values(&mut statement, &mut |query| {
            let statement = Statement::Query(Box::new(query));
            let sql = statement.to_string();
            self.answered(statement, &sql, Some(2))
        })?;
        let sql = if statement == before { sql.to_owned() } else { statement.to_string() };
        let wrong = |error: PolarsError| Error::Wrong(explained(&error));
        let (columns, types) = columns_of(&self.tables, &statement).map_err(wrong)?;
        let sql = rewrite(statement, &sql, (&columns, &types), jiff::Timestamp::now())?;
        let mut context = SQLContext::new();
        for (name, frame) in &self.tables {
            context.register(name, frame.clone());
        }
        let rows = context.execute(&sql).and_then(|rows| match limit {
            Some(limit) => rows.limit(limit).collect(),
            None => rows.collect(),
        });
        rows.map_err(wrong)
    }
}

/// The columns of the tables that a statement names, and their types.
fn columns_of(tables: &Frames, statement: &Statement) -> PolarsResult<(Tables, Types)> {
    let named: BTreeSet<String> = relations_of(statement).iter().map(|it| it.to_string().replace('"', "")).collect();
    let (mut columns, mut types) = (Tables::new(), Types::default());
    for (name, frame) in tables.iter().filter(|(name, _)| named.contains(*name)) {
        let schema = frame.clone().collect_schema()?;
        for (column, data_type) in schema.iter() {
            types.add(column, data_type);
        }
        columns.insert((*name).to_owned(), schema.iter_names().map(ToString::to_string).collect());
    }
    Ok((columns, types))
}

/// Stack of the thread of a query, in bytes. The system provides only the pages that are used.
const STACK: usize = 256 << 20;

/// The columns of a table, for `DESCRIBE`.
fn described(tables: &Frames, table: &str) -> Result<DataFrame, Error> {
    let wrong = |error: PolarsError| Error::Wrong(error.to_string());
    let columns: Vec<_> = all_columns().filter(|column| column.table.eq_ignore_ascii_case(table)).collect();
    let Some(first) = columns.first() else {
        return Err(Error::Wrong(format!("no table {table:?}; there are: {}", names_of_tables().join(", "))));
    };
    let mut rows: Vec<(String, &str, &str)> =
        columns.iter().map(|it| (it.column.to_owned(), it.type_name(), it.about)).collect();
    // The other columns of labels are the keys in this archive.
    if let Some((_, labels)) = tables.iter().find(|(name, _)| first.table == LABELS && *name == LABELS) {
        let schema = labels.clone().collect_schema().map_err(wrong)?;
        let keys = schema.iter_names().filter(|name| columns.iter().all(|it| it.column != name.as_str()));
        rows.extend(keys.map(|key| (key.to_string(), "VARCHAR", "The label of this name")));
    }
    let names: Vec<_> = rows.iter().map(|row| row.0.as_str()).collect();
    let types: Vec<_> = rows.iter().map(|row| row.1).collect();
    let abouts: Vec<_> = rows.iter().map(|row| row.2).collect();
    df!("column" => names, "type" => types, "about" => abouts).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of an answer as CSV without its header, or the error.
    fn answer(sql: &str) -> String {
        let time = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let frame = df!(
            "model" => ["a", "b", "c", "a"],
            "tokens" => [Some(1_i64), None, Some(3), Some(5)],
            "occurred_at" => ["2026-10-05T08:30:00Z", "2026-10-07T00:00:00Z", "2026-11-01T12:00:00Z", "2026-10-05T09:15:00.5Z"].map(time)
        );
        let utc = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));
        let frame = frame.unwrap().lazy().with_column(col("occurred_at").cast(utc));
        let frame = frame.with_column(col("occurred_at").dt().date().alias("day"));
        let mut frame = match query([("turns", frame)].into_iter().collect(), sql) {
            Ok(frame) => frame,
            Err(error) => return error.to_string(),
        };
        let cell = |column: &Column, row| match column.get(row).unwrap() {
            AnyValue::Null => "-".to_owned(),
            value => value.str_value().into_owned(),
        };
        frame.align_chunks_par();
        let columns = frame.columns();
        let row = |row| columns.iter().map(|column| cell(column, row)).collect::<Vec<_>>().join(",");
        (0..frame.height()).map(row).collect::<Vec<_>>().join(";")
    }

    #[test]
    fn nulls_are_last_in_both_directions() {
        for (sql, expected) in [
            ("SELECT tokens FROM turns ORDER BY tokens", "1;3;5;-"),
            ("SELECT tokens FROM turns ORDER BY tokens DESC", "5;3;1;-"),
            ("SELECT tokens FROM turns ORDER BY tokens DESC NULLS FIRST", "-;5;3;1"),
            ("SELECT tokens FROM (SELECT tokens FROM turns ORDER BY tokens DESC LIMIT 2) ORDER BY 1", "3;5"),
            ("WITH x AS (SELECT tokens FROM turns ORDER BY tokens LIMIT 1) SELECT * FROM x", "1"),
            ("SELECT model, ROW_NUMBER() OVER (ORDER BY tokens DESC) AS n FROM turns ORDER BY n", "a,1;c,2;a,3;b,4"),
            ("SELECT model, ROW_NUMBER() OVER (ORDER BY tokens) AS n FROM turns ORDER BY n", "a,1;c,2;a,3;b,4"),
            (
                "SELECT model, ROW_NUMBER() OVER (ORDER BY tokens NULLS FIRST) AS n FROM turns ORDER BY n",
                "b,1;a,2;c,3;a,4",
            ),
            (
                "SELECT model, RANK() OVER (ORDER BY tokens DESC NULLS FIRST) AS n FROM turns ORDER BY n",
                "b,1;a,2;c,3;a,4",
            ),
            (
                "SELECT model, SUM(tokens) OVER (PARTITION BY model ORDER BY tokens, day) AS n FROM turns ORDER BY n",
                "a,1;c,3;a,6;b,-",
            ),
            ("SELECT model, COUNT(*) AS n FROM turns GROUP BY model ORDER BY COUNT(*) DESC, model", "a,2;b,1;c,1"),
        ] {
            assert_eq!(answer(sql), expected, "{sql}");
        }
    }

    #[test]
    fn times_are_written_as_in_other_engines() {
        for (sql, expected) in [
            ("SELECT COUNT(*) FROM turns WHERE day >= DATE '2026-10-07'", "2"),
            ("SELECT COUNT(*) FROM turns WHERE occurred_at >= DATE '2026-10-07'", "2"),
            ("SELECT COUNT(*) FROM turns WHERE occurred_at >= TIMESTAMP '2026-10-05 09:00:00'", "3"),
            ("SELECT COUNT(*) FROM turns WHERE occurred_at >= TIMESTAMP '2026-10-05T11:00:00+02:00'", "3"),
            ("SELECT COUNT(*) FROM turns WHERE occurred_at < TIMESTAMP '2026-10-07'", "2"),
            ("SELECT COUNT(*) FROM turns WHERE occurred_at < CAST('2026-10-07 00:00:00' AS TIMESTAMP)", "2"),
            ("SELECT COUNT(*) FROM turns WHERE day = CAST('2026-10-07' AS DATE)", "1"),
            (
                "SELECT COUNT(*) FROM turns WHERE occurred_at < NOW() AND day < CURRENT_DATE AND day < TODAY()",
                "no function TODAY",
            ),
            ("SELECT COUNT(*) FROM turns WHERE occurred_at < NOW() - INTERVAL '100' YEAR", "0"),
            ("SELECT COUNT(*) FROM turns WHERE day < CURRENT_DATE - INTERVAL 7 DAY OR TRUE", "4"),
            ("SELECT DATE '2026-10-05' + INTERVAL '7 days' FROM turns LIMIT 1", "2026-10-12"),
            (
                "SELECT DATE_TRUNC('week', occurred_at) AS w, DATE_TRUNC('month', day) AS m, DATE_TRUNC('quarter', day) AS q, DATE_TRUNC('year', day) AS y, DATE_TRUNC('day', occurred_at) AS d FROM turns WHERE model = 'c'",
                "2026-10-26,2026-11-01,2026-10-01,2026-01-01,2026-11-01",
            ),
            (
                "SELECT EXTRACT(hour FROM occurred_at), EXTRACT(MONTH FROM day) AS m FROM turns WHERE model = 'c'",
                "12,11",
            ),
            ("SELECT COUNT(*) FROM turns WHERE DATE_TRUNC('hour', occurred_at) = TIMESTAMP '2026-10-05 09:00:00'", "1"),
            ("SELECT DATE 'yesterday' FROM turns", "DATE 'yesterday' is not a day, such as DATE '2026-10-05'"),
            ("SELECT TIMESTAMP 'x' FROM turns", "TIMESTAMP 'x' is not a time, such as TIMESTAMP '2026-10-05 08:00:00'"),
            (
                "SELECT DATE_TRUNC('eon', day) FROM turns",
                "DATE_TRUNC takes second, minute, hour, day, week, month, quarter or year, not eon",
            ),
        ] {
            assert!(answer(sql).starts_with(expected), "{sql}: {}", answer(sql));
        }
    }

    #[test]
    fn a_row_without_a_time_is_in_no_period() {
        let of_turns = "SELECT NULLIF(occurred_at, TIMESTAMP '2026-11-01 12:00:00') AS at FROM turns";
        for unit in ["second", "minute", "hour", "day", "week", "month", "quarter", "year"] {
            let sql = format!(
                "SELECT t IS NULL AS x, COUNT(*) AS n FROM (SELECT DATE_TRUNC('{unit}', at) AS t FROM ({of_turns})) GROUP BY t IS NULL ORDER BY x"
            );
            assert_eq!(answer(&sql), "false,3;true,1", "{unit}");
        }
    }

    /// Each level repeats its expression twice or more.
    #[test]
    fn times_in_each_other_are_refused_before_they_take_the_memory() {
        for (start, end) in [("DATE_TRUNC('week', ", ")"), ("day + DATE_DIFF('second', ", ", occurred_at)")] {
            let nested = format!("{}day{}", start.repeat(20), end.repeat(20));
            assert!(answer(&format!("SELECT {nested} FROM turns")).contains("is too long"), "{start}");
        }
    }

    #[test]
    fn quantiles_have_the_names_of_the_standard() {
        for (sql, expected) in [
            ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY tokens) FROM turns", "3.0"),
            ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY tokens) AS p FROM turns", "2.0"),
            ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY tokens DESC) AS p FROM turns", "4.0"),
            ("SELECT QUANTILE_CONT(tokens, 0.5) AS p FROM turns", "3.0"),
        ] {
            assert_eq!(answer(sql), expected, "{sql}");
        }
    }

    #[test]
    fn sums_of_sums_are_windows() {
        let error = answer("SELECT MAX(COUNT(*)) FROM turns GROUP BY model");
        assert!(error.contains("an aggregate of an aggregate") && error.contains("FROM (SELECT"), "{error}");
        for sql in [
            "SELECT model, SUM(SUM(tokens)) OVER (ORDER BY model) AS r FROM turns GROUP BY model ORDER BY model",
            "SELECT model, SUM(s) OVER (ORDER BY model) AS r FROM (SELECT model, SUM(tokens) AS s FROM turns GROUP BY model) ORDER BY model",
        ] {
            assert_eq!(answer(sql), "a,6;b,6;c,9", "{sql}");
        }
    }

    #[test]
    fn tables_are_described_and_functions_suggested() {
        assert!(answer("DESCRIBE turns").starts_with("session_id,VARCHAR,"), "{}", answer("DESCRIBE turns"));
        assert!(answer("DESC nothing").starts_with("no table \"nothing\"; there are: sessions"));
        assert!(answer("DESCRIBE failures").contains(";failure_class,VARCHAR,"), "{}", answer("DESCRIBE failures"));
        assert_eq!(answer("SELECT COALESC(tokens, 0) FROM turns"), "no function COALESC; did you mean COALESCE?");
        assert!(!answer("SELECT x FROM turns, UNNEST(model) AS x").contains("Ident"));
    }

    fn asked(sql: &str) -> String {
        let frame = || df!("model" => ["a"], "input_tokens" => [1_i64]).unwrap().lazy();
        let tables = [("turns", frame()), ("sessions", frame())];
        query(tables.into_iter().collect(), sql).map_or_else(|it| it.to_string(), |it| format!("{} rows", it.height()))
    }

    #[test]
    fn similar_names_are_suggested() {
        assert_eq!(asked("SELECT modle FROM turns"), "no column \"modle\"; did you mean \"model\"?");
        assert_eq!(
            asked("SELECT t.inputtokens FROM turns t"),
            "no column \"inputtokens\"; did you mean \"input_tokens\"?"
        );
        assert_eq!(asked("SELECT 1 FROM session"), "no table \"session\"; did you mean \"sessions\"?");
        assert_eq!(asked("SELECT 1 FROM label"), "no table \"label\"; did you mean \"labels\"?");
        assert_eq!(
            asked("SELECT failure_sign FROM turns"),
            "no column \"failure_sign\"; the table failures has it: JOIN failures USING (runtime, session_id)"
        );
        assert_eq!(asked("SELECT zzz FROM turns"), "no column \"zzz\"; there are: input_tokens, model");
    }

    /// `LPAD` to some gigabytes would end the program.
    #[test]
    fn texts_are_padded_to_a_length_that_fits_into_memory() {
        let refused = |name: &str| format!("the length of {name} has to be a number of 10000 at most");
        for length in ["4000000000", "10001", "input_tokens * 1000000000", "1e9", "-1", "CAST(4e9 AS BIGINT)"] {
            assert_eq!(asked(&format!("SELECT LPAD(model, {length}, 'x') FROM turns")), refused("lpad"), "{length}");
            let inner = format!("SELECT UPPER(\"rpad\"(model, {length}, 'x')) FROM turns");
            assert_eq!(asked(&inner), refused("rpad"), "{length}");
        }
        assert_eq!(asked("SELECT LPAD(model, 10000, 'x') FROM turns"), "1 rows");
        assert_eq!(asked("SELECT LPAD(model) FROM turns"), refused("lpad"));
    }

    #[test]
    fn sql_reads_the_tables_only() {
        for sql in [
            "SELECT * FROM read_parquet('/etc/passwd')",
            "SELECT * FROM turns JOIN read_csv('/etc/passwd') x ON true",
            "WITH x AS (SELECT * FROM scan_parquet('a')) SELECT * FROM x",
            "SELECT * FROM '/etc/passwd'",
            "SELECT (SELECT a FROM read_json('x')) FROM turns",
            "CREATE TABLE x AS SELECT 1",
            "DROP TABLE turns",
            "SELECT 1 INTO x",
            "SELECT * FROM turns, TABLE(read_csv('x'))",
        ] {
            let harmed = harmless(sql);
            assert!(matches!(harmed, Err(Error::Refused(_))), "{sql}: {harmed:?}");
        }
        assert_eq!(asked("WITH x AS (SELECT model FROM turns) SELECT * FROM x;"), "1 rows");
        assert_eq!(asked("SELECT 1; SELECT 2"), "one statement at a time, not 2");
    }
}
