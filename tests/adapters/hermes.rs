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
