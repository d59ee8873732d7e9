//! `report failures`: the classes of sessions, on logs and verdicts as they are read.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::analysis::failures::CLASSES;
use agentlogs::analysis::reports::{self, Frames, Options, Scope};
use agentlogs::analysis::views::with_views;
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::store::frames::{COMPUTED_TABLES, computed_schema, frames};
use agentlogs::store::query::query;
use polars::prelude::*;
use serde_json::{Value, json};

use crate::{demo_facts, facts, reconciled};

fn tables_of(sources: Vec<Source>) -> Frames {
    frames(&reconciled(sources)).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn demo() -> Frames {
    tables_of(demo_facts())
}

/// The rows of a report as texts.
fn rows(tables: &Frames, report: &str, by: &[&str], only: &[(&str, &str)], columns: &[&str]) -> Vec<String> {
    let only = only.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = Options {
        by: by.iter().map(|name| (*name).to_owned()).collect(),
        scope: Scope { only, ..Scope::default() },
        sort: by.first().map(|name| format!("+{name}")),
        wide: true,
        ..Options::default()
    };
    let rows = reports::find(report).unwrap().run(tables, &options).unwrap().rows;
    let text = |row: usize, name: &str| rows.column(name).unwrap().get(row).unwrap().str_value().into_owned();
    (0..rows.height()).map(|row| columns.iter().map(|name| text(row, name)).collect::<Vec<_>>().join(" ")).collect()
}

fn sessions_in(tables: &Frames, filter: Expr) -> usize {
    tables.table("sessions").filter(filter).collect().unwrap().height()
}

/// SQL has the computed tables wherever it lists tables; sessions have the class of their failure where a query names it.
#[test]
fn sql_has_the_computed_tables_and_the_class_of_each_session() {
    let tables = demo();
    let ask = |sql: &str| query(with_views(tables.clone(), sql).unwrap(), sql).unwrap();
    let texts = |frame: &DataFrame, column: &str| -> Vec<String> {
        frame.column(column).unwrap().str().unwrap().iter().flatten().map(str::to_owned).collect()
    };
    let listed = texts(&ask("SHOW TABLES"), "name");
    for table in COMPUTED_TABLES {
        assert!(listed.iter().any(|name| name == table), "{table}: {listed:?}");
        let rows = ask(&format!("SELECT * FROM {table} LIMIT 1"));
        let described = ask(&format!("DESCRIBE {table}"));
        let names: Vec<&str> = rows.get_column_names().into_iter().map(PlSmallStr::as_str).collect();
        assert_eq!(texts(&described, "column"), names, "{table}");
        let types: Vec<DataType> =
            computed_schema().into_iter().filter(|it| it.table == table).map(|it| it.dtype).collect();
        assert_eq!(types[..], rows.dtypes()[..types.len()], "{table}");
    }
    assert!(texts(&ask("DESCRIBE labels"), "column").contains(&"prompt".to_owned()));

    let rows = |sql: &str| -> Vec<String> {
        let frame = ask(sql);
        let row =
            |row| frame.columns().iter().map(|it| it.get(row).unwrap().str_value().into_owned()).collect::<Vec<_>>();
        (0..frame.height()).map(|index| row(index).join(" ")).collect()
    };
    let counts = ["infrastructure 1", "judged_wrong 7", "stopped 1", "timeout 2"];
    for sql in [
        "SELECT failure_class, COUNT(*) AS n FROM sessions WHERE failure_class IS NOT NULL GROUP BY failure_class ORDER BY failure_class",
        "SELECT s.failure_class, COUNT(*) AS n FROM sessions s WHERE s.failure_class <> '' GROUP BY s.failure_class ORDER BY s.failure_class",
        "SELECT failure_class, COUNT(*) AS n FROM sessions JOIN failures USING (runtime, session_id) GROUP BY failure_class ORDER BY failure_class",
    ] {
        assert_eq!(rows(sql), counts, "{sql}");
    }
    assert_eq!(ask("SELECT session_id, failure_class FROM sessions").height(), sessions_in(&tables, lit(true)));
    assert_eq!(ask("SELECT error_kind AS failure_class FROM sessions LIMIT 1").width(), 1);
    assert!(!ask("SELECT * FROM sessions LIMIT 1").get_column_names().iter().any(|name| *name == "failure_class"));
}

/// The made-up team: the classes were found by reading the logs.
#[test]
fn each_failed_session_of_the_demo_has_its_class() {
    let tables = demo();
    let found = rows(&tables, "failures", &["failure_class"], &[], &["failure_class", "sessions"]);
    assert_eq!(found, ["infrastructure 1", "judged_wrong 7", "stopped 1", "timeout 2"]);
    let by_prompt = rows(
        &tables,
        "failures",
        &["label:prompt", "failure_class"],
        &[("verdict", "failed")],
        &["label:prompt", "failure_class", "sessions"],
    );
    assert_eq!(by_prompt, ["a judged_wrong 6", "b judged_wrong 1"]);
    // The job that was killed, the agent that the evaluation stopped, the limit on turns, and Maya.
    let columns = ["failure_class", "example_sign", "example_line"];
    for (class, expected) in [
        ("infrastructure", "infrastructure its process was killed: exit status 137 28"),
        ("stopped", "stopped the user stopped it 43"),
        ("timeout", "timeout error_max_turns 36"),
    ] {
        assert_eq!(rows(&tables, "failures", &["failure_class"], &[("failure_class", class)], &columns), [expected]);
    }
}

/// All samples: each session that failed by its status or its verdict has exactly one class, and no other session has one.
#[test]
fn each_failed_session_has_one_class() {
    let tables = tables_of(facts(Retention::None));
    let is = |status: &str| col("status").eq(lit(status));
    let ended_badly = sessions_in(&tables, is("error").or(is("aborted")).or(is("incomplete")));
    let found = rows(&tables, "failures", &["session", "failure_class"], &[], &["failure_class", "sessions"]);
    let known: Vec<&str> = CLASSES.iter().map(|class| class.as_str()).collect();
    for row in &found {
        let (class, _) = row.split_once(' ').unwrap();
        assert!(known.contains(&class), "{row}");
    }
    let total = |rows: &[String]| -> usize {
        rows.iter().map(|row| row.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
    };
    // The failed trials, without the sessions that ended badly although they passed.
    let of = |verdict: &str| {
        total(&rows(&tables, "failures", &["status"], &[("verdict", verdict)], &["status", "sessions"]))
    };
    assert_eq!(of("passed"), 0);
    let badly_but_passed =
        rows(&tables, "sessions", &["verdict"], &[("verdict", "passed")], &["error", "aborted", "incomplete"]);
    let badly_but_passed: usize =
        badly_but_passed.iter().flat_map(|row| row.split(' ')).map(|count| count.parse::<usize>().unwrap()).sum();
    let well_but_failed = rows(&tables, "failures", &["status"], &[("status", "success")], &["status", "sessions"]);
    let unknown_but_failed = rows(&tables, "failures", &["status"], &[("status", "unknown")], &["status", "sessions"]);
    assert_eq!(total(&found), ended_badly - badly_but_passed + total(&well_but_failed) + total(&unknown_but_failed));
    // It is a dimension of other reports, too.
    let of_sessions = rows(&tables, "sessions", &["failure_class"], &[], &["failure_class", "sessions"]);
    let with_class: Vec<String> =
        of_sessions.into_iter().filter(|row| !["null", "(none)"].iter().any(|none| row.starts_with(none))).collect();
    assert_eq!(total(&with_class), total(&found));
}

/// The line that shows a class is a line of its session.
#[test]
fn the_place_of_a_class_is_one_of_its_session() {
    let tables = tables_of(facts(Retention::None));
    let columns = ["session", "failure_class", "example_path", "example_line"];
    for row in rows(&tables, "failures", &["session", "failure_class"], &[], &columns) {
        let parts: Vec<&str> = row.split(' ').collect();
        let [session, class, path, line] = parts[..] else { panic!("{row}") };
        if line == "null" {
            continue;
        }
        let line: i64 = line.parse().unwrap();
        let places = ["turns", "tool_calls", "events"].map(|table| {
            let of_session = col("session_id").eq(lit(session)).and(col("source_path").eq(lit(path)));
            tables.table(table).filter(of_session.and(col("line").eq(lit(line)))).collect().unwrap().height()
        });
        assert!(places.iter().sum::<usize>() > 0, "{class} {row}");
    }
}

/// Two subagents of one type that read the same files repeat no call: the id of an agent identifies it.
#[test]
fn subagents_of_one_type_do_not_repeat_each_other() {
    let mut lines = vec![json!({"type": "system", "subtype": "init", "session_id": "s", "uuid": "u", "model": "m"})];
    let mut response = |parent: Option<&str>, id: &str, tool: &str, input: &Value| {
        let content = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
        let usage = json!({"input_tokens": 4, "output_tokens": 5});
        let message = json!({"id": format!("m-{id}"), "model": "m", "content": content, "usage": usage});
        let uuid = format!("u-{id}");
        lines.push(json!({"type": "assistant", "session_id": "s", "uuid": uuid, "parent_tool_use_id": parent, "message": message}));
        if parent.is_some() {
            let content = json!([{"type": "tool_result", "tool_use_id": id, "content": "text"}]);
            let message = json!({"role": "user", "content": content});
            lines.push(json!({"type": "user", "session_id": "s", "uuid": format!("r-{id}"), "parent_tool_use_id": parent, "message": message}));
        }
    };
    let agents = ["first", "second"];
    for agent in agents {
        response(None, agent, "Task", &json!({"subagent_type": "Explore", "prompt": "look", "description": agent}));
    }
    for file in 0..12 {
        for agent in agents {
            let id = format!("{agent}-{file}");
            response(Some(agent), &id, "Read", &json!({"file_path": format!("/work/{file}.rs")}));
        }
    }
    let log = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let sessions = adapters::parse(log.as_bytes(), Hints::default(), Retention::None).sessions;
    let path = "a.jsonl".to_owned();
    let tables = tables_of(vec![Source { path, status: SourceStatus::Parsed, sessions, ..Source::default() }]);
    let found = rows(&tables, "failures", &["failure_class"], &[], &["failure_class", "sessions"]);
    assert_eq!(found, ["unfinished 1"]);
}
