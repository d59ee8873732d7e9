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

/// The tool itself adds to the output that it stopped the command, which then has no exit code.
#[test]
fn a_command_that_was_stopped_is_no_success() {
    const TIMEOUT: &str =
        "\n\n<bash_metadata>\nbash tool terminated command after exceeding timeout 120000 ms\n</bash_metadata>";
    const LONGER: &str = "\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 120000 ms. If this command is \
        expected to take longer and is not waiting for interactive input, retry with a larger timeout value in milliseconds.\n\
        </shell_metadata>";
    const ABORT: &str = "x\n\n<bash_metadata>\nUser aborted the command\n</bash_metadata>";
    for (output, status) in [
        (TIMEOUT.to_owned(), CallStatus::Cancelled),
        (format!("ok{LONGER}"), CallStatus::Cancelled),
        (ABORT.to_owned(), CallStatus::Cancelled),
        // The command printed it.
        (format!("{TIMEOUT}\nok"), CallStatus::Ok),
    ] {
        let mut part = part("completed", &Value::Null);
        part["state"]["output"] = output.as_str().into();
        for (format, log) in logs(&part).into_iter().take(4) {
            let call = &session("", format, &log).tool_calls[0];
            assert_eq!((call.status, call.exit_code.get()), (status, None), "{format} {output}");
        }
    }
}

/// A part that ended with an error.
fn failed(error: &str) -> Value {
    let mut part = part("error", &Value::Null);
    part["state"]["error"] = error.into();
    part["state"].as_object_mut().unwrap().remove("output");
    part
}

#[test]
fn texts_state_why_a_call_has_no_result() {
    for (error, status) in [
        ("Tool execution aborted", CallStatus::Cancelled),
        ("The user declined this tool call", CallStatus::Denied),
        ("Error: The user dismissed this question", CallStatus::Denied),
        ("Error: Tool execution aborted by the server", CallStatus::Error),
    ] {
        for (format, log) in logs(&failed(error)).into_iter().take(4) {
            assert_eq!(session("", format, &log).tool_calls[0].status, status, "{format} {error}");
        }
    }
}

/// The runtime replaces a call whose arguments are invalid by a tool that always completes.
#[test]
fn an_invalid_call_is_an_error_of_its_tool() {
    let mut invalid = part("completed", &Value::Null);
    invalid["tool"] = "invalid".into();
    invalid["state"]["input"] = json!({"tool": "edit", "error": "expected a string"});
    for (format, log) in logs(&invalid).into_iter().take(4) {
        let call = &session("", format, &log).tool_calls[0];
        let found = (call.tool.as_ref(), call.category.as_ref(), call.status);
        assert_eq!(found, ("edit", "edit", CallStatus::Error), "{format}");
    }
}

/// If the context is full, the last prompt is written again after the compaction.
#[test]
fn a_prompt_that_is_written_again_was_not_typed_twice() {
    let mut number = 0;
    let mut message = |role: &str, parts: Value, more: Value| {
        number += 1;
        let time = 1_790_000_000_000_i64 + number * 1000;
        let mut info =
            json!({"id": format!("msg_{number}"), "role": role, "time": {"created": time, "completed": time + 500}});
        info.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"info": info, "parts": parts})
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let picture = json!({"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:x"});
    let tokens = json!({"tokens": {"input": 5, "output": 3, "reasoning": 0, "cache": {"read": 0, "write": 0}}, "finish": "stop"});
    let overflow = json!({"error": {"name": "ContextOverflowError", "data": {"message": "too long"}}});
    let (summary, mut failed) = (json!({"summary": true, "finish": "stop"}), overflow.clone());
    failed["summary"] = true.into();
    let mut count = |request: Value, summary: &Value, again: Value| {
        let messages = [
            message("user", json!([text("First")]), json!({})),
            message("assistant", json!([text("ok")]), tokens.clone()),
            message("user", json!([text("Second"), picture]), json!({})),
            message("assistant", json!([]), overflow.clone()),
            message("user", json!([request]), json!({})),
            message("assistant", json!([text("Summary")]), summary.clone()),
            message("user", again, json!({})),
            message("assistant", json!([text("done")]), tokens.clone()),
        ];
        let info = json!({"id": "ses_1", "version": "1.18.0", "directory": "/work", "time": {"created": 1_790_000_000_000_i64}});
        let log = json!({"info": info, "messages": messages}).to_string();
        session("", "opencode-export", &log).prompts.len()
    };
    let full = json!({"type": "compaction", "auto": true, "overflow": true});
    let copy = json!([text("Second"), text("[Attached image/png: a.png]")]);
    assert_eq!(count(full.clone(), &summary, copy.clone()), 2);
    assert_eq!(count(full.clone(), &summary, json!([text("Third")])), 3);
    assert_eq!(count(json!({"type": "compaction", "auto": true}), &summary, copy.clone()), 3);
    // Without a summary it is not written again.
    assert_eq!(count(full, &failed, copy), 3);
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

