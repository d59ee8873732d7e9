//! The made-up job of three agents, twelve tasks and three attempts in `demo-evaluation`: each question of docs/evaluations.md has the
//! answer that `scripts/demo/evaluation.py` made up, and statistics have the values of scipy and statsmodels.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::root;

/// What a command prints as JSON.
fn json(arguments: &[&str]) -> Vec<Value> {
    let output = command(&[arguments, &["--logs", "demo-evaluation", "--format", "json"]].concat());
    serde_json::from_str(&output).unwrap()
}

fn command(arguments: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.args(arguments).current_dir(root()).env("HOME", home.path()).env("TZ", "UTC");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn text<'v>(row: &'v Value, name: &str) -> &'v str {
    row[name].as_str().unwrap_or_default()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or(f64::NAN)
}

fn count(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or(-1)
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 5e-5
}

/// statsmodels' `proportion_confint(23, 35, method="wilson")` and the same of the others; of twelve tasks with three trials each, the
/// shares that passed.
#[test]
fn pass_rates_have_the_intervals_of_statsmodels() {
    let rows = json(&["report", "outcomes", "--by", "agent", "--sort", "+agent"]);
    let expected = [
        ("claude-code", [36, 23, 12, 1], [0.491_519, 0.791_683]),
        ("codex", [36, 25, 8, 3], [0.589_754, 0.871_683]),
        ("gemini-cli", [36, 12, 21, 3], [0.221_872, 0.533_838]),
    ];
    assert_eq!(rows.len(), expected.len());
    for (row, (agent, counts, interval)) in rows.iter().zip(expected) {
        assert_eq!(text(row, "agent"), agent);
        assert_eq!(["trials", "passed", "failed", "unjudged"].map(|name| count(row, name)), counts, "{agent}");
        let found = ["pass_rate_low", "pass_rate_high"].map(|name| number(row, name));
        assert!(is_near(found[0], interval[0]) && is_near(found[1], interval[1]), "{agent} {found:?}");
    }
}

/// scipy's `fisher_exact` of each pair, and statsmodels' `multipletests` with the method "holm": only Codex and Gemini CLI differ.
#[test]
fn agents_differ_as_by_fisher_and_holm() {
    let rows = json(&["compare", "--by", "agent"]);
    let of = |agent: &str| {
        let row = rows.iter().find(|row| text(row, "measure") == "pass_rate" && text(row, "agent") == agent);
        text(row.unwrap(), "different_from").to_owned()
    };
    assert_eq!(["claude-code", "codex", "gemini-cli"].map(of), ["", "gemini-cli", "codex"]);
}

/// The ends that the script made up: see `ENDS` there.
#[test]
fn failures_have_the_classes_of_their_ends() {
    let rows = json(&["report", "failures", "--by", "failure_class,agent"]);
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    for row in &rows {
        *found.entry(text(row, "failure_class").to_owned()).or_default() += count(row, "sessions");
    }
    let expected = [
        ("gave_up", 6),
        ("infrastructure", 1),
        ("judged_wrong", 19),
        ("timeout", 6),
        ("unverified", 7),
        ("verified_red", 9),
    ];
    assert_eq!(found, expected.map(|(class, count)| (class.to_owned(), count)).into());
}

#[test]
fn signs_of_the_job_are_counted() {
    let rows = json(&["report", "integrity"]);
    let found: Vec<_> =
        rows.iter().map(|row| (text(row, "sign"), count(row, "calls"), count(row, "passed_sessions"))).collect();
    assert_eq!(found, [("history_searched", 1, 0), ("verifier_read", 1, 1)]);
}

