//! `report waste`: amounts that were computed by hand, and the property that waste is never more than the cost. docs/waste.md
//! defines the causes.

use std::collections::{BTreeMap, BTreeSet};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::analysis::reports::{self, CostBasis, Frames, Options};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::Tables;
use agentlogs::store::frames::frames;
use polars::prelude::*;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{facts, reconciled};

/// A response of a transcript: its second, model, tokens (input, output, cache read, cache write), and its calls.
#[derive(Debug, Clone, Default)]
struct Response {
    second: i64,
    model: &'static str,
    tokens: [i64; 4],
    /// The part of the cache write that is kept for an hour.
    write_1h: i64,
    calls: Vec<Call>,
    is_sidechain: bool,
    /// Why its prompt was not in the cache, as the provider states.
    miss: Option<&'static str>,
}

/// A call: the tool, its command or file, whether it fails, and the bytes of its result.
#[derive(Debug, Clone)]
struct Call {
    tool: &'static str,
    argument: String,
    is_error: bool,
    bytes: usize,
}

const SONNET: &str = "claude-sonnet-4-5-20250929";
const HAIKU: &str = "claude-haiku-4-5-20251001";

fn response(second: i64, tokens: [i64; 4]) -> Response {
    Response { second, model: SONNET, tokens, ..Response::default() }
}

fn bash(command: &str, is_error: bool, bytes: usize) -> Call {
    Call { tool: "Bash", argument: command.to_owned(), is_error, bytes }
}

/// The lines of a transcript with these responses.
fn transcript(responses: &[Response]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |second: i64, kind: &str, message: &Value, is_sidechain: bool, result: &Value| {
        let number = lines.len();
        let time = format!("2026-10-05T{:02}:{:02}:{:02}.000Z", 8 + second / 3600, second / 60 % 60, second % 60);
        let record = json!({
            "parentUuid": null, "isSidechain": is_sidechain, "userType": "external", "cwd": "/work", "sessionId": "s",
            "version": "2.1.212", "type": kind, "uuid": format!("u{number}"), "timestamp": time, "message": message,
            "requestId": format!("r{number}"), "toolUseResult": result,
        });
        lines.push(record.to_string());
    };
    add(0, "user", &json!({"role": "user", "content": "go on"}), false, &Value::Null);
    for (index, response) in responses.iter().enumerate() {
        let [input, output, read, write] = response.tokens;
        let usage = json!({"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": write, "cache_creation": {"ephemeral_1h_input_tokens": response.write_1h,
            "ephemeral_5m_input_tokens": write - response.write_1h}});
        let mut content: Vec<Value> = vec![json!({"type": "text", "text": "well"})];
        for (number, call) in response.calls.iter().enumerate() {
            let input = match call.tool {
                "Bash" => json!({"command": call.argument}),
                _ => json!({"file_path": call.argument, "old_string": "a", "new_string": "b"}),
            };
            content.push(
                json!({"type": "tool_use", "id": format!("c{index}-{number}"), "name": call.tool, "input": input}),
            );
        }
        let stop = if response.calls.is_empty() { "end_turn" } else { "tool_use" };
        let diagnostics = response.miss.map(|reason| json!({"cache_miss_reason": {"type": reason}}));
        let message = json!({"model": response.model, "id": format!("m{index}"), "type": "message", "role": "assistant",
            "content": content, "stop_reason": stop, "usage": usage, "diagnostics": diagnostics});
        add(response.second, "assistant", &message, response.is_sidechain, &Value::Null);
        for (number, call) in response.calls.iter().enumerate() {
            // The JSON text of the result has two quotes.
            let text = "x".repeat(call.bytes.saturating_sub(2));
            let result = json!({"type": "tool_result", "tool_use_id": format!("c{index}-{number}"), "content": text,
                "is_error": call.is_error});
            let edit = match call.tool {
                "Edit" => json!({"filePath": call.argument, "structuredPatch": [{"lines": ["-a", "+b"]}]}),
                _ => Value::Null,
            };
            let message = json!({"role": "user", "content": [result]});
            add(response.second + 1, "user", &message, response.is_sidechain, &edit);
        }
    }
    lines.join("\n")
}

