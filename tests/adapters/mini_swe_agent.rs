//! mini-swe-agent's trajectories.

use agentlogs::model::errors::ErrorKind;
use agentlogs::model::session::{CallStatus, SessionResult};

use super::{sessions, tables};

fn trajectory(info: &str, messages: &str) -> String {
    format!(r#"{{"info":{{{info}}},"messages":[{messages}],"trajectory_format":"mini-swe-agent-1"}}"#)
}

fn answer(id: &str, command: &str) -> String {
    let usage = r#"{"prompt_tokens":100,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":60},"cache_creation_input_tokens":30}"#;
    format!(
        r#"{{"role":"assistant","content":"Now:\n```bash\n{command}\n```","extra":{{"response":{{"id":"{id}","created":1791000000,"usage":{usage}}}}}}}"#
    )
}

#[test]
fn version_1_has_its_commands_in_the_text_and_one_cost() {
    let messages = [
        r#"{"role":"system","content":"You are."},{"role":"user","content":"Fix."}"#.to_owned(),
        answer("a", "cd /work && pytest -q"),
        r#"{"role":"user","content":"<returncode>1</returncode>\n<output>\nboom\n</output>"}"#.to_owned(),
        answer("b", "echo COMPLETE"),
        r#"{"role":"user","content":"diff --git a b"}"#.to_owned(),
    ];
    let info = r#""model_stats":{"instance_cost":0.25,"api_calls":2},"exit_status":"Submitted""#;
    let tables = tables(&[trajectory(info, &messages.join(","))]);
    let session = &tables.sessions[0];
    assert_eq!(session.tokens.kinds(), [Some(20), Some(20), Some(120), Some(60)]);
    assert_eq!((session.money.cost, session.turns, session.user_turns), (Some(0.25), Some(2), Some(1)));
    let calls: Vec<_> = tables
        .tool_calls
        .iter()
        .map(|it| (it.call.target.as_deref(), it.call.status, it.call.exit_code.get()))
        .collect();
    assert_eq!(calls, [(Some("pytest"), CallStatus::Error, Some(1)), (Some("echo"), CallStatus::Ok, None)]);
}

fn read(log: &str) -> SessionResult {
    sessions(log).swap_remove(0)
}

#[test]
fn the_run_is_named_by_its_first_response() {
    let id = |id: &str, more: &str| {
        let messages = format!(r#"{{"role":"user","content":"Fix."}},{}{more}"#, answer(id, "ls"));
        read(&trajectory(r#""model_stats":{}"#, &messages)).session_id
    };
    assert_ne!(id("a", ""), id("b", ""));
    assert_eq!(id("a", ""), id("a", r#",{"role":"user","content":"x"}"#));
}

#[test]
fn a_refused_command_is_denied() {
    let messages = format!(
        r#"{{"role":"user","content":"Fix."}},{},{{"role":"user","content":"No.","extra":{{"interrupt_type":"UserRejection"}}}}"#,
        answer("a", "rm -rf /")
    );
    let session = read(&trajectory(
        r#""exit_status":"LimitsExceeded","config":{"agent":{"step_limit":1}},"model_stats":{"api_calls":1}"#,
        &messages,
    ));
    assert_eq!(session.tool_calls[0].status, CallStatus::Denied);
    assert_eq!((session.prompts.len(), session.error_kind), (2, Some(ErrorKind::MaxTurns)));
}

#[test]
fn the_responses_api_answers_with_items() {
    let messages = r#"{"role":"user","content":"Fix."},
        {"object":"response","id":"resp_1","created_at":1791000000,"model":"gpt-5","status":"completed",
         "usage":{"input_tokens":50,"output_tokens":9,"input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"reasoning_tokens":4}},
         "output":[{"type":"reasoning"},{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"command\":\"make\"}"}],
         "extra":{"actions":[{"command":"make","tool_call_id":"c1"}],"cost":0.5,"timestamp":1791000001.5}},
        {"type":"function_call_output","call_id":"c1","output":"<returncode>2</returncode>","extra":{"returncode":2,"timestamp":1791000002.5}}"#;
    let session = read(&trajectory(r#""model_stats":{"instance_cost":0.5,"api_calls":1}"#, messages));
    assert_eq!(session.turns[0].tokens.get().kinds(), [Some(30), Some(9), Some(20), None]);
    assert_eq!((session.turns[0].line, session.turns[0].tokens.get().reasoning), (2, Some(4)));
    assert_eq!(session.tool_calls.len(), 1);
    let call = &session.tool_calls[0];
    assert_eq!((call.target.as_deref(), call.exit_code.get(), call.status), (Some("make"), Some(2), CallStatus::Error));
    assert!(session.totals.is_empty());
}