/// Kilo Code adds the cost of subagents to that of the message, and names the model to which its router sent the request in the step.
#[test]
fn the_step_has_the_own_cost_and_the_model() {
    let tokens = json!({"input": 100, "output": 20, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    let message = |step: Value| {
        let info = json!({"id": "msg_1", "role": "assistant", "time": {"created": 1_790_000_000_000_i64}, "providerID": "kilo",
            "modelID": "kilo-auto/balanced", "cost": 0.1, "tokens": tokens, "finish": "stop"});
        let info_of_session = json!({"id": "ses_1", "version": "7.8.1", "directory": "/work", "time": {"created": 1_790_000_000_000_i64}});
        json!({"info": info_of_session, "messages": [{"info": info, "parts": [{"type": "step-start"}, step]}]})
            .to_string()
    };
    let step = json!({"type": "step-finish", "reason": "stop", "cost": 0.02, "tokens": tokens});
    let mut routed = step.clone();
    routed["model"] = json!({"providerID": "kilo", "modelID": "anthropic/claude-sonnet-4.5"});
    for (path, step, model, cost) in [
        ("/home/u/.local/share/kilo/export.json", step.clone(), "kilo-auto/balanced", 0.02),
        ("", routed, "anthropic/claude-sonnet-4.5", 0.02),
        ("", step, "kilo-auto/balanced", 0.1),
    ] {
        let session = session(path, "opencode-export", &message(step));
        let turn = &session.turns[0];
        assert_eq!((turn.model.as_deref(), turn.provider.as_deref()), (Some(model), Some("kilo")), "{path}");
        assert_eq!(turn.cost.as_deref().map(|cost| cost.total), Some(cost), "{path}");
    }
}

/// An answer whose counts are all 0 is a response. Messages of started agents end with calls, and those of shell commands without a reason.
#[test]
fn an_answer_without_counts_is_a_response() {
    let turns = |finish: &str| {
        let tokens = r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;
        let answer = format!(
            r#"{{"info":{{"id":"m","sessionID":"ses_1","role":"assistant","modelID":"m","providerID":"p","finish":"{finish}","time":{{"created":1767036059000,"completed":1767036059500}},"cost":0,"tokens":{tokens}}},"parts":[{{"id":"t","messageID":"m","type":"text","text":"Done."}}]}}"#
        );
        let log = format!(
            r#"{{"info":{{"id":"ses_1","version":"1.3.7","directory":"/w","time":{{"created":1767036059000}}}},"messages":[{answer}]}}"#
        );
        let session = super::sessions(&log).swap_remove(0);
        session.turns.iter().map(|turn| turn.tokens.get().total()).collect::<Vec<_>>()
    };
    assert_eq!((turns("stop"), turns("tool-calls"), turns("")), (vec![None], vec![], vec![]));
}
