//! What the tables contain of sessions of Cline's SDK, which have several files.

use agentlogs::model::session::{CallStatus, Operation, Status};
use serde_json::{Value, json};

use super::tables;

fn messages(agent: &str, messages: &[Value]) -> String {
    let document = json!({
        "version": 1, "updated_at": "2026-10-19T09:05:00.000Z", "agent": agent, "sessionId": "s1", "messages": messages,
    });
    document.to_string()
}

fn answer(id: &str, input: i64, output: i64) -> Value {
    json!({
        "id": id, "role": "assistant", "ts": 1_792_400_404_000_i64, "content": [{"type": "text", "text": "Done."}],
        "modelInfo": {"id": "claude-sonnet-5", "provider": "anthropic"},
        "metrics": {"inputTokens": input, "outputTokens": output, "cacheReadTokens": 100, "cacheWriteTokens": 20, "cost": 0.5},
    })
}

fn manifest(status: &str) -> String {
    // Only a session that ended has this time.
    let ended_at = (status != "idle").then_some("2026-10-19T09:10:00.000Z");
    let manifest = json!({
        "version": 1, "session_id": "s1", "source": "cli", "pid": 7, "started_at": "2026-10-19T09:00:00.000Z",
        "ended_at": ended_at, "status": status, "interactive": false, "provider": "anthropic", "model": "claude-sonnet-5",
        "cwd": "/w", "workspace_root": "/w", "enable_tools": true, "enable_spawn": true, "enable_teams": false,
    });
    manifest.to_string()
}

/// The files of a session are one session: input excludes both caches, and a subagent's responses are a part of it.
#[test]
fn the_files_of_a_session_are_joined() {
    let user = json!({"id": "m0", "role": "user", "content": [{"type": "text", "text": "Go."}]});
    let lead = messages("lead", &[user.clone(), answer("m1", 130, 9)]);
    let agent = messages("subagent", &[user, answer("m2", 121, 3)]);
    for files in [[lead.clone(), agent.clone(), manifest("completed")], [manifest("completed"), agent, lead.clone()]] {
        let tables = tables(&files);
        let [session] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
        assert_eq!((session.turns, session.user_turns), (Some(2), Some(1)));
        assert_eq!((session.tokens.input, session.tokens.output), (Some(11), Some(12)));
        assert_eq!((session.session.cwd.as_deref(), session.session.status), (Some("/w"), Status::Success));
        assert_eq!(tables.turns.iter().filter(|row| row.turn.is_subagent).count(), 1);
    }
    let grown = messages("lead", &[answer("m1", 130, 9), answer("m3", 125, 1)]);
    assert_eq!(tables(&[lead, grown]).sessions[0].turns, Some(2));
}

#[test]
fn the_manifest_states_how_a_session_ended() {
    let lead = messages("lead", &[answer("m1", 130, 9)]);
    let status = |word: &str| tables(&[lead.clone(), manifest(word)]).sessions[0].session.status;
    assert_eq!([status("failed"), status("cancelled")], [Status::Error, Status::Aborted]);
    // The session waits for a prompt: the last answer decides.
    assert_eq!(status("idle"), Status::Success);
}

/// What the contract does not describe is not read.
#[test]
fn another_version_is_unknown() {
    let next = messages("lead", &[answer("m1", 130, 9)]).replace("\"version\":1", "\"version\":2");
    assert!(super::sessions(&next).is_empty());
}

/// A request with one call, and the message with its result.
fn call(id: &str, tool: &str, input: &Value, result: &Value) -> [Value; 2] {
    let mut request = answer(&format!("m-{id}"), 130, 9);
    request["content"] = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
    let result = json!([{"type": "tool_result", "tool_use_id": id, "name": tool, "content": result}]);
    [request, json!({"id": format!("r-{id}"), "role": "user", "ts": 1_792_400_405_000_i64, "content": result})]
}

