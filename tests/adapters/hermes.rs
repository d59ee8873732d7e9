//! What the tables contain of Hermes' logs.

use agentlogs::model::session::{SessionResult, Status};
use serde_json::{Value, json};

use super::{sessions, sessions_at, tables};

/// A database with one scheduled session and these messages.
fn database(messages: &[Value]) -> String {
    let session = json!({
        "table": "sessions", "id": "cron_a1_20261009_080000", "source": "cron", "model": "kimi-k2.6", "end_reason": "cron_complete",
        "started_at": 1_791_532_800.5, "billing_provider": "openrouter", "reasoning_tokens": 0, "input_tokens": 900,
        "output_tokens": 40, "cache_read_tokens": 0, "cache_write_tokens": 0, "api_call_count": 1,
    });
    let rows = messages.iter().enumerate().map(|(index, message)| {
        let mut row = message.clone();
        row["table"] = json!("messages");
        row["id"] = json!(index);
        row["session_id"] = json!("cron_a1_20261009_080000");
        row["timestamp"] = json!(1_791_532_801 + index);
        row
    });
    let lines: Vec<String> = std::iter::once(session).chain(rows).map(|row| row.to_string()).collect();
    lines.join("\n")
}

fn prompt() -> Value {
    json!({"role": "user", "content": "Summarise.", "finish_reason": null, "tool_calls": null})
}

fn answer(text: &str, finish_reason: Option<&str>) -> Value {
    json!({"role": "assistant", "content": text, "finish_reason": finish_reason, "tool_calls": null})
}

fn only(log: &str) -> SessionResult {
    sessions(log).swap_remove(0)
}

/// Hermes ends a scheduled session with `cron_complete` after a run that failed, too.
#[test]
fn a_run_without_an_answer_is_no_success() {
    let call = json!({
        "role": "assistant", "content": "", "finish_reason": "stop",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "web_search", "arguments": "{}"}}],
    });
    let result =
        json!({"role": "tool", "content": "x", "tool_call_id": "c1", "finish_reason": null, "tool_calls": null});
    for (messages, status) in [
        (vec![prompt()], Status::Incomplete),
        (vec![], Status::Incomplete),
        (vec![prompt(), call, result], Status::Incomplete),
        (vec![prompt(), answer("", Some("stop"))], Status::Incomplete),
        (vec![prompt(), answer("Operation interrupted.", None)], Status::Aborted),
        (vec![prompt(), answer("Done.", Some("stop"))], Status::Success),
    ] {
        let session = only(&database(&messages));
        assert_eq!(session.status, status, "{messages:?}");
        assert_eq!(session.stop_reason.as_deref(), Some("cron_complete"));
    }
}

/// The price is that of the provider who bills it.
#[test]
fn the_sums_have_the_provider_that_bills_them() {
    let turns = tables(&[database(&[prompt(), answer("Done.", Some("stop"))])]).turns;
    assert_eq!((turns.len(), turns[0].turn.provider.as_deref()), (1, Some("openrouter")));
}

#[test]
fn a_transcript_may_begin_with_a_message() {
    let lines = [
        json!({"role": "user", "content": "Go.", "timestamp": "2026-10-09T08:00:00.5"}),
        json!({"role": "assistant", "content": "Done.", "finish_reason": "stop", "timestamp": "2026-10-09T08:00:05.5"}),
    ];
    let log = lines.map(|line| line.to_string()).join("\n");
    for path in
        ["/x/20261009_080000_a1b2c3d4.jsonl", "/x/cron_a1_20261009_080000.jsonl", "/home/u/.hermes/sessions/x.jsonl"]
    {
        let session = sessions_at(path, &log).swap_remove(0);
        assert_eq!((session.format.as_ref(), session.status), ("hermes-transcript", Status::Success), "{path}");
        assert!(path.contains(&format!("/{}.", session.session_id)), "{path}: {}", session.session_id);
    }
    let call = json!({
        "role": "assistant", "content": "", "timestamp": "2026-10-09T08:00:00",
        "tool_calls": [{"id": "c", "response_item_id": "fc_c", "function": {"name": "terminal", "arguments": "{}"}}],
    });
    assert_eq!(only(&call.to_string()).format, "hermes-transcript");
    // Any program may write such messages.
    assert!(sessions_at("/x/chat.jsonl", &log).is_empty());
}

/// Copies of a database contain the same session, of which the sums grow. Several profiles can give one id to different sessions.
#[test]
fn sessions_of_several_profiles_add_up() {
    let input = |starts: [f64; 2]| {
        let row = |(start, tokens): (f64, u32)| {
            let mut row: Value = serde_json::from_str(&database(&[])).unwrap();
            (row["started_at"], row["input_tokens"]) = (json!(start), json!(tokens));
            row.to_string()
        };
        let tables = tables(&[row((starts[0], 900)), row((starts[1], 700))]);
        (tables.sessions.len(), tables.sessions[0].tokens.input)
    };
    assert_eq!(input([1_791_532_800.5, 1_791_532_800.5]), (1, Some(900)));
    assert_eq!(input([1_791_532_800.5, 1_791_619_200.5]), (1, Some(1600)));
}

