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
    // The number of turns is never restored.
    assert_eq!(tables(&[&first, &restored]).sessions[0].turns, Some(2));
    // A server that states no usage.
    let nothing = tables(&[result("e", (0, 0), (0, 0))]);
    assert_eq!((counts(&nothing), nothing.sessions[0].model.as_deref()), ((None, None), Some("m")));
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
/// A response between two totals of one process can be in neither: then the lines count. A later process with the same `startTime` states
/// exactly its own responses.
#[test]
fn saved_totals_of_one_start_are_of_one_process() {
    for (second, own, expected) in [((120, 50), (30, 9), (130, 49)), ((150, 60), (150, 60), (250, 100))] {
        let log = [logged(1, "a", (100, 40)), saved(0, (100, 40), 0), logged(3, "b", own), saved(0, second, 0)];
        assert_eq!(counts(&tables(&[log.join("\n")])), (Some(expected.0), Some(expected.1)), "{second:?}");
    }
}

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

/// A result of a day of October 2026, with the sums of its models.
fn dated(id: &str, day: u32, usage: Counts, sums: &[(&str, u32, u32)]) -> String {
    let model = |(name, input, output): &(&str, u32, u32)| {
        format!(r#""{name}":{{"inputTokens":{input},"outputTokens":{output},"costUSD":{}}}"#, f64::from(*input) / 1e3)
    };
    let models = sums.iter().map(model).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"{id}","timestamp":"2026-10-{day:02}T10:00:00Z","usage":{{"input_tokens":{},"output_tokens":{}}},"modelUsage":{{{models}}}}}"#,
        usage.0, usage.1
    )
}

/// The day of October 2026, the input and the output of each row of a model.
fn days(tables: &Tables, model: &str) -> Vec<(i32, Option<i64>, Option<i64>)> {
    let october = 20_726;
    let rows = tables.turns.iter().filter(|row| row.turn.model.as_deref() == Some(model));
    let day = |row: &agentlogs::model::tables::TurnRow| row.turn.occurred_at.map_or(0, |time| time.day() - october);
    let mut days: Vec<_> =
        rows.map(|row| (day(row), row.turn.tokens.get().input, row.turn.tokens.get().output)).collect();
    days.sort_unstable();
    days
}

/// What a process spent is of its day, also if a later one restored its sums.
#[test]
fn sums_are_of_the_day_of_their_results() {
    let first = dated("a", 5, (100, 40), &[("m", 100, 40), ("h", 9, 1)]);
    for (second, of_day) in [
        (dated("b", 6, (30, 20), &[("m", 30, 20)]), (6, Some(30), Some(20))),
        (dated("b", 6, (30, 20), &[("m", 135, 70), ("h", 9, 1)]), (6, Some(35), Some(30))),
    ] {
        for logs in [vec![&first, &second], vec![&second, &first]] {
            let tables = tables(&logs);
            assert_eq!(days(&tables, "m"), [(5, Some(100), Some(40)), of_day], "{logs:?}");
            assert_eq!(days(&tables, "h"), [(5, Some(9), Some(1))], "{logs:?}");
        }
    }
    // Of one day there is one row.
    let same_day = dated("b", 5, (30, 20), &[("m", 30, 20)]);
    assert_eq!(days(&tables(&[first, same_day]), "m"), [(5, Some(130), Some(60))]);
}

/// Responses without times are of the day of the next total in their file, whatever the files are named, and also if another file has
/// only the first of the totals.
#[test]
fn responses_without_times_are_of_the_day_of_the_next_total() {
    let first = [INIT.to_owned(), streamed("1", 100), dated("a", 5, (100, 40), &[("m", 100, 40)])].join("\n");
    let second = [INIT.to_owned(), streamed("2", 30), dated("b", 6, (30, 20), &[("m", 130, 60)])].join("\n");
    let both = [first.as_str(), &second].join("\n");
    for logs in [vec![&both], vec![&first, &both], vec![&both, &first], vec![&first, &second], vec![&second, &first]] {
        let tables = tables(&logs);
        assert_eq!(counts(&tables), (Some(130), Some(60)), "{logs:?}");
        let rests: Vec<_> = days(&tables, "m").into_iter().filter(|(day, ..)| *day > 0).collect();
        assert_eq!(rests, [(5, Some(0), Some(39)), (6, Some(0), Some(19))], "{logs:?}");
    }
}