/// The pack has the failures of `report failures` that are of tasks to learn from, each with the line that shows it.
#[test]
fn evidence_has_each_failure_to_learn_from() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("evidence");
    command(&["export", directory.to_str().unwrap(), "--as", "evidence", "--with-text", "--logs", "demo-evaluation"]);
    let pack: Value = serde_json::from_slice(&fs::read(directory.join("evidence.json")).unwrap()).unwrap();
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    let mut held_out = 0;
    for row in json(&["report", "failures", "--by", "failure_class,set"]) {
        match text(&row, "set") {
            "held_out" => held_out += count(&row, "sessions"),
            _ => *expected.entry(text(&row, "failure_class").to_owned()).or_default() += count(&row, "sessions"),
        }
    }
    let classes = pack["classes"].as_array().unwrap();
    let found: BTreeMap<String, i64> =
        classes.iter().map(|class| (text(class, "class").to_owned(), count(class, "sessions"))).collect();
    assert_eq!(found, expected);
    assert!(held_out > 0 && count(&pack, "held_out_sessions") == held_out);
    let cases: Vec<&Value> = classes.iter().flat_map(|class| class["cases"].as_array().unwrap()).collect();
    assert_eq!(i64::try_from(cases.len()).unwrap(), count(&pack, "sessions"));
    let mut compared = 0;
    for case in cases {
        let (path, line) = (text(case, "source_path"), number(case, "line"));
        if let Some(at) = case["decisive"].as_u64() {
            let step = &case["steps"][usize::try_from(at).unwrap()];
            assert!(line.is_nan() || text(step, "source_path") != path || number(step, "line") <= line, "{case}");
        }
        let records = case["records"].as_array().map_or(&[][..], Vec::as_slice);
        let log = fs::read_to_string(path).unwrap_or_default();
        for record in records {
            let at = record["line"].as_u64().and_then(|line| usize::try_from(line).ok()).unwrap();
            let beginning: String = log.lines().nth(at - 1).unwrap().chars().take(100).collect();
            assert!(text(record, "text").starts_with(&beginning), "{path}:{at}");
        }
        let divergence = &case["divergence"];
        if !divergence.is_null() {
            compared += 1;
            assert_ne!(divergence["failed"], divergence["passed"], "{case}");
        }
    }
    assert!(compared > 10, "{compared}");
    // Without the option no record of a log is included.
    command(&["export", directory.to_str().unwrap(), "--as", "evidence", "--logs", "demo-evaluation"]);
    let without = fs::read_to_string(directory.join("evidence.json")).unwrap();
    assert!(!without.contains("\"records\"") && !without.contains("Solve the task"));
    let page = fs::read_to_string(directory.join("evidence.md")).unwrap();
    assert!(page.starts_with("# Evidence\n") && page.contains("\n## judged_wrong\n"), "{page}");
}

/// What was learned is tested on the tasks of which the pack shows nothing.
#[test]
fn held_out_tasks_are_those_without_evidence() {
    let tasks = |set: &str| -> Vec<String> {
        let rows = json(&["report", "outcomes", "--by", "set,task", "--sort", "+task"]);
        rows.iter().filter(|row| text(row, "set") == set).map(|row| text(row, "task").to_owned()).collect()
    };
    let mut compared: Vec<String> =
        json(&["compare", "--a", "agent=codex", "--b", "agent=gemini-cli", "--held-out", "--tasks"])
            .iter()
            .map(|row| text(row, "task").to_owned())
            .collect();
    compared.sort();
    assert_eq!(compared, tasks("held_out"));
    assert_eq!(compared.len() + tasks("learn").len(), 12);
}

/// Two jobs with one prompt each, and then the job of three agents: their labels are what changed.
#[test]
fn trends_name_what_changed() {
    let output = command(&["report", "trends", "--logs", "demo/jobs", "--logs", "demo-evaluation", "--format", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&output).unwrap();
    let of = |measure: &str| rows.iter().filter(|row| text(row, "measure") == measure).collect::<Vec<_>>();
    let cost = of("cost_per_session_usd");
    assert_eq!((cost.len(), text(cost[0], "result")), (1, "higher"), "{cost:?}");
    assert!(
        text(cost[0], "changed").contains("label:job: 2026-11-16__prompt-b -> 2026-11-18__three-agents"),
        "{cost:?}"
    );
    assert!(text(cost[0], "changed_at").starts_with("2026-11-1"), "{cost:?}");
    for row in &rows {
        let is_change = !row["changed_at"].is_null();
        assert_eq!(is_change, ["higher", "lower"].contains(&text(row, "result")), "{row}");
        assert!(!is_change || number(row, "p_value") < 0.05, "{row}");
    }
}

/// A period with the same agents is not worse, one with an agent that costs more is.
#[test]
fn a_baseline_fails_only_for_what_became_worse() {
    let check = |logs: &[String], arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        let home = tempfile::tempdir().unwrap();
        command.arg("check").args(arguments).args(["--format", "json"]);
        command.args(logs.iter().flat_map(|log| ["--logs", log]));
        let output = command.current_dir(root()).env("HOME", home.path()).env("TZ", "UTC").output().unwrap();
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let worse: Vec<String> = rows
            .iter()
            .filter(|row| text(row, "result") == "worse")
            .map(|row| text(row, "measure").to_owned())
            .collect();
        (output.status.code(), worse, String::from_utf8(output.stderr).unwrap())
    };
    let all = ["demo-evaluation".to_owned()];
    let noon = "2026-11-18T12:00..2026-11-18T23:00";
    let (code, worse, _) = check(&all, &["--baseline", noon, "--until", "2026-11-18T11:59"]);
    assert_eq!((code, worse.len()), (Some(0), 0));
    // The last of the three agents passes less than the others did in an archive of its own.
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    let archive = archive.to_str().unwrap();
    let trials = fs::read_dir(root().join("demo-evaluation/2026-11-18__three-agents")).unwrap();
    let trials = trials.map(|trial| trial.unwrap().path().to_str().unwrap().to_owned());
    let (of_gemini, of_others): (Vec<String>, Vec<String>) =
        trials.partition(|trial| root().join(trial).join("agent/gemini-cli").exists());
    let mut ingest = vec!["ingest", "--archive", archive];
    ingest.extend(of_others.iter().map(String::as_str));
    command(&ingest);
    let (code, worse, _) = check(&of_gemini, &["--baseline", archive]);
    assert_eq!((code, worse), (Some(4), vec!["pass_rate".to_owned()]));
    // Filters apply to the baseline, too: it would never be worse than nothing.
    let (code, worse, stderr) =
        check(&["sample-logs/pi-session".to_owned()], &["--baseline", archive, "--runtime", "pi"]);
    assert!(code == Some(5) && worse.is_empty() && stderr.contains("the baseline has no session"), "{code:?} {stderr}");
    let (code, _, stderr) = check(&all, &["--baseline", "yesteryear"]);
    assert!(code == Some(2) && stderr.contains("neither an archive nor a period"), "{code:?} {stderr}");
}

