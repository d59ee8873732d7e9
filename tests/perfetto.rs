//! `export --as perfetto`: the structure of the trace, and sums that are those of reports.

use std::collections::{BTreeMap, BTreeSet};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::analysis::export::{Timeline, Written};
use agentlogs::analysis::reports::{self, Frames, Options};
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;
use agentlogs::store::frames::frames;
use polars::prelude::*;
use serde_json::Value;

use crate::{demo_facts, facts, reconciled};

struct Exported {
    frames: Frames,
    events: Vec<Value>,
    written: Written,
    text: String,
}

fn exported(sources: Vec<Source>) -> Exported {
    let tables: Tables = reconciled(sources);
    let frames: Frames = frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
    let mut out = Vec::new();
    let written = Timeline::new(&frames).unwrap().write(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let events = std::mem::take(document["traceEvents"].as_array_mut().unwrap());
    Exported { frames, events, written, text }
}

fn number(event: &Value, key: &str) -> i64 {
    event[key].as_i64().unwrap_or_else(|| panic!("{key} of {event}"))
}

/// Slices of a thread do not overlap, threads and processes have names, and times do not run back.
#[test]
fn slices_of_a_thread_do_not_overlap() {
    for sources in [facts(Retention::Full), demo_facts()] {
        let Exported { events, written, .. } = exported(sources);
        let mut named: BTreeSet<(i64, i64, String)> = BTreeSet::new();
        let mut ends: BTreeMap<(i64, i64), i64> = BTreeMap::new();
        let mut last: BTreeMap<i64, i64> = BTreeMap::new();
        let mut slices = 0;
        for event in &events {
            let (pid, tid) = (number(event, "pid"), number(event, "tid"));
            let phase = event["ph"].as_str().unwrap();
            if phase == "M" {
                named.insert((pid, tid, event["name"].as_str().unwrap().to_owned()));
                continue;
            }
            let time = number(event, "ts");
            let before = last.insert(pid, time).unwrap_or(i64::MIN);
            assert!(before <= time, "{event}");
            match phase {
                "X" => {
                    let end = ends.entry((pid, tid)).or_insert(i64::MIN);
                    assert!(*end <= time && number(event, "dur") >= 0, "{event}");
                    *end = time + number(event, "dur");
                    slices += 1;
                }
                "i" => assert_eq!(event["s"], "t"),
                "C" => assert!(event["args"]["value"].is_number(), "{event}"),
                other => panic!("{other}"),
            }
            if phase != "C" {
                assert!(named.contains(&(pid, tid, "thread_name".to_owned())), "{event}");
            }
            assert!(named.contains(&(pid, 0, "process_name".to_owned())), "{event}");
        }
        assert!(slices > 100, "{slices}");
        let processes = named.iter().filter(|(pid, _, name)| name == "process_name" && *pid > 0).count();
        assert_eq!(processes, written.sessions);
    }
}

/// The last values of the counters are the totals of `report cost` and of each session.
#[test]
fn the_last_values_of_counters_are_the_totals() {
    for sources in [facts(Retention::None), demo_facts()] {
        let Exported { frames, events, written, .. } = exported(sources);
        let mut values: BTreeMap<(i64, String), f64> = BTreeMap::new();
        for event in events.iter().filter(|event| event["ph"] == "C") {
            let name = event["name"].as_str().unwrap().to_owned();
            let value = event["args"]["value"].as_f64().unwrap();
            let before = values.insert((number(event, "pid"), name.clone()), value).unwrap_or(0.0);
            assert!(name == "context" || before <= value, "{event}");
        }
        let answer = reports::find("cost").unwrap();
        let answer = answer.run(&frames, &Options { by: vec!["session".to_owned()], ..Options::default() }).unwrap();
        let column = |name: &str| answer.rows.column(name).unwrap().cast(&DataType::Float64).unwrap();
        let (ids, tokens, costs) = (answer.rows.column("session").unwrap(), column("total_tokens"), column("cost_usd"));
        let (mut all_tokens, mut all_costs) = (0.0, 0.0);
        for row in 0..answer.rows.height() {
            let id = ids.str().unwrap().get(row).unwrap();
            if written.untimed_sessions.iter().any(|untimed| untimed == id) {
                continue;
            }
            all_tokens += tokens.f64().unwrap().get(row).unwrap_or(0.0);
            all_costs += costs.f64().unwrap().get(row).unwrap_or(0.0);
        }
        let of = |pid: i64, name: &str| values.get(&(pid, name.to_owned())).copied().unwrap_or(0.0);
        assert!((of(0, "tokens") - all_tokens).abs() < 0.5, "{} {all_tokens}", of(0, "tokens"));
        assert!((of(0, "dollars") - all_costs).abs() < 1e-6, "{} {all_costs}", of(0, "dollars"));
        let by_session = |name: &str| -> f64 {
            values.iter().filter(|((pid, counter), _)| *pid > 0 && counter == name).map(|(_, value)| value).sum()
        };
        assert!((by_session("tokens") - all_tokens).abs() < 0.5);
        assert!((by_session("dollars") - all_costs).abs() < 1e-6);
    }
}

/// A response of several lines is a slice from its prompt to its last line.
#[test]
fn a_response_is_a_slice_until_its_last_line() {
    let line = |second: u32, kind: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","sessionId":"s","uuid":"u{second}","timestamp":"2026-10-05T00:00:{second:02}Z","message":{message}}}"#
        )
    };
    let response = |second: u32, id: &str, block: &str| {
        let usage = r#"{"input_tokens":1,"output_tokens":5}"#;
        line(second, "assistant", &format!(r#"{{"id":"{id}","model":"m","content":[{block}],"usage":{usage}}}"#))
    };
    let log = [
        line(0, "user", r#"{"role":"user","content":"Go."}"#),
        response(10, "msg_1", r#"{"type":"text","text":"well"}"#),
        response(40, "msg_1", r#"{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}"#),
        line(41, "user", r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}"#),
        response(50, "msg_2", r#"{"type":"text","text":"Done."}"#),
    ];
    let sessions = adapters::parse(log.join("\n").as_bytes(), Hints::default(), Retention::None).sessions;
    let Exported { frames, events, .. } = exported(vec![Source { sessions, ..Source::default() }]);
    let start = 1_791_158_400_000_000;
    let slices = events.iter().filter(|event| event["ph"] == "X");
    let slices: Vec<_> = slices
        .map(|event| (event["cat"].as_str().unwrap(), number(event, "ts") - start, number(event, "dur")))
        .collect();
    assert_eq!(slices, [("model", 0, 40_000_000), ("shell", 40_000_000, 1_000_000), ("model", 41_000_000, 9_000_000)]);
    let value = |report: &str, measure: &str| {
        let answer =
            reports::find(report).unwrap().run(&frames, &Options { wide: true, ..Options::default() }).unwrap();
        answer.rows.column(measure).unwrap().cast(&DataType::Int64).unwrap().i64().unwrap().get(0)
    };
    assert_eq!(value("requests", "p50_duration_ms"), Some(50_000));
    assert_eq!(value("behavior", "model_time_ms"), Some(49_000));
    assert_eq!(value("behavior", "tool_time_ms"), Some(1000));
}

/// Text of conversations is in the trace only if the archive has it.
#[test]
fn texts_are_those_of_the_archive() {
    let [without, with] = [Retention::None, Retention::Full].map(|content| exported(facts(content)));
    for key in ["\"arguments\":", "\"result\":"] {
        assert!(!without.text.contains(key) && with.text.contains(key), "{key}");
    }
    assert_eq!(without.written, with.written);
}

/// Subagents have tracks of their own, and calls that ran at the same time are on several.
#[test]
fn agents_have_tracks() {
    let Exported { events, .. } = exported(demo_facts());
    let names: BTreeSet<&str> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert!(names.contains("main") && names.contains("main tools"), "{names:?}");
    assert!(names.iter().any(|name| !name.starts_with("main")), "{names:?}");
    let categories: BTreeSet<&str> = events.iter().filter_map(|event| event["cat"].as_str()).collect();
    for category in ["model", "waiting", "shell"] {
        assert!(categories.contains(category), "{categories:?}");
    }
}