/// The records of an array are on one line: times decide which total contains a response, and whether any does.
#[test]
fn records_on_one_line_are_ordered_by_time() {
    let at = |day: u32, record: String| {
        record.replace(r#""uuid""#, &format!(r#""timestamp":"2026-10-{day:02}T09:00:00Z","uuid""#))
    };
    let records = [
        INIT.to_owned(),
        at(5, streamed("1", 100)),
        dated("a", 5, (100, 40), &[("m", 100, 40)]),
        at(6, streamed("2", 30)),
        dated("b", 6, (30, 20), &[("m", 130, 60)]),
        at(7, streamed("3", 7)),
    ];
    for log in [records.join("\n"), format!("[{}]", records.join(","))] {
        let tables = tables(&[&log]);
        assert_eq!(counts(&tables), (Some(137), Some(61)), "{log}");
        let expected = [
            (5, Some(0), Some(39)),
            (5, Some(100), Some(1)),
            (6, Some(0), Some(19)),
            (6, Some(30), Some(1)),
            (7, Some(7), Some(1)),
        ];
        assert_eq!(days(&tables, "m"), expected, "{log}");
    }
}

/// A process restores the totals of the process before it, which may have begun at 0 and be smaller than an earlier one.
#[test]
fn a_process_goes_on_from_the_latest_one() {
    let large = dated("a", 5, (100, 40), &[("m", 100, 40)]);
    let from_zero = dated("b", 6, (60, 30), &[("m", 60, 30)]);
    let restored = dated("c", 7, (50, 20), &[("m", 110, 50)]);
    let third = dated("d", 8, (5, 5), &[("m", 115, 55)]);
    for logs in [vec![&large, &from_zero, &restored], vec![&restored, &from_zero, &large]] {
        assert_eq!(counts(&tables(&logs)), (Some(210), Some(90)), "{logs:?}");
    }
    let logs = [large, from_zero, restored, third];
    assert_eq!(counts(&tables(&logs)), (Some(215), Some(95)));
    assert_eq!(counts(&tables(&[logs.join("\n")])), (Some(215), Some(95)));
}

/// A later process that spent less is not an earlier state of one that spent more.
#[test]
fn a_later_process_is_not_contained_in_an_earlier_one() {
    let large = |day| dated("a", day, (100, 40), &[("m", 200, 90), ("h", 900, 20)]);
    let small = |day| dated("b", day, (50, 20), &[("m", 50, 20), ("h", 90, 2)]);
    for (large, small, expected) in [(large(5), small(6), 1240), (large(6), small(5), 1100)] {
        for logs in [[&large, &small], [&small, &large]] {
            assert_eq!(counts(&tables(&logs)).0, Some(expected), "{logs:?}");
        }
    }
    // A recording whose result has no time ended with its last record.
    let untimed = |log: &str| {
        log.replace(r#""timestamp":"2026-10-05T10:00:00Z","#, "").replace(r#""timestamp":"2026-10-06T10:00:00Z","#, "")
    };
    let streamed_on = |day: u32, id: &str, result: &str| {
        let line =
            streamed(id, 50).replace(r#""uuid""#, &format!(r#""timestamp":"2026-10-{day:02}T10:00:00Z","uuid""#));
        [INIT.to_owned(), line, untimed(result)].join("\n")
    };
    let logs = [streamed_on(5, "1", &large(5)), streamed_on(6, "2", &small(6))];
    assert_eq!(counts(&tables(&logs)).0, Some(1240));
}

/// The later total of the main agent's model is smaller than the earlier total and its own tokens together: the tokens of another model
/// do not matter.
#[test]
fn one_model_contains_an_earlier_total_and_the_own_tokens() {
    let untimed = |log: String| log.replace(r#""timestamp":"2026-10-05T10:00:00Z","#, "");
    let first = untimed(dated("a", 5, (20, 10), &[("m", 20, 10)]));
    let second = untimed(dated("b", 5, (100, 40), &[("m", 100, 40), ("h", 500, 90)]));
    for logs in [vec![[first.as_str(), &second].join("\n")], vec![first.clone(), second.clone()]] {
        assert_eq!(counts(&tables(&logs)), (Some(620), Some(140)), "{logs:?}");
    }
}

/// Without `modelUsage`, `usage` is that of each run, while the cost is a running total.
#[test]
fn usage_of_runs_adds_up_without_sums_of_models() {
    let run = |id: &str, (input, output): Counts, cost: f64| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"{id}","total_cost_usd":{cost},"usage":{{"input_tokens":{input},"output_tokens":{output}}}}}"#
        )
    };
    let runs = [run("a", (1000, 100), 1.0), run("b", (2000, 200), 1.5), run("c", (10, 3), 1.75)];
    let again = [run("d", (7, 1), 0.5)];
    let log = |runs: &[&String]| runs.iter().map(|run| run.as_str()).collect::<Vec<_>>().join("\n");
    let [a, b, c] = runs.each_ref();
    for (log, expected, cost) in [
        (log(&[a, b, c]), (Some(3010), Some(303)), 1.75),
        (log(&[a, b, b, c]), (Some(3010), Some(303)), 1.75),
        (log(&[a, b, c, &again[0]]), (Some(3017), Some(304)), 2.25),
    ] {
        let tables = tables(&[&log]);
        assert_eq!(counts(&tables), expected, "{log}");
        let costs = tables.turns.iter().filter_map(|row| Some(row.turn.cost.as_deref()?.total));
        assert!((costs.sum::<f64>() - cost).abs() < 1e-9, "{log}");
    }
}

/// What a total costs beyond the costs of its models is that of the models without one.
#[test]
fn models_without_a_cost_have_the_rest_of_the_total() {
    let result = r#"{"type":"result","subtype":"success","session_id":"s","uuid":"a","total_cost_usd":1,"usage":{"input_tokens":1},"modelUsage":{"m":{"inputTokens":900,"costUSD":0.25},"a":{"inputTokens":20},"b":{"inputTokens":10,"costUSD":null}}}"#;
    let tables = tables(&[result]);
    let mut costs: Vec<_> = tables
        .turns
        .iter()
        .map(|row| (row.turn.model.as_deref().unwrap(), row.turn.cost.as_deref().map(|cost| cost.total)))
        .collect();
    costs.sort_by_key(|(model, _)| *model);
    assert_eq!(costs, [("a", Some(0.5)), ("b", Some(0.25)), ("m", Some(0.25))]);
}