/// The tools catch the errors of what they do: `is_error` is only set if a tool itself failed.
#[test]
fn a_call_failed_if_a_part_of_it_did() {
    let error =
        json!({"query": "npm test", "result": "1 failing", "error": "Command exited with code 1", "success": false});
    let listed = json!({"query": "ls", "result": "cart.ts", "success": true});
    let result = |result: &Value| Value::from(result.to_string());
    let edited = result(&json!({"query": "edit:/w/cart.ts", "result": "Edited", "success": true}));
    let refused =
        result(&json!({"query": "edit:/w/cart.ts", "result": "", "error": "No replacement", "success": false}));
    let edit = |old: &str| json!({"path": "/w/cart.ts", "old_text": old, "new_text": "b\nc"});
    let read = json!([{"query": "/w/cart.ts", "result": "1 | a", "success": true}]);
    let calls = [
        call("t1", "run_commands", &json!({"commands": ["ls", "npm test"]}), &json!([listed, error])),
        call("t2", "editor", &edit("x"), &refused),
        call("t3", "editor", &edit("a"), &edited),
        call("t4", "editor", &json!({"path": "/w/new.ts", "new_text": "a\n"}), &edited),
        call("t5", "editor", &json!({"path": "/w/cart.ts", "new_text": "a\nb\n", "insert_line": 1}), &edited),
        call("t6", "read_files", &json!({"files": [{"path": "/w/cart.ts"}, {"path": "/w/b.ts"}]}), &read),
        call("t7", "fetch_web_content", &json!({"requests": [{"url": "https://example.com/a", "prompt": "p"}]}), &read),
    ];
    let log = messages("lead", &calls.concat());
    let session = super::sessions(&log).swap_remove(0);
    let found: Vec<_> =
        session.tool_calls.iter().map(|it| (it.category.as_str(), it.status, it.target.as_deref())).collect();
    assert_eq!(
        found,
        [
            ("shell", CallStatus::Error, Some("ls")),
            ("edit", CallStatus::Error, Some("/w/cart.ts")),
            ("edit", CallStatus::Ok, Some("/w/cart.ts")),
            ("write", CallStatus::Ok, Some("/w/new.ts")),
            ("edit", CallStatus::Ok, Some("/w/cart.ts")),
            ("read", CallStatus::Ok, Some("/w/cart.ts")),
            ("web", CallStatus::Ok, Some("example.com")),
        ]
    );
    assert_eq!(session.tool_calls[0].exit_code.get(), Some(1));
    let changes = session.file_changes.iter();
    let changes: Vec<_> =
        changes.map(|it| (it.path.as_str(), it.operation, it.lines_added, it.lines_removed)).collect();
    let (update, create) = (Some(Operation::Update), Some(Operation::Create));
    assert_eq!(
        changes,
        [
            ("/w/cart.ts", update, Some(2), Some(1)),
            ("/w/new.ts", create, Some(1), Some(0)),
            ("/w/cart.ts", update, Some(2), Some(0)),
        ]
    );
}

/// Cline writes notices, summaries and requests to go on in the name of the user.
#[test]
fn what_the_program_writes_is_no_prompt() {
    let user = |id: &str, kind: Value, text: &str| json!({"id": id, "role": "user", "metadata": {"kind": kind}, "content": [{"type": "text", "text": text}]});
    let log = messages(
        "lead",
        &[
            user("m0", json!("compaction_summary"), "The cart was read."),
            user("m1", Value::Null, "<user_input mode=\"act\">Fix the test.</user_input>"),
            answer("m2", 130, 9),
            user("m3", json!("loop_detection_notice"), "You repeat yourself."),
            answer("m4", 131, 9),
            user("m5", Value::Null, "[TASK RESUMPTION] Please continue where you left off."),
            answer("m6", 132, 9),
        ],
    );
    let session = super::sessions(&log).swap_remove(0);
    assert_eq!((session.prompts.len(), session.prompt.as_deref()), (1, Some("Fix the test.")));
    assert_eq!((session.turns.len(), session.status), (3, Status::Success));
}
