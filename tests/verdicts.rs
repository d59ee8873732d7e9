//! Verdicts: result directories, imports, outcomes, comparisons. The expected values are computed by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::{copy, root};

/// A directory with the files of `tests/verdicts` and archives.
pub struct Here(tempfile::TempDir);

impl Here {
    pub fn new() -> Self {
        let here = Self(tempfile::tempdir().unwrap());
        copy(&root().join("tests/verdicts"), &here.path("verdicts"));
        here
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.current_dir(self.0.path()).args(args).env("HOME", self.path("home")).env("TZ", "UTC");
        command.env("AGENTLOGS_ARCHIVE", "archive").output().unwrap()
    }

    pub fn done(&self, args: &[&str]) -> Output {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.done(&[args, &["--format", "json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn query(&self, sql: &str) -> Value {
        self.json(&["query", sql])
    }
}

/// The values of some columns, row by row.
pub fn columns(rows: &Value, names: &[&str]) -> Value {
    let row = |row: &Value| names.iter().map(|name| row[name].clone()).collect::<Vec<_>>();
    rows.as_array().unwrap().iter().map(row).collect()
}

const SESSIONS: &str = "SELECT runtime, format, total_tokens, agent, status, error_kind, ended_at FROM sessions ORDER BY started_at, session_id";
const VERDICTS: &str =
    "SELECT session_id, task, trial, name, passed, score, judge, matched_by FROM verdicts ORDER BY trial, name";

/// The result of a trial describes the log next to it; its tokens count only where no log is.
#[test]
fn results_of_harbor_describe_the_logs_of_their_trials() {
    let here = Here::new();
    here.done(&["ingest", "verdicts/harbor-job"]);
    let names = ["runtime", "format", "total_tokens", "agent", "status", "error_kind"];
    let expected = json!([
        ["claude", "claude-transcript", 3100, "claude-code", "success", null],
        ["claude", "claude-transcript", 4100, "claude-code", "success", null],
        ["claude", "harbor-trial", 42200, "claude-code", "error", "timeout"],
    ]);
    assert_eq!(columns(&here.query(SESSIONS), &names), expected);
    let verdicts = here.query(VERDICTS);
    let expected = json!([
        ["add-a-test", "add-a-test__Ab1XyZ", true, 1.0, "harbor", "sidecar"],
        ["add-a-test", "add-a-test__Ab2XyZ", false, 0.0, "harbor", "sidecar"],
        ["port-to-python", "port-to-python__Ab3XyZ", false, 0.0, "harbor", "sidecar"],
    ]);
    assert_eq!(columns(&verdicts, &["task", "trial", "passed", "score", "judge", "matched_by"]), expected);
    let statuses = here.query("SELECT status, COUNT(*) AS files FROM sources GROUP BY status ORDER BY status");
    assert_eq!(columns(&statuses, &["status", "files"]), json!([["auxiliary", 1], ["parsed", 5]]));
    let labels = here.json(&["report", "cost", "--by", "label:task", "--sort", "sessions"]);
    assert_eq!(columns(&labels, &["label:task", "sessions"]), json!([["add-a-test", 2], ["port-to-python", 1]]));
}

/// `codex exec` does not name its model, which the result of its trial does: the log has a cost.
#[test]
fn a_log_without_a_model_has_that_of_its_trial() {
    let here = Here::new();
    fs::create_dir_all(here.path("job/sum__Ab1/agent")).unwrap();
    let result = json!({
        "id": "x1", "task_name": "sum", "trial_name": "sum__Ab1", "verifier_result": {"rewards": {"reward": 1}},
        "agent_info": {"name": "codex", "model_info": {"name": "gpt-5", "provider": "openai"}}
    });
    fs::write(here.path("job/sum__Ab1/result.json"), result.to_string()).unwrap();
    let log = [
        json!({"type": "thread.started", "thread_id": "019ddddd-0000-7000-9000-000000000001"}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "done"}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 100, "output_tokens": 10}}),
    ];
    fs::write(here.path("job/sum__Ab1/agent/codex.jsonl"), log.map(|line| line.to_string() + "\n").concat()).unwrap();
    here.done(&["ingest", "job"]);
    // 900 tokens for $1.25 a million, 100 for $0.125 and 10 for $10.
    let expected = json!([{"format": "codex-exec", "model": "gpt-5", "cost_usd": 0.001_237_5}]);
    assert_eq!(here.query("SELECT format, model, cost_usd FROM sessions"), expected);
    here.done(&["ingest", "job", "--model", "gpt-5-mini", "--archive", "other"]);
    let model = here.json(&["query", "SELECT model FROM sessions", "--archive", "other"]);
    assert_eq!(model, json!([{"model": "gpt-5-mini"}]));
}

/// The job of [`results_of_harbor_describe_the_logs_of_their_trials`], in which the agent of a trial was stopped although its log ends well.
fn job_with_a_timeout(here: &Here) {
    let path = here.path("verdicts/harbor-job/add-a-test__Ab2XyZ/result.json");
    let mut result: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    result["verifier_result"] = Value::Null;
    result["exception_info"] = json!({"exception_type": "AgentTimeoutError", "exception_message": "Agent execution timed out after 600 seconds"});
    fs::write(path, result.to_string()).unwrap();
}

