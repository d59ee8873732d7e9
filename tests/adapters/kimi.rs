//! What the tables contain of Kimi's wire files.

use super::tables;

/// A prompt that was stopped before its first step has no response: it is no turn.
#[test]
fn a_prompt_without_a_step_is_no_turn() {
    let record = |second: u32, kind: &str, payload: &str| {
        format!(r#"{{"timestamp":{second},"message":{{"type":"{kind}","payload":{payload}}}}}"#)
    };
    let usage = r#"{"message_id":"m1","token_usage":{"input_other":7,"output":1}}"#;
    let log = [
        r#"{"type":"metadata","protocol_version":"1.3"}"#.to_owned(),
        record(1_790_000_001, "TurnBegin", r#"{"user_input":"Stop."}"#),
        record(1_790_000_002, "TurnBegin", r#"{"user_input":"Go."}"#),
        record(1_790_000_003, "StepBegin", "{}"),
        record(1_790_000_004, "StatusUpdate", usage),
        record(1_790_000_005, "TurnEnd", "{}"),
    ];
    let tables = tables(&[log.join("\n")]);
    let session = &tables.sessions[0];
    assert_eq!((session.turns, session.user_turns, session.tokens.input), (Some(1), Some(2), Some(7)));
}
