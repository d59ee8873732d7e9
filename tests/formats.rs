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

/// Responses of two models without the requests of a helper, whose tokens are in the sums that end the log.
const SUMS: &str = r#"
[[format]]
id = "acme-sums"
runtime = "acme"
has = ["run", "type"]
session = "run"
role = "type"
responses = ["answer"]
time = "at"
model = "model"
tokens = { input = "usage.in", output = "usage.out", cache_read = "usage.cached" }
totals = { input = "sums.in", output = "sums.out", cache_read = "sums.cached" }
total_cost = "sums.usd"
input_includes_cache = true
facts = { status = "state", success = ["done"] }
"#;

const SUMS_LOG: &str = r#"{"type":"answer","run":"r1","at":"2026-10-19T09:00:00Z","model":"m","usage":{"in":10,"out":3,"cached":4}}
{"type":"answer","run":"r1","at":"2026-10-19T09:00:09Z","model":"n","usage":{"in":20,"out":5,"cached":25}}
{"type":"end","run":"r1","at":"2026-10-19T09:00:10Z","state":"done","sums":{"in":90,"out":11,"cached":40,"usd":0.25}}
"#;

#[test]
fn totals_contain_what_the_responses_lack() {
    let directory = directory(SUMS);
    let path = directory.path();
    fs::write(path.join("logs/run.jsonl"), SUMS_LOG).unwrap();
    let query = |sql: &str| run(path, &["query", sql, "--logs", "logs", "--format", "csv"]);
    let (turns, errors) =
        query("SELECT grain, model, input_tokens, output_tokens, cache_read_tokens, cost_usd FROM turns ORDER BY ALL");
    // Cached tokens beyond the input are not a part of it.
    assert!(turns.ends_with("session,,24,3,11,0.25\nturn,m,6,3,4,\nturn,n,20,5,25,\n"), "{turns} {errors}");
    let (sessions, _) = query("SELECT status, turns, input_tokens, usage FROM sessions");
    assert!(sessions.ends_with("success,2,50,exact\n"), "{sessions}");
    // A log of sums alone has no responses.
    let sums = SUMS_LOG.lines().last().unwrap();
    fs::write(path.join("logs/run.jsonl"), sums.replace("\"in\":90", "\"in\":0")).unwrap();
    let only =
        SUMS.replace("tokens = { input = \"usage.in\", output = \"usage.out\", cache_read = \"usage.cached\" }\n", "");
    let only = only.replace("facts = { ", "facts = { model = \"type\", ");
    fs::write(path.join("agentlogs.toml"), only).unwrap();
    let (sessions, errors) = query("SELECT status, turns, model, input_tokens, output_tokens FROM sessions");
    assert!(sessions.ends_with("success,,end,0,11\n"), "{sessions} {errors}");
}

/// A file for each request: its conversation, and the results of its calls, follow from other files.
#[test]
fn files_of_single_requests_are_joined() {
    let format = REQUESTS.replace("session = \"run\"", "session = \"request.messages.role=user.content\"\nsession_from = \"hash\"\nmessage_id_is_global = true\nduration_s = \"took\"");
    let (format, _) = format.split_once("calls =").unwrap();
    let calls = r#"
calls = { list = "response.choices.0.message.tool_calls", id = "id", name = "function.name", arguments = "function.arguments", ends = ["submit"] }
categories = { run_it = "shell", "note*" = "plan" }
results = { list = "request.messages", only = { role = "tool" }, at_end = true, call = "tool_call_id", name = "name", content = "content" }
"#;
    let directory = directory(&format!("{format}{calls}"));
    let path = directory.path();
    fs::remove_file(path.join("logs/run.jsonl")).unwrap();
    let request = |id: &str, messages: &str, calls: &str, at: i64| {
        let start = r#"{"role":"user","content":[{"type":"text","text":"Go"}]}"#;
        let message = format!(r#"{{"content":"","tool_calls":[{calls}]}}"#);
        let usage = r#"{"prompt_tokens":10,"completion_tokens":2}"#;
        format!(
            r#"{{"at":{at},"took":1.5,"request":{{"messages":[{start}{messages}]}},"response":{{"id":"{id}","choices":[{{"message":{message}}}],"usage":{usage}}}}}"#
        )
    };
    let call = |id: &str, name: &str| {
        format!(r#"{{"id":"{id}","function":{{"name":"{name}","arguments":"{{\"command\":\"make\"}}"}}}}"#)
    };
    let result =
        |id: &str, name: &str| format!(r#",{{"role":"tool","tool_call_id":"{id}","name":"{name}","content":"ok"}}"#);
    let first = request("c-1", "", &[call("k1", "run_it"), call("k2", "note_it")].join(","), 1_792_400_400);
    let between = format!(r#",{{"role":"assistant"}}{}{}"#, result("k1", "run_it"), result("k2", "note_it"));
    let second = request("c-2", &between, &call("k3", "submit"), 1_792_400_410);
    fs::write(path.join("logs/1.json"), &first).unwrap();
    fs::write(path.join("logs/2.json"), second).unwrap();
    let query = |sql: &str| run(path, &["query", sql, "--logs", ".", "--format", "csv"]);
    let (calls, errors) = query("SELECT call_id, category, command_kind, status FROM tool_calls ORDER BY call_id");
    assert!(calls.ends_with("k1,shell,build,ok\nk2,plan,,ok\nk3,other,,incomplete\n"), "{calls} {errors}");
    let (turns, _) = query("SELECT message_id, duration_ms FROM turns ORDER BY message_id");
    assert!(turns.ends_with("c-1,1500\nc-2,1500\n"), "{turns}");
    let (sessions, errors) = query("SELECT status, turns FROM sessions ORDER BY status");
    assert!(sessions.ends_with("success,2\n"), "{sessions} {errors}");
    // The file in another directory is of another conversation, and its response is counted once.
    fs::create_dir(path.join("copies")).unwrap();
    fs::write(path.join("copies/1.json"), first + "\n").unwrap();
    let (count, _) = query("SELECT count(*) FROM turns");
    assert!(count.ends_with("\n2\n"), "{count}");
}