fn frames_of(tables: &Tables) -> Frames {
    frames(tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn tables_of(responses: &[Response]) -> Frames {
    let sessions = adapters::parse(transcript(responses).as_bytes(), Hints::default(), Retention::None).sessions;
    let path = "a.jsonl".to_owned();
    frames_of(&reconciled(vec![Source { path, status: SourceStatus::Parsed, sessions, ..Source::default() }]))
}

fn report(tables: &Frames, by: &[&str], cost: CostBasis) -> reports::Answer {
    let by = by.iter().map(|name| (*name).to_owned()).collect();
    let options = Options { by, cost, wide: true, total: true, ..Options::default() };
    reports::find("waste").unwrap().run(tables, &options).unwrap()
}

/// The causes with their waste in millionths of a dollar, rounded; `None` if it is unknown.
fn by_cause(tables: &Frames) -> BTreeMap<String, Option<i64>> {
    let answer = report(tables, &["cause"], CostBasis::Auto);
    let causes = answer.rows.column("cause").unwrap().str().unwrap();
    let waste = answer.rows.column("waste_usd").unwrap().f64().unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "costs of samples are small")]
    let micros = |waste: Option<f64>| waste.map(|waste| (waste * 1e6).round() as i64);
    causes.iter().map(|it| it.unwrap().to_owned()).zip(waste.iter().map(micros)).collect()
}

/// The causes with waste.
fn wasted(responses: &[Response]) -> Vec<(String, i64)> {
    by_cause(&tables_of(responses))
        .into_iter()
        .filter_map(|(cause, waste)| Some((cause, waste.filter(|it| *it != 0)?)))
        .collect()
}

fn expected(causes: &[(&str, i64)]) -> Vec<(String, i64)> {
    causes.iter().map(|(cause, waste)| ((*cause).to_owned(), *waste)).collect()
}

