//! `export --as otlp`: what is exported and read again has the same totals.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::export::Traces;
use agentlogs::analysis::reports::Frames;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::model::source::SourceStatus;
use agentlogs::model::tables::Tables;
use agentlogs::store::frames::frames;
use serde_json::Value;

use crate::{demo_facts, facts, reconciled};

/// The traces of tables, as text.
fn exported(tables: &Tables) -> String {
    let frames: Frames = frames(tables).unwrap().into_iter().map(|(name, frame)| (name, polars_lazy(frame))).collect();
    let mut out = Vec::new();
    Traces::new(&frames).unwrap().write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn polars_lazy(frame: polars::prelude::DataFrame) -> polars::prelude::LazyFrame {
    polars::prelude::IntoLazy::lazy(frame)
}

/// The tokens and the calls of a session.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    input: i64,
    output: i64,
    cache_read: i64,
    cache_write: i64,
    reasoning: i64,
    calls: usize,
    failed_calls: usize,
}

fn totals(tables: &Tables) -> BTreeMap<String, Totals> {
    let mut all: BTreeMap<String, Totals> = BTreeMap::new();
    let name = |index: usize| {
        let session = &tables.sessions[index].session;
        format!("{} {}", session.runtime, session.session_id)
    };
    for row in &tables.turns {
        let tokens = row.turn.tokens.get();
        let totals = all.entry(name(row.session)).or_default();
        totals.input += tokens.input.unwrap_or(0);
        totals.output += tokens.output.unwrap_or(0);
        totals.cache_read += tokens.cache_read.unwrap_or(0);
        totals.cache_write += tokens.cache_write.unwrap_or(0);
        totals.reasoning += tokens.reasoning.unwrap_or(0);
    }
    for row in &tables.tool_calls {
        let totals = all.entry(name(row.session)).or_default();
        totals.calls += 1;
        totals.failed_calls += usize::from(matches!(row.call.status.as_str(), "error" | "denied"));
    }
    all.retain(|_, totals| *totals != Totals::default());
    all
}

fn read(path: &Path) -> Tables {
    let options = Options { roots: vec![path.to_owned()], ..Options::default() };
    let read = ingest::read(&options, &BTreeMap::new(), &Progress::default());
    assert!(read.sources.iter().all(|source| source.status == SourceStatus::Parsed));
    reconciled(read.sources)
}

/// Tokens and calls of every session are the same once the traces are read as a log.
#[test]
fn what_is_exported_and_read_again_has_the_same_totals() {
    for sources in [facts(Retention::Full), demo_facts()] {
        let tables = reconciled(sources);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("otlp.jsonl");
        fs::write(&path, exported(&tables)).unwrap();
        let (before, after) = (totals(&tables), totals(&read(&path)));
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        for (session, totals) in &before {
            assert_eq!(Some(totals), after.get(session), "{session}");
        }
    }
}

/// Ids have the form of OTLP, are unique, and each parent is a span of the same trace.
#[test]
fn spans_are_trees() {
    let text = exported(&reconciled(demo_facts()));
    let mut spans: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for span in line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
            let text = |key: &str| span[key].as_str().unwrap_or_default().to_owned();
            let is_hexadecimal =
                |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_hexadecimal(&text("traceId"), 32) && is_hexadecimal(&text("spanId"), 16), "{span}");
            let times = ["startTimeUnixNano", "endTimeUnixNano"].map(|key| text(key).parse::<u64>().unwrap());
            assert!(times[0] <= times[1], "{span}");
            spans.entry(text("traceId")).or_default().push((text("spanId"), text("parentSpanId")));
        }
    }
    assert!(spans.len() > 30);
    for spans in spans.values() {
        let ids: BTreeSet<&str> = spans.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids.len(), spans.len());
        assert_eq!(spans.iter().filter(|(_, parent)| parent.is_empty()).count(), 1);
        assert!(spans.iter().all(|(_, parent)| parent.is_empty() || ids.contains(parent.as_str())));
    }
}

/// The lines of the metrics of tables, and the number of sessions without a time.
fn exported_metrics(tables: &Tables) -> (String, usize) {
    let frames: Frames = frames(tables).unwrap().into_iter().map(|(name, frame)| (name, polars_lazy(frame))).collect();
    let mut out = Vec::new();
    let untimed = Traces::new(&frames).unwrap().write_metrics(&mut out).unwrap();
    (String::from_utf8(out).unwrap(), untimed)
}