#[test]
fn a_trial_that_ended_by_an_exception_is_no_success() {
    let here = Here::new();
    job_with_a_timeout(&here);
    here.done(&["ingest", "verdicts/harbor-job"]);
    let sql = "SELECT s.status, s.error_kind, v.trial, v.passed FROM sessions s JOIN verdicts v ON s.session_id = v.session_id ORDER BY v.trial";
    let expected = json!([
        ["success", null, "add-a-test__Ab1XyZ", true],
        ["error", "timeout", "add-a-test__Ab2XyZ", null],
        ["error", "timeout", "port-to-python__Ab3XyZ", false],
    ]);
    assert_eq!(columns(&here.query(sql), &["status", "error_kind", "trial", "passed"]), expected);
    let clean = here.json(&["report", "sessions", "--by", "label:task"]);
    assert_eq!(columns(&clean, &["label:task", "ended_cleanly"]), json!([["add-a-test", 1], ["port-to-python", 0]]));

    // It is unjudged, which is printed, or counts as failed.
    let counts = |more: &[&str]| {
        let rows = here.json(&[&["report", "outcomes", "--by", "label:task"], more].concat());
        columns(&rows, &["label:task", "passed", "failed", "unjudged", "pass_rate"])
    };
    assert_eq!(counts(&[]), json!([["add-a-test", 1, 0, 1, 1.0], ["port-to-python", 0, 1, 0, 0.0]]));
    let expected = json!([["add-a-test", 1, 1, 0, 0.5], ["port-to-python", 0, 1, 0, 0.0]]);
    assert_eq!(counts(&["--unjudged", "failed"]), expected);
    for (command, prefix) in [
        (&["report", "outcomes"][..], ""),
        (&["compare", "--a", "runtime=claude", "--b", "label:task=port-to-python"], "a: "),
    ] {
        for (how, expected) in
            [("apart", "--unjudged failed counts them as failed, as Harbor does"), ("failed", "counts them as failed")]
        {
            let stderr = String::from_utf8(here.done(&[command, &["--unjudged", how]].concat()).stderr).unwrap();
            let line = stderr.lines().find(|line| line.contains(&format!("{prefix}1 of 3 trials is not judged")));
            assert!(line.is_some_and(|line| line.contains(expected)), "{stderr}");
        }
    }
    assert_eq!(here.run(&["report", "cost", "--unjudged", "failed"]).status.code(), Some(2));
    // Without any verdict the command that imports them is named.
    let logs = root().join("sample-logs/pi-session");
    let output = here.done(&["report", "outcomes", "--logs", logs.to_str().unwrap()]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("verdicts import"));
}

/// `verdicts import` reads a directory or an archive as `ingest` does, and a verdict is listed once.
#[test]
fn a_directory_of_results_is_imported_and_each_verdict_is_listed_once() {
    let here = Here::new();
    job_with_a_timeout(&here);
    let tar = fs::File::create(here.path("job.tar")).unwrap();
    let mut tar = tar::Builder::new(tar);
    tar.append_dir_all("job", here.path("verdicts/harbor-job")).unwrap();
    tar.finish().unwrap();
    drop(tar);
    let count = "SELECT COUNT(*) AS rows, COUNT(DISTINCT trial) AS trials, COUNT(session_id) AS sessions FROM verdicts";
    let stderr = |output: Output| String::from_utf8(output.stderr).unwrap();
    // Before the logs are known, after that, and both results of the job again.
    let said = stderr(here.done(&["verdicts", "import", "verdicts/harbor-job"]));
    assert!(said.contains("skipped 3 files without results of trials: 1 auxiliary, 2 logs"), "{said}");
    assert!(said.contains("imported 3 verdicts from 3 files: 0 with a session, 3 without"), "{said}");
    assert_eq!(columns(&here.query(count), &["rows", "trials", "sessions"]), json!([[3, 3, 0]]));
    here.done(&["ingest", "verdicts/harbor-job"]);
    assert_eq!(columns(&here.query(count), &["rows", "trials", "sessions"]), json!([[3, 3, 3]]));
    for again in ["verdicts/harbor-job", "job.tar"] {
        let said = stderr(here.done(&["verdicts", "import", again]));
        assert!(said.contains("3 with a session, 0 without\n3 of them state what another file states"), "{said}");
        assert_eq!(columns(&here.query(count), &["rows", "trials", "sessions"]), json!([[3, 3, 3]]));
    }
    let shown = String::from_utf8(here.done(&["show", "4f0c1a2b-1111-4222-8333-0000000000a1"]).stdout).unwrap();
    assert_eq!(shown.matches("verdict passed").count(), 1, "{shown}");
    // An import that repeats what is next to the log counts if another import states something else.
    let passed = |value: bool, time: &str| {
        let name = format!("{time}.csv");
        let row =
            format!("session_id,passed,judged_at\n4f0c1a2b-1111-4222-8333-0000000000a1,{value},{time}T00:00:00Z\n");
        fs::write(here.path(&name), row).unwrap();
        here.done(&["verdicts", "import", &name]);
        let row =
            here.json(&["report", "outcomes", "--by", "session", "--session", "4f0c1a2b-1111-4222-8333-0000000000a1"]);
        row[0]["passed"].clone()
    };
    assert_eq!(passed(false, "2026-10-01"), json!(1));
    assert_eq!(columns(&here.query(count), &["rows"]), json!([[5]]));
    assert_eq!(passed(false, "2026-11-01"), json!(0));

    // The results of a run of terminal-bench repeat those of its trials.
    here.done(&["verdicts", "import", "verdicts/terminal-bench-run", "--archive", "other"]);
    let rows = here.json(&["query", count, "--archive", "other"]);
    assert_eq!(columns(&rows, &["rows", "trials", "sessions"]), json!([[2, 2, 0]]));
    fs::create_dir(here.path("nothing")).unwrap();
    assert_eq!(here.run(&["verdicts", "import", "nothing"]).status.code(), Some(1));
}

