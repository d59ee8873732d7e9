//! Programs that write the records of Claude Code's stream.

use super::tables;

/// The input of Qwen Code includes what was read from the cache, and its totals include its subagents.
#[test]
fn qwen_code_and_amp_have_sessions_of_their_own() {
    let line = |session: &str, id: &str, usage: &str| {
        format!(
            r#"{{"type":"assistant","session_id":"{session}","parent_tool_use_id":null,"uuid":"u{id}","message":{{"id":"{id}","model":"m","content":[],"usage":{usage}}}}}"#
        )
    };
    let init =
        r#"{"type":"system","subtype":"init","session_id":"q","uuid":"q","tools":[],"qwen_code_version":"0.14.2"}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"q","num_turns":2,"usage":{"input_tokens":250,"output_tokens":20,"cache_read_input_tokens":80}}"#;
    let usage = r#"{"input_tokens":120,"output_tokens":10,"cache_read_input_tokens":80}"#;
    let qwen = [init.to_owned(), line("q", "1", usage), result.to_owned()].join("\n");
    let amp = line("T-1", "2", usage);
    let tables = tables(&[qwen, amp]);
    let found: Vec<_> = tables
        .sessions
        .iter()
        .map(|row| {
            let version = row.session.runtime_version.as_deref();
            (&*row.session.runtime, version, row.tokens.input, row.tokens.cache_read)
        })
        .collect();
    assert_eq!(found, [("amp", None, Some(120), Some(80)), ("qwen", Some("0.14.2"), Some(170), Some(80))]);
}

/// The messages and counts of a managed session are in other files, so that its records are unknown, and not those of Claude Code.
#[test]
fn managed_sessions_of_qwen_code_are_unknown() {
    let record = |number: u32, rest: &str| {
        format!(
            r#"{{"uuid":"u{number}","parentUuid":null,"sessionId":"q1","timestamp":"2026-10-01T10:00:0{number}.000Z","type":"system",{rest},"cwd":"/w","version":"0.24.7"}}"#
        )
    };
    let managed = |number, kind: &str, more: &str| {
        record(number, &format!(r#""subtype":"managed_session_{kind}_v1","managedSession":{{{more}}}"#))
    };
    let log = [
        record(1, r#""subtype":"session_execution_engine","systemPayload":{"engine":"managed"}"#),
        managed(2, "header", r#""formatVersion":1,"engine":"managed""#),
        managed(
            3,
            "event",
            r#""kind":"message.committed","payload":{"role":"assistant","contentRef":{"resourceId":"c"}}"#,
        ),
        managed(4, "commit", r#""operation":"commitMessage","eventCount":1"#),
    ]
    .join("\n");
    let parsed = super::parse(log.as_bytes());
    let sessions: Vec<_> = parsed.sessions.iter().map(|it| (&*it.format, &*it.runtime)).collect();
    assert_eq!(sessions, [("qwen-chat", "qwen")]);
    let unknown: Vec<_> = parsed.health.unknown_types.iter().map(|it| (it.name.as_str(), it.records)).collect();
    assert_eq!(
        unknown,
        [
            ("system/managed_session_header_v1", 1),
            ("system/managed_session_event_v1/message.committed/assistant", 1),
            ("system/managed_session_commit_v1", 1)
        ]
    );
}
