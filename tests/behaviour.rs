//! `report behavior`: measures of sessions that were computed by hand. docs/behavior.md defines them.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::analysis::reports::{self, Frames, Options};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::Tables;
use agentlogs::store::frames::frames;
use polars::prelude::*;
use serde_json::{Value, json};

use crate::{facts, reconciled};

/// A transcript of Claude. Each step has a second, and is a prompt or a response with its context and at most one call,
/// with the seconds and the status of that.
struct Transcript(Vec<String>);

impl Transcript {
    fn add(&mut self, second: i64, kind: &str, message: &Value, result: &Value) {
        let number = self.0.len();
        let time = format!("2026-10-05T08:{:02}:{:02}.000Z", second / 60, second % 60);
        let record = json!({
            "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/work", "sessionId": "s",
            "version": "2.1.212",
            "type": kind, "uuid": format!("u{number}"), "timestamp": time, "message": message,
            "requestId": format!("r{number}"), "toolUseResult": result,
        });
        self.0.push(record.to_string());
    }

    fn prompt(mut self, second: i64) -> Self {
        self.add(second, "user", &json!({"role": "user", "content": "go on"}), &Value::Null);
        self
    }

    /// A response whose context has `tokens` tokens, and whose output has 5.
    fn answer(mut self, second: i64, tokens: i64) -> Self {
        self.response(second, tokens, &json!({"type": "text", "text": "done"}), "end_turn");
        self
    }

    fn response(&mut self, second: i64, tokens: i64, content: &Value, stop: &str) {
        let number = self.0.len();
        let usage = json!({"input_tokens": 10, "cache_read_input_tokens": tokens - 10, "cache_creation_input_tokens": 0,
            "output_tokens": 5});
        let message = json!({"model": "claude-opus-4-5", "id": format!("m{number}"), "type": "message", "role": "assistant",
            "content": [content], "stop_reason": stop, "usage": usage});
        self.add(second, "assistant", &message, &Value::Null);
    }

    /// A response with a call that takes some seconds.
    fn call(mut self, second: i64, tokens: i64, (tool, input): (&str, &Value), end: (i64, bool), edit: &Value) -> Self {
        let (seconds, is_error) = end;
        let id = format!("call{}", self.0.len());
        let content = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        self.response(second, tokens, &content, "tool_use");
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": "…", "is_error": is_error});
        self.add(second + seconds, "user", &json!({"role": "user", "content": [result]}), edit);
        self
    }

    fn shell(self, second: i64, tokens: i64, command: &str, seconds: i64, is_error: bool) -> Self {
        self.call(second, tokens, ("Bash", &json!({"command": command})), (seconds, is_error), &Value::Null)
    }

    fn edit(self, second: i64, tokens: i64, lines: &[&str]) -> Self {
        let input = json!({"file_path": "/work/a.py", "old_string": lines[0], "new_string": "x"});
        let result = json!({"filePath": "/work/a.py", "structuredPatch": [{"lines": lines}]});
        self.call(second, tokens, ("Edit", &input), (1, false), &result)
    }

    fn tables(&self) -> Frames {
        let sessions = adapters::parse(self.0.join("\n").as_bytes(), Hints::default(), Retention::None).sessions;
        let path = "a.jsonl".to_owned();
        frames_of(&reconciled(vec![Source { path, status: SourceStatus::Parsed, sessions, ..Source::default() }]))
    }
}