/// The same in a tar archive; and a result that changes is read with its log.
#[test]
fn results_are_found_in_archives_and_when_they_change() {
    let here = Here::new();
    let tar = fs::File::create(here.path("job.tar")).unwrap();
    let mut tar = tar::Builder::new(tar);
    tar.append_dir_all("job", here.path("verdicts/harbor-job")).unwrap();
    tar.finish().unwrap();
    drop(tar);
    here.done(&["ingest", "job.tar"]);
    assert_eq!(here.query("SELECT SUM(total_tokens) AS tokens FROM turns"), json!([{"tokens": 49400}]));
    assert_eq!(here.query("SELECT COUNT(*) AS verdicts FROM verdicts WHERE passed"), json!([{"verdicts": 1}]));

    fs::remove_dir_all(here.path("archive")).unwrap();
    here.done(&["ingest", "verdicts/harbor-job"]);
    let result = here.path("verdicts/harbor-job/add-a-test__Ab2XyZ/result.json");
    let text = fs::read_to_string(&result).unwrap().replace("\"reward\": 0.0", "\"reward\": 1.00");
    fs::write(&result, text).unwrap();
    here.done(&["ingest", "verdicts/harbor-job"]);
    assert_eq!(here.query("SELECT COUNT(*) AS verdicts FROM verdicts WHERE passed"), json!([{"verdicts": 2}]));
    assert_eq!(here.query("SELECT COUNT(*) AS verdicts FROM verdicts"), json!([{"verdicts": 3}]));
}

/// What the verifier wrote names the failed tests, in a directory and in archives of it, for trials with and without a log.
#[test]
fn failed_tests_have_their_names_in_archives_too() {
    let here = Here::new();
    let job = here.path("verdicts/harbor-job");
    let write = |name: &str, text: &str| {
        fs::create_dir_all(job.join(name).parent().unwrap()).unwrap();
        fs::write(job.join(name), text).unwrap();
    };
    write("add-a-test__Ab2XyZ/verifier/ctrf.json", r#"{"results":{"tests":[{"name":"test_sum","status":"failed"}]}}"#);
    write("port-to-python__Ab3XyZ/verifier/test-stdout.txt", "FAILED tests/test_port.py::test_main - assert 1 == 2\n");
    let mut tar = tar::Builder::new(fs::File::create(here.path("job.tar")).unwrap());
    tar.append_dir_all("jobs/night", &job).unwrap();
    tar.finish().unwrap();
    drop(tar);
    let mut members = Vec::new();
    for entry in walkdir::WalkDir::new(&job).sort_by_file_name() {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let name = format!("night/{}", entry.path().strip_prefix(&job).unwrap().display()).replace('\\', "/");
            members.push((name, fs::read(entry.path()).unwrap()));
        }
    }
    fs::write(here.path("job.zip"), crate::containers::zip(&members)).unwrap();
    let sql = "SELECT v.task, v.trial, v.passed, v.message, s.agent, s.status, l.job FROM verdicts v \
               JOIN sessions s ON s.session_id = v.session_id AND s.runtime = v.runtime \
               JOIN labels l ON l.session_id = v.session_id AND l.runtime = v.runtime ORDER BY v.trial";
    let rows = ["verdicts/harbor-job", "job.tar", "job.zip"].map(|path| {
        let _ = fs::remove_dir_all(here.path("archive"));
        here.done(&["ingest", path]);
        here.query(sql)
    });
    let expected = json!([
        ["add-a-test__Ab1XyZ", true, null],
        ["add-a-test__Ab2XyZ", false, "failed: test_sum"],
        ["port-to-python__Ab3XyZ", false, "failed: …::test_main"],
    ]);
    assert_eq!(columns(&rows[0], &["trial", "passed", "message"]), expected);
    assert_eq!(rows[1], rows[0]);
    assert_eq!(rows[2], rows[0]);
}

/// The results of a run repeat those of its trials, and `run_metadata.json` names the agent.
#[test]
fn results_of_terminal_bench_count_once() {
    let here = Here::new();
    here.done(&["ingest", "verdicts/terminal-bench-run"]);
    let sessions =
        here.query("SELECT runtime, format, total_tokens, agent, model, usage FROM sessions ORDER BY runtime");
    let expected = json!([
        ["claude", "claude-stream-json", 520, "claude-code", "claude-sonnet-4-5-20250929", "exact"],
        ["terminal-bench", "terminal-bench-trial", 9700, "claude-code", "anthropic/claude-sonnet-4-5", "estimate"],
    ]);
    assert_eq!(columns(&sessions, &["runtime", "format", "total_tokens", "agent", "model", "usage"]), expected);
    let verdicts = columns(&here.query(VERDICTS), &["task", "passed", "matched_by"]);
    assert_eq!(verdicts, json!([["count-words", false, "sidecar"], ["fix-the-build", true, "sidecar"]]));
}

