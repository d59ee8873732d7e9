//! Trials of Harbor: the trajectories that its converters write beside the logs of agents, and trials of several steps.

use std::fs;

use serde_json::{Value, json};

use crate::verdicts::{Here, columns};

/// Writes a document below the directory of a job.
fn write(here: &Here, path: &str, document: &Value) {
    let path = here.path("job").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, document.to_string()).unwrap();
}

/// The result of a trial, with one field more.
fn result(here: &Here, trial: &str, agent: &str, more: &Value) {
    let task = trial.split("__").next();
    let mut result = json!({
        "id": format!("5d2e8c1a-0000-4000-8000-{:0>12}", trial.len()), "task_name": task, "trial_name": trial,
        "trial_uri": format!("file:///jobs/night/{trial}"), "agent_info": {"name": agent, "version": "unknown"},
        "started_at": "2026-10-07T02:00:00", "finished_at": "2026-10-07T02:12:00",
        "agent_execution": {"started_at": "2026-10-07T02:01:00", "finished_at": "2026-10-07T02:10:00"},
        "verifier_result": {"rewards": {"reward": 1.0}}
    });
    result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    write(here, &format!("{trial}/result.json"), &result);
}

/// A trajectory as Harbor's converters write it, with two calls.
fn trajectory(agent: &str, id: &str, times: [Option<&str>; 2], metrics: &Value, total: &Value) -> Value {
    let step = |number: usize, time: Option<&str>| {
        let call = json!({"tool_call_id": format!("call_{number}_1"), "function_name": "bash", "arguments": {"command": "make"}});
        json!({"step_id": number, "timestamp": time, "source": "agent", "model_name": "unknown", "message": "", "tool_calls": [call],
            "observation": {"results": [{"content": "done"}]}, "metrics": metrics})
    };
    json!({"schema_version": "ATIF-v1.7", "session_id": id, "agent": {"name": agent, "version": "unknown", "model_name": "unknown"},
        "steps": [{"step_id": 1, "source": "system", "message": "You are a shell."}, step(2, times[0]), step(3, times[1])],
        "final_metrics": total})
}

const SESSIONS: &str = "SELECT runtime, format, model, turns, tool_calls, total_tokens, cost_usd, status, error_kind FROM sessions ORDER BY runtime, started_at, total_tokens";
const NAMES: [&str; 7] = ["runtime", "format", "turns", "tool_calls", "total_tokens", "cost_usd", "status"];

