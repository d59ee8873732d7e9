//! Cursor's recorded stdout.

use agentlogs::adapters::{self, Hints};
use agentlogs::model::retention::Retention;
use agentlogs::model::session::CallStatus;
use agentlogs::model::source::Source;

use super::{sessions, tables};
use crate::reconciled;

const INIT: &str = r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/work/shop","session_id":"s","model":"Composer 2","permissionMode":"default"}"#;

fn result(second: u32, usage: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","duration_ms":{second}000,"is_error":false,"result":"Done.","session_id":"s","request_id":"r{second}","usage":{usage}}}"#
    )
}

/// Each run has its own counts, also in a resumed session.
#[test]
fn runs_of_one_session_add() {
    let (first, second) = (
        result(1, r#"{"inputTokens":50,"outputTokens":9,"cacheReadTokens":70}"#),
        result(2, r#"{"inputTokens":60,"outputTokens":10,"cacheReadTokens":80}"#),
    );
    let tables = tables(&[[INIT, &first, INIT, &second].join("\n")]);
    assert_eq!(tables.sessions[0].tokens.kinds(), [Some(110), Some(19), Some(150), None]);
    assert_eq!(tables.sessions[0].duration_ms, Some(3000));
    assert_eq!(sessions(&[INIT, &result(1, "{}")].join("\n"))[0].totals[0].models, []);
}

/// In recordings of March 2026 the input includes cached tokens. A total that may be too small is a lower bound, and so is its session.
#[test]
fn input_that_may_include_cached_tokens_is_a_lower_bound() {
    let state = |milliseconds: i64| {
        let call = format!(
            r#"{{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{{"lsToolCall":{{"args":{{}}}}}},"model_call_id":"m","session_id":"s","timestamp_ms":{milliseconds}}}"#
        );
        let usage = r#"{"inputTokens":1000,"outputTokens":9,"cacheReadTokens":900,"cacheWriteTokens":0}"#;
        let tables = tables(&[[INIT, &call, &result(1, usage)].join("\n")]);
        let row = &tables.sessions[0];
        (row.tokens.total(), row.usage.as_str(), row.usage_reason.map(agentlogs::model::tables::UsageReason::as_str))
    };
    assert_eq!(state(1_772_704_800_000), (Some(1009), "lower_bound", Some("under_reports")));
    assert_eq!(state(1_790_850_000_000), (Some(1909), "exact", None));
}

/// A transcript has neither ids nor tokens: beside a stream of the session it adds nothing.
#[test]
fn a_transcript_and_a_stream_are_one_session() {
    const ID: &str = "3c1d6c1e-5a3b-4c8e-8f0e-2b7a9d4f6e10";
    let transcript = r#"{"role":"user","message":{"content":[{"type":"text","text":"<user_query>Go</user_query>"}]}}
{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Shell","input":{"command":"npm test","working_directory":"/work/shop"}}]}}
{"role":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}
{"type":"turn_ended","status":"success"}"#;
    let call = r#"{"type":"tool_call","subtype":"completed","call_id":"c1","tool_call":{"shellToolCall":{"args":{"command":"npm test"},"result":{"success":{"exitCode":0}}}},"model_call_id":"m1","session_id":"s","timestamp_ms":1791194400200}"#;
    let user = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Go"}]},"session_id":"s"}"#;
    let usage = r#"{"inputTokens":50,"outputTokens":9,"cacheReadTokens":70}"#;
    let stream = [INIT, user, call, &result(1, usage)]
        .join("\n")
        .replace(r#""session_id":"s""#, &format!(r#""session_id":"{ID}""#));
    let path = format!("/home/u/.cursor/projects/work-shop/agent-transcripts/{ID}/{ID}.jsonl");
    let of = |logs: &[(&str, &str)]| {
        let source = |(path, log): &(&str, &str)| Source {
            path: (*path).to_owned(),
            sessions: adapters::parse(log.as_bytes(), Hints { path, ..Hints::default() }, Retention::Text).sessions,
            ..Source::default()
        };
        let tables = reconciled(logs.iter().map(source).collect());
        let row = &tables.sessions[0];
        assert_eq!(tables.sessions.len(), 1);
        (row.tokens.total(), row.tool_calls, row.user_turns, tables.tool_calls[0].call.status)
    };
    let both = (Some(129), Some(1), Some(1), CallStatus::Ok);
    assert_eq!(of(&[("stream", &stream)]), both);
    assert_eq!(of(&[(&path, transcript), ("stream", &stream)]), both);
    assert_eq!(of(&[(&path, transcript)]), (None, Some(1), Some(1), CallStatus::Incomplete));
}