/// Sonnet 4.5 costs 3 dollars per million tokens of input, 15 of output, 0.30 of cache reads, 3.75 of cache writes. A write
/// that is never read costs 0.75 per million tokens more than input; the last one of each agent does not count.
#[test]
fn lost_caches_have_their_causes() {
    // 10,000 tokens are cached, and all of them are read.
    let kept = [response(10, [0, 10, 0, 10_000]), response(20, [0, 10, 10_000, 1_000])];
    assert_eq!(wasted(&kept), expected(&[]));
    // 6,000 of them are written again a minute later: 3.45 more than a read. The first write of them is unused.
    let changed = [response(10, [0, 10, 0, 10_000]), response(70, [0, 10, 4_000, 7_000])];
    let unused = 6_000 * 3 / 4;
    assert_eq!(wasted(&changed), expected(&[("cache_missed", 20_700), ("cache_write_unused", unused)]));
    // Ten minutes later they have expired.
    let expired = [response(10, [0, 10, 0, 10_000]), response(610, [0, 10, 4_000, 7_000])];
    assert_eq!(wasted(&expired), expected(&[("cache_expired", 20_700), ("cache_write_unused", unused)]));
    // Not while the answer to a result is written: it was asked for a second after the first response.
    let first = || Response { calls: vec![bash("sleep 1", false, 10)], ..response(10, [0, 10, 0, 10_000]) };
    let slow = [first(), response(610, [0, 10, 4_000, 7_000])];
    assert_eq!(wasted(&slow), expected(&[("cache_missed", 20_700), ("cache_write_unused", unused)]));
    // Not if they were written for an hour, at 6 dollars.
    let first = Response { write_1h: 10_000, ..response(10, [0, 10, 0, 10_000]) };
    let long = [first, response(610, [0, 10, 4_000, 7_000])];
    let unused_long = 6_000 * 3;
    assert_eq!(wasted(&long), expected(&[("cache_missed", 20_700), ("cache_write_unused", unused_long)]));
    // Another model: Haiku costs 1 dollar, 0.10 and 1.25. 10,000 tokens are billed again, of which 2,000 as input.
    let switched = [response(10, [0, 10, 0, 10_000]), Response { model: HAIKU, ..response(20, [2_000, 10, 0, 8_000]) }];
    let again = 8_000 * 115 / 100 + 2_000 * 9 / 10;
    let unused_switched = 10_000 * 3 / 4;
    assert_eq!(wasted(&switched), expected(&[("cache_model_switch", again), ("cache_write_unused", unused_switched)]));
    // After ten minutes the cache had expired anyway.
    let late = [response(10, [0, 10, 0, 10_000]), Response { model: HAIKU, ..response(620, [2_000, 10, 0, 8_000]) }];
    assert_eq!(wasted(&late), expected(&[("cache_expired", again), ("cache_write_unused", unused_switched)]));
    // OpenAI keeps nothing below 1,024 tokens. GPT-5 costs 1.25 dollars, 0.125 for cache reads.
    let gpt = |read| {
        let of = |second, tokens| Response { model: "gpt-5", ..response(second, tokens) };
        wasted(&[of(10, [1_000, 10, 4_000, 0]), of(20, [5_100 - read, 10, read, 0])])
    };
    assert_eq!(gpt(3_000), expected(&[]));
    assert_eq!(gpt(2_000), expected(&[("cache_missed", 2_000 * 1_125 / 1_000)]));
    // A shorter prompt is another prompt, and another agent has its own cache.
    let shorter = [response(10, [0, 10, 0, 10_000]), response(70, [5_000, 10, 0, 0])];
    assert_eq!(wasted(&shorter), expected(&[("cache_write_unused", 7_500)]));
    let agents =
        [response(10, [0, 10, 0, 10_000]), Response { is_sidechain: true, ..response(20, [12_000, 10, 0, 0]) }];
    assert_eq!(wasted(&agents), expected(&[]));
}

/// 6,000 tokens are written again, as in `lost_caches_have_their_causes`.
#[test]
fn the_reason_of_the_provider_decides() {
    for (miss, second, cause) in [
        (None, 70, "cache_missed"),
        (Some("system_changed"), 70, "cache_prefix_changed"),
        (Some("tools_changed"), 70, "cache_prefix_changed"),
        (Some("messages_changed"), 70, "cache_prefix_changed"),
        (Some("model_changed"), 70, "cache_model_switch"),
        (Some("previous_message_not_found"), 70, "cache_missed"),
        (Some("unavailable"), 70, "cache_missed"),
        // Ten minutes later.
        (Some("tools_changed"), 610, "cache_prefix_changed"),
        (Some("previous_message_not_found"), 610, "cache_expired"),
    ] {
        let again = Response { miss, ..response(second, [0, 10, 4_000, 7_000]) };
        let found = wasted(&[response(10, [0, 10, 0, 10_000]), again]);
        assert_eq!(found, expected(&[(cause, 20_700), ("cache_write_unused", 4_500)]), "{miss:?} {second}");
    }
    // Without a stated reason it is not known whether a prompt changed.
    let tables = tables_of(&[response(10, [0, 10, 0, 10_000]), response(70, [0, 10, 4_000, 7_000])]);
    assert_eq!(by_cause(&tables)["cache_prefix_changed"], None);
}

