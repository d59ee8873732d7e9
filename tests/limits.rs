//! The table `limits` and its report, compared with the raw logs.

use std::collections::{BTreeMap, BTreeSet};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::limits::{Window, windows_of};
use agentlogs::analysis::overview::Overview;
use agentlogs::analysis::reports::{CostBasis, Frames, Scope};
use agentlogs::base::time::Time;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::model::tables::Tables;
use agentlogs::store::frames::frames;
use jiff::tz::TimeZone;
use polars::prelude::IntoLazy as _;
use serde_json::Value;

use crate::{facts, reconciled, root};

const FORK: &str = "fork-refused-and-interrupted.jsonl";

/// A row without its session: file, line, window, used percent, reset, minutes, limit, plan, reached.
type Row = (String, i64, String, Option<f64>, Option<i64>, Option<i64>, [Option<String>; 3]);

/// The tables of the samples of one format.
fn tables_of(format: &str) -> Tables {
    reconciled(facts(Retention::None).into_iter().filter(|source| source.path.contains(format)).collect())
}

/// The changes of `rate_limits` in a rollout, by a walk over its JSON. `from`: the time of the first record that is not history.
fn raw_changes(file: &str, text: &str, from: &str) -> Vec<Row> {
    let mut last: BTreeMap<(String, Option<String>), Row> = BTreeMap::new();
    let mut rows = Vec::new();
    for (line, record) in (1..).zip(text.lines()) {
        let Ok(record) = serde_json::from_str::<Value>(record) else { continue };
        let time = record["timestamp"].as_str().unwrap_or_default();
        let limits = &record["payload"]["rate_limits"];
        if time < from {
            continue;
        }
        let text = |name: &str| limits[name].as_str().map(str::to_owned);
        for name in ["primary", "secondary"].into_iter().filter(|name| limits[name].is_object()) {
            let window = &limits[name];
            let logged_at = Time::parse(time).unwrap().micros();
            let after = window["resets_in_seconds"].as_i64().map(|seconds| logged_at + seconds * 1_000_000);
            let reset = window["resets_at"].as_i64().map(|second| second * 1_000_000).or(after);
            let texts = [text("limit_id"), text("plan_type"), text("rate_limit_reached_type")];
            let (used, minutes) = (window["used_percent"].as_f64(), window["window_minutes"].as_i64());
            let row: Row = (file.to_owned(), line, name.to_owned(), used, reset, minutes, texts);
            let key = (name.to_owned(), text("limit_id"));
            let is_same = last.get(&key).is_some_and(|last| {
                let apart = last.4.zip(row.4).map(|(a, b)| (a - b).abs());
                (last.3, last.5, &last.6) == (row.3, row.5, &row.6) && apart.is_none_or(|apart| apart <= 60_000_000)
            });
            if !is_same {
                last.insert(key, row.clone());
                rows.push(row);
            }
        }
    }
    rows
}

#[test]
fn the_table_has_the_changes_in_the_raw_logs() {
    let tables = tables_of("codex-rollout");
    let mut found: Vec<Row> = tables
        .limits
        .iter()
        .map(|row| {
            let file = tables.sources[row.source].path.rsplit(['/', '\\']).next().unwrap().to_owned();
            let limit = &row.limit;
            let texts = [&limit.limit_id, &limit.plan, &limit.reached];
            let texts = texts.map(|text| text.as_deref().map(str::to_owned));
            let reset = limit.resets_at.map(Time::micros);
            (file, limit.line, limit.window_name.to_string(), limit.used_percent, reset, limit.window_minutes, texts)
        })
        .collect();
    let mut expected = Vec::new();
    for entry in std::fs::read_dir(root().join("sample-logs/codex-rollout")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        // The records before are those of the session that it was forked from.
        let from = if file == FORK { "2026-10-07T11:00:08" } else { "" };
        expected.extend(raw_changes(&file, &std::fs::read_to_string(&path).unwrap(), from));
    }
    let key = |row: &Row| (row.0.clone(), row.1, row.2.clone());
    found.sort_by_key(key);
    expected.sort_by_key(key);
    assert!(expected.len() > 15, "{expected:?}");
    assert_eq!(found, expected);
    assert!(found.iter().any(|row| row.0 == FORK));
}

