//! What the tables contain of sessions of Cline's SDK, which have several files.

use agentlogs::model::session::Status;
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