/// Above 200,000 tokens of a prompt, Sonnet 4.5 costs 6 dollars, 22.50, 0.60 and 7.50.
#[test]
fn long_prompts_have_a_surcharge() {
    let responses = [response(10, [1_000, 100, 250_000, 0])];
    let surcharge = 1_000 * 3 + 100 * 75 / 10 + 250_000 * 3 / 10;
    assert_eq!(wasted(&responses), expected(&[("premium_context", surcharge)]));
    // What remains has the prices of a shorter prompt: an unused write of it costs 0.75 per million more than input.
    let unused = [response(10, [0, 10, 0, 240_000]), response(70, [1_000, 10, 0, 0])];
    let surcharge = 240_000 * 375 / 100 + 10 * 75 / 10;
    assert_eq!(wasted(&unused), expected(&[("cache_write_unused", 180_000), ("premium_context", surcharge)]));
    // The result of the call has 120,000 tokens, which the last request reads again.
    let call = Response { calls: vec![bash("ls", false, 480_000)], ..response(10, [0, 10, 0, 101_000]) };
    let carried = [call, response(20, [0, 10, 101_000, 120_000]), response(30, [0, 10, 221_000, 100])];
    let surcharge = (101_000 + 221_000) * 3 / 10 + (120_000 + 100) * 375 / 100 + 2 * 75;
    assert_eq!(wasted(&carried), expected(&[("output_carried", 36_000), ("premium_context", surcharge)]));
}

/// The tokens of a lost cache are in the waste of what lost it, with the surcharge for writing them again.
#[test]
fn what_is_written_again_is_wasted_once() {
    let responses =
        [response(10, [0, 10, 0, 100_000]), response(610, [0, 10, 0, 101_000]), response(670, [0, 10, 0, 102_000])];
    let unused = (100_000 + 1_000) * 75 / 100;
    assert_eq!(
        wasted(&responses),
        expected(&[("cache_expired", 345_000), ("cache_missed", 348_450), ("cache_write_unused", unused)])
    );
}

/// Calls have equal shares of the output of their response. A failed test is not waste.
#[test]
fn calls_have_a_share_of_the_output() {
    let calls = |calls: Vec<Call>, second| Response { calls, ..response(second, [100, 300, 0, 0]) };
    let responses = [
        calls(vec![bash("ls", false, 40), bash("cat nothing", true, 40), bash("cargo test", true, 40)], 10),
        // 300 tokens of output are 4,500 millionths of a dollar: a third is 1,500.
        calls(vec![bash("ls", false, 40), bash("ls", false, 40), bash("cat nothing", true, 40)], 20),
        // After an edit nothing is a repetition.
        calls(vec![Call { tool: "Edit", argument: "/work/a".into(), is_error: false, bytes: 40 }], 30),
        calls(vec![bash("ls", false, 40)], 40),
        response(50, [100, 10, 0, 0]),
    ];
    assert_eq!(wasted(&responses), expected(&[("failed_call", 1_500), ("repeated_call", 3 * 1_500)]));
    let answer = report(&tables_of(&responses), &["cause", "tool"], CostBasis::Auto);
    let text = |name: &str, row: usize| answer.rows.column(name).unwrap().get(row).unwrap().str_value().into_owned();
    let row = |row: usize| ["cause", "tool", "cases", "worst_path", "worst_line", "basis"].map(|name| text(name, row));
    // The prompt is line 1; the first response and its results 2 to 5.
    assert_eq!(row(0), ["repeated_call", "Bash", "3", "a.jsonl", "6", "estimate"]);
    assert_eq!(row(1), ["failed_call", "Bash", "1", "a.jsonl", "2", "estimate"]);
}

