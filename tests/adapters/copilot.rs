//! Copilot's events.

use agentlogs::model::session::Status;
use agentlogs::model::source::Source;
use agentlogs::model::tables::{Grain, Tables, Usage};

use super::{sessions_at, tables};
use crate::settled;

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

fn compaction(second: u32, model: &str, input: u32, output: u32) -> String {
    let usage = format!(r#"{{"model":"{model}","inputTokens":{input},"outputTokens":{output}}}"#);
    event("session.compaction_complete", second, &format!(r#"{{"success":true,"compactionTokensUsed":{usage}}}"#))
}

/// The total of a process may leave the summary of a compaction out: the outputs of its messages show it.
#[test]
fn a_compaction_outside_of_the_total_is_a_row_of_its_own() {
    let outside = [message(1, "m", 7), compaction(2, "m", 900, 30), message(3, "m", 9), shutdown(4, "m", 100, 16)];
    let tables = tables_of(&outside);
    assert_eq!(counts(&tables), [Some(985), Some(46), Some(10), Some(5)]);
    assert_eq!((tables.sessions[0].usage, tables.sessions[0].compactions), (Usage::Exact, Some(1)));
    let inside = [message(1, "m", 7), compaction(2, "m", 50, 30), message(3, "m", 9), shutdown(4, "m", 100, 46)];
    let tables = tables_of(&inside);
    assert_eq!(counts(&tables), [Some(85), Some(46), Some(10), Some(5)]);
    assert_eq!(tables.sessions[0].usage, Usage::Exact);
    // A summary by a model that the total does not name.
    let other = [message(1, "m", 7), compaction(2, "small", 900, 30), shutdown(4, "m", 100, 7)];
    assert_eq!(counts(&tables_of(&other)), [Some(985), Some(37), Some(10), Some(5)]);
    let two = [
        message(1, "m", 7),
        compaction(2, "m", 900, 30),
        shutdown(4, "m", 100, 7),
        message(5, "m", 8),
        compaction(6, "m", 50, 20),
        shutdown(7, "m", 100, 28),
    ];
    assert_eq!(counts(&tables_of(&two)), [Some(1070), Some(65), Some(20), Some(10)]);
}

fn result(second: u32, exit_code: u32) -> String {
    format!(
        r#"{{"type":"result","timestamp":"2026-10-02T08:00:{second:02}Z","sessionId":"s","exitCode":{exit_code},"usage":{{"premiumRequests":1,"totalApiDurationMs":5000,"sessionDurationMs":9000,"codeChanges":{{"linesAdded":3,"linesRemoved":1,"filesModified":[]}}}}}}"#
    )
}

fn recording(exit_code: u32) -> Vec<String> {
    let answer = r#"{"messageId":"m3","content":"Done."}"#;
    vec![
        event("session.tools_updated", 1, r#"{"model":"m"}"#),
        event("user.message", 2, r#"{"content":"Go."}"#),
        event("assistant.message", 3, answer),
        result(9, exit_code),
    ]
}

/// The last record of a recording names the session, and states how the process ended.
#[test]
fn a_recording_ends_with_its_result() {
    for (exit_code, status) in [(0, Status::Success), (1, Status::Error)] {
        let tables = tables(&[recording(exit_code).join("\n")]);
        let [row] = tables.sessions.as_slice() else { panic!() };
        assert_eq!((row.session.session_id.as_str(), row.session.status), ("s", status));
        assert_eq!((row.session.exit_code, row.model.as_deref()), (Some(i64::from(exit_code)), Some("m")));
        assert_eq!((row.duration_ms, row.api_duration_ms), (Some(9000), Some(5000)));
        assert_eq!((row.user_turns, row.turns, row.lines_added), (Some(1), Some(1), Some(3)));
        // A message without tokens is not one with 0.
        assert_eq!((row.tokens.total(), row.usage), (None, Usage::Unknown));
    }
    // Two processes of the session in one file, and records after the last result.
    let resumed =
        recording(0).join("\n").replace("08:00:", "09:00:").replace("\"id\":\"e", "\"id\":\"f").replace("m3", "m4");
    let more = event("session.background_tasks_changed", 50, "{}");
    let tables = tables(&[[recording(1).join("\n"), resumed, more].join("\n")]);
    let [row] = tables.sessions.as_slice() else { panic!("{}", tables.sessions.len()) };
    assert_eq!((row.turns, row.user_turns, row.duration_ms), (Some(2), Some(2), Some(18_000)));
    assert_eq!(row.session.status, Status::Success);
}

/// A recording names its session at its end: a copy that was cut before does not.
#[test]
fn a_cut_recording_beside_the_whole_one_adds_nothing() {
    let whole =
        [event("user.message", 1, r#"{"content":"Go."}"#), message(2, "m", 7), message(3, "m", 9), result(9, 0)];
    for length in 1..whole.len() {
        let [whole, cut] = [whole.join("\n"), whole[..length].join("\n")];
        for logs in [[whole.clone(), cut.clone()], [cut, whole]] {
            let tables = tables(&logs);
            let [row] = tables.sessions.as_slice() else { panic!("{length} lines") };
            assert_eq!((row.session.session_id.as_str(), row.session.status), ("s", Status::Success));
            assert_eq!((row.turns, row.user_turns, row.tokens.output), (Some(2), Some(1), Some(16)), "{length} lines");
        }
    }
}

/// Two processes of a session in one file, of which a copy was cut at any line.
#[test]
fn a_cut_recording_of_two_processes_adds_nothing() {
    let process = |first: u32, id: &str| {
        let lines = [
            event("user.message", first, r#"{"content":"Go."}"#),
            message(first + 1, "m", first),
            result(first + 2, 0),
        ];
        lines.map(|line| line.replace("\"id\":\"e", id))
    };
    let whole = [process(1, "\"id\":\"e"), process(11, "\"id\":\"f")].concat();
    for length in 1..whole.len() {
        let tables = tables(&[whole.join("\n"), whole[..length].join("\n")]);
        let [row] = tables.sessions.as_slice() else { panic!("{length} lines: {}", tables.sessions.len()) };
        assert_eq!((row.turns, row.user_turns, row.tokens.output), (Some(2), Some(2), Some(12)), "{length} lines");
    }
}

/// The name of a file with several recordings gives its id to each one that is cut: they are not one session.
#[test]
fn recordings_in_one_file_stay_apart() {
    let recording = |first: u32| [event("user.message", first, r#"{"content":"Go."}"#), message(first + 1, "m", first)];
    let whole = [&recording(1)[..], &[result(3, 0)]].concat();
    let path = "run-7c0b8e4e-2f0a-4b57-9f3e-6f1f6f1d2a11.jsonl";
    let log = [whole.clone(), recording(11).to_vec()].concat().join("\n");
    let source =
        |path: &str, log: &str| Source { path: path.to_owned(), sessions: sessions_at(path, log), ..Source::default() };
    for sources in [
        vec![source(path, &log)],
        vec![source(path, &whole.join("\n")), source(&format!("again/{path}"), &recording(11).join("\n"))],
    ] {
        let tables = settled(sources);
        let output: Option<i64> = tables.sessions.iter().map(|row| row.tokens.output).sum();
        assert_eq!((tables.sessions.len(), output), (2, Some(12)));
    }
}

/// A recording beside the session's own log is a view of it.
#[test]
fn a_recording_and_the_log_count_once() {
    let shutdown = shutdown(8, "m", 100, 7).replace("routine\",", "routine\",\"totalApiDurationMs\":5000,");
    let prompt = event("user.message", 2, r#"{"content":"Go."}"#);
    let log = [event("session.start", 0, r#"{"sessionId":"s"}"#), prompt, message(3, "m", 7), shutdown].join("\n");
    for logs in [[log.clone(), recording(0).join("\n")], [recording(0).join("\n"), log]] {
        let tables = tables(&logs);
        let [row] = tables.sessions.as_slice() else { panic!() };
        assert_eq!(row.tokens.kinds(), [Some(85), Some(7), Some(10), Some(5)]);
        assert_eq!((row.turns, row.user_turns), (Some(1), Some(1)));
        assert_eq!((row.duration_ms, row.api_duration_ms), (Some(9000), Some(5000)));
        assert_eq!((row.usage, row.session.status), (Usage::Exact, Status::Success));
    }
}

fn request(id: u32, session: &str, output: u32, call: &str, second: u32) -> String {
    format!(
        r#"{{"table":"assistant_usage_events","id":{id},"session_id":"{session}","model":"m","copilot_usage_model":"m","reasoning_effort":null,"input_tokens":1000,"output_tokens":{output},"cache_read_tokens":700,"cache_write_tokens":200,"reasoning_tokens":0,"duration_ms":2500.0,"finish_reason":"stop","api_call_id":{call},"agent_id":null,"parent_tool_call_id":null,"created_at":"2026-10-02 08:00:{second:02}"}}"#
    )
}

/// The store has the counts that the log of a killed process leaves out. A request is found by the id of its call, else by its output.
#[test]
fn the_store_fills_the_log() {
    let place =
        r#"{"table":"sessions","id":"s","cwd":"/work/shop","repository":"acme/shop","branch":"main","host_type":null}"#;
    let store = |calls: [&str; 3]| {
        let requests = [(1, 7, 1), (2, 9, 3), (3, 30, 4)].into_iter().zip(calls);
        let rows = requests.map(|((id, output, second), call)| request(id, "s", output, call, second));
        rows.chain([place.to_owned()]).collect::<Vec<_>>().join("\n")
    };
    let start = event("session.start", 0, r#"{"sessionId":"s"}"#);
    let messages = [start, message(1, "m", 7), message(3, "m", 9)];
    let killed = messages.join("\n");
    let ids = store(["\"m1\"", "\"m3\"", "\"m9\""]);
    let no_ids = store(["null"; 3]);
    for store in [&ids, &no_ids] {
        for logs in [[&killed, store], [store, &killed]] {
            let tables = tables(&logs);
            let [row] = tables.sessions.as_slice() else { panic!() };
            assert_eq!(row.tokens.kinds(), [Some(300), Some(46), Some(2100), Some(600)]);
            assert_eq!((row.turns, row.session.cwd.as_deref()), (Some(3), Some("/work/shop")));
        }
    }
    // The total of a process contains the requests of its messages, and not the one outside of it.
    let ended = [&messages[..], &[shutdown(5, "m", 215, 16)]].concat().join("\n");
    let tables = tables(&[ended, ids]);
    assert_eq!(tables.sessions[0].tokens.kinds(), [Some(300), Some(46), Some(2100), Some(600)]);
    assert_eq!(tables.sessions[0].usage, Usage::Exact);
    // Without its log, a session is known by its requests.
    let tables = super::tables(&[no_ids]);
    assert_eq!(
        (tables.sessions[0].turns, tables.sessions[0].session.repository.as_deref()),
        (Some(3), Some("github.com/acme/shop"))
    );
}
