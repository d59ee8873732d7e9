//! mini-swe-agent's trajectories.

use agentlogs::model::session::CallStatus;

use super::tables;

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
