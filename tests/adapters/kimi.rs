//! What the tables contain of Kimi's wire files.

use agentlogs::model::errors::ErrorKind;
use agentlogs::model::session::{CallStatus, Capabilities, EventKind, SessionResult, Status};
use serde_json::{Value, json};

use super::{sessions_at, tables};

/// A prompt that was stopped before its first step has no response: it is not a turn.
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

/// Some providers state no usage. Other records of the type, without an id, are not responses.
#[test]
fn a_response_without_usage_is_a_turn_of_unknown_tokens() {
    let record = |second: u32, kind: &str, payload: &str| {
        format!(r#"{{"timestamp":{second},"message":{{"type":"{kind}","payload":{payload}}}}}"#)
    };
    let log = [
        r#"{"type":"metadata","protocol_version":"1.10"}"#.to_owned(),
        record(1_790_000_002, "TurnBegin", r#"{"user_input":"Go."}"#),
        record(1_790_000_002, "StatusUpdate", r#"{"token_usage":null,"message_id":null,"plan_mode":true}"#),
        record(1_790_000_003, "StepBegin", "{}"),
        record(1_790_000_004, "StatusUpdate", r#"{"token_usage":null,"message_id":"m1"}"#),
        record(1_790_000_005, "TurnEnd", "{}"),
    ];
    let tables = tables(&[log.join("\n")]);
    let session = &tables.sessions[0];
    assert_eq!((session.turns, session.tokens.total(), session.usage.as_str()), (Some(1), None, "unknown"));
    assert_eq!(session.session.status, Status::Success);
}

/// A session of Kimi Code. Each record has a type and its other members.
fn code(records: &[(&str, Value)]) -> SessionResult {
    let lines = records.iter().enumerate().map(|(index, (kind, record))| {
        let mut record = record.clone();
        (record["type"], record["time"]) = (json!(kind), json!(1_791_446_400_000_u64 + index as u64));
        record.to_string()
    });
    let path = "/x/.kimi-code/sessions/wd_shop_1/session_11111111-2222-4333-8444-555555555555/agents/main/wire.jsonl";
    sessions_at(path, &lines.collect::<Vec<_>>().join("\n")).swap_remove(0)
}

const EVENT: &str = "context.append_loop_event";

fn prompt() -> (&'static str, Value) {
    ("turn.prompt", json!({"input": "Go.", "origin": {"kind": "user"}}))
}

#[test]
fn calls_that_the_user_refuses_did_not_fail() {
    let call = (EVENT, json!({"event": {"type": "tool.call", "toolCallId": "c1", "name": "Bash", "args": {}}}));
    let result = |text: &str, is_error: bool| {
        let result = json!({"output": text, "isError": is_error});
        (EVENT, json!({"event": {"type": "tool.result", "toolCallId": "c1", "result": result}}))
    };
    let decided = |decision: &str| {
        ("permission.record_approval_result", json!({"toolCallId": "c1", "result": {"decision": decision}}))
    };
    let rejected = "Tool \"Bash\" was not run because the user rejected the approval request. Reason: no";
    let cases = [
        (vec![call.clone(), decided("rejected"), result(rejected, true)], CallStatus::Denied, 1),
        // Newer versions write the call after the decision.
        (vec![decided("rejected"), call.clone(), result(rejected, true)], CallStatus::Denied, 1),
        (vec![decided("rejected"), call.clone(), result("Write it again.", false)], CallStatus::Denied, 1),
        (vec![call.clone(), decided("rejected")], CallStatus::Denied, 1),
        (vec![call.clone(), result("Tool \"Bash\" was denied by permission rule.", true)], CallStatus::Denied, 1),
        (
            vec![
                call.clone(),
                decided("cancelled"),
                result("Tool \"Bash\" was not run because the approval request was cancelled.", true),
            ],
            CallStatus::Cancelled,
            0,
        ),
        (vec![call.clone(), decided("approved"), result("x", true)], CallStatus::Error, 0),
    ];
    for (records, status, denials) in cases {
        let session = code(&[&[prompt()], &records[..]].concat());
        let denied = session.events.iter().filter(|event| event.kind == EventKind::PermissionDenial);
        assert_eq!((session.tool_calls[0].status, denied.count()), (status, denials), "{records:?}");
    }
}

#[test]
fn a_failed_turn_has_the_kind_of_its_error() {
    for (error, kind, message) in [
        (json!({"code": "provider.rate_limit", "message": "x"}), ErrorKind::RateLimit, Some("x")),
        (
            json!({"code": "provider.api_error", "message": "x", "details": {"statusCode": 503}}),
            ErrorKind::Overloaded,
            Some("x"),
        ),
        (json!({"code": "provider.auth_error", "message": "x"}), ErrorKind::Auth, Some("x")),
        (json!({"code": "context.overflow", "message": "x"}), ErrorKind::ContextOverflow, Some("x")),
        (json!({"code": "loop.max_steps_exceeded", "message": "x"}), ErrorKind::MaxTurns, Some("x")),
        (json!("x"), ErrorKind::Other, None),
    ] {
        let session = code(&[prompt(), ("turn.ended", json!({"reason": "failed", "error": error}))]);
        assert_eq!((session.status, session.error_kind), (Status::Error, Some(kind)), "{error}");
        assert_eq!(session.error_message.as_deref(), message);
        let event = &session.events[0];
        assert_eq!((event.code.as_deref(), event.message.as_deref()), (error["code"].as_str(), message));
    }
}

#[test]
fn the_directory_is_in_the_profile() {
    let profile = json!({"modelAlias": "k3", "thinkingEffort": "high", "environmentDisclosure": {"cwd": "/work/shop"}});
    let session = code(&[("profile.bind", profile), prompt(), ("tower_mode.enter", json!({}))]);
    assert_eq!(session.cwd.as_deref(), Some("/work/shop"));
}

/// The user can remove a prompt that waits, while the agent works on another one.
#[test]
fn a_prompt_removed_from_the_queue_is_no_abort() {
    for (cancel, aborts, status) in [
        (json!({"turnId": 1, "target": "queued", "reason": "user_cancelled"}), 0, Status::Success),
        (json!({"turnId": 0, "target": "active", "reason": "user_cancelled"}), 1, Status::Aborted),
        (json!({}), 1, Status::Aborted),
    ] {
        let begin = (EVENT, json!({"event": {"type": "step.begin", "uuid": "s1"}}));
        let end = (EVENT, json!({"event": {"type": "step.end", "uuid": "s1", "finishReason": "completed"}}));
        let session = code(&[prompt(), begin, end, ("turn.cancel", cancel.clone())]);
        let found = session.events.iter().filter(|event| event.kind == EventKind::Abort).count();
        assert_eq!((found, session.status), (aborts, status), "{cancel}");
    }
}

/// The second engine of Kimi Code keeps no record of a retry.
#[test]
fn retries_are_unknown_where_no_record_states_them() {
    let request = |members: Value| ("llm.request", members);
    let first = || request(json!({"kind": "loop", "model": "k3", "turnStep": "0.1"}));
    let again = || request(json!({"kind": "loop", "model": "k3", "turnStep": "0.1", "attempt": "2/10"}));
    let of_agent = |step: &str| request(json!({"agentId": "main", "kind": "loop", "model": "k3", "turnStep": step}));
    for (records, shown, retries) in [
        (vec![prompt()], false, 0),
        (vec![prompt(), first()], true, 0),
        (vec![prompt(), first(), again()], true, 1),
        (vec![prompt(), of_agent("0.1"), of_agent("0.2")], false, 0),
        (vec![prompt(), first(), of_agent("1.1")], false, 0),
        (vec![prompt(), ("turn.step.retrying", json!({"statusCode": 429}))], true, 1),
        (vec![prompt(), first(), ("turn.step.retrying", json!({"statusCode": 429})), again()], true, 1),
    ] {
        let session = code(&records);
        let found = session.events.iter().filter(|event| event.kind == EventKind::Retry).count();
        assert_eq!((session.capabilities.has(Capabilities::RETRIES), found), (shown, retries), "{records:?}");
    }
}

/// Records of usage have the user's name of the model. That of the provider is in the record of the request.
#[test]
fn an_alias_is_the_model_that_a_request_names() {
    let request = |model: &str, alias: &str| {
        (
            "llm.request",
            json!({"agentId": "main", "kind": "loop", "provider": "anthropic", "model": model, "modelAlias": alias}),
        )
    };
    let usage = |alias: &str, input: i64| {
        let counts = json!({"inputOther": input, "output": 1, "inputCacheRead": 0, "inputCacheCreation": 0});
        ("usage.record", json!({"agentId": "main", "model": alias, "usage": counts, "usageScope": "turn"}))
    };
    let profile = |alias: &str| ("profile.bind", json!({"modelAlias": alias}));
    let begin = || (EVENT, json!({"event": {"type": "step.begin"}}));
    let session = code(&[
        profile("mine"),
        prompt(),
        request("claude-opus-4-8", "mine"),
        usage("mine", 1),
        begin(),
        request("kimi-k2", "other"),
        usage("other", 2),
        begin(),
        // The name of a request that no record describes.
        usage("third", 3),
        profile("mine"),
        begin(),
        usage("mine", 4),
    ]);
    let models: Vec<_> = session.turns.iter().map(|turn| turn.model.as_deref().unwrap()).collect();
    assert_eq!(models, ["claude-opus-4-8", "kimi-k2", "third", "claude-opus-4-8"]);
}