/// A row of a database with one scheduled session: what the session spent with a model.
fn spent(model: &str, provider: &str, task: &str, calls: u32, tokens: [u32; 2]) -> Value {
    json!({
        "table": "session_model_usage", "session_id": "cron_a1_20261009_080000", "model": model, "billing_provider": provider,
        "billing_base_url": "", "billing_mode": "", "task": task, "api_call_count": calls, "input_tokens": tokens[0],
        "output_tokens": tokens[1], "cache_read_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0,
        "estimated_cost_usd": 0.0, "actual_cost_usd": 0.0, "cost_status": null,
    })
}

/// The model, the provider, input and output of each row, and the number of turns.
fn rows(databases: &[Vec<Value>]) -> (Vec<[String; 4]>, Option<i64>) {
    let logs: Vec<String> = databases
        .iter()
        .map(|rows| {
            let rows = rows.iter().map(|row| format!("\n{row}"));
            std::iter::once(database(&[prompt(), answer("Done.", Some("stop"))])).chain(rows).collect()
        })
        .collect();
    let tables = tables(&logs);
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let number = |value: Option<i64>| value.map(|it| it.to_string()).unwrap_or_default();
    let mut rows: Vec<_> = tables
        .turns
        .iter()
        .map(|row| {
            let tokens = row.turn.tokens.get();
            let names = [row.turn.model.as_deref(), row.turn.provider.as_deref()];
            [text(names[0]), text(names[1]), number(tokens.input), number(tokens.output)]
        })
        .collect();
    rows.sort();
    (rows, tables.sessions[0].turns)
}

/// Its name, the rows of the table, those of the session, and its turns.
type Case = (&'static str, Vec<Value>, Vec<[&'static str; 4]>, i64);

/// The session's own sums are 900 input and 40 output tokens of `kimi-k2.6`.
#[test]
fn each_model_and_provider_has_a_row() {
    let main = |model, provider, tokens| spent(model, provider, "", 1, tokens);
    let own = ["kimi-k2.6", "openrouter", "900", "40"];
    let cases: [Case; 6] = [
        ("no rows", vec![], vec![own], 1),
        ("the same", vec![main("kimi-k2.6", "openrouter", [900, 40])], vec![own], 1),
        (
            "another model before",
            vec![main("glm-5", "zai", [600, 10]), main("kimi-k2.6", "openrouter", [300, 30])],
            vec![["glm-5", "zai", "600", "10"], ["kimi-k2.6", "openrouter", "300", "30"]],
            2,
        ),
        (
            "another provider",
            vec![main("kimi-k2.6", "moonshot", [600, 10]), main("kimi-k2.6", "openrouter", [300, 30])],
            vec![["kimi-k2.6", "moonshot", "600", "10"], ["kimi-k2.6", "openrouter", "300", "30"]],
            2,
        ),
        (
            "the sums contain more",
            vec![main("glm-5", "zai", [600, 10])],
            vec![["glm-5", "zai", "600", "10"], ["kimi-k2.6", "openrouter", "300", "30"]],
            1,
        ),
        (
            "other tasks are additional",
            vec![
                main("kimi-k2.6", "openrouter", [900, 40]),
                spent("gemini-2.5-flash", "google", "compression", 1, [5000, 400]),
                spent("gemini-2.5-flash", "google", "title_generation", 2, [60, 2]),
                spent("kimi-k2.6", "openrouter", "vision", 1, [7, 3]),
            ],
            vec![["gemini-2.5-flash", "google", "5060", "402"], ["kimi-k2.6", "openrouter", "907", "43"]],
            5,
        ),
    ];
    for (name, given, expected, turns) in cases {
        let expected: Vec<_> = expected.into_iter().map(|row| row.map(str::to_owned)).collect();
        assert_eq!(rows(std::slice::from_ref(&given)), (expected.clone(), Some(turns)), "{name}");
        // A copy of the database, and rows that it contains twice.
        let twice = [given.clone(), given.clone()].concat();
        assert_eq!(rows(&[given, twice]), (expected, Some(turns)), "{name}");
    }
}

/// An older copy has the same session with the sums of one model only.
#[test]
fn a_copy_from_before_the_rows_adds_nothing() {
    let later = vec![
        spent("glm-5", "zai", "", 1, [880, 38]),
        spent("kimi-k2.6", "openrouter", "", 1, [20, 2]),
        spent("glm-5", "zai", "compression", 1, [100, 5]),
    ];
    let own =
        |model: &str, provider: &str, counts: [&str; 2]| [model, provider, counts[0], counts[1]].map(str::to_owned);
    let expected = vec![own("glm-5", "zai", ["980", "43"]), own("kimi-k2.6", "openrouter", ["20", "2"])];
    for databases in [[vec![], later.clone()], [later, vec![]]] {
        assert_eq!(rows(&databases).0, expected);
    }
}