/// A result is read by the request after its call; each later one reads it again at 0.30 per million tokens.
#[test]
fn results_are_carried() {
    let with_call =
        |second, tokens, bytes| Response { calls: vec![bash("ls", false, bytes)], ..response(second, tokens) };
    let responses = [
        with_call(10, [0, 10, 0, 1_000], 4_000),
        // The result has 1,000 tokens: the context grew by 2,000.
        response(20, [0, 10, 1_000, 2_000]),
        response(30, [0, 10, 3_000, 100]),
        response(40, [0, 10, 3_100, 100]),
    ];
    assert_eq!(wasted(&responses), expected(&[("output_carried", 2 * 300)]));
    // An image of 400,000 bytes has at most the 2,000 tokens by which the context grew.
    let mut image = responses.to_vec();
    image[0] = with_call(10, [0, 10, 0, 1_000], 400_000);
    assert_eq!(wasted(&image), expected(&[("output_carried", 2 * 600)]));
    // The context shrinks to a third without an event: the result is gone. No cache was missed.
    let mut lost = responses.to_vec();
    lost[2] = response(30, [900, 10, 100, 0]);
    lost[3] = response(40, [1_000, 10, 100, 0]);
    assert_eq!(wasted(&lost), expected(&[("cache_write_unused", 1_500)]));
    // It grew by 100 tokens since the first request.
    let mut shrunk = responses.to_vec();
    shrunk[1] = response(20, [0, 10, 1_000, 600]);
    shrunk[2] = response(30, [0, 10, 1_100, 0]);
    assert_eq!(wasted(&shrunk[..3]), expected(&[("cache_write_unused", 375), ("output_carried", 30)]));
}

/// Of a failed session, everything after the last edit. Whether it failed is known from its verdict.
#[test]
fn a_failed_session_wastes_what_follows_its_last_edit() {
    let edit = Call { tool: "Edit", argument: "/work/a".into(), is_error: false, bytes: 40 };
    let responses = [
        Response { calls: vec![edit], ..response(10, [1_000, 100, 0, 0]) },
        response(20, [2_000, 100, 0, 0]),
        Response { calls: vec![bash("cargo test", true, 40)], ..response(30, [3_000, 100, 0, 0]) },
    ];
    let tables = tables_of(&responses);
    let with_verdict = |passed: Option<bool>| {
        let sessions = tables.table("sessions");
        let row = |column: &str| match column {
            "session_id" | "runtime" => col(column),
            "name" => lit("verdict").alias("name"),
            "passed" => lit(passed.unwrap_or_default()).alias("passed"),
            "matched_by" => lit("session_id").alias("matched_by"),
            "judged_at" => lit(NULL).cast(DataType::Int64).alias("judged_at"),
            "score" => lit(NULL).cast(DataType::Float64).alias("score"),
            _ => lit(NULL).cast(DataType::String).alias(column),
        };
        let mut verdicts = tables.table("verdicts");
        let names: Vec<String> = verdicts.collect_schema().unwrap().iter_names().map(ToString::to_string).collect();
        let verdicts = sessions.select(names.iter().map(|name| row(name)).collect::<Vec<_>>());
        tables.clone().map(|name, rows| match name {
            "sessions" => rows.with_column(lit("error").alias("status")),
            "verdicts" if passed.is_some() => verdicts.clone(),
            _ => rows,
        })
    };
    let of = |passed| by_cause(&with_verdict(passed))["after_last_edit"];
    // The test checks the edit.
    assert_eq!(of(Some(false)), Some(2_000 * 3 + 100 * 15));
    assert_eq!(of(Some(true)), Some(0));
    // An error at the end is not a verdict.
    assert_eq!(of(None), None);
}

