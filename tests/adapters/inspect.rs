//! Inspect AI's `.eval` archives: each sample is a member, and the name of the task is in the name of the archive.

use std::fs;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::model::session::{EventKind, Status};
use agentlogs::model::source::SourceStatus;

use crate::{containers, reconciled, root};

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
    let directory = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        fs::write(directory.path().join(name), bytes).unwrap();
        let options =
            Options { roots: vec![directory.path().join(name)], content: Retention::None, ..Options::default() };
        ingest::read(&options, &std::collections::BTreeMap::new(), &Progress::default()).sources
    };
    let archive = read("2026-05-12T20-27-36-04-00_fence_posts_Ta1.eval", &containers::zip(&members));
    let is_known = |status| matches!(status, SourceStatus::Parsed | SourceStatus::Auxiliary);
    assert!(archive.iter().all(|source| is_known(source.status)), "{archive:?}");
    let whole = read("log.json", &serde_json::to_vec(&document).unwrap());
    let tables = |sources| reconciled(sources).sessions;
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

/// A request of a model, in the minute after 08:00.
fn request(uuid: &str, second: u32, changes: &serde_json::Value) -> serde_json::Value {
    let usage = serde_json::json!({"input_tokens": 100, "output_tokens": 10, "total_tokens": 110});
    let mut event = serde_json::json!({
        "event": "model", "uuid": uuid, "timestamp": format!("2026-08-20T08:00:{second:02}Z"), "model": "openai/gpt-5.1",
        "output": {"choices": [{"message": {"role": "assistant", "content": uuid}}], "usage": usage},
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        event[key] = value.clone();
    }
    event
}

fn sample(uuid: &str, events: &[serde_json::Value], failed: &[serde_json::Value]) -> serde_json::Value {
    serde_json::json!({
        "id": 1, "epoch": 1, "uuid": uuid, "input": "x", "target": "y", "events": events, "error_retries": failed,
    })
}

/// A sample that failed runs again as the same session. Of the attempt that failed, the events since its last request are kept.
#[test]
fn an_attempt_that_failed_is_a_part_of_its_sample() {
    let none = serde_json::json!({});
    let failed = [
        serde_json::json!({"message": "No route", "events": [request("a", 1, &none)]}),
        serde_json::json!({"message": "No space", "events": null}),
    ];
    // Inspect writes the events first.
    let log = format!(
        r#"{{"id": 1, "epoch": 1, "uuid": "S", "input": "x", "target": "y", "events": [
{}], "error_retries": [
{},
{}]}}"#,
        request("b", 20, &none),
        failed[0],
        failed[1]
    );
    let sessions = super::sessions(&log);
    let [session] = sessions.as_slice() else { panic!() };
    assert_eq!(session.turns.iter().map(|turn| turn.tokens.get().total()).collect::<Vec<_>>(), [Some(110); 2]);
    assert!(session.turns[0].occurred_at < session.turns[1].occurred_at);
    assert_eq!((session.turns[0].line, session.turns[1].line), (3, 2));
    let retries: Vec<_> = session.events.iter().map(|it| (it.kind, it.message.as_deref())).collect();
    assert_eq!(retries, [(EventKind::Retry, Some("No route")), (EventKind::Retry, Some("No space"))]);
    assert_eq!((session.text.as_deref(), session.status), (Some("b"), Status::Success));
    assert!(session.under_reports);
    assert!(
        !super::sessions(&sample("S", &[request("b", 20, &serde_json::json!({}))], &[]).to_string())[0].under_reports
    );
}

/// The log of an evaluation that was run again contains the last request of a sample that failed in the log before.
#[test]
fn a_request_of_an_evaluation_before_counts_once() {
    let [first, second, third] =
        [("a", 1), ("b", 2), ("c", 40)].map(|(uuid, at)| request(uuid, at, &serde_json::json!({})));
    let mut before = sample("S", &[first, second.clone()], &[]);
    before["error"] = serde_json::json!({"message": "No route"});
    let failed = [serde_json::json!({"message": "No route", "events": [second]})];
    let again = sample("T", &[third], &failed);
    let logs = [before.to_string(), again.to_string()];
    for logs in [logs.clone(), [logs[1].clone(), logs[0].clone()]] {
        let tables = super::tables(&logs);
        let turns =
            |id: &str| tables.sessions.iter().find(|row| row.session.session_id == id).and_then(|row| row.turns);
        assert_eq!((turns("S"), turns("T")), (Some(2), Some(1)));
    }
}

