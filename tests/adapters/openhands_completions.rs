//! Requests that OpenHands logs with `log_completions`.

use agentlogs::model::session::{CallStatus, Status};

use super::tables;

/// Two requests to the Responses API, each in a file of its own: the second one has the result of the first one's call.
#[test]
fn completions_of_the_responses_api_are_requests() {
    let prompt = r#"{"role":"user","content":[{"type":"input_text","text":"Fix it"}]}"#;
    let call = r#"{"type":"function_call","call_id":"call_1","name":"terminal","arguments":"{\"command\":\"ls\"}","id":"fc_1"}"#;
    let result = r#"{"type":"function_call_output","call_id":"call_1","output":"a.py"}"#;
    let answer = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}"#;
    let request = |number: u32, input: &[&str], output: &str| {
        let usage = r#""usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":900},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20}}"#;
        let response = format!(
            r#"{{"id":"resp_{number}","model":"gpt-5.2-codex","output":[{output}],"status":"completed",{usage}}}"#
        );
        format!(
            r#"{{"llm_path":"responses","instructions":"You are","input":[{}],"tools":[],"response":{response},"cost":0.02,"timestamp":178730000{number}.0,"latency_sec":2.5}}"#,
            input.join(",")
        )
    };
    let logs = [request(1, &[prompt], call), request(2, &[prompt, call, result], answer)];
    let tables = tables(&logs);
    let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
    assert_eq!(row.session.format, "openhands-completions");
    let tokens = row.tokens;
    assert_eq!(
        (tokens.input, tokens.cache_read, tokens.output, tokens.reasoning),
        (Some(200), Some(1800), Some(100), Some(40))
    );
    assert_eq!((row.turns, row.money.cost), (Some(2), Some(0.04)));
    assert_eq!(row.session.status, Status::Success);
    let calls: Vec<_> = tables.tool_calls.iter().map(|it| (&*it.call.tool, it.call.status)).collect();
    assert_eq!(calls, [("terminal", CallStatus::Ok)]);
}
