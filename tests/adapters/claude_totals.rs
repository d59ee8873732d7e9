//! Totals that Claude Code states in `result` and `cost-state` records, over several processes of a session.

use agentlogs::model::tables::{Grain, Tables, Usage};

use super::tables;

/// Input and output of a response or a total.
type Counts = (u32, u32);

/// A `result` of a process that spent `usage`, with the sums of its process.
fn result(id: &str, usage: Counts, sums: Counts) -> String {
    let model = format!(r#""m":{{"inputTokens":{},"outputTokens":{},"costUSD":0.{}}}"#, sums.0, sums.1, sums.0);
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"{id}","num_turns":1,"usage":{{"input_tokens":{},"output_tokens":{}}},"modelUsage":{{{model}}}}}"#,
        usage.0, usage.1
    )
}

/// A line of a stream. It contains only the output from the start of the response.
fn streamed(id: &str, input: u32) -> String {
    format!(
        r#"{{"type":"assistant","session_id":"s","uuid":"{id}","parent_tool_use_id":null,"message":{{"id":"msg_{id}","model":"m","content":[{{"type":"text","text":"x"}}],"usage":{{"input_tokens":{input},"output_tokens":1}}}}}}"#
    )
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","uuid":"i","tools":[],"model":"m"}"#;

fn counts(tables: &Tables) -> (Option<i64>, Option<i64>) {
    assert_eq!(tables.sessions.len(), 1);
    (tables.sessions[0].tokens.input, tables.sessions[0].tokens.output)
}

/// A process that resumes a session begins its sums at 0, or with those that the process before it saved.
#[test]
fn a_result_contains_an_earlier_one_if_the_counts_do() {
    let first = result("a", (100, 40), (110, 45));
    let restored = result("b", (30, 20), (145, 70));
    let from_zero = result("c", (150, 60), (150, 60));
    let third = result("d", (5, 5), (156, 76));
    for (results, expected) in [
        (vec![&first, &restored], (145, 70)),
        (vec![&first, &from_zero], (260, 105)),
        (vec![&first, &restored, &third], (156, 76)),
        // One that restores the larger of two.
        (vec![&first, &from_zero, &third], (110 + 156, 45 + 76)),
    ] {
        let expected = (Some(expected.0), Some(expected.1));
        let appended = results.iter().map(|it| it.as_str()).collect::<Vec<_>>().join("\n");
        assert_eq!(counts(&tables(&[appended])), expected, "in one file: {results:?}");
        assert_eq!(counts(&tables(&results)), expected, "in files of their own: {results:?}");
        let reversed: Vec<_> = results.into_iter().rev().collect();
        assert_eq!(counts(&tables(&reversed)), expected, "in another order: {reversed:?}");
    }
}

#[test]
fn results_of_streams_contain_earlier_ones_if_the_counts_do() {
    let first = [INIT.to_owned(), streamed("1", 100), result("a", (100, 40), (110, 45))];
    let own = [INIT.to_owned(), streamed("2", 150)];
    for (second, expected) in [
        (result("b", (150, 60), (262, 106)), (262, 106)),
        (result("b", (150, 60), (152, 61)), (262, 106)),
        // `usage` of the whole process, as one with several prompts may state it: the responses decide.
        (result("b", (250, 100), (262, 106)), (262, 106)),
    ] {
        let log: Vec<String> = first.iter().chain(&own).chain([&second]).cloned().collect();
        let expected = (Some(expected.0), Some(expected.1));
        assert_eq!(counts(&tables(&[log.join("\n")])), expected, "{second}");
        let resumed: Vec<String> = own.iter().chain([&second]).cloned().collect();
        assert_eq!(counts(&tables(&[first.join("\n"), resumed.join("\n")])), expected, "in two files: {second}");
    }
    // A response that was interrupted is on a line, but was not billed: there is one process.
    let second = result("b", (0, 0), (110, 45));
    let log: Vec<String> = first.iter().chain(&own).chain([&second]).cloned().collect();
    assert_eq!(counts(&tables(&[log.join("\n")])), (Some(250), Some(45)));
}

/// A response of a transcript, `second` seconds after ten o'clock.
fn logged(second: u32, id: &str, (input, output): Counts) -> String {
    format!(
        r#"{{"type":"assistant","sessionId":"s","uuid":"u{id}","timestamp":"2026-10-05T10:00:{second:02}Z","message":{{"id":"msg_{id}","model":"m","content":[],"stop_reason":"end_turn","usage":{{"input_tokens":{input},"output_tokens":{output}}}}}}}"#
    )
}

/// The sums of a process that began `second` seconds after ten o'clock, with `side` tokens of another model.
fn saved(second: u32, (input, output): Counts, side: u32) -> String {
    let start = 1_791_194_400_000_u64 + u64::from(second) * 1000;
    format!(
        r#"{{"type":"cost-state","sessionId":"s","totalCostUSD":1.5,"startTime":{start},"modelUsage":{{"m":{{"inputTokens":{input},"outputTokens":{output},"costUSD":1}},"h":{{"inputTokens":{side},"outputTokens":0,"costUSD":0.5}}}},"hasUnknownModelCost":false}}"#
    )
}

/// A transcript has the responses of all processes, a recording those of one: its total contains no others.
#[test]
fn a_recorded_process_beside_others_has_its_total() {
    let recorded = (50, 20);
    let transcript = |seconds: [u32; 3]| {
        let mut lines = [(seconds[0], "a", (100, 40)), (seconds[1], "b", (200, 80)), (seconds[2], "d", recorded)];
        lines.sort_unstable();
        lines.map(|(second, id, counts)| logged(second, id, counts)).join("\n")
    };
    let result = result("r", recorded, (60, 25));
    let stream = [INIT.to_owned(), streamed("d", 50), result.clone()].join("\n");
    for seconds in [[1, 2, 3], [1, 3, 2], [2, 3, 1]] {
        for recording in [&stream, &result] {
            for logs in [[transcript(seconds), recording.clone()], [recording.clone(), transcript(seconds)]] {
                assert_eq!(counts(&tables(&logs)), (Some(360), Some(145)), "{logs:?}");
            }
        }
    }
}

/// Responses of subagents follow that of the main agent which started them.
#[test]
fn a_recorded_process_beside_others_has_its_subagents() {
    let of_subagent = |second, id: &str| {
        logged(second, id, (7, 3)).replace(r#""uuid""#, r#""isSidechain":true,"agentId":"x","uuid""#)
    };
    let lines = [logged(1, "a", (100, 40)), of_subagent(2, "b"), logged(3, "d", (50, 20)), of_subagent(4, "e")];
    let recording = [INIT.to_owned(), streamed("d", 50), result("r", (50, 20), (67, 33))].join("\n");
    let expected = (Some(100 + 7 + 67), Some(40 + 3 + 33));
    assert_eq!(counts(&tables(&[lines.join("\n"), recording])), expected);
}

#[test]
fn saved_totals_add_what_no_line_contains() {
    let (a, b) = (logged(1, "a", (100, 40)), logged(11, "b", (30, 20)));
    for (name, log, input, usage) in [
        ("one", vec![a.clone(), saved(0, (100, 40), 9)], 109, Usage::Exact),
        (
            "twice in a process",
            vec![a.clone(), saved(0, (100, 40), 9), b.clone(), saved(0, (130, 60), 12)],
            142,
            Usage::Exact,
        ),
        ("restored", vec![a.clone(), saved(0, (100, 40), 9), b.clone(), saved(5, (130, 60), 12)], 142, Usage::Exact),
        ("from 0", vec![a.clone(), saved(0, (100, 40), 9), b.clone(), saved(10, (30, 20), 3)], 142, Usage::Exact),
        ("older than a line", vec![a.clone(), saved(0, (100, 40), 9), b.clone()], 139, Usage::Exact),
        ("after a process that saved none", vec![a.clone(), b.clone(), saved(10, (30, 20), 3)], 133, Usage::Exact),
        ("smaller than its lines", vec![a.clone(), saved(0, (50, 40), 9)], 100, Usage::Exact),
        ("the record twice", vec![a.clone(), saved(0, (100, 40), 9), saved(0, (100, 40), 9)], 109, Usage::Exact),
    ] {
        let tables = tables(&[log.join("\n")]);
        assert_eq!((counts(&tables).0, tables.sessions[0].usage), (Some(input), usage), "{name}");
    }
}

/// The recording of a process and the transcript that it keeps state the same sums.
#[test]
fn a_saved_total_and_a_result_of_one_process_count_once() {
    let transcript = [logged(1, "a", (100, 40)), saved(0, (110, 45), 9)].join("\n");
    let recording = [INIT.to_owned(), streamed("a", 100), result("r", (100, 40), (110, 45))].join("\n");
    assert_eq!(counts(&tables(&[&transcript, &recording])).0, Some(119));
    assert_eq!(counts(&tables(&[recording, transcript])).0, Some(119));
}

#[test]
fn a_copied_history_contains_no_saved_total_of_the_fork() {
    let parent = [logged(1, "a", (100, 40)), saved(0, (100, 40), 9)];
    let fork: Vec<String> = parent.iter().chain([&logged(11, "b", (30, 20))]).cloned().collect();
    let fork = fork.join("\n").replace(r#""sessionId":"s""#, r#""sessionId":"t""#);
    let tables = tables(&[parent.join("\n"), fork]);
    let found: Vec<_> = tables
        .sessions
        .iter()
        .map(|row| (row.session.session_id.as_str(), row.tokens.input, row.session.parent_session_id.as_deref()))
        .collect();
    assert_eq!(found, [("s", Some(109), None), ("t", Some(30), Some("s"))]);
    let mut sums = tables.turns.iter().filter(|row| row.grain == Grain::Session);
    assert!(sums.all(|row| row.session == 0));
}
