//! Requests that the proxy of GitHub Agentic Workflows counted, beside the logs of the agent that sent them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use agentlogs::ingest::{self, Options, Progress};
use agentlogs::model::session::Tokens;
use agentlogs::model::tables::Tables;

use crate::reconciled;

const RUN: &str = r#"{"engine_id":"claude","workflow_name":"Triage","run_id":7,"repository":"a/b"}"#;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn request(number: u32, model: &str, input: u32, output: u32, more: &str) -> String {
    format!(
        r#"{{"_schema":"token-usage/v0.28.7","timestamp":"2026-10-01T10:00:0{number}Z","event":"token_usage","request_id":"q{number}","provider":"anthropic","model":"{model}","path":"/v1/messages","status":200,"streaming":true,"input_tokens":{input},"output_tokens":{output},"cache_read_tokens":0,"cache_write_tokens":0,"duration_ms":500{more}}}"#
    )
}

/// The requests of an agent, and one for a title, which it does not log.
fn requests(more: &str) -> String {
    let requests = [(1, "claude-sonnet-4-5", 10, 5), (2, "claude-haiku-4-5", 7, 1), (3, "claude-sonnet-4-5", 20, 6)];
    requests.map(|(number, model, input, output)| request(number, model, input, output, more)).join("\n")
}

fn transcript(session: &str, responses: &[(u32, u32, u32)]) -> String {
    let line = |(second, input, output): &(u32, u32, u32)| {
        format!(
            r#"{{"type":"assistant","sessionId":"{session}","uuid":"{session}{second}","timestamp":"2026-10-01T10:00:0{second}Z","cwd":"/work","version":"2.1.200","message":{{"id":"msg_{session}{second}","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn","usage":{{"input_tokens":{input},"output_tokens":{output},"cache_read_input_tokens":0,"cache_creation_input_tokens":0}},"content":[{{"type":"text","text":"x"}}]}}}}"#
        )
    };
    responses.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn read(root: &Path) -> Tables {
    let options = Options { roots: vec![root.to_owned()], ..Options::default() };
    reconciled(ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources)
}

/// The runtime and all tokens of each session.
fn spent(tables: &Tables) -> Vec<(&str, Option<i64>)> {
    tables.sessions.iter().map(|row| (row.session.runtime.as_ref(), Tokens::total(row.tokens))).collect()
}

#[test]
fn requests_of_a_proxy_complete_the_session_of_their_run() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run-7");
    write(&run.join("sandbox/firewall/logs/api-proxy-logs/token-usage.jsonl"), &requests(""));
    assert_eq!(spent(&read(directory.path())), [("gh-aw", Some(49))]);
    // The same requests in another directory.
    write(&run.join("usage/agent/token_usage.jsonl"), &requests(r#","aic":0.5"#));
    assert_eq!(spent(&read(directory.path())), [("gh-aw", Some(49))]);
    // Without the description of the run, nothing shows whose requests they are.
    write(&run.join("sandbox/agent/logs/a.jsonl"), &transcript("a", &[(1, 10, 5), (3, 20, 6)]));
    assert_eq!(spent(&read(directory.path())), [("claude", Some(41)), ("gh-aw", Some(49))]);
    write(&run.join("aw_info.json"), RUN);
    let tables = read(directory.path());
    assert_eq!(spent(&tables), [("claude", Some(49))]);
    let grains: Vec<_> = tables.turns.iter().map(|row| row.turn.tokens.get().total()).collect();
    assert_eq!(grains, [Some(15), Some(26), Some(8)]);
    // A second session of the run: both logs have their own counts.
    write(&run.join("sandbox/agent/logs/b.jsonl"), &transcript("b", &[(2, 7, 1)]));
    assert_eq!(spent(&read(directory.path())), [("claude", Some(41)), ("claude", Some(8))]);
}

/// Without a description of the run, the sizes of the first responses show whose requests they are.
#[test]
fn requests_of_a_proxy_belong_to_the_session_with_the_same_responses() {
    let directory = tempfile::tempdir().unwrap();
    let log = [(1, 10, 5), (2, 30, 4), (3, 20, 6)];
    let requests = log.map(|(number, input, output)| request(number, "claude-sonnet-4-5", input, output, ""));
    write(&directory.path().join("token-usage.jsonl"), &requests.join("\n"));
    write(&directory.path().join("a.jsonl"), &transcript("a", &log));
    assert_eq!(spent(&read(directory.path())), [("claude", Some(75))]);
}