/// Harbor gives the trajectories that it converts from the logs of mini-swe-agent and SWE-agent a random id. Neither has calls with ids
/// that no other session has, nor three responses with counts; the times of SWE-agent's steps are those of the conversion.
#[test]
fn a_trajectory_beside_the_log_of_its_trial_counts_once() {
    let here = Here::new();
    let answer = |id: &str, created: i64| {
        let call = json!({"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\": \"make\"}"}});
        let usage = json!({"prompt_tokens": 1000, "completion_tokens": 50});
        json!({"role": "assistant", "content": "", "tool_calls": [call],
            "extra": {"response": {"id": id, "created": created, "model": "gpt-5", "usage": usage}, "cost": 0.01, "timestamp": created}})
    };
    let output = json!({"role": "tool", "tool_call_id": "call_1", "content": "<returncode>0</returncode>", "extra": {"returncode": 0}});
    let start = 1_791_338_460;
    let mini = json!({
        "info": {"model_stats": {"instance_cost": 0.02, "api_calls": 2}, "mini_version": "2.4.6", "exit_status": "Submitted"},
        "messages": [{"role": "system", "content": "You are."}, {"role": "user", "content": "Sum."}, answer("a", start), output,
            answer("b", start + 10), output],
        "trajectory_format": "mini-swe-agent-1.1"
    });
    result(&here, "sum__Ab1", "mini-swe-agent", &json!({}));
    write(&here, "sum__Ab1/agent/mini-swe-agent.trajectory.json", &mini);
    let times = [Some("2026-10-07T02:01:00+00:00"), Some("2026-10-07T02:01:10+00:00")];
    let metrics = json!({"prompt_tokens": 1000, "completion_tokens": 50, "cost_usd": 0.01});
    let total = json!({"total_prompt_tokens": 2000, "total_completion_tokens": 100, "total_cost_usd": 0.02});
    let id = "0b6f4f0e-5a53-4c0e-9f3e-2a1f2d3c4b5a";
    write(&here, "sum__Ab1/agent/trajectory.json", &trajectory("mini-swe-agent", id, times, &metrics, &total));

    // It was killed: without an end, records after the last one of the log would count.
    let step = |command: &str| json!({"action": command, "observation": "ok", "response": "Next.", "execution_time": 0.2, "state": {"open_file": "n/a"}});
    let stats = json!({"instance_cost": 0.3, "tokens_sent": 9000, "tokens_received": 90, "api_calls": 2});
    let swe = json!({"trajectory": [step("ls"), step("make")], "history": [], "info": {"model_stats": stats}, "environment": "main"});
    result(&here, "feed__Ab12", "swe-agent", &json!({}));
    write(&here, "feed__Ab12/agent/swe-agent-output/feed/feed.traj", &swe);
    let converted = [Some("2026-10-07T02:11:00+00:00"), Some("2026-10-07T02:11:00.000100+00:00")];
    let id = "7c1de2a4-9f10-4d7e-8a55-6b0f9e8d7c6b";
    write(&here, "feed__Ab12/agent/trajectory.json", &trajectory("swe-agent", id, converted, &Value::Null, &json!({})));

    here.done(&["ingest", "job"]);
    let sessions = here.query(SESSIONS);
    let expected = json!([
        ["mini-swe-agent", "mini-swe-agent", 2, 2, 2100, 0.02, "success"],
        ["swe-agent", "swe-agent", 2, 2, 9090, 0.3, "incomplete"],
    ]);
    assert_eq!(columns(&sessions, &NAMES), expected);
    assert_eq!(columns(&sessions, &["model"]), json!([["gpt-5"], [null]]));
    let verdicts = here.query("SELECT task, COUNT(*) AS verdicts FROM verdicts GROUP BY task ORDER BY task");
    assert_eq!(columns(&verdicts, &["task", "verdicts"]), json!([["feed", 1], ["sum", 1]]));
    // In whichever order the files are read.
    for (archive, first) in [("a", "trajectory.json"), ("b", "mini-swe-agent.trajectory.json")] {
        here.done(&["ingest", &format!("job/sum__Ab1/agent/{first}"), "--archive", archive]);
        here.done(&["ingest", "job", "--archive", archive]);
        let again = here.json(&["query", SESSIONS, "--archive", archive]);
        assert_eq!(columns(&again, &NAMES), expected, "{first}");
    }
}

/// The runner of the OpenHands SDK gives every session the same id, and Kimi CLI's converter neither an id nor times.
#[test]
fn trials_without_ids_of_sessions_are_different_sessions() {
    let here = Here::new();
    for (trial, hour, tokens) in [("sum__Ab1", 10, 2000), ("sum__Ab22", 11, 5000)] {
        let times = [format!("2026-10-07T{hour}:00:05"), format!("2026-10-07T{hour}:00:09")];
        let times = [Some(times[0].as_str()), Some(times[1].as_str())];
        let total = json!({"total_prompt_tokens": tokens, "total_completion_tokens": 100, "total_cached_tokens": 0, "total_cost_usd": 0.02});
        result(&here, trial, "openhands-sdk", &json!({}));
        let document = trajectory("openhands-sdk", "harbor-session", times, &Value::Null, &total);
        write(&here, &format!("{trial}/agent/trajectory.json"), &document);
    }
    for (trial, tokens) in [("sum__Ab333", 300), ("sum__Ab4444", 500)] {
        let metrics = json!({"prompt_tokens": tokens, "completion_tokens": 10, "cached_tokens": 100, "extra": {"input_cache_creation": 60}});
        result(&here, trial, "kimi-cli", &json!({}));
        write(
            &here,
            &format!("{trial}/agent/trajectory.json"),
            &trajectory("kimi-cli", "unknown", [None, None], &metrics, &json!({})),
        );
    }
    here.done(&["ingest", "job"]);
    let expected = json!([
        ["kimi", "atif", 2, 2, 620, null, "success"],
        ["kimi", "atif", 2, 2, 1020, null, "success"],
        ["openhands", "atif", null, 2, 2100, 0.02, "success"],
        ["openhands", "atif", null, 2, 5100, 0.02, "success"],
    ]);
    let sessions = here.query(SESSIONS);
    let is_open = |row: &Value| json!([row[0], row[1], row[2], row[3], row[4], row[5]]);
    let without_status = |rows: &Value| rows.as_array().unwrap().iter().map(is_open).collect::<Vec<_>>();
    assert_eq!(without_status(&columns(&sessions, &NAMES)), without_status(&expected));
    let written = here.query("SELECT SUM(cache_write_tokens) AS written FROM sessions");
    assert_eq!(written[0]["written"], 240);
}

