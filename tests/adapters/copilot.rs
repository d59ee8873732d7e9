//! Copilot's events.

use agentlogs::ledger::costs::price;
use agentlogs::model::errors::ErrorKind;
use agentlogs::model::session::{EventKind, Status};
use agentlogs::model::source::Source;
use agentlogs::model::tables::{Grain, Tables, TurnRow, Usage};
use agentlogs::prices::Catalog;

use super::{sessions_at, tables};
use crate::reconciled;

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

/// The record of an error states its kind; the shutdown that follows may state none.
#[test]
fn a_shutdown_after_an_error_keeps_its_kind() {
    let error =
        event("session.error", 2, r#"{"errorType":"rate_limit","message":"Too many requests","statusCode":429}"#);
    for reason in ["", r#","errorReason":"Session failed""#] {
        let failed = shutdown(3, "m", 100, 7).replace(r#""routine""#, &format!(r#""error"{reason}"#));
        let known = tables_of(&[message(1, "m", 7), error.clone(), failed.clone()]);
        assert_eq!(known.sessions[0].session.error_kind, Some(ErrorKind::RateLimit), "{reason}");
        assert_eq!(known.sessions[0].session.error_message.as_deref(), Some("Too many requests"));
        let unknown = tables_of(&[message(1, "m", 7), failed]);
        assert_eq!(unknown.sessions[0].session.error_kind, Some(ErrorKind::Other), "{reason}");
    }
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

/// A server that does not start, or a list of models that cannot be loaded, ends no turn.
#[test]
fn an_error_beside_the_answer_fails_no_session() {
    let error = |kind: &str| event("session.error", 2, &format!(r#"{{"errorType":"{kind}","message":"Failed."}}"#));
    let prompt = event("user.message", 3, r#"{"content":"go"}"#);
    for (kind, status) in [("mcp", Status::Success), ("model", Status::Success), ("query", Status::Error)] {
        let tables = tables_of(&[message(1, "m", 7), error(kind), shutdown(9, "m", 100, 7)]);
        let session = &tables.sessions[0].session;
        assert_eq!(session.status, status, "{kind}");
        assert_eq!(session.error_kind, (status == Status::Error).then_some(ErrorKind::Other), "{kind}");
        let events: Vec<_> = tables.events.iter().map(|it| (it.event.kind, it.event.code.as_deref())).collect();
        assert_eq!(events, [(EventKind::Error, Some(kind))]);
        // An error that an answer follows is not the end.
        let answered = [error(kind), prompt.clone(), message(4, "m", 7), shutdown(9, "m", 100, 7)];
        assert_eq!(tables_of(&answered).sessions[0].session.status, Status::Success, "{kind}");
        // A session without a shutdown has not ended.
        let open = [message(1, "m", 7), error(kind)];
        let status = if status == Status::Success { Status::Incomplete } else { status };
        assert_eq!(tables_of(&open).sessions[0].session.status, status, "{kind}");
    }
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
        let tables = reconciled(sources);
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

/// A shutdown with the credits of its models, and of the session.
fn billed(second: u32, models: &[(&str, u32, u32, u64)], session: u64) -> String {
    let metric = |(model, input, output, credits): &(&str, u32, u32, u64)| {
        format!(
            r#""{model}":{{"totalNanoAiu":{credits}000000000,"requests":{{"count":1}},"usage":{{"inputTokens":{input},"outputTokens":{output}}}}}"#
        )
    };
    let metrics = models.iter().map(metric).collect::<Vec<_>>().join(",");
    let data = format!(
        r#"{{"shutdownType":"routine","totalNanoAiu":{session}000000000,"totalApiDurationMs":{second}000,"codeChanges":{{"linesAdded":{second},"linesRemoved":0}},"modelMetrics":{{{metrics}}}}}"#
    );
    event("session.shutdown", second, &data)
}

fn checkpoint(second: u32, credits: u64) -> String {
    event("session.usage_checkpoint", second, &format!(r#"{{"totalNanoAiu":{credits}000000000}}"#))
}

/// The reported and the stated cost of the only session, in cents.
fn cents(tables: &Tables) -> (Option<f64>, Option<f64>) {
    let [row] = tables.sessions.as_slice() else { panic!("{} sessions", tables.sessions.len()) };
    let cents = |cost: Option<f64>| cost.map(|cost| (cost * 1e6).round() / 1e4);
    (cents(row.money.cost), cents(row.money.reported))
}

fn priced(lines: &[String]) -> Tables {
    let mut tables = tables_of(lines);
    price(&mut tables, Catalog::built_in());
    tables
}

/// A credit is a cent. A 0 is not a cost: these requests are not billed in credits.
#[test]
fn credits_are_reported_costs() {
    let (a, b) = ("claude-sonnet-4.6", "gpt-5.4-mini");
    let tables = priced(&[message(1, a, 7), billed(4, &[(a, 900, 7, 30), (b, 800, 5, 2)], 32)]);
    assert_eq!(cents(&tables), (Some(32.0), Some(32.0)));
    let of_model = |name: &str| {
        let rows = tables.turns.iter().filter(|row| row.turn.model.as_deref() == Some(name));
        (rows.filter_map(|row| row.money.cost).sum::<f64>() * 100.0).round()
    };
    assert_eq!((of_model(a), of_model(b)), (30.0, 2.0));
    // What the session has beyond its models.
    assert_eq!(cents(&priced(&[message(1, a, 7), billed(4, &[(a, 900, 7, 30)], 33)])).0, Some(33.0));
    assert_eq!(cents(&priced(&[message(1, a, 7), billed(4, &[(a, 900, 7, 0)], 33)])).0, Some(33.0));
    // 900 tokens at 3 dollars per million, and 7 at 15.
    assert_eq!(cents(&priced(&[message(1, a, 7), billed(4, &[(a, 900, 7, 0)], 0)])), (Some(0.2805), None));
}

/// The counts of newer versions go on from those of the process before, those of older ones begin at 0.
#[test]
fn a_shutdown_contains_an_earlier_one_if_its_counts_do() {
    let a = "claude-sonnet-4.6";
    let first = [message(1, a, 70), billed(2, &[(a, 900, 70, 30)], 30)];
    let second = |end: String| [&first[..], &[event("session.resume", 3, "{}"), message(4, a, 90), end]].concat();
    let facts = |tables: &Tables| {
        let row = &tables.sessions[0];
        (row.tokens.input, row.tokens.output, cents(tables).0, row.api_duration_ms, row.lines_added, row.usage)
    };
    let goes_on = priced(&second(billed(5, &[(a, 2000, 160, 70)], 70)));
    assert_eq!(facts(&goes_on), (Some(2000), Some(160), Some(70.0), Some(5000), Some(5), Usage::Exact));
    let begins = priced(&second(billed(5, &[(a, 2000, 90, 40)], 40)));
    assert_eq!(facts(&begins), (Some(2900), Some(160), Some(70.0), Some(7000), Some(7), Usage::Exact));
    // Counts of an older version, of which messages leave out a part, begin at 0 whatever they are. So do counts whose outputs are
    // unknown, unless the version is a newer one.
    let start =
        |version: &str| event("session.start", 0, &format!(r#"{{"sessionId":"s","copilotVersion":"{version}"}}"#));
    let of_version = |version: &str, end: &[String]| facts(&priced(&[&[start(version)], end].concat()));
    let grown = second(billed(5, &[(a, 2000, 240, 70)], 70));
    assert_eq!(of_version("1.0.64", &grown).0, Some(2900));
    assert_eq!(of_version("1.0.80", &grown).0, Some(2000));
    let unknown: Vec<String> = grown.iter().map(|line| line.replace(r#","outputTokens":90}"#, "}")).collect();
    assert_ne!(unknown, grown);
    assert_eq!((facts(&priced(&unknown)).0, of_version("1.0.80", &unknown).0), (Some(2900), Some(2000)));
    // Nothing was asked after it was resumed.
    let idle = [&first[..], &[event("session.resume", 3, "{}"), billed(5, &[(a, 900, 70, 30)], 30)]].concat();
    assert_eq!(facts(&priced(&idle)), (Some(900), Some(70), Some(30.0), Some(5000), Some(5), Usage::Exact));
}

/// A process that was killed has the credits of its last checkpoint.
#[test]
fn checkpoints_are_the_cost_of_a_killed_process() {
    let a = "claude-sonnet-4.6";
    let killed = [message(1, a, 70), checkpoint(2, 20), message(3, a, 30), checkpoint(4, 30)];
    let tables = priced(&killed);
    assert_eq!((cents(&tables).0, tables.sessions[0].usage), (Some(30.0), Usage::LowerBound));
    assert_eq!(counts(&tables), [None, Some(100), None, None]);
    let end =
        [event("session.resume", 5, "{}"), message(6, a, 90), checkpoint(7, 70), billed(8, &[(a, 900, 90, 40)], 70)];
    let tables = priced(&[&killed[..], &end].concat());
    assert_eq!((cents(&tables).0, counts(&tables)[1]), (Some(70.0), Some(190)));
    // A process that goes on, after one that ended.
    let running = [message(10, a, 5), checkpoint(11, 75)];
    let tables = priced(&[&killed[..], &end, &running].concat());
    assert_eq!((cents(&tables).0, tables.sessions[0].usage), (Some(75.0), Usage::LowerBound));
    assert_eq!(counts(&tables)[1], Some(195));
}

/// A recording, the session's own log and its store state the same credits.
#[test]
fn credits_in_several_logs_count_once() {
    let a = "claude-sonnet-4.6";
    let start = event("session.start", 0, r#"{"sessionId":"s"}"#);
    let lines = [message(1, a, 7), checkpoint(2, 20), message(3, a, 9), checkpoint(4, 30)];
    let with_caches = r#""outputTokens":16,"cacheReadTokens":1400,"cacheWriteTokens":400"#;
    let end = billed(5, &[(a, 2000, 16, 30)], 30).replace(r#""outputTokens":16"#, with_caches);
    let killed = [std::slice::from_ref(&start), &lines[..]].concat().join("\n");
    let ended = [&[start], &lines[..], &[end]].concat().join("\n");
    let recording = [&lines[..], &[result(9, 0)]].concat().join("\n");
    let cut = lines[..3].join("\n");
    let in_store = |costs: [Option<u32>; 2]| {
        let row = |(index, cost): (u32, Option<u32>)| {
            let row =
                request(index + 1, "s", [7, 9][index as usize], &format!("\"m{}\"", index * 2 + 1), index * 2 + 1);
            let cost = cost.map_or_else(|| "null".to_owned(), |cost| format!("{cost}000000000"));
            row.replace("\"model\":\"m\"", &format!("\"model\":\"{a}\",\"total_nano_aiu\":{cost}"))
        };
        (0..).zip(costs).map(row).collect::<Vec<_>>().join("\n")
    };
    let of = |logs: &[&String]| {
        let mut tables = tables(logs);
        price(&mut tables, Catalog::built_in());
        cents(&tables).0
    };
    let store = in_store([Some(20), Some(10)]);
    for log in [&killed, &ended] {
        assert_eq!(of(&[log]), Some(30.0));
        assert_eq!((of(&[log, &recording]), of(&[&recording, log])), (Some(30.0), Some(30.0)));
        assert_eq!((of(&[log, &store]), of(&[&store, log])), (Some(30.0), Some(30.0)));
        assert_eq!(of(&[&recording, log, &store]), Some(30.0));
    }
    assert_eq!((of(&[&recording]), of(&[&store])), (None, Some(30.0)));
    // The store of a version without costs: a cost of no request is not a row beside them.
    let computed = of(&[&in_store([None, None])]);
    assert!(computed.is_some_and(|cost| cost < 30.0));
    assert_eq!(of(&[&killed, &in_store([None, None])]), computed);
    assert_eq!(of(&[&recording, &cut]), None);
}

/// The autopilot stops at the limit of credits that the user set, which is not an interruption.
#[test]
fn a_limit_of_credits_is_an_error() {
    for (reason, status, kind, expected) in [
        ("user_initiated", Status::Aborted, ErrorKind::Cancelled, EventKind::Abort),
        ("remote_command", Status::Aborted, ErrorKind::Cancelled, EventKind::Abort),
        ("autopilot_credit_limit", Status::Error, ErrorKind::Budget, EventKind::Error),
    ] {
        let abort = event("abort", 2, &format!(r#"{{"reason":"{reason}"}}"#));
        let tables = tables_of(&[message(1, "m", 7), abort, shutdown(3, "m", 100, 7)]);
        let session = &tables.sessions[0].session;
        assert_eq!((session.status, session.error_kind), (status, Some(kind)), "{reason}");
        assert_eq!(tables.events.iter().map(|row| row.event.kind).collect::<Vec<_>>(), [expected], "{reason}");
    }
}

/// A shutdown whose counts of each model are also given by agent.
fn shutdown_of_agents(second: u32, main: (u32, u32), agent: (u32, u32), credits: Option<[u32; 2]>) -> String {
    let metric = |(input, output): (u32, u32), credits: Option<u32>| {
        let credits = credits.map_or_else(String::new, |credits| format!(r#","totalNanoAiu":{credits}000000000"#));
        format!(r#"{{"usage":{{"inputTokens":{input},"outputTokens":{output}}}{credits}}}"#)
    };
    let both = metric((main.0 + agent.0, main.1 + agent.1), credits.map(|it| it[0] + it[1]));
    let part = |name: &str, counts, credits| {
        format!(r#"{{"agentName":"{name}","modelMetrics":{{"m":{}}}}}"#, metric(counts, credits))
    };
    let agents = format!(
        r#"{{"main":{},"ag1":{}}}"#,
        part("", main, credits.map(|it| it[0])),
        part("explore", agent, credits.map(|it| it[1]))
    );
    let data = format!(r#"{{"shutdownType":"routine","modelMetrics":{{"m":{both}}},"agentMetrics":{agents}}}"#);
    event("session.shutdown", second, &data)
}

/// A shutdown states the parts of its subagents: what they spent beyond their messages is theirs.
#[test]
fn a_total_is_divided_between_agents() {
    let of_agent = |line: String| line.replacen('{', r#"{"agentId":"ag1","#, 1);
    let messages = [message(1, "m", 50), of_agent(message(2, "m", 70))];
    let start =
        |version: &str| event("session.start", 0, &format!(r#"{{"sessionId":"s","copilotVersion":"{version}"}}"#));
    let rows = |tables: &Tables| {
        let rows = tables.turns.iter().filter(|row| row.grain == Grain::Session);
        let row = |row: &TurnRow| {
            let turn = &row.turn;
            (turn.agent.as_deref().map(str::to_owned), turn.tokens.get().input, turn.tokens.get().output)
        };
        rows.map(row).collect::<Vec<_>>()
    };
    let explore = || Some("explore".to_owned());
    let credits = Some([5, 1]);
    let log = |end: &[String]| [&[start("1.0.81")], &messages[..], end].concat();
    let end = shutdown_of_agents(3, (1000, 50), (2000, 70), credits);
    let tables = priced(&log(std::slice::from_ref(&end)));
    assert_eq!(rows(&tables), [(None, Some(1000), Some(0)), (explore(), Some(2000), Some(0))]);
    assert_eq!((counts(&tables), cents(&tables).0), ([Some(3000), Some(120), None, None], Some(6.0)));
    let of_subagents = tables.turns.iter().filter(|row| row.turn.is_subagent).filter_map(|row| row.money.cost);
    assert!((of_subagents.sum::<f64>() - 0.01).abs() < 1e-6);
    // The next process goes on from these counts.
    let later = [event("session.resume", 4, "{}"), of_agent(message(5, "m", 30))];
    let next = shutdown_of_agents(6, (1000, 50), (2500, 100), Some([5, 2]));
    let tables = priced(&log(&[&[end], &later[..], &[next]].concat()));
    assert_eq!(rows(&tables), [(None, Some(1000), Some(0)), (explore(), Some(2500), Some(0))]);
    assert_eq!((counts(&tables)[0], cents(&tables).0), (Some(3500), Some(7.0)));
    // Parts that are not parts of the whole do not divide it.
    let wrong = shutdown_of_agents(3, (1000, 50), (2000, 70), credits).replacen(
        "\"inputTokens\":2000",
        "\"inputTokens\":9000",
        1,
    );
    let tables = priced(&log(&[wrong]));
    assert_eq!(rows(&tables), [(None, Some(3000), Some(0))]);
}