fn frames_of(tables: &Tables) -> Frames {
    frames(tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

/// The rows of the report, as `measure=value`, where the value is known.
fn measures(tables: &Frames, by: &str) -> Vec<Vec<String>> {
    let options = Options { by: vec![by.to_owned()], wide: true, ..Options::default() };
    let answer = reports::find("behaviour").unwrap().run(tables, &options).unwrap();
    let row = |row: usize| {
        let columns = answer.rows.columns().iter();
        let known = columns.filter_map(|column| {
            let value = column.get(row).unwrap();
            (!value.is_null()).then(|| format!("{}={}", column.name(), value.str_value()))
        });
        known.collect()
    };
    (0..answer.rows.height()).map(row).collect()
}

#[test]
fn a_session_is_measured() {
    let write = json!({"file_path": "/work/a.py", "content": "1\n2\n3\n"});
    let written = json!({"type": "create", "filePath": "/work/a.py", "content": "1\n2\n3\n", "structuredPatch": []});
    let read = json!({"file_path": "/work/b.py"});
    let transcript = Transcript(Vec::new())
        .prompt(0)
        .call(10, 100, ("Read", &read), (1, false), &Value::Null)
        .shell(20, 200, "rg x", 2, false)
        .shell(30, 260, "rg x", 1, false)
        .call(40, 300, ("Write", &write), (1, false), &written)
        .shell(50, 400, "cargo test", 5, true)
        // Of the three lines two are removed, then the new one.
        .edit(60, 500, &["-1", "-2", "+4", " 3"])
        .edit(70, 150, &["-4", "+5"])
        .shell(80, 250, "cd /work && cargo test 2>&1 | tail", 4, false)
        .answer(90, 300)
        .prompt(180)
        .answer(190, 340);
    let expected = "runtime=claude sessions=1 tool_calls=8 explore_calls=3 edit_calls=3 verify_calls=2 explore_share=0.375 \
        edit_share=0.375 verify_share=0.25 edited_sessions=1 p50_turns_before_edit=3 p90_turns_before_edit=3 \
        p50_time_before_edit_ms=40000 p90_time_before_edit_ms=40000 p50_tokens_before_edit=575 p90_tokens_before_edit=575 \
        file_edits=3 edited_files=1 edits_per_file=3.0 files_edited_often=1 known_lines_added=5 lines_removed_again=3 \
        removed_again_rate=0.6 repeated_calls=1 longest_error_run=1 test_runs=2 failed_test_runs=1 verified_sessions=1 \
        verified_rate=1.0 p50_end_context_tokens=340 p90_end_context_tokens=340 \
        context_growth_per_turn=73.75 compactions=0 appended_tokens=90 fresh_tokens=545 prefill_amplification=0.165138 \
        hit_rate_within_5min=0.966667 long_call_time_share=0.0 model_time_ms=84000 tool_time_ms=16000 \
        waiting_time_ms=90000 model_time_share=0.442105 tool_time_share=0.084211 waiting_time_share=0.473684";
    assert_eq!(measures(&transcript.tables(), "runtime")[0].join(" "), expected);
}

/// The exit status of a pipe is that of its last command; the result shows what the tests did.
#[test]
fn failed_tests_are_known_by_their_results() {
    let of_claude = |command: &str, result: &Value| {
        let mut transcript = Transcript(Vec::new()).prompt(0).shell(10, 100, command, 1, false);
        let last = transcript.0.pop().unwrap();
        transcript.0.push(last.replace("\"…\"", &result.to_string()));
        transcript.answer(20, 200).tables()
    };
    let of_codex = |command: &str, output: &str| {
        let item = json!({"type": "item.completed", "item": {"id": "item_0", "type": "command_execution", "command": command,
            "aggregated_output": output, "exit_code": 0, "status": "completed"}});
        let log = format!("{}\n{item}\n", json!({"type": "thread.started", "thread_id": "t"}));
        let sessions = adapters::parse(log.as_bytes(), Hints::default(), Retention::None).sessions;
        let path = "a.jsonl".to_owned();
        frames_of(&reconciled(vec![Source { path, status: SourceStatus::Parsed, sessions, ..Source::default() }]))
    };
    let failed = "tests/a.py F.\n1 failed, 1 passed in 0.12s\n";
    let (piped, passed) = ("pytest 2>&1 | tail -3", "2 passed in 0.12s");
    for (tables, expected) in [
        (of_claude(piped, &json!(failed)), Some(true)),
        (of_claude(piped, &json!([{"type": "text", "text": failed}])), Some(true)),
        (of_claude(piped, &json!(passed)), Some(false)),
        (of_claude(piped, &json!("no such file")), None),
        (of_claude("cat log | grep failed", &json!(failed)), None),
        (of_codex("bash -lc 'pytest | tail -3'", failed), Some(true)),
        (of_codex("bash -lc 'pytest | tail -3'", passed), Some(false)),
    ] {
        let calls = tables.table("tool_calls").collect().unwrap();
        let found = calls.column("result_failed_tests").unwrap().bool().unwrap().get(0);
        assert_eq!(found, expected, "{calls:?}");
        let rows = measures(&tables, "runtime");
        let failed_runs = rows[0].iter().find(|it| it.starts_with("failed_test_runs=")).map(String::as_str);
        let is_counted = failed_runs == Some("failed_test_runs=1");
        assert_eq!(is_counted, expected == Some(true), "{failed_runs:?}");
    }
}

/// A session without calls and edits has counts of 0, but no shares and nothing before an edit.
#[test]
fn a_session_without_calls_is_measured() {
    let transcript = Transcript(Vec::new()).prompt(0).answer(10, 100);
    let expected = "runtime=claude sessions=1 tool_calls=0 explore_calls=0 edit_calls=0 verify_calls=0 edited_sessions=0 \
        file_edits=0 edited_files=0 files_edited_often=0 repeated_calls=0 longest_error_run=0 test_runs=0 \
        failed_test_runs=0 p50_end_context_tokens=100 p90_end_context_tokens=100 compactions=0 \
        model_time_ms=10000 tool_time_ms=0 waiting_time_ms=0 model_time_share=1.0 tool_time_share=0.0 waiting_time_share=0.0";
    assert_eq!(measures(&transcript.tables(), "runtime")[0].join(" "), expected);
}

/// A format that does not show what a measure needs has no value for it.
#[test]
fn what_a_format_does_not_show_is_unknown() {
    let rows = measures(&frames_of(&reconciled(facts(Retention::None))), "format");
    let of = |format: &str| rows.iter().find(|row| row[0] == format!("format={format}")).unwrap();
    assert_eq!(of("claude-json").len(), 2, "{:?}", of("claude-json"));
    let has = |format: &str, measure: &str| of(format).iter().any(|it| it.starts_with(&format!("{measure}=")));
    // Without times.
    assert!(has("codex-exec", "edit_share") && !has("codex-exec", "model_time_ms"));
    // Without the lines of changes, and without responses.
    assert!(has("codex-exec", "file_edits") && !has("codex-exec", "known_lines_added"));
    assert!(!has("codex-exec", "p50_turns_before_edit") && !has("codex-exec", "p50_end_context_tokens"));
    // Without changed files.
    assert!(has("mini-swe-agent", "edit_calls") && !has("mini-swe-agent", "file_edits"));
}

/// Filters apply to sessions, and every dimension of sessions groups the same ones.
#[test]
fn groups_sum_to_the_total() {
    let tables = frames_of(&reconciled(facts(Retention::None)));
    let sums = |by: &str| {
        let options = Options { by: vec![by.to_owned()], wide: true, total: true, ..Options::default() };
        let answer = reports::find("behaviour").unwrap().run(&tables, &options).unwrap();
        ["sessions", "explore_calls", "repeated_calls", "file_edits", "tool_time_ms"].map(|measure| {
            let sum: i64 = answer.rows.column(measure).unwrap().i64().unwrap().iter().flatten().sum();
            let total = answer.total.as_ref().unwrap().column(measure).unwrap().i64().unwrap().get(0);
            assert_eq!(Some(sum), total, "{by} {measure}");
            sum
        })
    };
    assert_eq!(sums("session"), sums("format"));
    assert_eq!(sums("day"), sums("status"));
}

/// Tables may be in partitions with whole sessions, in any order.
#[test]
fn partitions_of_tables_give_the_rows_of_the_whole() {
    let whole = frames_of(&reconciled(facts(Retention::None)));
    let partition = |number: u32| {
        let length = || col("session_id").str().len_chars() % lit(3);
        whole.clone().map(|table, rows| match table {
            "sources" | "rejects" | "unknown_records" => rows,
            _ => rows.filter(length().eq(lit(number))),
        })
    };
    let partitions = whole.clone().with_partitions([2, 0, 1].map(partition).into());
    let without_one = whole.clone().with_partitions([2, 0].map(partition).into());
    for report in ["behaviour", "waste"] {
        let rows = |tables: &Frames| {
            let by = ["runtime", "session"].map(str::to_owned).into();
            let options = Options { by, wide: true, total: true, ..Options::default() };
            let answer = reports::find(report).unwrap().run(tables, &options).unwrap();
            (answer.rows, answer.total.unwrap())
        };
        let (expected, found) = (rows(&whole), rows(&partitions));
        assert!(found.0.equals_missing(&expected.0) && found.1.equals_missing(&expected.1), "{report}");
        assert!(!rows(&without_one).1.equals_missing(&expected.1), "{report}");
    }
}