/// The agent's provider counts cached tokens apart from the input.
#[test]
fn more_cached_tokens_than_input_are_not_in_it() {
    let here = Here::new();
    let spent = json!({"n_input_tokens": 530, "n_cache_tokens": 5_349_183, "n_output_tokens": 900, "cost_usd": null});
    result(&here, "sum__Ab1", "cline-cli", &json!({"agent_result": spent}));
    let negative = json!({"n_input_tokens": -7, "n_cache_tokens": 0, "n_output_tokens": 900, "cost_usd": -1});
    result(&here, "sum__Ab22", "cline-cli", &json!({"agent_result": negative}));
    here.done(&["ingest", "job"]);
    let counts =
        here.query("SELECT input_tokens, cache_read_tokens, usage FROM sessions ORDER BY output_tokens, input_tokens");
    let counts = columns(&counts, &["input_tokens", "cache_read_tokens", "usage"]);
    assert_eq!(counts, json!([[530, 5_349_183, "exact"], [null, null, "lower_bound"]]));
    let rejects = here.query("SELECT reason, lines FROM rejects");
    assert_eq!(columns(&rejects, &["reason", "lines"]), json!([["bad_number", 1]]));
}

/// A trial of three steps. The agent was stopped in the second, and was never started in the third.
fn steps(here: &Here) {
    let spent =
        |input: i64| json!({"n_input_tokens": input, "n_cache_tokens": 200, "n_output_tokens": 50, "cost_usd": 0.01});
    let times = |from: &str, to: &str| json!({"started_at": from, "finished_at": to});
    let exception = |kind: &str, message: &str| json!({"exception_type": kind, "exception_message": message});
    let more = json!({
        "agent_execution": null,
        "verifier_result": {"rewards": {"reward": 0.5}},
        "step_results": [
            {"step_name": "build", "agent_result": spent(1000), "verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": null,
                "agent_execution": times("2026-10-07T02:01:00", "2026-10-07T02:03:00"), "verifier": times("2026-10-07T02:03:00", "2026-10-07T02:03:30")},
            {"step_name": "test", "agent_result": spent(3000), "verifier_result": {"rewards": {"reward": 0.0, "style": 0.25}},
                "exception_info": exception("AgentTimeoutError", "Agent execution timed out after 300 seconds"),
                "agent_execution": times("2026-10-07T02:04:00", "2026-10-07T02:09:00"), "verifier": times("2026-10-07T02:09:00", "2026-10-07T02:09:30")},
            {"step_name": "ship", "exception_info": exception("RuntimeError", "Step 'ship' setup.sh exited with code 1")}
        ]
    });
    result(here, "sum__Ab1", "claude-code", &more);
    let failed = json!({"results": {"tests": [{"name": "test_sum", "status": "failed"}]}});
    write(here, "sum__Ab1/steps/test/verifier/ctrf.json", &failed);
}