/// A format that does not show what a cause needs has no value for it.
#[test]
fn what_a_format_does_not_show_is_unknown() {
    let tables = frames_of(&reconciled(facts(Retention::None)));
    let answer = report(&tables, &["format", "cause"], CostBasis::Auto);
    let texts = |name: &str| answer.rows.column(name).unwrap().str().unwrap().clone();
    let (formats, causes) = (texts("format"), texts("cause"));
    let waste = answer.rows.column("waste_usd").unwrap().f64().unwrap();
    let known = |format: &str| -> Vec<&str> {
        let rows = (0..answer.rows.height()).filter(|row| formats.get(*row) == Some(format));
        let mut known: Vec<&str> =
            rows.filter(|row| waste.get(*row).is_some()).filter_map(|row| causes.get(row)).collect();
        known.sort_unstable();
        known
    };
    // Only sums.
    assert_eq!(known("claude-json"), [""; 0]);
    let all = [
        "cache_expired",
        "cache_missed",
        "cache_model_switch",
        "cache_prefix_changed",
        "cache_write_unused",
        "failed_call",
        "output_carried",
        "premium_context",
        "repeated_call",
        "retry",
    ];
    assert_eq!(known("claude-transcript"), all);
    // Neither retries, times, nor the provider's reasons.
    let without = ["cache_expired", "cache_missed", "cache_prefix_changed", "retry"];
    let expected: Vec<&str> = all.into_iter().filter(|cause| !without.contains(cause)).collect();
    assert_eq!(known("zag-json"), expected);
}

/// The waste of each session is at most its cost, the causes sum to the total, and no amount is below 0.
fn check(tables: &Frames) {
    for cost in [CostBasis::Auto, CostBasis::Reported, CostBasis::Computed] {
        let answer = report(tables, &["runtime", "session"], cost);
        let float = |frame: &DataFrame, name: &str| frame.column(name).unwrap().f64().unwrap().clone();
        let (waste, of_sessions) = (float(&answer.rows, "waste_usd"), float(&answer.rows, "session_cost_usd"));
        for row in 0..answer.rows.height() {
            let (waste, cost) = (waste.get(row).unwrap_or(0.0), of_sessions.get(row).unwrap_or(0.0));
            assert!(waste >= 0.0 && waste <= cost + 1e-9, "{waste} of {cost}: {:?}", answer.rows.get_row(row));
        }
        let total = answer.total.unwrap();
        for dimensions in [&["cause"][..], &["tool"], &["cause", "tool", "day"]] {
            let answer = report(tables, dimensions, cost);
            let causes = answer.rows.column("cause").ok().map(|causes| causes.str().unwrap().clone());
            let is_carried = |row| causes.as_ref().is_some_and(|causes| causes.get(row) == Some("output_carried"));
            let rows = float(&answer.rows, "waste_usd");
            let sum: f64 = (0..rows.len()).filter(|row| !is_carried(*row)).filter_map(|row| rows.get(row)).sum();
            let of_total = float(&total, "waste_usd").get(0).unwrap_or(0.0);
            let [exact, estimate] = ["exact_usd", "estimate_usd"].map(|it| float(&total, it).get(0).unwrap_or(0.0));
            assert!((exact + estimate - of_total).abs() < 1e-8, "{exact} {estimate} {of_total}");
            assert!((sum - of_total).abs() < 1e-8, "{dimensions:?}: {sum} {of_total}");
            assert!(float(&answer.rows, "waste_usd").iter().flatten().all(|waste| waste >= 0.0));
        }
    }
}

#[test]
fn waste_of_samples_is_at_most_their_cost() {
    check(&frames_of(&reconciled(facts(Retention::None))));
}