/// Verdicts that name a session, a log or a task find it, also when it is ingested later; the others are listed with the reason.
#[test]
fn imported_verdicts_find_their_sessions_sooner_or_later() {
    let here = Here::new();
    let logs = root().join("sample-logs/claude-stream-json");
    let import = ["verdicts", "import", "verdicts/verdicts.csv"];
    let unmatched = here.json(&import);
    assert_eq!(unmatched.as_array().unwrap().len(), 5);
    here.done(&["ingest", logs.to_str().unwrap()]);
    let matched = "SELECT task, trial, name, passed, score, matched_by FROM verdicts ORDER BY task, trial, name";
    let names = ["task", "trial", "name", "passed", "score", "matched_by"];
    let expected = json!([
        ["never-run", null, "verdict", false, null, null],
        ["sort-a-table", null, "style", null, 7.0, null],
        ["sort-a-table", null, "verdict", true, null, "path"],
        ["sum-a-list", "1", "verdict", true, 1.0, "session_id"],
        ["sum-a-list", "2", "verdict", false, 0.25, "session_id"],
    ]);
    assert_eq!(columns(&here.query(matched), &names), expected);
    // The same file again, another file, and logs that are read again.
    let unmatched = here.json(&import);
    let reasons = json!([
        ["never-run", "no session has the task never-run"],
        ["sort-a-table", "no session has the task sort-a-table"]
    ]);
    assert_eq!(columns(&unmatched, &["task", "reason"]), reasons);
    here.done(&["ingest", logs.to_str().unwrap(), "--label", "suite=none"]);
    let output = here.run(&["verdicts", "import", "verdicts/verdicts.jsonl"]);
    assert_eq!(output.status.code(), Some(1), "a line is wrong");
    let count = "SELECT COUNT(*) AS verdicts, COUNT(session_id) AS sessions FROM verdicts";
    assert_eq!(here.query(count), json!([{"verdicts": 7, "sessions": 4}]));
    here.done(&["archive", "check"]);

    // A merge keeps them, and so does an archive whose parts are written again.
    here.done(&["archive", "merge", "archive", "--archive", "other"]);
    here.done(&["archive", "compact", "--archive", "other"]);
    let merged = here.json(&["query", count, "--archive", "other"]);
    assert_eq!(merged, json!([{"verdicts": 7, "sessions": 4}]));
    // So does a lake.
    here.done(&["export", "lake", "--as", "lake"]);
    assert_eq!(here.json(&["query", count, "--archive", "lake"]), json!([{"verdicts": 7, "sessions": 4}]));
    here.done(&["archive", "merge", "lake", "--archive", "third"]);
    assert_eq!(here.json(&["query", count, "--archive", "third"]), json!([{"verdicts": 7, "sessions": 4}]));

    // They are forgotten with their session; those without one stay.
    // In one step: what is interrupted between two would leave verdicts that no later command finds.
    let generation = || {
        let pointer: Value = serde_json::from_slice(&fs::read(here.path("archive/agentlogs.json")).unwrap()).unwrap();
        pointer["generation"].as_u64().unwrap()
    };
    let before = generation();
    here.done(&["archive", "forget", "*/verbose-array.json"]);
    assert_eq!(generation(), before + 1);
    let expected = json!([
        ["never-run", null],
        ["sort-a-table", null],
        ["sum-a-list", "session_id"],
        ["sum-a-list", "session_id"]
    ]);
    let left = here.query("SELECT task, matched_by FROM verdicts WHERE judge IN ('ann', 'ben') ORDER BY task, trial");
    assert_eq!(columns(&left, &["task", "matched_by"]), expected);
    here.done(&["archive", "forget", "*/verdicts.csv"]);
    assert_eq!(here.query("SELECT COUNT(*) AS verdicts FROM verdicts"), json!([{"verdicts": 2}]));
}

/// JUnit XML and reports of SWE-bench.
#[test]
fn test_results_are_verdicts() {
    let here = Here::new();
    here.done(&["ingest", root().join("sample-logs/claude-stream-json").to_str().unwrap()]);
    here.done(&["verdicts", "import", "verdicts/junit.xml", "--judge", "ci", "--name", "tests"]);
    let found = here.query(
        "SELECT name, passed, ROUND(score, 3) AS score, judge, message FROM verdicts WHERE session_id IS NOT NULL",
    );
    let expected = json!([{"name": "tests", "passed": false, "score": 0.667, "judge": "ci",
        "message": "1 of 3 tests failed: negative numbers"}]);
    assert_eq!(found, expected);
    let unmatched = here.json(&["verdicts", "import", "verdicts/swe-bench.json", "--label", "run=1"]);
    assert_eq!(columns(&unmatched, &["task"]), json!([["acme__shop-1"], ["acme__shop-2"], ["acme__shop-3"]]));
    assert_eq!(here.run(&["verdicts", "import", "verdicts/harbor-job/result.json"]).status.code(), Some(1));
    assert_eq!(here.run(&["verdicts", "import", "missing.csv"]).status.code(), Some(1));
}