/// The log of the agent in a step.
fn log(here: &Here, step: &str, id: &str, minute: i64) {
    let lines = [
        json!({"type": "user", "uuid": format!("u-{id}"), "sessionId": id, "timestamp": format!("2026-10-07T02:{minute:02}:10Z"),
            "message": {"role": "user", "content": "Sum."}}),
        json!({"type": "assistant", "uuid": format!("a-{id}"), "parentUuid": format!("u-{id}"), "sessionId": id, "requestId": format!("req_{id}"),
            "timestamp": format!("2026-10-07T02:{minute:02}:20Z"), "message": {"id": format!("msg_{id}"), "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 1000, "output_tokens": 0}}}),
    ];
    let path = here.path(&format!("job/sum__Ab1/steps/{step}/agent/sessions/projects/-app/{id}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines.map(|line| line.to_string() + "\n").concat()).unwrap();
}

/// The agent runs again in each step of a trial, so that each is a session. The trial's own verdict decides about the trial.
#[test]
fn each_step_of_a_trial_is_a_session() {
    let here = Here::new();
    steps(&here);
    here.done(&["ingest", "job"]);
    let names = ["format", "total_tokens", "cost_usd", "status", "error_kind"];
    let expected = json!([
        ["harbor-trial", 1050, 0.01, "success", null],
        ["harbor-trial", 3050, 0.01, "error", "timeout"],
        ["harbor-trial", null, null, "error", "other"],
    ]);
    let sessions = "SELECT * FROM sessions ORDER BY started_at NULLS LAST";
    assert_eq!(columns(&here.query(sessions), &names), expected);

    // The first step has a log, and the result of each other step remains.
    log(&here, "build", "4f0c1a2b-1111-4222-8333-0000000000b1", 2);
    here.done(&["ingest", "job"]);
    let expected = json!([
        ["claude-transcript", 1000, 0.003, "success", null],
        ["harbor-trial", 3050, 0.01, "error", "timeout"],
        ["harbor-trial", null, null, "error", "other"],
    ]);
    assert_eq!(columns(&here.query(sessions), &names), expected);

    log(&here, "test", "4f0c1a2b-1111-4222-8333-0000000000b2", 5);
    here.done(&["ingest", "job"]);
    let expected = json!([
        ["claude-transcript", 1000, 0.003, "success", null],
        ["claude-transcript", 1000, 0.003, "error", "timeout"],
        ["harbor-trial", null, null, "error", "other"],
    ]);
    assert_eq!(columns(&here.query(sessions), &names), expected);
    let verdicts = "SELECT s.started_at, v.name, v.passed, v.score, v.message FROM sessions s JOIN verdicts v ON s.session_id = v.session_id ORDER BY s.started_at NULLS LAST, v.name";
    let expected = json!([
        ["steps/build", true, 1.0, null],
        ["verdict", false, 0.5, null],
        ["steps/test", false, 0.0, "failed: test_sum"],
        ["steps/test/style", null, 0.25, null],
        ["verdict", false, 0.5, null],
        ["verdict", false, 0.5, null],
    ]);
    assert_eq!(columns(&here.query(verdicts), &["name", "passed", "score", "message"]), expected);
    let outcomes = here.json(&["report", "outcomes"]);
    assert_eq!(columns(&outcomes, &["trials", "failed", "mean_score"]), json!([[1, 1, 0.5]]));
    let labels = here.json(&["report", "sessions", "--by", "label:step"]);
    assert_eq!(labels.as_array().unwrap().len(), 3, "{labels}");

    // The same in an archive, of which each result is read once.
    let tar = fs::File::create(here.path("job.tar")).unwrap();
    let mut tar = tar::Builder::new(tar);
    tar.append_dir_all("job", here.path("job")).unwrap();
    tar.finish().unwrap();
    here.done(&["ingest", "job.tar", "--archive", "other"]);
    assert_eq!(
        columns(&here.json(&["query", verdicts, "--archive", "other"]), &["name", "passed", "score", "message"]),
        expected
    );
    // An import of the same results adds nothing.
    here.done(&["verdicts", "import", "job"]);
    assert_eq!(here.query("SELECT COUNT(*) AS verdicts FROM verdicts"), json!([{"verdicts": 6}]));
}