/// The sums of tokens by kind and of dollars are those of the ledger, and buckets contain all observations.
#[test]
fn metrics_have_the_totals_of_the_archive() {
    for sources in [facts(Retention::Full), demo_facts()] {
        let tables = reconciled(sources);
        let (text, _) = exported_metrics(&tables);
        let mut tokens: BTreeMap<String, i64> = BTreeMap::new();
        let (mut cost, mut responses) = (0.0, 0);
        let number = |value: &Value| value.as_str().unwrap().parse::<i64>().unwrap();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            for metric in line["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap() {
                let data = if metric["sum"].is_null() { &metric["histogram"] } else { &metric["sum"] };
                assert_eq!(data["aggregationTemporality"], 1, "{metric}");
                for point in data["dataPoints"].as_array().unwrap() {
                    let attribute = |name: &str| {
                        let mut all = point["attributes"].as_array().unwrap().iter();
                        all.find(|it| it["key"] == name)
                            .map(|it| it["value"]["stringValue"].as_str().unwrap().to_owned())
                    };
                    assert!(number(&point["startTimeUnixNano"]) <= number(&point["timeUnixNano"]), "{point}");
                    match metric["name"].as_str().unwrap() {
                        "agentlogs.tokens" => {
                            *tokens.entry(attribute("agentlogs.token.type").unwrap()).or_default() +=
                                number(&point["asInt"]);
                        }
                        "agentlogs.cost" => cost += point["asDouble"].as_f64().unwrap(),
                        name => {
                            let counts = point["bucketCounts"].as_array().unwrap();
                            assert_eq!(counts.len(), point["explicitBounds"].as_array().unwrap().len() + 1);
                            assert_eq!(counts.iter().map(number).sum::<i64>(), number(&point["count"]), "{name}");
                            assert!(point["min"].as_f64() <= point["max"].as_f64());
                            if attribute("gen_ai.token.type").as_deref() == Some("output") {
                                responses += number(&point["count"]);
                            }
                        }
                    }
                }
            }
        }
        let of_turns = tables.turns.iter().filter(|row| row.turn.occurred_at.is_some()).map(|row| row.session);
        let mut timed: BTreeSet<usize> = of_turns.collect();
        timed.extend((0..tables.sessions.len()).filter(|index| {
            let session = &tables.sessions[*index].session;
            session.started_at.is_some() || session.ended_at.is_some()
        }));
        let (mut expected, mut expected_cost, mut expected_responses) = (BTreeMap::<String, i64>::new(), 0.0, 0);
        for row in tables.turns.iter().filter(|row| timed.contains(&row.session)) {
            let counts = row.turn.tokens.get().kinds();
            for (kind, count) in ["input", "output", "cache_read", "cache_write"].into_iter().zip(counts) {
                if let Some(count) = count {
                    *expected.entry(kind.to_owned()).or_default() += count;
                }
            }
            expected_cost += row.money.cost.unwrap_or(0.0);
            expected_responses += i64::from(row.grain.as_str() == "turn" && counts[1].is_some());
        }
        assert_eq!(tokens, expected);
        assert!((cost - expected_cost).abs() < 1e-6, "{cost} {expected_cost}");
        assert_eq!(responses, expected_responses);
    }
}

/// The file of metrics beside the traces adds nothing when both are read as logs.
#[test]
fn metrics_are_not_read_as_usage() {
    let tables = reconciled(demo_facts());
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("otlp.jsonl"), exported(&tables)).unwrap();
    let traces = totals(&read(directory.path()));
    fs::write(directory.path().join("otlp-metrics.jsonl"), exported_metrics(&tables).0).unwrap();
    let options = Options { roots: vec![directory.path().to_owned()], ..Options::default() };
    let both = ingest::read(&options, &BTreeMap::new(), &Progress::default());
    assert_eq!(totals(&reconciled(both.sources)), traces);
}

/// The names of attributes, which docs/otlp.md lists.
#[test]
fn the_document_lists_all_attributes() {
    let tables = reconciled(facts(Retention::Full));
    let text = exported(&tables) + &exported_metrics(&tables).0;
    let document = fs::read_to_string(crate::root().join("docs/otlp.md")).unwrap();
    let keys: BTreeSet<&str> = text.split("{\"key\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys.into_iter().filter(|key| !key.starts_with("agentlogs.label.")) {
        assert!(document.contains(&format!("`{key}`")), "{key}");
    }
}