/// A log in Claude's format with a sidecar that contains a verdict.
fn session(directory: &Path, name: &str, model: &str, tokens: u64, verdict: &Value, labels: &Value) {
    let id = format!("{name}-0000-4000-8000-000000000000");
    let usage = json!({"input_tokens": tokens, "output_tokens": 0});
    let message = json!({"id": format!("msg_{name}"), "type": "message", "role": "assistant", "model": model, "content": [{"type": "text", "text": "x"}], "usage": usage});
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": id, "cwd": "/app", "tools": [], "model": model}),
        json!({"type": "assistant", "session_id": id, "message": message}),
        json!({"type": "result", "subtype": "success", "is_error": false, "session_id": id, "num_turns": 1, "duration_ms": tokens * 10,
            "total_cost_usd": 0.001 * tokens as f64, "usage": usage, "modelUsage": {model: {"inputTokens": tokens, "outputTokens": 0, "costUSD": 0.001 * tokens as f64}}}),
    ];
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(format!("{name}.jsonl")), lines.map(|it| it.to_string() + "\n").concat()).unwrap();
    let sidecar = json!({"labels": labels, "verdict": verdict});
    fs::write(directory.join(format!("{name}.meta.json")), sidecar.to_string()).unwrap();
}

/// Two models on tasks with 3, 2 and 1 trials.
fn evaluation(here: &Here) {
    let logs = here.path("logs");
    let trials = [("a", [true, true, false]), ("b", [false, true, false])];
    for (model, scale) in [("claude-sonnet-4-5", 100), ("claude-opus-4-1", 300)] {
        for (task, outcomes) in trials {
            for (number, passed) in outcomes.into_iter().enumerate().take(if task == "a" { 3 } else { 2 }) {
                let name = format!("{scale}{task}{number}");
                let passed = passed || model.contains("opus");
                let verdict = json!({"task": task, "trial": number.to_string(), "passed": passed});
                session(&logs, &name, model, scale * (number as u64 + 1), &verdict, &json!({"set": scale.to_string()}));
            }
        }
        session(&logs, &format!("{scale}u"), model, 10, &Value::Null, &json!({"set": scale.to_string()}));
    }
    here.done(&["ingest", "logs"]);
}

#[test]
fn outcomes_are_those_computed_by_hand() {
    let here = Here::new();
    evaluation(&here);
    let report = ["report", "outcomes", "--by", "label:set", "--k", "2"];
    let rows = here.json(&report);
    // Sonnet: a passes 2 of 3, b 1 of 2; one session is not judged.
    let of = |set: &str| rows.as_array().unwrap().iter().find(|row| row["label:set"] == set).unwrap().clone();
    let row = of("100");
    for (name, expected) in [
        ("trials", json!(6)),
        ("passed", json!(3)),
        ("failed", json!(2)),
        ("unjudged", json!(1)),
        ("pass_rate", json!(0.6)),
        // Wilson: (0.6 + 0.768292 / 2 ± 1.959964 * sqrt(0.048 + 0.0384146 )) / (1 + 0.768292…)
        ("pass_rate_low", json!(0.230_724)),
        ("pass_rate_high", json!(0.882_379)),
        ("tasks", json!(2)),
        // (2/3 + 1/2) / 2
        ("pass_at_1", json!(0.583_333)),
        // a: 1 - C(1,2)/C(3,2) = 1; b: 1 - C(1,2)/C(2,2) = 1
        ("pass_at_k", json!(1.0)),
        // a: C(2,2)/C(3,2) = 1/3; b: 0
        ("pass_hat_k", json!(0.166_667)),
        ("tasks_with_k", json!(2)),
        ("mean_score", Value::Null),
        // 0.1 + 0.2 + 0.3 + 0.1 + 0.2 + 0.01
        ("cost_usd", json!(0.91)),
        ("cost_per_trial_usd", json!(0.151_667)),
        ("cost_per_passed_usd", json!(0.3)),
        ("tokens_per_trial", json!(152)),
        ("tokens_per_passed", json!(300)),
        ("turns_per_trial", json!(1.0)),
        ("turns_per_passed", json!(1.666_667)),
        ("mean_duration_ms", json!(1517)),
        ("duration_per_passed_ms", json!(3000)),
        ("is_on_front", json!(true)),
    ] {
        let found = &row[name];
        let is_same = match (found.as_f64(), expected.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-6,
            _ => *found == expected,
        };
        assert!(is_same, "{name}: {found}, expected {expected}");
    }
    assert_eq!((&of("300")["pass_rate"], &of("300")["is_on_front"]), (&json!(1.0), &json!(true)));
    // Without enough trials pass@k is unknown.
    let five = here.json(&["report", "outcomes"]);
    assert_eq!(columns(&five, &["pass_at_k", "tasks_with_k"])[0], json!([null, 0]));
    // Other reports: of sonnet 0.9 dollars of judged sessions, and three passed.
    let cost = here.json(&["report", "cost", "--by", "label:set", "--sort", "cost_per_passed_usd"]);
    assert_eq!(columns(&cost, &["cost_per_passed_usd"]), json!([[0.54], [0.3]]));
    let sessions = here.json(&["report", "sessions", "--by", "label:set", "--label", "set=100"]);
    assert_eq!(columns(&sessions, &["cost_per_passed_usd", "ended_cleanly"]), json!([[0.3, 6]]));
    assert_eq!(here.run(&["report", "cost", "--k", "2"]).status.code(), Some(2));
    assert_eq!(here.run(&["report", "outcomes", "--k", "0"]).status.code(), Some(2));
}

