//! What the tables contain of Crush's database.

use agentlogs::model::session::{CallStatus, Status};
use serde_json::{Value, json};

use super::tables;

/// Commands that the user gives to the shell (`!ls`) are messages with the user's role.
#[test]
fn shell_commands_of_the_user_are_no_prompts() {
    let message = |id: &str, role: &str, second: u32, part: Value| {
        let finish =
            json!({"type": "finish", "data": {"reason": if role == "user" { "stop" } else { "end_turn" }, "time": 0}});
        json!({
            "table": "messages", "id": id, "session_id": "s1", "role": role, "parts": [part, finish],
            "created_at": 1_791_000_000 + second,
        })
    };
    let text = |text: &str| json!({"type": "text", "data": {"text": text}});
    let image = json!({"type": "binary", "data": {"path": "a.png"}});
    let command = json!({"type": "shell_command", "data": {"command": "ls", "output": "x", "exit_code": 1}});
    let session = json!({
        "table": "sessions", "id": "s1", "message_count": 5, "prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0,
        "created_at": 1_791_000_000,
    });
    let rows = [
        session,
        message("a", "user", 0, command.clone()),
        message("b", "user", 1, text("Fix it.")),
        message("c", "assistant", 2, text("Fixed.")),
        message("d", "user", 3, command),
    ];
    let log = rows.map(|row| row.to_string()).join("\n");
    let tables_of = |log: &str| tables(&[log]).sessions.swap_remove(0);
    let session = tables_of(&log);
    assert_eq!((session.user_turns, session.session.status), (Some(1), Status::Success));
    let session = tables_of(&format!("{log}\n{}", message("e", "user", 4, image)));
    assert_eq!((session.user_turns, session.session.status), (Some(2), Status::Incomplete));
}

/// The texts differ between versions. Hooks refuse calls for the user.
#[test]
fn calls_that_did_not_run_did_not_fail() {
    let status = |text: &str, is_error: bool| {
        let call = json!({"type": "tool_call", "data": {"id": "c1", "name": "bash", "input": "{}", "finished": true}});
        let result = json!({
            "type": "tool_result",
            "data": {"tool_call_id": "c1", "name": "bash", "content": text, "is_error": is_error},
        });
        let message = |id: &str, role: &str, part: Value| {
            json!({
                "table": "messages", "id": id, "session_id": "s1", "role": role, "parts": [part],
                "created_at": 1_791_000_000,
            })
        };
        let log = [message("a", "assistant", call), message("b", "tool", result)].map(|row| row.to_string()).join("\n");
        let tables = tables(&[log]);
        (tables.tool_calls[0].call.status, tables.sessions[0].permission_denials)
    };
    for text in [
        "Permission denied",
        "user denied permission",
        "User denied permission",
        "User cancelled this question",
        "Tool call blocked by hook. Reason: not on main",
        "Turn halted by hook. Reason: not on main",
    ] {
        assert_eq!(status(text, true), (CallStatus::Denied, Some(1)), "{text}");
    }
    for text in ["Tool execution canceled by user", "Error: user cancelled assistant tool calling"] {
        assert_eq!(status(text, true), (CallStatus::Cancelled, Some(0)), "{text}");
    }
    assert_eq!(status("cat: x: Permission denied", true), (CallStatus::Error, Some(0)));
    assert_eq!(status("User denied permission", false), (CallStatus::Ok, Some(0)));
}

/// A row of the table `messages`, with one part and how the message ends.
fn message(id: &str, session: &str, role: &str, part: &Value, reason: &str) -> String {
    let finish = json!({"type": "finish", "data": {"reason": reason, "time": 0}});
    let row = json!({
        "table": "messages", "id": id, "session_id": session, "role": role, "parts": [part, finish],
        "created_at": 1_791_000_000,
    });
    row.to_string()
}

fn call(name: &str) -> Value {
    json!({"type": "tool_call", "data": {"id": "c1", "name": name, "input": "{}", "finished": true}})
}

fn result(text: &str, is_error: bool) -> Value {
    json!({"type": "tool_result", "data": {"tool_call_id": "c1", "content": text, "is_error": is_error}})
}

/// Crush adds the cost of a subagent to that of its parent when the subagent ends without an error.
#[test]
fn the_cost_of_a_subagent_that_failed_is_its_own() {
    let session = |id: &str, parent: Option<&str>, cost: f64| {
        let row = json!({
            "table": "sessions", "id": id, "parent_session_id": parent, "message_count": 2, "prompt_tokens": 0,
            "completion_tokens": 0, "cost": cost, "created_at": 1_791_000_000,
        });
        row.to_string()
    };
    let cost = |result: Option<Value>| -> f64 {
        let mut log = vec![session("s1", None, 0.5), session("a$$c1", Some("s1"), 0.25)];
        log.push(message("a", "s1", "assistant", &call("agent"), "tool_use"));
        log.extend(result.map(|result| message("b", "s1", "tool", &result, "stop")));
        let tables = tables(&[log.join("\n")]);
        tables.turns.iter().filter_map(|row| Some(row.turn.cost.as_deref()?.total)).sum()
    };
    let is_in_parent = |text: &str, is_error: bool| (cost(Some(result(text, is_error))) - 0.5).abs() < 1e-9;
    assert!(is_in_parent("Done.", false));
    assert!(is_in_parent("Failed to generate response is the message that users see.", false));
    assert!(is_in_parent("Sub-agent completed but produced no text output.", true));
    assert!(!is_in_parent("Failed to generate response: 529 overloaded", true));
    assert!(!is_in_parent("error generating response", true));
    assert!(!is_in_parent("Tool execution canceled by user", true));
    assert!((cost(None) - 0.75).abs() < 1e-9, "it was killed");
}

/// Until 2026 the reason of such a message was `permission_denied`.
#[test]
fn a_refusal_that_ends_the_answer_is_an_abort() {
    let status = |reason: &str, text: &str| {
        let call = message("a", "s1", "assistant", &call("bash"), reason);
        let result = message("b", "s1", "tool", &result(text, true), "stop");
        tables(&[format!("{call}\n{result}")]).sessions[0].session.status
    };
    assert_eq!(status("permission_denied", "Permission denied"), Status::Aborted);
    assert_eq!(status("end_turn", "User denied permission"), Status::Aborted);
    assert_eq!(status("end_turn", "no such file"), Status::Incomplete);
    assert_eq!(status("tool_use", "User denied permission"), Status::Incomplete);
}
