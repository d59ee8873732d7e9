//! When responses ended, of formats that write several records of one: docs/accounting.md#latency.

use agentlogs::model::tables::Tables;

use super::tables;

/// The seconds of the day, and the milliseconds, of each response: `occurred_at`, `ended_at`, `latency_ms`.
fn ends(tables: &Tables) -> Vec<(Option<i64>, Option<i64>, Option<u32>)> {
    let second = |time: agentlogs::base::time::Time| time.micros() / 1_000_000 % 86_400;
    let of_turn = |row: &agentlogs::model::tables::TurnRow| {
        let turn = &row.turn;
        (turn.occurred_at.map(second), turn.ended_at.map(second), turn.latency_ms.map(u32::from))
    };
    tables.turns.iter().map(of_turn).collect()
}

fn claude(second: u32, kind: &str, message: &str) -> String {
    format!(
        r#"{{"type":"{kind}","sessionId":"s","uuid":"u{second}","timestamp":"2026-10-05T00:00:{second:02}Z","message":{message}}}"#
    )
}

fn line_of_response(second: u32, id: &str, block: &str) -> String {
    let message =
        format!(r#"{{"id":"{id}","model":"m","content":[{block}],"usage":{{"input_tokens":1,"output_tokens":5}}}}"#);
    claude(second, "assistant", &message)
}

const TEXT: &str = r#"{"type":"text","text":"well"}"#;
const CALL: &str = r#"{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}"#;

/// The lines of a response of Claude Code are written while it streams; so the first one is not its end. A copy that was cut has an
/// earlier end, and a copy of another session may lack the prompt.
#[test]
fn a_response_ends_with_its_last_line() {
    let log = [
        claude(0, "user", r#"{"role":"user","content":"Go."}"#),
        line_of_response(10, "msg_1", TEXT),
        line_of_response(40, "msg_1", CALL),
        claude(
            41,
            "user",
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}"#,
        ),
        line_of_response(50, "msg_2", TEXT),
    ];
    let expected = [(Some(10), Some(40), Some(40_000)), (Some(50), Some(50), Some(9000))];
    let whole = log.join("\n");
    assert_eq!(ends(&tables(&[&whole])), expected);
    let cut = log[..2].join("\n");
    let without_prompt = log[1..].join("\n");
    for logs in [[&whole, &cut], [&cut, &whole], [&without_prompt, &cut], [&cut, &without_prompt]] {
        assert_eq!(ends(&tables(&logs)), expected);
    }
    // A copy in a fork that has other times.
    let later = whole.replace("2026-10-05T00:00", "2026-10-05T00:30");
    for logs in [[&whole, &later], [&later, &whole]] {
        assert_eq!(ends(&tables(&logs)), expected);
    }
    // A later copy in the same file, before the first one.
    let again = [&line_of_response(50, "msg_1", TEXT), &whole].map(String::as_str).join("\n");
    assert_eq!(ends(&tables(&[again]))[0].0, Some(10));
}

/// Codex counts a response when its calls have ended.
#[test]
fn a_response_ends_before_its_count() {
    let record = |second: u32, kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-10-05T00:00:{second:02}.000Z","type":"{kind}","payload":{payload}}}"#)
    };
    let item = |second, payload| record(second, "response_item", payload);
    let count = |second, total: u32| {
        let usage = format!(r#"{{"input_tokens":{total},"output_tokens":0,"total_tokens":{total}}}"#);
        record(second, "event_msg", &format!(r#"{{"type":"token_count","info":{{"total_token_usage":{usage}}}}}"#))
    };
    let log = [
        record(0, "session_meta", r#"{"id":"t"}"#),
        item(1, r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Go."}]}"#),
        item(5, r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}"#),
        item(6, r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c2"}"#),
        item(20, r#"{"type":"function_call_output","call_id":"c1","output":"x"}"#),
        item(21, r#"{"type":"function_call_output","call_id":"c2","output":"x"}"#),
        count(22, 10),
        item(30, r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}"#),
        count(31, 20),
    ];
    let expected = [(Some(22), Some(6), Some(5000)), (Some(31), Some(30), Some(9000))];
    assert_eq!(ends(&tables(&[log.join("\n")])), expected);
}

/// Copilot writes a long response in several messages.
#[test]
fn a_response_ends_with_its_last_message() {
    let event = |kind: &str, second: u32, data: &str| {
        format!(
            r#"{{"type":"{kind}","data":{data},"id":"e{second}","timestamp":"2026-10-05T00:00:{second:02}Z","parentId":null}}"#
        )
    };
    let message = |second: u32| {
        let data = format!(r#"{{"messageId":"m{second}","apiCallId":"a","model":"m","content":"x","outputTokens":9}}"#);
        event("assistant.message", second, &data)
    };
    let log = [event("session.start", 0, r#"{"sessionId":"s"}"#), message(4), message(7)];
    assert_eq!(ends(&tables(&[log.join("\n")])), [(Some(4), Some(7), None)]);
}
