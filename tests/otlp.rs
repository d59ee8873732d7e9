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

use crate::{demo_facts, facts, settled};

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
    settled(read.sources)
}

/// Tokens and calls of every session are the same once the traces are read as a log.
#[test]
fn what_is_exported_and_read_again_has_the_same_totals() {
    for sources in [facts(Retention::Full), demo_facts()] {
        let tables = settled(sources);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("otlp.jsonl");
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
    let text = exported(&settled(demo_facts()));
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

/// The names of attributes, which docs/otlp.md lists.
#[test]
fn the_document_lists_all_attributes() {
    let text = exported(&settled(facts(Retention::Full)));
    let document = fs::read_to_string(crate::root().join("docs/otlp.md")).unwrap();
    let keys: BTreeSet<&str> = text.split("{\"key\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys.into_iter().filter(|key| !key.starts_with("agentlogs.label.")) {
        assert!(document.contains(&format!("`{key}`")), "{key}");
    }
}