#[test]
fn comparisons_are_paired_by_task() {
    let here = Here::new();
    evaluation(&here);
    let args = ["compare", "--a", "label:set=100", "--b", "label:set=300"];
    let rows = here.json(&args);
    let of = |name: &str| rows.as_array().unwrap().iter().find(|row| row["measure"] == name).unwrap().clone();
    let pass = of("paired_pass_rate");
    // Means over tasks: 2/3 and 1/2 against 1 and 1. Task b has no majority in the first cohort.
    assert_eq!((&pass["pairs"], &pass["result"], &pass["p_value"]), (&json!(2), &json!("too few"), &json!(1.0)));
    assert!((pass["a"].as_f64().unwrap() - 7.0 / 12.0).abs() < 1e-9 && pass["b"].as_f64() == Some(1.0));
    let cost = of("paired_cost_usd");
    assert!((cost["a"].as_f64().unwrap() - 0.175).abs() < 1e-9, "{cost}");
    assert_eq!((&cost["a_sessions"], &cost["pairs"]), (&json!(5), &json!(2)));
    assert_eq!(of("cost_per_passed_usd")["pairs"], Value::Null);
    assert!(rows.as_array().unwrap().iter().any(|row| row["measure"] == "ended_cleanly_rate"));
    let stderr = String::from_utf8(here.done(&args).stderr).unwrap();
    assert!(stderr.contains("paired by task: 2 tasks") && stderr.contains("too few"), "{stderr}");
    // Without verdicts there is nothing about trials.
    let logs = root().join("sample-logs/pi-session");
    let plain = here.json(&["compare", "--a", "runtime=pi", "--b", "runtime=pi", "--logs", logs.to_str().unwrap()]);
    assert!(plain.as_array().unwrap().iter().all(|row| row["measure"] != "pass_rate" && row["pairs"].is_null()));
}

/// What has the same name has the same number in `compare` and in reports.
#[test]
fn comparisons_have_the_numbers_of_reports() {
    let here = Here::new();
    evaluation(&here);
    // A trial without a known cost.
    let (verdict, labels) = (json!({"task": "c", "trial": "0", "passed": true}), json!({"set": "100"}));
    session(&here.path("more"), "unpriced", "no-such-model", 700, &verdict, &labels);
    let log = here.path("more/unpriced.jsonl");
    let text = fs::read_to_string(&log).unwrap().replace("\"total_cost_usd\":0.7,", "").replace("\"costUSD\":0.7,", "");
    fs::write(&log, text).unwrap();
    here.done(&["ingest", "more"]);
    for unjudged in ["apart", "failed"] {
        let compared = here.json(&["compare", "--a", "label:set=100", "--b", "label:set=300", "--unjudged", unjudged]);
        let outcomes = here.json(&["report", "outcomes", "--by", "label:set", "--unjudged", unjudged]);
        // It has no such option.
        let sessions =
            if unjudged == "apart" { here.json(&["report", "sessions", "--by", "label:set"]) } else { json!([]) };
        let mut count = 0;
        for line in compared.as_array().unwrap() {
            let measure = line["measure"].as_str().unwrap();
            for (cohort, set) in [("a", "100"), ("b", "300")] {
                let rows = outcomes.as_array().unwrap().iter().chain(sessions.as_array().unwrap());
                for row in rows.filter(|row| row["label:set"] == set && row.get(measure).is_some()) {
                    assert_eq!(line[cohort].as_f64(), row[measure].as_f64(), "{measure} {set} {unjudged}");
                    count += 1;
                }
            }
        }
        assert!(count >= 12, "{count}");
    }
}

