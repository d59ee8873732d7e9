//! Copilot's events.

use agentlogs::model::session::Status;
use agentlogs::model::tables::{Grain, Tables, Usage};

use super::tables;

fn event(kind: &str, second: u32, data: &str) -> String {
    format!(
        r#"{{"type":"{kind}","data":{data},"id":"e{second}","timestamp":"2026-10-02T08:00:{second:02}Z","parentId":null}}"#
    )
}

fn message(second: u32, model: &str, output: u32) -> String {
    event(
        "assistant.message",
        second,
        &format!(r#"{{"messageId":"m{second}","model":"{model}","content":"Done.","outputTokens":{output}}}"#),
    )
}

fn shutdown(second: u32, model: &str, input: u32, output: u32) -> String {
    let usage = format!(
        r#"{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":10,"cacheWriteTokens":5,"reasoningTokens":0}}"#
    );
    event(
        "session.shutdown",
        second,
        &format!(r#"{{"shutdownType":"routine","modelMetrics":{{"{model}":{{"usage":{usage}}}}}}}"#),
    )
}

fn tables_of(lines: &[String]) -> Tables {
    tables(&[[&[event("session.start", 0, r#"{"sessionId":"s"}"#)], lines].concat().join("\n")])
}

fn counts(tables: &Tables) -> [Option<i64>; 4] {
    tables.sessions[0].tokens.kinds()
}

/// The counters of the next process start from 0, whether it spends more, less or the same.
#[test]
fn shutdowns_add() {
    for second in [40, 100, 700] {
        let lines = [message(1, "m", 7), shutdown(2, "m", 100, 7), message(3, "m", 9), shutdown(4, "m", second, 9)];
        let tables = tables_of(&lines);
        let input = i64::from(100 + second) - 30;
        assert_eq!(counts(&tables), [Some(input), Some(16), Some(20), Some(10)]);
        assert_eq!(tables.sessions[0].usage, Usage::Exact);
        let twice = tables_of(&[&lines[..], &lines[..]].concat());
        assert_eq!(counts(&twice), counts(&tables));
    }
}

#[test]
fn a_process_without_shutdown_is_known_by_its_messages() {
    let lines = [
        message(1, "m", 7),
        event("session.resume", 2, "{}"),
        message(3, "m", 9),
        shutdown(4, "m", 100, 50),
        event("session.resume", 5, "{}"),
        message(6, "m", 20),
    ];
    let tables = tables_of(&lines);
    assert_eq!(counts(&tables), [Some(85), Some(77), Some(10), Some(5)]);
    assert_eq!(tables.sessions[0].usage, Usage::LowerBound);
    assert_eq!(tables.sessions[0].session.status, Status::Incomplete);
    let stopped = tables_of(&[&lines[..], &[event("abort", 7, "{}")]].concat());
    assert_eq!((stopped.sessions[0].session.status, stopped.sessions[0].usage), (Status::Aborted, Usage::LowerBound));
    let alone = tables_of(&lines[..1]);
    assert_eq!(counts(&alone), [None, Some(7), None, None]);
    // The end of a later process does not contain the tokens of the first one.
    let lost = tables_of(&lines[..4]);
    assert_eq!(counts(&lost), [Some(85), Some(57), Some(10), Some(5)]);
    assert_eq!(lost.sessions[0].usage, Usage::LowerBound);
    assert_eq!(lost.sessions[0].session.status, Status::Success);
}

/// A shutdown with another model name contains the turns; one with zeros only does not.
#[test]
fn every_token_is_counted_once() {
    assert_eq!(counts(&tables_of(&[message(1, "auto", 7), shutdown(2, "m", 100, 30)]))[1], Some(30));
    let zeros = shutdown(2, "m", 0, 0).replace(":10,", ":0,").replace(":5,", ":0,");
    let tables = tables_of(&[message(1, "m", 7), zeros]);
    assert_eq!(counts(&tables), [None, Some(7), None, None]);
    assert!(tables.turns.iter().all(|it| it.grain == Grain::Turn));
}

#[test]
fn an_abort_ends_a_session_only_if_nothing_follows() {
    let status = |lines: &[String]| tables_of(lines).sessions[0].session.status;
    let abort = event("abort", 2, r#"{"reason":"user_initiated"}"#);
    assert_eq!(status(&[message(1, "m", 7), abort.clone()]), Status::Aborted);
    assert_eq!(status(&[abort.clone(), shutdown(3, "m", 1, 1)]), Status::Aborted);
    assert_eq!(status(&[abort, message(3, "m", 7), shutdown(4, "m", 1, 1)]), Status::Success);
}
