//! Formats that a user describes in `agentlogs.toml`: the program reads, lists and inspects them, and reads files again when a
//! description changes.

use std::fs;
use std::path::Path;
use std::process::Command;

const FORMAT: &str = r#"
[[format]]
id = "acme-log"
runtime = "acme"
equals = { kind = "answer" }
session = "run"
time = "at"
model = "model"
tokens = { input = "usage.in", output = "usage.out", cache_read = "usage.cached" }
input_includes_cache = true
cost = "usd"
"#;

const LOG: &str = r#"{"kind":"answer","run":"r1","at":"2026-10-19T09:00:00Z","model":"m","usage":{"in":10,"out":3,"cached":4},"usd":0.5}
{"kind":"answer","run":"r1","at":"2026-10-19T09:00:09Z","model":"m","usage":{"in":20,"out":5,"cached":0},"usd":0.25}
"#;

/// The output of the program in `directory`, which contains its configuration.
fn run(directory: &Path, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.args(arguments).current_dir(directory).env("AGENTLOGS_CONFIG", directory.join("agentlogs.toml"));
    let output = command.env("NO_COLOR", "1").output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn directory(format: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("agentlogs.toml"), format).unwrap();
    fs::create_dir(directory.path().join("logs")).unwrap();
    fs::write(directory.path().join("logs/run.jsonl"), LOG).unwrap();
    directory
}

#[test]
fn a_described_format_is_read_listed_and_inspected() {
    let directory = directory(FORMAT);
    let path = directory.path();
    let sql = "SELECT runtime, format, turns, input_tokens, cache_read_tokens, cost_usd FROM sessions";
    let (rows, errors) = run(path, &["query", sql, "--logs", "logs", "--format", "csv"]);
    assert!(rows.ends_with("acme,acme-log,2,26,4,0.75\n"), "{rows} {errors}");
    let (formats, _) = run(path, &["runtimes", "--formats", "--format", "csv"]);
    assert!(formats.contains("acme-log,acme,"), "{formats}");
    let (runtimes, _) = run(path, &["runtimes", "--format", "csv"]);
    assert!(runtimes.contains("\nacme,acme-log,"), "{runtimes}");
    let (inspected, _) = run(path, &["inspect", "logs/run.jsonl"]);
    assert!(inspected.contains(r#""format": "acme-log""#) && inspected.contains(r#""weight": 6"#), "{inspected}");
    let (measured, _) = run(path, &["bench", "logs", "--format", "csv"]);
    assert!(measured.contains("\nacme-log,1,"), "{measured}");
    let (settings, _) = run(path, &["config", "--format", "csv"]);
    assert!(settings.contains("format,acme-log,"), "{settings}");
}

#[test]
fn a_changed_description_reads_the_files_again() {
    let directory = directory(FORMAT);
    let path = directory.path();
    let input = || run(path, &["query", "SELECT input_tokens FROM sessions", "--archive", "a", "--format", "csv"]).0;
    run(path, &["ingest", "logs", "--archive", "a"]);
    assert!(input().ends_with("\n26\n"), "{}", input());
    let (_, again) = run(path, &["ingest", "logs", "--archive", "a"]);
    assert!(again.contains("unchanged"), "{again}");
    let changed = FORMAT.replace("input_includes_cache = true", "input_includes_cache = false");
    fs::write(path.join("agentlogs.toml"), changed).unwrap();
    run(path, &["ingest", "logs", "--archive", "a"]);
    assert!(input().ends_with("\n30\n"), "{}", input());
    // Without the description the file is of no format, and what is known of it stays.
    fs::write(path.join("agentlogs.toml"), "").unwrap();
    let (unknown, _) = run(path, &["inspect", "logs/run.jsonl"]);
    assert!(unknown.contains(r#""status": "unrecognised""#) && unknown.contains(r#""usage.cached": "integer 2""#));
}

#[test]
fn an_invalid_description_is_an_error_of_the_file() {
    let directory = directory(&FORMAT.replace("input_includes_cache = true\n", ""));
    let (rows, errors) = run(directory.path(), &["inspect", "logs/run.jsonl"]);
    assert!(rows.is_empty(), "{rows}");
    for part in ["agentlogs.toml", "line 2", "format.input_includes_cache", "required with `cache_read`"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

/// A harness that logs each request with its response, as OpenAI's Chat Completions. Two providers state cached tokens in
/// different places.
const REQUESTS: &str = r#"
[[format]]
id = "acme-requests"
runtime = "acme"
has = ["request.messages", "response.choices.0"]
session = "run"
time = "at"
message_id = "response.id"
model = "response.model|request.model"
stop_reason = "response.choices.0.finish_reason"
text = "response.choices.0.message.content"
tokens = { input = "response.usage.prompt_tokens", output = "response.usage.completion_tokens", cache_read = "response.usage.cached_tokens|response.usage.prompt_tokens_details.cached_tokens" }
input_includes_cache = true
calls = { list = "response.choices.0.message.tool_calls", id = "id", name = "function.name", arguments = "function.arguments" }
results = { list = "request.messages.role=tool", call = "tool_call_id", content = "content" }
"#;

const REQUESTS_LOG: &str = r#"{"at":1792400400,"run":"r7","request":{"model":"m1","messages":[{"role":"system","content":"x"},{"role":"user","content":"Run the tests."}]},"response":{"id":"c-1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"k1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"cargo test\"}"}}]}}],"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":60}}}}
{"at":1792400410,"run":"r7","request":{"model":"m1","messages":[{"role":"system","content":"x"},{"role":"user","content":"Run the tests."},{"role":"assistant","content":null,"tool_calls":[{"id":"k1"}]},{"role":"tool","tool_call_id":"k1","content":"2 passed"}]},"response":{"id":"c-2","model":"m2","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"They pass."}}],"usage":{"prompt_tokens":130,"completion_tokens":5,"cached_tokens":100}}}
"#;

#[test]
fn chat_completions_are_described_with_indexes_and_alternatives() {
    let directory = directory(REQUESTS);
    let path = directory.path();
    fs::write(path.join("logs/run.jsonl"), REQUESTS_LOG).unwrap();
    let query = |sql: &str| run(path, &["query", sql, "--logs", "logs", "--format", "csv"]);
    let (turns, errors) =
        query("SELECT message_id, model, stop_reason, input_tokens, cache_read_tokens FROM turns ORDER BY message_id");
    assert!(turns.ends_with("c-1,m1,tool_calls,40,60\nc-2,m2,stop,30,100\n"), "{turns} {errors}");
    let (calls, _) = query("SELECT call_id, tool, category, target, status, result_bytes FROM tool_calls");
    assert!(calls.ends_with("k1,bash,shell,cargo,ok,10\n"), "{calls}");
    let (sessions, _) = query("SELECT session_id, status, turns, tool_calls FROM sessions");
    assert!(sessions.ends_with("r7,success,2,1\n"), "{sessions}");
}
