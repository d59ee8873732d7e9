//! Cline's tasks.

use agentlogs::adapters::{Hints, detect, is_auxiliary};
use agentlogs::model::session::CallStatus;
use agentlogs::model::source::Source;
use agentlogs::model::tables::{SessionRow, Usage};

use super::{sessions_at, tables};
use crate::reconciled;

fn request(model: &str, tokens: &str) -> String {
    format!(
        r#"[{{"ts":1767323040000,"type":"say","say":"task","text":"Fix it."}},{{"ts":1767323041000,"type":"say","say":"api_req_started","text":{tokens:?},"modelInfo":{{"providerId":"cline","modelId":"{model}"}}}},{{"ts":1767323042000,"type":"ask","ask":"tool","text":"{{}}"}},{{"ts":1767323043000,"type":"say","say":"completion_result","text":"Done."}}]"#
    )
}

/// The session, and its count of tokens written to the cache.
fn read(log: &str) -> (SessionRow, Option<i64>) {
    let tables = tables(&[log]);
    let written = tables.turns[0].turn.tokens.get().cache_write;
    (tables.sessions.into_iter().next().unwrap(), written)
}

/// The view contains tools only as text for people: the number of calls is unknown, not 0.
#[test]
fn the_view_alone_counts_no_calls() {
    let (session, _) =
        read(&request("x-ai/grok", r#"{"tokensIn":9,"tokensOut":2,"cacheWrites":0,"cacheReads":5,"cost":0}"#));
    assert_eq!((session.tool_calls, session.tool_errors, session.turns), (None, None, Some(1)));
}

#[test]
fn writes_that_are_hidden_in_the_input_are_unknown() {
    let tokens = r#"{"tokensIn":50868,"tokensOut":614,"cacheWrites":0,"cacheReads":0,"cost":0.1999575}"#;
    let (session, written) = read(&request("anthropic/claude-sonnet-4.5", tokens));
    assert_eq!((session.usage, written), (Usage::LowerBound, None));
    let (session, written) = read(&request("openai/gpt-5.1", tokens));
    assert_eq!((session.usage, written), (Usage::Exact, Some(0)));
}

const FOLDER: &str = "rooveterinaryinc.roo-cline/tasks/0199b3c4-5d6e-7f80-9a1b-2c3d4e5f6071";

/// An item of the history of Roo Code: a subtask of an orchestrator.
const ITEM: &str = r#"{"id":"0199b3c4-5d6e-7f80-9a1b-2c3d4e5f6071","rootTaskId":"0199b3c4-0000-7f80-9a1b-2c3d4e5f6071","parentTaskId":"0199b3c4-0000-7f80-9a1b-2c3d4e5f6071","number":2,"ts":1791451809900,"task":"Fix it.","tokensIn":26912,"tokensOut":458,"cacheWrites":13678,"cacheReads":13198,"totalCost":0.0853,"size":9120,"workspace":"/work/sum","mode":"code","status":"completed"}"#;

/// Roo Code states the parent, the directory and the mode of a task in its history only. The counts there are sums over the messages.
#[test]
fn an_item_of_the_history_has_no_tokens_of_its_own() {
    let view = r#"[{"ts":1791451800000,"type":"say","say":"text","text":"Fix it."},{"ts":1791451800030,"type":"say","say":"api_req_started","text":"{\"apiProtocol\":\"anthropic\",\"tokensIn\":13210,\"tokensOut\":151,\"cacheWrites\":13198,\"cacheReads\":0,\"cost\":0.05}"},{"ts":1791451809900,"type":"ask","ask":"completion_result","text":""}]"#;
    let source = |(name, log): (&str, &str)| {
        let path = format!("{FOLDER}/{name}");
        Source { sessions: sessions_at(&path, log), path, ..Source::default() }
    };
    let tables = reconciled([("ui_messages.json", view), ("history_item.json", ITEM)].map(source).into());
    let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
    let session = &row.session;
    assert_eq!((session.runtime.as_ref(), row.turns, row.tokens.output), ("roo", Some(1), Some(151)));
    assert_eq!(session.parent_session_id.as_deref(), Some("0199b3c4-0000-7f80-9a1b-2c3d4e5f6071"));
    assert_eq!((session.cwd.as_deref(), session.agent.as_deref()), (Some("/work/sum"), Some("code")));
    assert_eq!(session.status, agentlogs::model::session::Status::Success);

    let formats = |path: &str| detect(ITEM.as_bytes(), Hints { path, ..Hints::default() }).first().map(|it| it.0.id);
    assert_eq!(formats(""), Some("roo-task"));
    assert_eq!(formats("kilocode.kilo-code/tasks/x/history_item.json"), Some("kilo-task"));
    let index = format!(r#"{{"version":1,"updatedAt":1791451809900,"entries":[{ITEM}]}}"#);
    assert!(detect(index.as_bytes(), Hints::default()).is_empty() && is_auxiliary(index.as_bytes(), "_index.json"));
    let of_cline = r#"[{"id":"1791448199987","ulid":"01K","ts":1791448224010,"task":"Rename.","tokensIn":12,"tokensOut":4,"totalCost":0.01}]"#;
    assert!(is_auxiliary(of_cline.as_bytes(), "taskHistory.json"));
}

/// A command that failed has an exit code in the text of its result.
#[test]
fn the_exit_code_is_in_the_result() {
    for (result, expected) in [
        (
            "Command executed in terminal within working directory '/w'. Command execution was not successful, inspect the cause and adjust as needed.\nExit code: 1\nOutput:\n1 failing",
            (CallStatus::Error, Some(1)),
        ),
        (
            "Command executed in terminal within working directory '/w'. Exit code: 0\nOutput:\nok",
            (CallStatus::Ok, Some(0)),
        ),
        ("Command failed with exit code 2.\nOutput:\n1 failing", (CallStatus::Error, Some(2))),
        ("Command executed.\nOutput:\nok", (CallStatus::Ok, None)),
    ] {
        let log = serde_json::json!([
            {"role": "user", "content": [{"type": "text", "text": "<environment_details>\n</environment_details>"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "execute_command", "input": {"command": "npm test"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}]},
        ]);
        let call = &super::sessions(&log.to_string())[0].tool_calls[0];
        assert_eq!((call.status, call.exit_code.get()), expected, "{result}");
    }
}
