//! Trials of several sessions: cohorts, filters, skills and queries count each of them once, as `report outcomes` does.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::verdicts::{Here, columns};
use crate::{copy, root};

const SONNET: &str = "claude-sonnet-4-5";
const HAIKU: &str = "claude-haiku-4-5";

/// Writes the export of a session of OpenCode with one response. A cost of 0 is unknown for a model without a price.
fn export(directory: &Path, id: &str, parent: Option<&str>, model: &str, cost: f64) {
    let number: i64 = id.bytes().fold(0, |sum, byte| (sum * 131 + i64::from(byte)) % 1_000_003);
    let start = 1_790_778_000_000 + number * 1000;
    let tokens = json!({"total": 510, "input": 500, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    let part = |kind: &str, name: &str| json!({"id": format!("prt_{kind}_{id}"), "sessionID": id, "messageID": format!("msg_{name}_{id}")});
    let with = |mut part: Value, more: Value| {
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part
    };
    let document = json!({
        "info": {"id": id, "slug": "x", "projectID": "p", "directory": "/work/shop", "title": "t", "version": "1.4.3",
            "time": {"created": start, "updated": start + 900}, "parentID": parent},
        "messages": [
            {"info": {"id": format!("msg_user_{id}"), "sessionID": id, "role": "user", "time": {"created": start}, "agent": "build"},
                "parts": [with(part("ask", "user"), json!({"type": "text", "text": "go"}))]},
            {"info": {"id": format!("msg_answer_{id}"), "sessionID": id, "role": "assistant", "agent": "build",
                "time": {"created": start + 100, "completed": start + 900}, "parentID": format!("msg_user_{id}"), "modelID": model,
                "providerID": "anthropic", "mode": "build", "path": {"cwd": "/work/shop", "root": "/work/shop"}, "cost": cost,
                "tokens": tokens, "finish": "stop"},
                "parts": [with(part("text", "answer"), json!({"type": "text", "text": "ok"})),
                    with(part("end", "answer"), json!({"type": "step-finish", "reason": "stop", "cost": cost, "tokens": tokens}))]},
        ],
    });
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(format!("{id}.json")), document.to_string()).unwrap();
}

fn import(here: &Here, name: &str, text: &str) {
    fs::write(here.path(name), text).unwrap();
    here.done(&["verdicts", "import", name]);
}

/// Twelve trials of Sonnet, of which eight passed; each started a session of Haiku.
fn trees() -> Here {
    let here = Here::new();
    let logs = here.path("logs");
    let mut verdicts = vec!["session_id,task,passed".to_owned()];
    for number in 0..12 {
        let (parent, child) = (format!("ses_r{number:02}"), format!("ses_k{number:02}"));
        export(&logs, &parent, None, SONNET, 0.2);
        export(&logs, &child, Some(&parent), HAIKU, 0.05);
        verdicts.push(format!("{parent},t{number},{}", number % 3 != 0));
    }
    here.done(&["ingest", "logs"]);
    import(&here, "v.csv", &verdicts.join("\n"));
    here
}

const OF_TRIALS: [&str; 6] = [
    "pass_rate",
    "cost_per_trial_usd",
    "cost_per_passed_usd",
    "tokens_per_trial",
    "turns_per_trial",
    "mean_duration_ms",
];

/// A session that another one started is a part of its trial, not a trial of its own model.
#[test]
fn a_trial_is_in_the_cohort_of_its_session() {
    let here = trees();
    let outcomes = here.json(&["report", "outcomes", "--by", "model"]);
    assert_eq!(columns(&outcomes, &["model", "trials", "passed"]), json!([[SONNET, 12, 8]]));
    let row = columns(&outcomes, &OF_TRIALS)[0].clone();
    assert_eq!((&row[1], &row[2]), (&json!(0.25), &json!(0.375)));
    // The numbers of a comparison have points.
    let values: Vec<Value> = row.as_array().unwrap().iter().map(|value| json!(value.as_f64())).collect();
    for by in ["model", "agent"] {
        let lines = here.json(&["compare", "--by", by]);
        let cohort = if by == "model" { SONNET } else { "build" };
        let expected: Vec<Value> =
            OF_TRIALS.iter().zip(&values).map(|(name, value)| json!([name, cohort, value, 12])).collect();
        assert_eq!(columns(&lines, &["measure", by, "value", "sessions"]), json!(expected), "{by}");
    }
    // A filter selects trials by their session, too.
    assert_eq!(columns(&here.json(&["report", "outcomes", "--model", SONNET]), &OF_TRIALS), json!([row]));
    assert_eq!(here.json(&["report", "outcomes", "--model", HAIKU]), json!([]));
    let compared = here.json(&["compare", "--a", "model=claude-sonnet-4-5", "--b", "runtime=opencode"]);
    for (name, value) in OF_TRIALS.iter().zip(&values) {
        let line = compared.as_array().unwrap().iter().find(|line| line["measure"] == **name).unwrap();
        assert_eq!((&line["a"], &line["b"], &line["b_sessions"]), (value, value, &json!(12)), "{name}");
    }
}

#[test]
fn skills_count_trials_once() {
    let skills = trees().json(&["report", "skills", "--wide"]);
    let names = ["skill", "sessions", "passed_with", "failed_with", "all_passed", "all_failed"];
    assert_eq!(columns(&skills, &names), json!([["(none)", 24, 8, 4, 8, 4]]));
}

/// The parent of both has no log, so that they are not one trial.
#[test]
fn sessions_without_their_parent_are_trials_of_their_own() {
    let here = Here::new();
    for (id, cost) in [("ses_a01", 0.1), ("ses_b01", 0.3)] {
        export(&here.path("logs"), id, Some("ses_gone01"), SONNET, cost);
    }
    here.done(&["ingest", "logs"]);
    import(&here, "v.csv", "session_id,passed\nses_a01,true\n");
    let outcomes = here.json(&["report", "outcomes"]);
    let names = ["trials", "passed", "unjudged", "cost_per_passed_usd"];
    assert_eq!(columns(&outcomes, &names), json!([[2, 1, 1, 0.1]]));
    let rows = here.query("SELECT session_id, passed, sessions, cost_usd FROM outcomes ORDER BY session_id");
    let names = ["session_id", "passed", "sessions", "cost_usd"];
    assert_eq!(columns(&rows, &names), json!([["ses_a01", true, 1, 0.1], ["ses_b01", null, 1, 0.3]]));
}

/// The queries about trials: verdicts that disagree, verdicts of other names, unknown costs, and trials of several sessions.
#[test]
fn queries_have_the_numbers_of_report_outcomes() {
    let here = trees();
    let more = here.path("more");
    export(&more, "ses_x01", None, HAIKU, 0.4);
    export(&more, "ses_y01", None, HAIKU, 0.6);
    // Its model has no price.
    export(&more, "ses_z01", None, "nobody-1", 0.0);
    copy(&root().join("sample-logs/inspect-log"), &more);
    here.done(&["ingest", "more"]);
    import(
        &here,
        "first.csv",
        "session_id,task,passed,judged_at,message\nses_x01,t1,true,2026-10-01,fine\nses_y01,t1,false,2026-10-01,wrong\n",
    );
    import(
        &here,
        "second.csv",
        "session_id,task,passed,judged_at,message\nses_x01,t1,false,2026-10-02,worse\nses_z01,t2,true,2026-10-02,\n",
    );
    import(&here, "third.csv", "session_id,task,passed,name\nses_y01,t1,true,style\n");

    let judged = |rows: Value, names: &[&str]| {
        let rows: Vec<Value> =
            rows.as_array().unwrap().iter().filter(|row| row["pass_rate"].is_number()).cloned().collect();
        // Reports round to ten digits.
        let rounded = |value: &Value| value.as_f64().map_or(value.clone(), |number| json!((number * 1e9).round()));
        let rows = columns(&json!(rows), names);
        let rows = rows.as_array().unwrap().iter().map(|row| row.as_array().unwrap().iter().map(rounded).collect());
        let mut rows: Vec<Vec<Value>> = rows.collect();
        rows.sort_by_key(|row| json!(row).to_string());
        rows
    };
    let names = ["agent", "model", "passed", "pass_rate", "cost_per_passed_usd"];
    let by_model = judged(here.json(&["query", "pass-rate-by-model"]), &names);
    assert_eq!(by_model, judged(here.json(&["report", "outcomes", "--by", "agent,model"]), &names));
    assert!(by_model.len() > 3, "{by_model:?}");
    let names = ["task", "passed", "pass_rate"];
    let by_task = judged(here.json(&["query", "pass-rate-by-task"]), &names);
    assert_eq!(by_task, judged(here.json(&["report", "outcomes", "--by", "task"]), &names));

    let total = here.json(&["report", "outcomes", "--by", "runtime"]);
    let sum =
        |rows: &Value, name: &str| rows.as_array().unwrap().iter().filter_map(|row| row[name].as_i64()).sum::<i64>();
    let failed = here.json(&["query", "failed-trials"]);
    assert_eq!(i64::try_from(failed.as_array().unwrap().len()), Ok(sum(&total, "failed")));
    let of_x: Vec<&Value> = failed.as_array().unwrap().iter().filter(|row| row["session_id"] == "ses_x01").collect();
    assert_eq!(columns(&json!(of_x), &["message", "cost_usd"]), json!([["worse", 0.4]]));
    let clean = here.json(&["query", "clean-but-failed"]);
    assert_eq!(sum(&clean, "trials"), sum(&total, "passed") + sum(&total, "failed"));
    let flaky = here.json(&["query", "flaky-tasks"]);
    assert_eq!(flaky, json!([]), "each model has one trial of a task, or fails all of them");
    let count = here.query("SELECT COUNT(*) AS trials, SUM(sessions) AS sessions FROM outcomes");
    assert_eq!(count[0]["trials"].as_i64(), Some(sum(&total, "trials")));
    assert_eq!(count[0]["sessions"], here.query("SELECT COUNT(*) AS sessions FROM sessions")[0]["sessions"]);
}

/// A log that never contains results does not show which calls failed.
#[test]
fn errors_are_unknown_without_results() {
    let here = Here::new();
    copy(&root().join("sample-logs/cursor-transcript"), &here.path("logs"));
    here.done(&["ingest", "logs"]);
    let tools = here.json(&["report", "tools", "--by", "format", "--wide"]);
    let names = ["calls", "incomplete", "errors", "error_rate"];
    assert_eq!(columns(&tools, &names), json!([[7, 7, null, null]]));
    let behavior = here.json(&["report", "behavior", "--by", "format", "--wide"]);
    assert_eq!(columns(&behavior, &["test_runs", "failed_test_runs"]), json!([[1, null]]));
    for query in ["failing-tools", "shell-programs"] {
        for row in here.json(&["query", query]).as_array().unwrap() {
            assert_eq!((&row["errors"], &row["error_rate"]), (&Value::Null, &Value::Null), "{query}");
        }
    }
    let skills = here.json(&["report", "skills", "--wide"]);
    assert_eq!(columns(&skills, &["tool_calls", "tool_errors", "error_rate"]), json!([[7, null, null]]));
    // Beside logs with results, such calls are not counted as good ones.
    copy(&root().join("sample-logs/claude-transcript"), &here.path("logs"));
    here.done(&["ingest", "logs"]);
    let rows = here.query("SELECT COUNT(*) AS calls FROM tool_calls WHERE status <> 'incomplete'");
    let tools = here.json(&["report", "tools", "--by", "user", "--wide"]);
    let rate = tools[0]["errors"].as_f64().unwrap() / rows[0]["calls"].as_f64().unwrap();
    assert!((tools[0]["error_rate"].as_f64().unwrap() - rate).abs() < 1e-9, "{tools}");
}
