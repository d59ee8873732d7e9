//! What OpenCode's four formats have in common.

use agentlogs::model::session::{CallStatus, SessionResult};
use serde_json::{Value, json};

use super::sessions_at;

/// The part of a shell call that ended with this state.
fn part(state: &str, exit: &Value) -> Value {
    let mut state = json!({
        "status": state, "input": {"command": "make test"}, "output": "x", "time": {"start": 1_790_000_001_000_i64, "end": 1_790_000_002_000_i64},
    });
    if !exit.is_null() {
        state["metadata"] = json!({"exit": exit, "output": "x"});
    }
    json!({"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "tool", "callID": "c1", "tool": "bash", "state": state})
}

/// A log of each of the four formats, with one call; the last is a database since 2.0.
fn logs(part: &Value) -> [(&'static str, String); 5] {
    let message =
        json!({"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1_790_000_000_000_i64}});
    let info =
        json!({"id": "ses_1", "version": "1.4.0", "directory": "/work", "time": {"created": 1_790_000_000_000_i64}});
    let run = json!({"type": "tool_use", "timestamp": 1_790_000_002_000_i64, "sessionID": "ses_1", "part": part});
    let export = json!({"info": info, "messages": [{"info": message, "parts": [part]}]});
    let row = json!({"table": "part", "id": "prt_1", "session_id": "ses_1", "message_id": "msg_1", "data": part});
    [
        ("opencode-run", run.to_string()),
        ("opencode-export", export.to_string()),
        ("opencode-storage", part.to_string()),
        ("opencode-db", row.to_string()),
        ("opencode-db", row_since_2(part).to_string()),
    ]
}

/// The row of a message since 2.0, which contains its parts.
fn row_since_2(part: &Value) -> Value {
    let state = &part["state"];
    let mut new =
        json!({"status": state["status"], "input": state["input"], "content": [{"type": "text", "text": "x"}]});
    if let Some(metadata) = state.get("metadata") {
        new["structured"] = metadata.clone();
    }
    let call =
        json!({"type": "tool", "id": "c1", "name": "bash", "state": new, "time": {"created": 1_790_000_001_000_i64}});
    let data = json!({"time": {"created": 1_790_000_000_000_i64}, "content": [call]});
    json!({"table": "session_message", "id": "msg_1", "session_id": "ses_1", "type": "assistant", "seq": 1, "data": data})
}

fn session(path: &str, format: &str, log: &str) -> SessionResult {
    let session = sessions_at(path, log).swap_remove(0);
    assert_eq!(session.format, format);
    session
}

/// The tool did its work although the command failed: its own state is `completed`.
#[test]
fn a_command_that_failed_is_an_error() {
    for (state, exit, status) in [
        ("completed", json!(0), CallStatus::Ok),
        ("completed", json!(1), CallStatus::Error),
        ("completed", json!(127), CallStatus::Error),
        ("completed", Value::Null, CallStatus::Ok),
        ("error", json!(0), CallStatus::Error),
        ("error", Value::Null, CallStatus::Error),
        ("running", Value::Null, CallStatus::Incomplete),
    ] {
        for (format, log) in logs(&part(state, &exit)) {
            let call = &session("", format, &log).tool_calls[0];
            assert_eq!((call.status, call.exit_code.get()), (status, exit.as_i64()), "{format} {state} {exit}");
        }
    }
}

/// Kilo Code is a fork: only the path distinguishes its logs.
#[test]
fn the_path_names_the_fork() {
    for (path, runtime) in [
        ("/home/u/.local/share/kilo/kilo.db", "kilo"),
        ("/home/u/.local/share/kilo/opencode-dev.db", "kilo"),
        ("/home/u/.local/share/kilo/storage/part/msg_1/prt_1.json", "kilo"),
        ("/backup/kilo-dev.db", "kilo"),
        ("/home/u/.local/share/opencode/opencode.db", "opencode"),
        ("/home/kilo/.local/share/opencode/opencode.db", "opencode"),
        ("/home/u/.local/share/opencode/opencode-dev.db", "opencode"),
        ("/home/u/kilometres/log.json", "opencode"),
        ("", "opencode"),
    ] {
        for (format, log) in logs(&part("completed", &json!(0))) {
            assert_eq!(session(path, format, &log).runtime, runtime, "{format} {path}");
        }
    }
}
