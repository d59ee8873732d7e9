//! Sessions of Continue that were copied, with the index that states when each was created.

use agentlogs::model::session::{CallStatus, SessionResult};
use agentlogs::model::source::Source;
use agentlogs::model::tables::{SessionRow, Tables};
use serde_json::{Value, json};

use super::sessions_at;
use crate::reconciled;

/// Sessions by when they were created.
const FIRST: &str = "b0000000-0000-4000-8000-000000000001";
const SECOND: &str = "a0000000-0000-4000-8000-000000000002";
const THIRD: &str = "90000000-0000-4000-8000-000000000003";

fn source(name: &str, document: &Value) -> Source {
    let path = format!("/home/u/.continue/sessions/{name}.json");
    let sessions: Vec<SessionResult> = sessions_at(&path, &document.to_string());
    Source { sessions, path, ..Source::default() }
}

/// A session of questions and answers. Of `cn`, each answer has a prompt of 1000 tokens times its number; the sums are those of the
/// answers after the first `copied` ones.
fn session(id: &str, answers: i64, copied: Option<i64>) -> Source {
    let usage = |number: i64| json!({"prompt_tokens": 1000 * number, "completion_tokens": 10 * number, "total_tokens": 1010 * number, "model": "gpt-5"});
    let message = |number: i64| {
        let mut answer = json!({"role": "assistant", "content": format!("a{number}")});
        if copied.is_some() {
            answer["usage"] = usage(number);
        }
        let prompt = json!({"role": "user", "content": format!("q{number}")});
        [prompt, answer].map(|message| json!({"message": message, "contextItems": []}))
    };
    let history: Vec<Value> = (1..=answers).flat_map(message).collect();
    let mut document = json!({"sessionId": id, "title": "t", "workspaceDirectory": "/work", "history": history});
    if let Some(copied) = copied {
        let sum: i64 = (copied + 1..=answers).sum();
        document["usage"] = json!({"totalCost": 0, "promptTokens": 1000 * sum, "completionTokens": 10 * sum});
    }
    source(id, &document)
}

fn index() -> Source {
    let entry = |id: &str, time: &str| json!({"sessionId": id, "title": "t", "dateCreated": time, "workspaceDirectory": "/work"});
    let entries = [entry(FIRST, "1790850000000"), entry(SECOND, "1790853600000"), entry(THIRD, "1790857200000")];
    source("sessions", &json!(entries))
}

fn row<'a>(tables: &'a Tables, id: &str) -> &'a SessionRow {
    tables.sessions.iter().find(|row| row.session.session_id == id).unwrap()
}

/// Turns, prompts, tokens and how far these can be trusted, and the parent.
fn facts<'a>(tables: &'a Tables, id: &str) -> (Option<i64>, Option<i64>, Option<i64>, &'static str, Option<&'a str>) {
    let row = row(tables, id);
    let parent = row.session.parent_session_id.as_deref();
    (row.turns, row.user_turns, row.tokens.total(), row.usage.as_str(), parent)
}

/// The ids are random, so that the smaller one may be that of the copy.
#[test]
fn the_session_that_was_created_first_has_the_answers() {
    let logs = || vec![session(FIRST, 2, Some(0)), session(SECOND, 3, Some(2)), index()];
    for is_reversed in [false, true] {
        let mut logs = logs();
        if is_reversed {
            logs.reverse();
        }
        let tables = reconciled(logs);
        assert_eq!(facts(&tables, FIRST), (Some(2), Some(2), Some(3030), "exact", None));
        assert_eq!(facts(&tables, SECOND), (Some(1), Some(1), Some(3030), "exact", Some(FIRST)));
    }
}

/// Without the index the smaller id decides. A total that is exactly the sum of its answers contains those of the other session.
#[test]
fn a_total_does_not_count_answers_of_another_session() {
    let tables = reconciled(vec![session(FIRST, 2, Some(0)), session(SECOND, 3, Some(2))]);
    assert!(tables.sessions.iter().all(|row| row.session.session_id == SECOND));
    assert_eq!(row(&tables, SECOND).tokens.total(), Some(6060));
    // The total of the copy began at 0.
    let tables = reconciled(vec![session(SECOND, 2, Some(0)), session(FIRST, 3, Some(2))]);
    assert_eq!(facts(&tables, SECOND), (Some(2), Some(2), Some(3030), "exact", None));
    // Which of them is older is unknown, so that none is the parent.
    assert_eq!(facts(&tables, FIRST), (Some(1), Some(1), Some(3030), "exact", None));
}

/// Answers of the editor have no counts.
#[test]
fn a_copy_counts_only_its_own_answers_without_counts() {
    let logs = vec![session(FIRST, 1, None), session(SECOND, 2, None), session(THIRD, 4, None), index()];
    let tables = reconciled(logs);
    assert_eq!(facts(&tables, FIRST), (Some(1), Some(1), None, "unknown", None));
    assert_eq!(facts(&tables, SECOND), (Some(1), Some(1), None, "unknown", Some(FIRST)));
    assert_eq!(facts(&tables, THIRD), (Some(2), Some(2), None, "unknown", Some(SECOND)));
    // The index keeps a session without answers of its own.
    let logs = vec![session(FIRST, 2, None), session(SECOND, 2, None), index()];
    assert_eq!(facts(&reconciled(logs), SECOND), (Some(0), Some(0), None, "unknown", Some(FIRST)));
    // Without the index the smallest id has them, which is that of the longest one: the others are its beginnings.
    let tables = reconciled(vec![session(FIRST, 1, None), session(SECOND, 2, None), session(THIRD, 4, None)]);
    assert_eq!(tables.sessions.len(), 1);
    assert_eq!(facts(&tables, THIRD), (Some(4), Some(4), None, "unknown", None));
}

/// The tool did its work although the command failed: the state of the call is `done`.
#[test]
fn a_command_that_failed_is_an_error() {
    for (status, expected, exit_code) in [
        (json!("Command completed"), CallStatus::Ok, Some(0)),
        (json!("Command failed with exit code 1"), CallStatus::Error, Some(1)),
        (json!("Command failed with: spawn ENOENT"), CallStatus::Error, None),
        (json!("Command is running in the background..."), CallStatus::Ok, None),
        (Value::Null, CallStatus::Ok, None),
    ] {
        let function = json!({"name": "run_terminal_command", "arguments": "{\"command\":\"make test\"}"});
        let call = json!({"id": "c1", "type": "function", "function": function});
        let output = json!([{"name": "Terminal", "description": "x", "content": "x", "status": status}]);
        let state = json!({"toolCallId": "c1", "toolCall": call, "status": "done", "output": output});
        let answer = json!({"role": "assistant", "content": "", "toolCalls": [call]});
        let history = json!([
            {"message": {"role": "user", "content": "Go."}, "contextItems": []},
            {"message": answer, "contextItems": [], "toolCallStates": [state]},
        ]);
        let document = json!({"sessionId": FIRST, "title": "t", "workspaceDirectory": "/work", "history": history});
        let call = &source(FIRST, &document).sessions[0].tool_calls[0];
        assert_eq!((call.status, call.exit_code.get()), (expected, exit_code), "{status}");
    }
}
