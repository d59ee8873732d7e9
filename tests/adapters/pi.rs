//! pi's session files and recorded events.

use agentlogs::model::session::{SessionResult, Status};
use agentlogs::model::tables::CallRow;

use super::{sessions, tables};

/// A message that was requested in one second and logged in another one of the same minute.
fn message(requested: u32, logged: u32, message: &str) -> String {
    format!(
        r#"{{"type":"message","id":"a{logged}","parentId":null,"timestamp":"2026-01-02T03:04:{logged:02}Z","message":{{{message},"timestamp":{}}}}}"#,
        1_767_323_040_000_u64 + u64::from(requested) * 1000
    )
}

fn response(requested: u32, logged: u32, content: &str, stop_reason: &str) -> String {
    let usage = format!(r#"{{"input":{logged},"output":7,"cacheRead":3,"cacheWrite":0}}"#);
    message(
        requested,
        logged,
        &format!(
            r#""role":"assistant","content":[{content}],"provider":"p","model":"m","usage":{usage},"stopReason":"{stop_reason}""#
        ),
    )
}

const CALL: &str = r#"{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"a","content":"x\ny\n"}}"#;

fn result(logged: u32) -> String {
    let content = r#""role":"toolResult","toolCallId":"c1","toolName":"write","content":[],"isError":false"#;
    message(logged, logged, content)
}

/// A recording of the session has no times of its calls: those of the session's own file are used, in whichever order they are read.
#[test]
fn times_of_calls_are_those_of_the_session_s_own_file() {
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/a"}"#;
    let own = [response(1, 9, CALL, "toolUse"), result(11)];
    let event = |record: &String| record.replace(r#""type":"message","#, r#""type":"message_end","#);
    let recording = [&[r#"{"type":"agent_start"}"#.to_owned()][..], &own.each_ref().map(event)].concat();
    let [recording, own] = [&recording[..], &own].map(|records| format!("{header}\n{}", records.join("\n")));
    for logs in [[&recording, &own], [&own, &recording]] {
        let tables = tables(&logs);
        let durations: Vec<_> = tables.tool_calls.iter().map(CallRow::duration_ms).collect();
        assert_eq!(durations, [Some(2000)]);
    }
}

fn read(records: &[String]) -> SessionResult {
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/a"}"#;
    let log = format!("{header}\n{}", records.join("\n"));
    sessions(&log).swap_remove(0)
}

/// The time of a message is that of its request: the calls begin when the response is logged.
#[test]
fn calls_begin_when_the_response_is_logged() {
    let session = read(&[response(1, 9, CALL, "toolUse"), result(11), response(11, 12, "", "stop")]);
    let call = &session.tool_calls[0];
    assert_eq!(call.ended_at.unwrap().since(call.occurred_at.unwrap()), 2000);
    let durations: Vec<_> = session.turns.iter().map(|turn| turn.duration_ms.get()).collect();
    assert_eq!(durations, [Some(8000), Some(1000)]);
    assert_eq!(session.turns[0].occurred_at, call.occurred_at);
    // A write does not contain what it replaced.
    let change = &session.file_changes[0];
    assert_eq!((change.lines_added, change.lines_removed), (Some(2), None));
}

#[test]
fn the_last_response_decides_the_status() {
    let killed = response(1, 2, CALL, "toolUse");
    let aborted = response(1, 2, CALL, "aborted");
    let answer = response(5, 6, "", "stop");
    assert_eq!(read(&[killed.clone(), answer.clone()]).status, Status::Success);
    assert_eq!(read(&[aborted.clone(), answer]).status, Status::Success);
    assert_eq!(read(&[killed]).status, Status::Incomplete);
    assert_eq!(read(&[aborted]).status, Status::Aborted);
}