/// A request may be answered by another model than the one that was asked.
#[test]
fn a_request_has_the_model_that_answered_and_its_effort() {
    let of = |changes: serde_json::Value| {
        let sessions = super::sessions(&sample("S", &[request("a", 1, &changes)], &[]).to_string());
        let turn = &sessions[0].turns[0];
        (turn.model.as_deref().unwrap_or_default().to_owned(), turn.effort.as_deref().map(str::to_owned))
    };
    let asked = || "openai/gpt-5.1".to_owned();
    assert_eq!(of(serde_json::json!({"config": null})), (asked(), None));
    assert_eq!(of(serde_json::json!({"config": {"effort": "low"}})), (asked(), Some("low".to_owned())));
    let both = serde_json::json!({"config": {"effort": "low", "reasoning_effort": "high"}});
    assert_eq!(of(both), (asked(), Some("high".to_owned())));
    let mut output = request("a", 1, &serde_json::json!({}))["output"].clone();
    output["fallback"] = serde_json::json!({"model": "gpt-5.1", "fallback_model": "gpt-5.1-mini", "count": 1});
    assert_eq!(of(serde_json::json!({"output": output})), ("gpt-5.1-mini".to_owned(), None));
}

/// Requests that were cancelled did not fail, but may have been billed.
#[test]
fn a_cancelled_request_is_no_error() {
    let cut = |error: &str| request("b", 2, &serde_json::json!({"error": error, "output": {"choices": []}}));
    let interrupt = |source: &str| serde_json::json!({"event": "interrupt", "timestamp": "2026-08-20T08:00:03Z", "source": source, "interrupted": "generate"});
    let of = |events: &[serde_json::Value]| {
        let events = [&[request("a", 1, &serde_json::json!({}))], events].concat();
        let mut sessions = super::sessions(&sample("S", &events, &[]).to_string());
        let session = sessions.remove(0);
        let kinds: Vec<_> =
            session.events.iter().map(|it| (it.kind, it.message.as_deref().map(str::to_owned))).collect();
        (session.turns.len(), kinds, session.under_reports)
    };
    let aborted = |source: &str| vec![(EventKind::Abort, Some(source.to_owned()))];
    let by_operator = of(&[cut("Cancelled by operator"), interrupt("user_cancel")]);
    assert_eq!(by_operator, (1, aborted("user_cancel"), true));
    assert_eq!(of(&[cut("Cancelled by system"), interrupt("system")]), (1, aborted("system"), true));
    assert_eq!(of(&[cut("Cancelled by limit"), interrupt("limit")]), (1, vec![], true));
    let failed = of(&[cut("Internal server error")]);
    assert_eq!(failed, (1, vec![(EventKind::Error, Some("Internal server error".to_owned()))], false));
}

/// Version 0.3.285 keeps the messages of prompts apart from the events, which have ranges of them.
#[test]
fn instructions_may_be_in_the_messages_of_all_prompts() {
    let message = |role: &str, text: &str| serde_json::json!({"role": role, "content": text});
    let offered = |input: &[serde_json::Value], ranges: serde_json::Value| {
        let output = serde_json::json!({"choices": [{"message": message("assistant", "ok"), "stop_reason": "stop"}]});
        let event = serde_json::json!({"uuid": "e1", "event": "model", "timestamp": "2026-11-20T10:00:01+00:00", "model": "m",
            "input": input, "input_refs": ranges, "output": output});
        let all = [message("system", "Unused."), message("system", "You are an agent."), message("user", "Go.")];
        let sample = serde_json::json!({"id": 1, "epoch": 1, "uuid": "s1", "input": "Go.", "events": [event],
            "scores": {}, "events_data": {"messages": all, "calls": []}});
        let eval =
            serde_json::json!({"task": "t", "created": "2026-11-20T10:00:00+00:00", "model": "m", "run_id": "r"});
        let log = serde_json::json!({"version": 2, "status": "success", "eval": eval, "plan": {}, "samples": [sample]})
            .to_string();
        let mut sessions = super::sessions(&log);
        assert_eq!((sessions.len(), sessions[0].turns.len()), (1, 1));
        sessions.swap_remove(0).offer.instructions
    };
    let expected = offered(&[message("system", "You are an agent."), message("user", "Go.")], serde_json::Value::Null);
    assert!(expected.is_some());
    assert_eq!(offered(&[], serde_json::json!([[1, 3]])), expected);
    assert_eq!(offered(&[], serde_json::json!([[1, 2], [2, 9]])), expected);
    for nothing in [serde_json::json!([[3, 1], [7, 9]]), serde_json::json!([[2, 3]]), serde_json::json!("x")] {
        assert_eq!(offered(&[], nothing), None);
    }
}