/// A copy of the log, its beginning, and a fork of it add no rows.
#[test]
fn copies_add_no_limits() {
    let read = |logs: &[(&str, &str)]| {
        let directory = tempfile::tempdir().unwrap();
        for (name, log) in logs {
            std::fs::write(directory.path().join(name), log).unwrap();
        }
        let options = Options { roots: vec![directory.path().to_owned()], ..Options::default() };
        let read = ingest::read(&options, &BTreeMap::new(), &Progress::default());
        let rows = reconciled(read.sources).limits.into_iter();
        rows.map(|row| (row.limit.occurred_at, row.limit.window_name, row.limit.used_percent)).collect::<Vec<_>>()
    };
    let log = std::fs::read_to_string(root().join("sample-logs/codex-rollout/limits-changed-reached-and-reset.jsonl"));
    let log = log.unwrap();
    let alone = read(&[("a.jsonl", &log)]);
    assert!(alone.len() > 8, "{alone:?}");
    let beginning: String = log.split_inclusive('\n').take(9).collect();
    assert_eq!(read(&[("a.jsonl", &log), ("b.jsonl", &beginning)]), alone);
    assert_eq!(read(&[("0.jsonl", &beginning), ("a.jsonl", &log)]), alone);
    // The session continues in another file.
    let (first, rest) = log.split_at(beginning.len());
    let header = log.lines().next().unwrap();
    assert_eq!(read(&[("a.jsonl", first), ("b.jsonl", &format!("{header}\n{rest}"))]), alone);
}