/// Each group, and the total, has the number of its distinct sessions with waste.
#[test]
fn sessions_with_waste_are_counted_once_in_each_group() {
    let tables = frames_of(&reconciled(facts(Retention::None)));
    let text = |frame: &DataFrame, name: &str, row: usize| {
        frame.column(name).unwrap().str().unwrap().get(row).map(str::to_owned)
    };
    let count = |frame: &DataFrame, row: usize| {
        let count = frame.column("sessions").unwrap().i64().unwrap().get(row);
        usize::try_from(count.unwrap()).unwrap()
    };
    let all = report(&tables, &["runtime", "session", "cause", "tool"], CostBasis::Auto).rows;
    let waste = all.column("waste_usd").unwrap().f64().unwrap();
    let with_waste = |row: &usize| waste.get(*row).is_some_and(|waste| waste > 0.0);
    let with_waste: Vec<usize> = (0..all.height()).filter(with_waste).collect();
    let session = |row: &usize| (text(&all, "runtime", *row), text(&all, "session", *row));
    for dimensions in [&["cause"][..], &["tool"], &["cause", "tool"], &["runtime"], &["runtime", "tool"]] {
        // Results that are carried are in no sum of several causes.
        let has_cause = dimensions.contains(&"cause");
        let is_counted = |row: &&usize| has_cause || text(&all, "cause", **row).as_deref() != Some("output_carried");
        let answer = report(&tables, dimensions, CostBasis::Auto);
        let group = |frame: &DataFrame, row| dimensions.iter().map(|name| text(frame, name, row)).collect::<Vec<_>>();
        for row in 0..answer.rows.height() {
            let of_group =
                with_waste.iter().filter(is_counted).filter(|of| group(&all, **of) == group(&answer.rows, row));
            let sessions: BTreeSet<_> = of_group.map(session).collect();
            assert_eq!(count(&answer.rows, row), sessions.len(), "{:?}", group(&answer.rows, row));
        }
        let is_in_total = |row: &&usize| text(&all, "cause", **row).as_deref() != Some("output_carried");
        let sessions: BTreeSet<_> = with_waste.iter().filter(is_in_total).map(session).collect();
        assert_eq!(count(&answer.total.unwrap(), 0), sessions.len());
    }
}

/// The tokens that results can have in all requests together: each request reads at most those by which the context of its agent
/// has grown.
fn most_carried(responses: &[Response]) -> i64 {
    let of_agent = |is_sidechain| {
        let mut least = i64::MAX;
        let responses = responses.iter().filter(move |response| response.is_sidechain == is_sidechain);
        responses.map(move |response| {
            let [input, _, read, write] = response.tokens;
            let context = input + read + write;
            least = least.min(context);
            read.min(context - least)
        })
    };
    of_agent(false).chain(of_agent(true)).sum()
}

fn call() -> impl Strategy<Value = Call> {
    let command = prop::sample::select(vec!["ls", "cargo test", "cat x", "sed -i s/a/b/ x"]);
    (command, any::<bool>(), 0..20_000_usize, any::<bool>()).prop_map(|(command, is_error, bytes, is_edit)| {
        if is_edit {
            Call { tool: "Edit", argument: "/work/a".into(), is_error, bytes: bytes.max(2) }
        } else {
            bash(command, is_error, bytes.max(2))
        }
    })
}

prop_compose! {
    fn any_response()(
        pause in 0..900_i64,
        model in prop::sample::select(vec![SONNET, HAIKU, "claude-opus-4-5", "unknown-model"]),
        tokens in [0..60_000_i64, 0..4_000, 0..260_000, 0..60_000],
        share in 0..=100_i64,
        calls in prop::collection::vec(call(), 0..4),
        is_sidechain in any::<bool>(),
    ) -> Response {
        Response { second: pause, model, tokens, write_1h: tokens[3] * share / 100, calls, is_sidechain, miss: None }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same for any session, however it ended.
    #[test]
    fn waste_is_at_most_the_cost(
        mut responses in prop::collection::vec(any_response(), 1..12),
        status in prop::sample::select(vec!["success", "error", "incomplete"]),
    ) {
        let mut second = 0;
        for response in &mut responses {
            second += response.second;
            response.second = second;
        }
        let tables = tables_of(&responses);
        let answer = report(&tables, &["cause"], CostBasis::Auto).rows;
        let causes = answer.column("cause").unwrap().str().unwrap();
        let carried = causes.iter().position(|cause| cause == Some("output_carried")).unwrap();
        let carried = answer.column("wasted_tokens").unwrap().i64().unwrap().get(carried).unwrap_or(0);
        prop_assert!(carried <= most_carried(&responses), "{carried}");
        let tables = tables.map(|name, rows| match name {
            "sessions" => rows.with_column(lit(status).alias("status")),
            _ => rows,
        });
        check(&tables);
    }
}