/// With few tasks of different outcomes, the interval excludes 0 and the exact test does not exclude chance.
#[test]
fn the_test_that_decides_is_named() {
    let here = Here::new();
    for task in 0..12_u64 {
        for (set, passed) in [("a", false), ("b", task < 5)] {
            let verdict = json!({"task": format!("t{task}"), "passed": passed});
            let tokens = 100 + task + u64::from(set == "b") * 50;
            session(
                &here.path("logs"),
                &format!("{set}{task}"),
                "claude-opus-4-1",
                tokens,
                &verdict,
                &json!({"set": set}),
            );
        }
    }
    here.done(&["ingest", "logs"]);
    let args = ["compare", "--a", "label:set=a", "--b", "label:set=b"];
    let rows = here.json(&args);
    let of = |name: &str| rows.as_array().unwrap().iter().find(|row| row["measure"] == name).unwrap().clone();
    let pass = of("paired_pass_rate");
    assert_eq!(
        (&pass["result"], &pass["test"], &pass["p_value"]),
        (&json!("inconclusive"), &json!("mcnemar"), &json!(0.0625))
    );
    assert!(pass["low"].as_f64().unwrap() > 0.0, "{pass}");
    assert_eq!(
        (&of("paired_tokens")["result"], &of("paired_tokens")["test"]),
        (&json!("higher"), &json!("paired_bootstrap"))
    );
    assert_eq!((&of("p50_turns")["result"], &of("p50_turns")["test"]), (&json!("inconclusive"), &json!("bootstrap")));
    // One test for each question.
    for name in ["pass_rate", "cost_per_trial_usd", "tokens_per_trial"] {
        assert_eq!(
            (&of(name)["result"], &of(name)["test"], &of(name)["low"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
    }
    let output = here.done(&args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("inconclusive by McNemar's test (p = 0.062)") && stderr.contains("does not contain 0"),
        "{stderr}"
    );
    assert!(String::from_utf8(output.stdout).unwrap().contains("41.7 points"));
}

/// A session that another one started belongs to its trial.
#[test]
fn children_are_a_part_of_their_trial() {
    let here = Here::new();
    fs::create_dir_all(here.path("logs")).unwrap();
    copy(&root().join("sample-logs/drover-events"), &here.path("logs"));
    here.done(&["ingest", "logs"]);
    let parents = here.query("SELECT session_id, parent_session_id FROM sessions WHERE parent_session_id IS NOT NULL");
    let parent = parents[0]["parent_session_id"].as_str().unwrap();
    here.done(&["verdicts", "import", "verdicts/junit.xml", "--session", parent]);
    fs::write(here.path("v.csv"), format!("session_id,passed\n{parent},true\n")).unwrap();
    here.done(&["verdicts", "import", "v.csv"]);
    let both = here.query(&format!(
        "SELECT SUM(cost_usd) AS cost, COUNT(*) AS sessions FROM sessions WHERE session_id = '{parent}' OR parent_session_id = '{parent}'"
    ));
    let report = here.json(&["report", "outcomes", "--by", "runtime"]);
    let sessions = here.query("SELECT COUNT(*) AS sessions FROM sessions")[0]["sessions"].as_i64().unwrap();
    let children = both[0]["sessions"].as_i64().unwrap() - 1;
    assert!(children > 0);
    assert_eq!(report[0]["trials"], json!(sessions - children));
    let (found, expected) = (report[0]["cost_per_passed_usd"].as_f64().unwrap(), both[0]["cost"].as_f64().unwrap());
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

/// Rows of one table judge sessions of different agents, although their tasks and trials have the same names.
#[test]
fn rows_of_an_imported_table_judge_the_session_that_they_name() {
    for (file, text) in [
        ("v.csv", "log,task,trial,passed\none.jsonl,fix,1,true\ntwo.jsonl,fix,1,false\n"),
        (
            "v.jsonl",
            "{\"label\":\"agent=A\",\"task\":\"fix\",\"trial\":1,\"passed\":true}\n\
             {\"label\":\"agent=B\",\"task\":\"fix\",\"trial\":1,\"passed\":false}\n",
        ),
    ] {
        let here = Here::new();
        for (name, agent, tokens) in [("one", "A", 100), ("two", "B", 200)] {
            session(&here.path("logs"), name, "claude-opus-4-1", tokens, &Value::Null, &json!({"agent": agent}));
        }
        here.done(&["ingest", "logs"]);
        fs::write(here.path(file), text).unwrap();
        here.done(&["verdicts", "import", file]);
        let by_agent = here.json(&["report", "outcomes", "--by", "label:agent", "--sort", "+label:agent"]);
        let names = ["label:agent", "trials", "passed", "failed", "tokens_per_trial"];
        assert_eq!(columns(&by_agent, &names), json!([["A", 1, 1, 0, 100], ["B", 1, 0, 1, 200]]), "{file}");
        let of_b = here.json(&["report", "outcomes", "--label", "agent=B"]);
        assert_eq!(columns(&of_b, &["trials", "passed", "failed"]), json!([[1, 0, 1]]));
        let by_verdict = here.json(&["report", "sessions", "--by", "verdict", "--sort", "+verdict"]);
        assert_eq!(columns(&by_verdict, &["verdict", "sessions"]), json!([["failed", 1], ["passed", 1]]));
        let failed = here.json(&["sessions", "--verdict", "failed"]);
        assert_eq!(columns(&failed, &["session_id"]), json!([["two-0000-4000-8000-000000000000"]]));
        let tasks = here.json(&["compare", "--a", "label:agent=A", "--b", "label:agent=B", "--tasks"]);
        assert_eq!(columns(&tasks, &["task", "change"]), json!([["fix", "broke"]]));
    }
}

/// Reports of SWE-bench are read with the logs near them, without options.
#[test]
fn reports_of_swe_bench_are_read_with_the_logs() {
    let here = Here::new();
    for (run, passed) in [("a", true), ("b", false)] {
        for task in ["shop__sums-3", "blog__feed-12"] {
            let logs = here.path(&format!("runs/{run}/trajs/{task}"));
            fs::create_dir_all(&logs).unwrap();
            let log = fs::read_to_string(root().join(format!("sample-logs/swe-agent/{task}.traj"))).unwrap();
            // Each run has logs of its own.
            let log = log.replacen("\"action\": \"", &format!("\"action\": \"true {run}; "), 1);
            fs::write(logs.join(format!("{task}.traj")), log).unwrap();
            let report = here.path(&format!("runs/{run}/logs/{task}"));
            fs::create_dir_all(&report).unwrap();
            let tests = json!({"FAIL_TO_PASS": {"success": [], "failure": if passed { vec![] } else { vec!["tests/a.py::test_sum"] }}});
            let result = json!({"patch_exists": true, "resolved": passed, "tests_status": tests});
            // Older versions of the reports name the instance, newer ones only in the path.
            let result = if passed { json!({task: result}) } else { result };
            fs::write(report.join("report.json"), result.to_string()).unwrap();
        }
        let prediction =
            json!({"shop__sums-3": {"instance_id": "shop__sums-3", "model_patch": "", "model_name_or_path": run}});
        fs::write(here.path(&format!("runs/{run}/preds.json")), prediction.to_string()).unwrap();
    }
    let output = here.done(&["ingest", "runs"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(!shown.contains("unrecognised"), "{shown}");
    let rows = here.query(
        "SELECT v.task, v.passed, v.message, s.source_path LIKE '%/runs/a/%' AS of_a FROM verdicts v \
         JOIN sessions s ON s.session_id = v.session_id AND s.runtime = v.runtime ORDER BY v.passed, v.task",
    );
    let rows: Vec<_> = rows.as_array().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(rows.len(), 4, "{rows:#?}");
    for row in rows {
        assert_eq!(row.contains("\"of_a\":true"), row.contains("\"passed\":true"), "{row}");
        assert_eq!(row.contains("failed: "), row.contains("\"passed\":false"), "{row}");
    }
    here.done(&["ingest", "runs"]);
    assert_eq!(here.query("SELECT COUNT(*) AS n FROM verdicts")[0]["n"], json!(4));
    // The report of the run repeats them, and names a task that has no log.
    let run = json!({"submitted_instances": 3, "resolved_ids": ["shop__sums-3", "blog__feed-12"], "unresolved_ids": ["shop__sums-9"]});
    fs::write(here.path("runs/a/model.run.json"), run.to_string()).unwrap();
    let output = here.done(&["ingest", "runs"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("1 verdict of SWE-bench reports without a session"), "{said}");
    assert_eq!(here.query("SELECT COUNT(*) AS n FROM verdicts WHERE session_id IS NOT NULL")[0]["n"], json!(4));
    let without_archive = here.json(&["report", "outcomes", "--by", "runtime", "--logs", "runs"]);
    assert_eq!(columns(&without_archive, &["trials", "passed", "failed"]), json!([[4, 2, 2]]));
}

/// A session with several labels of one key is found by each of them; reports by the key have it once.
#[test]
fn sessions_are_found_by_each_of_their_labels() {
    let here = Here::new();
    let id = |name: &str| format!("{name}-0000-4000-8000-000000000000");
    session(&here.path("logs"), "one", "claude-opus-4-1", 100, &Value::Null, &json!({}));
    session(&here.path("more"), "two", "claude-opus-4-1", 200, &Value::Null, &json!({}));
    here.done(&["ingest", "logs", "--label", "tag=urgent", "--label", "tag=night"]);
    here.done(&["ingest", "more", "--label", "tag=night shift", "--label", "time=night"]);
    for (label, found, tokens) in [
        ("tag=urgent", vec![id("one")], 100),
        ("tag=night", vec![id("one")], 100),
        ("tag=u*", vec![id("one")], 100),
        ("tag=night*", vec![id("one"), id("two")], 300),
        ("time=night", vec![id("two")], 200),
    ] {
        let mut sessions = columns(&here.json(&["sessions", "--label", label]), &["session_id"]);
        sessions.as_array_mut().unwrap().sort_by_key(ToString::to_string);
        assert_eq!(sessions, json!(found.iter().map(|id| [id]).collect::<Vec<_>>()), "{label}");
        let cost = here.json(&["report", "cost", "--by", "runtime", "--label", label]);
        assert_eq!(columns(&cost, &["total_tokens"]), json!([[tokens]]), "{label}");
        let checked = here.json(&["check", "--max", "total_tokens=1000", "--label", label]);
        assert_eq!(columns(&checked, &["value"]), json!([[f64::from(tokens)]]), "{label}");
    }
    for label in ["tag=urgent", "tag=night"] {
        let cohort = format!("label:{label}");
        let compared = here.json(&["compare", "--a", &cohort, "--b", "label:time=night"]);
        let line = &compared.as_array().unwrap()[0];
        assert_eq!((&line["a_sessions"], &line["b_sessions"]), (&json!(1), &json!(1)), "{label}");
    }
    let both = here.json(&["sessions", "--label", "tag=urgent", "--label", "tag=night"]);
    assert_eq!(columns(&both, &["session_id"]), json!([[id("one")]]));
    let by_tag = here.json(&["report", "cost", "--by", "label:tag", "--sort", "+total_tokens"]);
    assert_eq!(columns(&by_tag, &["label:tag", "total_tokens"]), json!([["night", 100], ["night shift", 200]]));
}

/// Labels of the user replace those that results and sidecars state.
#[test]
fn labels_of_the_user_replace_those_of_files() {
    let here = Here::new();
    let labels = |here: &Here, label: &str| -> Vec<String> {
        let rows = here.query("SELECT DISTINCT unnest(labels) AS label FROM sessions ORDER BY label");
        let of = |row: &Value| row["label"].as_str().unwrap().to_owned();
        rows.as_array().unwrap().iter().map(of).filter(|it| it.starts_with(label)).collect()
    };
    here.done(&["ingest", "verdicts/harbor-job"]);
    assert_eq!(labels(&here, "job=").len(), 1);
    let tasks = labels(&here, "task=").len();
    here.done(&["ingest", "verdicts/harbor-job", "--label", "job=mine", "--label", "team=a", "--label", "team=b"]);
    assert_eq!(labels(&here, "job="), ["job=mine"]);
    assert_eq!(labels(&here, "team="), ["team=a", "team=b"]);
    assert_eq!(labels(&here, "task=").len(), tasks);
    let verdicts = "SELECT COUNT(*) AS n FROM verdicts WHERE session_id IS NOT NULL";
    let judged = here.query(verdicts)[0]["n"].clone();
    here.done(&["ingest", "verdicts/harbor-job", "--label", "task=all"]);
    assert_eq!(labels(&here, "task="), ["task=all"]);
    // The verdicts keep their task.
    assert_eq!(here.query(verdicts)[0]["n"], judged);
    assert_eq!(here.query("SELECT COUNT(*) AS n FROM verdicts WHERE task = 'all'")[0]["n"], json!(0));
}