fn sample_frames() -> Frames {
    let tables = reconciled(facts(Retention::None));
    frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn at(now: &str) -> Scope {
    Scope { now: now.parse().unwrap(), ..Scope::default() }
}

/// Each dated turn of Claude is in one window of five hours and in one week; filters count fewer turns in the same windows.
#[test]
fn every_turn_is_in_one_window() {
    let tables = sample_frames();
    let turns_of = |windows: &[Window], names: &[&str]| -> i64 {
        let windows = windows.iter().filter(|window| names.contains(&window.window_name.as_str()));
        windows.filter(|window| window.runtime == "claude").filter_map(|window| window.spent.turns).sum()
    };
    let (all, _) = windows_of(&tables, &at("2026-10-14T13:30:00Z"), CostBasis::Auto).unwrap();
    let count = turns_of(&all, &["five_hour"]);
    assert!(count >= 40, "{count}");
    assert_eq!(turns_of(&all, &["week", "seven_day"]), count);
    let only = vec![("model".to_owned(), "*opus*".to_owned())];
    let scope = Scope { only, ..at("2026-10-14T13:30:00Z") };
    let (some, _) = windows_of(&tables, &scope, CostBasis::Auto).unwrap();
    let spans = |windows: &[Window]| windows.iter().map(|it| (it.starts_at, it.ends_at, it.active)).collect::<Vec<_>>();
    assert_eq!(spans(&some), spans(&all));
    let opus = turns_of(&some, &["five_hour"]);
    assert!(0 < opus && opus < count, "{opus}");
}

/// At the time of each turn of the samples, the overview has the current windows of the report.
#[test]
fn active_windows_are_those_of_the_report() {
    let tables = sample_frames();
    let turns = reconciled(facts(Retention::None)).turns;
    let times: BTreeSet<Time> = turns.iter().filter_map(|turn| turn.turn.occurred_at).collect();
    let mut found = BTreeSet::new();
    // The order of the rows is not defined, and so neither is the last digit of a sum.
    let rounded = |mut windows: Vec<Window>| {
        for window in &mut windows {
            window.spent.cost_usd = window.spent.cost_usd.map(|cost| (cost * 1e9).round() / 1e9);
        }
        windows
    };
    for now in times.into_iter().step_by(7) {
        let scope = at(&now.to_string());
        let (mut all, _) = windows_of(&tables, &scope, CostBasis::Auto).unwrap();
        all.retain(|window| window.active);
        found.extend(all.iter().map(|window| (window.runtime.clone(), window.is_logged)));
        all.sort_by(|a, b| (&a.runtime, a.ends_at).cmp(&(&b.runtime, b.ends_at)));
        let moment = scope.now.to_zoned(TimeZone::UTC);
        assert_eq!(rounded(Overview::of(&tables, &moment).unwrap().limits), rounded(all), "{now}");
    }
    let expected = [("claude", false), ("claude", true), ("codex", true)];
    assert!(
        expected.iter().all(|(runtime, is_logged)| found.contains(&((*runtime).to_owned(), *is_logged))),
        "{found:?}"
    );
}

/// The sample spans two adjacent windows, and a third one after a gap.
#[test]
fn windows_of_five_hours_are_those_of_ccusage() {
    let tables = sample_frames();
    let starts = |session: &str| -> Vec<(String, i64)> {
        let only = vec![("session".to_owned(), session.to_owned())];
        let (windows, _) = windows_of(&tables, &Scope { only, ..at("2026-10-15T01:50:00Z") }, CostBasis::Auto).unwrap();
        let windows = windows.into_iter().filter(|window| window.window_name == "five_hour");
        let with_turns = windows.filter_map(|window| Some((window.starts_at?.to_string(), window.spent.turns?)));
        with_turns.filter(|(_, turns)| *turns > 0).collect()
    };
    let expected = [("2026-10-15T00:00:00Z", 2), ("2026-10-14T13:00:00Z", 1), ("2026-10-14T08:00:00Z", 2)];
    let expected: Vec<(String, i64)> = expected.map(|(start, turns)| (start.to_owned(), turns)).into();
    assert_eq!(starts("8d1f0b62-*"), expected);
}

/// The message of a limit that was reached corrects the computed window, and a budget can bound it.
#[test]
fn a_message_of_a_transcript_is_a_window() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("a.jsonl");
    let record = |kind: &str, time: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","sessionId":"s","uuid":"{kind}{time}","cwd":"/w","timestamp":"2026-10-05T{time}:00Z","isApiErrorMessage":{},"message":{message}}}"#,
            message.contains("<synthetic>")
        )
    };
    let usage = r#"{"input_tokens":1000,"output_tokens":10}"#;
    let reached = "You've hit your session limit · resets 1:30pm (Europe/Berlin)";
    let records = [
        record("user", "09:00", r#"{"role":"user","content":"hi"}"#),
        record(
            "assistant",
            "09:01",
            &format!(
                r#"{{"model":"claude-sonnet-4-5","id":"msg_1","content":[],"stop_reason":"end_turn","usage":{usage}}}"#
            ),
        ),
        record(
            "assistant",
            "09:50",
            &format!(r#"{{"model":"<synthetic>","id":"x","content":[{{"type":"text","text":"{reached}"}}]}}"#),
        ),
    ];
    std::fs::write(&log, records.join("\n")).unwrap();
    let run = |args: &[&str]| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        let program = program.args(args).current_dir(directory.path()).env_clear().env("HOME", directory.path());
        let output = program.env("TZ", "UTC").output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let now = ["--now", "2026-10-05T10:00:00Z"];
    let (status, table, errors) =
        run(&[["report", "limits", "--active", "--wide", "--format", "csv", "--logs", "a.jsonl"].as_slice(), &now]
            .concat());
    assert_eq!(status, Some(0), "{errors}");
    let row = "claude,,five_hour,,2026-10-05T06:30:00Z,2026-10-05T11:30:00Z,true,true,100,rejected,1,1010,";
    assert!(table.lines().any(|line| line.starts_with(row)), "{table}");
    let before = ["--now", "2026-10-05T05:00:00Z"];
    for (bound, now, expected) in
        [("limits.used_percent=80", now, 4), ("used_percent=100", now, 0), ("used_percent=80", before, 0)]
    {
        let (status, table, errors) = run(&[["check", "--max", bound, "--logs", "a.jsonl"].as_slice(), &now].concat());
        assert_eq!(status, Some(expected), "{table} {errors}");
    }
}