/// Exports state whether the trial of each session passed: 16 of 24 did, and one is not judged.
#[test]
fn exports_have_the_verdicts_of_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let export_with = |kind: &str, arguments: &[&str]| {
        let directory = directory.path().join([&[kind], arguments].concat().join(" "));
        let export = ["export", directory.to_str().unwrap(), "--as", kind, "--logs", "demo/jobs"];
        command(&[&export, arguments].concat());
        directory
    };
    let export = |kind: &str| export_with(kind, &[]);
    let lines = |path: &Path| -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let counts = |verdicts: &mut dyn Iterator<Item = Option<bool>>| {
        verdicts.fold([0, 0, 0], |mut counts, passed| {
            counts[passed.map_or(2, usize::from)] += 1;
            counts
        })
    };
    let sessions = lines(&export("jsonl").join("sessions.jsonl"));
    assert_eq!(counts(&mut sessions.iter().map(|session| session["passed"].as_bool())), [7, 16, 1]);
    assert!(sessions.iter().all(|session| session["task"].is_string() && session["trial"].is_string()));
    let by_week = export_with("jsonl", &["--partition-by", "week"]).join("sessions");
    let weeks = fs::read_dir(by_week).unwrap().flat_map(|week| lines(&week.unwrap().path().join("part-0.jsonl")));
    let weeks: Vec<Value> = weeks.collect();
    assert_eq!(counts(&mut weeks.iter().map(|session| session["passed"].as_bool())), [7, 16, 1]);
    let header = fs::read_to_string(export("csv").join("sessions.csv")).unwrap();
    assert!(header.lines().next().unwrap().ends_with(",passed,task,trial"), "{header}");
    let documents = fs::read_dir(export("atif")).unwrap();
    let extra = documents.map(|entry| {
        let text = fs::read(entry.unwrap().path()).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["extra"]["passed"].as_bool()
    });
    assert_eq!(counts(&mut extra.collect::<Vec<_>>().into_iter()), [7, 16, 1]);
    let spans = fs::read_to_string(export("otlp").join("otlp.jsonl")).unwrap();
    let stated = |passed: &str| {
        spans.matches(&format!(r#"{{"key":"agentlogs.passed","value":{{"boolValue":{passed}}}}}"#)).count()
    };
    assert_eq!((stated("false"), stated("true")), (7, 16));
    let trace = fs::read_to_string(export("perfetto").join("perfetto.json")).unwrap();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter();
    let processes = events.filter(|event| event["name"] == "process_name" && event["ph"] == "M");
    // The first one has the sums of all sessions.
    let names: Vec<&str> = processes.filter_map(|event| event["args"]["name"].as_str()).collect();
    let named = |verdict: &str| names.iter().filter(|name| name.ends_with(verdict)).count();
    assert_eq!((named(" failed"), named(" passed"), names.len()), (7, 16, 1 + 24), "{names:?}");
}
