//! Inspect AI's `.eval` archives: each sample is a member, and the name of the task is in the name of the archive.

use std::fs;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::model::source::SourceStatus;

use crate::{containers, root, settled};

#[test]
fn a_sample_in_an_archive_is_the_same_as_in_a_document() {
    let document = fs::read(root().join("sample-logs/inspect-log/two-epochs-and-a-grader.json")).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    let mut header = document.clone();
    header.as_object_mut().unwrap().remove("samples");
    let mut members = vec![
        ("_journal/start.json".to_owned(), header.to_string().into_bytes()),
        (
            "summaries.json".to_owned(),
            br#"[{"id":"fence-1","epoch":1,"input":"x","target":"12","scores":{}}]"#.to_vec(),
        ),
        ("reductions.json".to_owned(), br#"[{"scorer":"match","samples":[{"value":1.0,"sample_id":1}]}]"#.to_vec()),
    ];
    for sample in document["samples"].as_array().unwrap() {
        let name = format!("samples/fence-1_epoch_{}.json", sample["epoch"]);
        members.push((name, serde_json::to_vec_pretty(sample).unwrap()));
    }
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).unwrap();
        let options = Options { roots: vec![folder.path().join(name)], content: Retention::None, ..Options::default() };
        ingest::read(&options, &std::collections::BTreeMap::new(), &Progress::default()).sources
    };
    let archive = read("2026-05-12T20-27-36-04-00_fence_posts_Ta1.eval", &containers::zip(&members));
    let is_known = |status| matches!(status, SourceStatus::Parsed | SourceStatus::Auxiliary);
    assert!(archive.iter().all(|source| is_known(source.status)), "{archive:?}");
    let whole = read("log.json", &serde_json::to_vec(&document).unwrap());
    let tables = |sources| settled(sources).sessions;
    let (of_archive, of_document) = (tables(archive.clone()), tables(whole.clone()));
    let both = tables(archive.into_iter().chain(whole).collect());
    let counts = |sessions: &[agentlogs::model::tables::SessionRow]| {
        let count = |it: &agentlogs::model::tables::SessionRow| {
            (it.session.session_id.clone(), it.tokens, it.turns, it.tool_calls, it.tool_errors, it.retries)
        };
        sessions.iter().map(count).collect::<Vec<_>>()
    };
    assert_eq!(counts(&of_archive).len(), 2);
    assert_eq!(counts(&of_archive), counts(&of_document));
    assert_eq!(counts(&both), counts(&of_document));
    assert!(of_archive.iter().all(|it| it.session.labels.contains("task=fence_posts")));
}

/// Before 0.3.42, a sample contained its events in `transcript`.
#[test]
fn the_events_of_a_sample_may_be_in_its_transcript() {
    let document = fs::read_to_string(root().join("sample-logs/inspect-log/two-epochs-and-a-grader.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let mut earlier = document.clone();
    for sample in earlier["samples"].as_array_mut().unwrap() {
        let events = sample.as_object_mut().unwrap().remove("events").unwrap();
        sample["transcript"] = serde_json::json!({"events": events, "content": {}});
    }
    let counts = |log: &serde_json::Value| {
        let sessions = super::sessions(&log.to_string());
        let count = |it: &agentlogs::model::session::SessionResult| {
            (it.session_id.clone(), it.turns.len(), it.tool_calls.len())
        };
        sessions.iter().map(count).collect::<Vec<_>>()
    };
    assert!(counts(&document).iter().all(|(_, turns, _)| *turns > 0));
    assert_eq!(counts(&earlier), counts(&document));
    assert_eq!(counts(&earlier["samples"][0])[..], counts(&document)[..1]);
}

/// Samples without events are those of their evaluation, in both forms of its log.
#[test]
fn a_sample_without_events_is_that_of_its_evaluation() {
    let document = |created: &str| {
        serde_json::json!({
            "version": 2, "status": "success", "plan": {},
            "eval": {"task": "fences", "run_id": "R", "task_id": "T", "created": created, "model": "m"},
            "samples": [{"id": 1, "epoch": 1, "input": "x", "target": "y", "events": []}],
        })
    };
    let first = document("2026-05-12T20:27:36-04:00");
    let id = |path: &str, log: &serde_json::Value| super::sessions_at(path, &log.to_string())[0].session_id.clone();
    let member = "logs/2026-05-12T20-27-36-04-00_fences_T.eval!/samples/1_epoch_1.json";
    assert_eq!(id("a.json", &first), id(member, &first["samples"][0]));
    assert_ne!(id("a.json", &first), id("b.json", &document("2026-05-13T20:27:36-04:00")));
}
