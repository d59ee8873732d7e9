//! zag's logs and recorded stdout.

use agentlogs::model::session::Status;
use agentlogs::model::tables::Usage;

use super::tables;

/// The usage of the whole is the main agent's: the counts in a subagent's lines are incomplete.
#[test]
fn a_total_without_subagents_is_a_lower_bound() {
    let usage = r#""usage":{"input_tokens":3,"output_tokens":1}"#;
    let message = |parent: &str| {
        format!(
            r#"{{"type":"assistant_message","content":[{{"type":"text","text":"a"}}],"parent_tool_use_id":{parent},{usage}}}"#
        )
    };
    let bound = |events: &[String]| {
        let whole = r#""usage":{"input_tokens":3,"output_tokens":50}"#;
        let log = format!(
            r#"{{"agent":"claude","session_id":"p","events":[{}],"is_error":false,{whole}}}"#,
            events.join(",")
        );
        tables(&[log]).sessions[0].usage
    };
    assert_eq!(bound(&[message("null")]), Usage::Exact);
    assert_eq!(bound(&[message("null"), message(r#""toolu_1""#)]), Usage::LowerBound);
}

/// Tokens that the provider's own log contains are counted there.
#[test]
fn the_session_of_the_provider_keeps_the_tokens() {
    let outer = r#"{"seq":1,"ts":"2026-10-05T10:00:00Z","provider":"claude","wrapper_session_id":"w","provider_session_id":"p","source_kind":"wrapper","#;
    let outer = [
        r#""type":"session_started","command":"exec""#,
        r#""type":"tool_call","tool_name":"Bash","tool_id":"toolu_1","input":{"command":"ls"}"#,
        r#""type":"usage","input_tokens":10,"output_tokens":2,"total_cost_usd":0.5"#,
        r#""type":"session_ended","success":false,"error":"usage limit reached""#,
    ]
    .map(|it| format!("{outer}{it}}}"))
    .join("\n");
    let inner = r#"{"type":"assistant","sessionId":"p","uuid":"u","timestamp":"2026-10-05T10:00:01Z","message":{"id":"msg_1","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":2}}}"#;
    let alone = tables(&[&*outer]);
    assert_eq!((alone.sessions[0].tokens.total(), alone.sessions[0].money.cost), (Some(12), Some(0.5)));
    let both = tables(&[&*outer, inner]);
    let [inner, outer] = both.sessions.as_slice() else { panic!("{:?}", both.sessions) };
    assert_eq!((inner.tokens.total(), inner.tool_calls), (Some(12), Some(1)));
    assert_eq!((outer.tokens.total(), outer.money.cost, outer.tool_calls, outer.turns), (None, None, None, None));
    assert_eq!((outer.session.status, outer.usage), (Status::Error, Usage::Unknown));
    assert_eq!((both.turns.len(), both.tool_calls.len()), (1, 1));
}
