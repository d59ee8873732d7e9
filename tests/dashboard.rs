//! Compares the data of the page of `agentlogs dashboard` with the reports. `dashboard/test` checks the page in a browser.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::process::Command;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::dashboard::{About, Page, page};
use agentlogs::analysis::reports::{self, CostBasis, Frames, Options, Scope};
use agentlogs::store::frames::frames;
use base64::Engine;
use polars::prelude::*;
use serde_json::Value;

use crate::{facts, reconciled, root, shipped};

fn tables() -> Frames {
    let tables = reconciled(facts(Retention::None));
    frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn made(tables: &Frames, scope: &Scope, cost: CostBasis) -> Page {
    page(tables, scope, cost, About::default()).unwrap()
}

/// The data of the page, decoded.
fn data(page: &Page) -> Value {
    let (_, rest) = page.html.split_once("id=\"data\">").unwrap();
    let (packed, _) = rest.split_once('<').unwrap();
    let packed = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
    let mut json = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn numbers<'a>(data: &'a Value, table: &str, column: &str) -> impl Iterator<Item = Option<i64>> + 'a {
    data[table][column].as_array().unwrap_or_else(|| panic!("{table}.{column}")).iter().map(Value::as_i64)
}

fn sum(data: &Value, table: &str, column: &str) -> i64 {
    numbers(data, table, column).flatten().sum()
}

fn scope(only: &[(&str, &str)], since: Option<&str>) -> Scope {
    Scope {
        only: only.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        since: since.map(|it| it.parse().unwrap()),
        ..Scope::default()
    }
}

/// The sums of the page are those of the reports, for all filters and costs.
#[test]
fn the_page_adds_up_to_the_reports() {
    let tables = tables();
    let scopes = [
        scope(&[], None),
        scope(&[("runtime", "codex")], None),
        scope(&[("model", "claude-*")], Some("2026-10-01")),
        scope(&[("status", "error"), ("project", "*/shop")], None),
        scope(&[("label:team", "compiler")], None),
    ];
    for scope in scopes {
        for cost in [CostBasis::Auto, CostBasis::Reported, CostBasis::Computed] {
            let data = data(&made(&tables, &scope, cost));
            let total = |report: &str| {
                let options = Options { scope: scope.clone(), cost, total: true, wide: true, ..Options::default() };
                reports::find(report).unwrap().run(&tables, &options).unwrap().total.unwrap()
            };
            let whole = |frame: &DataFrame, name: &str| -> i64 {
                let value = frame.column(name).unwrap().cast(&DataType::Int64).unwrap();
                value.i64().unwrap().get(0).unwrap_or_default()
            };
            let costs = total("cost");
            let mut parts = 0;
            for name in ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"] {
                assert_eq!(sum(&data, "turns", name), whole(&costs, name), "{name} {scope:?}");
                parts += whole(&costs, name);
            }
            // The prompts of known cache reads: those of all kinds (-1) or of fewer, so that the page has the rate of the report.
            let kinds =
                ["input_tokens", "cache_read_tokens", "cache_write_tokens"].map(|it| numbers(&data, "turns", it));
            let [input, read, write] = kinds;
            let prompts = numbers(&data, "turns", "prompt_tokens").zip(input.zip(read).zip(write));
            let prompts: i64 = prompts
                .filter_map(|(prompt, ((input, read), write))| match prompt {
                    Some(-1) => Some([input, read, write].into_iter().flatten().sum()),
                    prompt => prompt,
                })
                .sum();
            let rate = costs.column("cache_hit_rate").unwrap().f64().unwrap().get(0).unwrap_or_default();
            let own = sum(&data, "turns", "cache_read_tokens") as f64 / prompts.max(1) as f64;
            assert!((own - rate).abs() < 1e-9, "{own} {rate} {scope:?}");
            // In these logs every total is unknown, or the sum of its parts, which is encoded as -1.
            assert!(numbers(&data, "turns", "total_tokens").all(|it| it == Some(-1)), "{scope:?}");
            assert_eq!(parts, whole(&costs, "total_tokens"), "{scope:?}");
            assert_eq!(sum(&data, "turns", "unpriced_tokens"), whole(&costs, "unpriced_tokens"), "{scope:?} {cost:?}");
            assert_eq!(sum(&data, "turns", "turns"), whole(&costs, "turns"), "{scope:?}");
            let usd = costs.column("cost_usd").unwrap().f64().unwrap().get(0).unwrap_or_default();
            let own = sum(&data, "turns", "cost") as f64 / 1e9;
            assert!((own - usd).abs() < 1e-7, "{own} {usd} {scope:?} {cost:?}");
            let tools = total("tools");
            for (column, name) in
                [("rows", "calls"), ("error", "errors"), ("denied", "denied"), ("result_bytes", "result_bytes")]
            {
                assert_eq!(sum(&data, "tools", column), whole(&tools, name), "{name} {scope:?}");
            }
            assert_eq!(sum(&data, "troubles", "rows"), whole(&total("errors"), "events"), "{scope:?}");
            assert_eq!(sum(&data, "sessions", "listed"), whole(&total("sessions"), "sessions"), "{scope:?}");
            // The page lists all causes, also those that the total of the report excludes.
            let options =
                Options { by: vec!["cause".into()], ..Options { scope: scope.clone(), cost, ..Options::default() } };
            let waste = reports::find("waste").unwrap().run(&tables, &options).unwrap().rows;
            let usd = waste.column("waste_usd").unwrap().f64().unwrap().sum().unwrap_or_default();
            let own = sum(&data, "waste", "waste") as f64 / 1e9;
            assert!((own - usd).abs() < 1e-6, "{own} {usd} {scope:?} {cost:?}");
            let cases = waste.column("cases").unwrap().cast(&DataType::Int64).unwrap().i64().unwrap().sum();
            assert_eq!(sum(&data, "waste", "cases"), cases.unwrap_or_default(), "{scope:?}");
            let behaviour = total("behaviour");
            for name in ["explore_calls", "repeated_calls", "test_runs", "verified_sessions", "tool_time_ms"] {
                assert_eq!(sum(&data, "behavior", name), whole(&behaviour, name), "{name} {scope:?}");
            }
        }
    }
}

/// The failed test runs of a group are unknown in the page where they are in the report: if there are runs, of which no result is known.
#[test]
fn failed_test_runs_are_unknown_as_in_the_report() {
    let tables = tables();
    let data = data(&made(&tables, &Scope::default(), CostBasis::Auto));
    let words = data["words"]["runtime"]["list"].as_array().unwrap();
    let runtimes: Vec<_> =
        numbers(&data, "groups", "runtime").map(|it| words[usize::try_from(it.unwrap()).unwrap()].as_str()).collect();
    let sums = |column: &str| {
        let (mut group, mut sums) = (0, BTreeMap::new());
        for (difference, value) in numbers(&data, "behavior", "group").zip(numbers(&data, "behavior", column)) {
            group += difference.unwrap();
            let sum: &mut Option<i64> = sums.entry(runtimes[usize::try_from(group).unwrap()]).or_default();
            *sum = value.map_or(*sum, |value| Some(sum.unwrap_or_default() + value));
        }
        sums
    };
    let [runs, known, failed] = ["test_runs", "known_test_runs", "failed_test_runs"].map(sums);
    let options = Options { by: vec!["runtime".into()], wide: true, ..Options::default() };
    let rows = reports::find("behaviour").unwrap().run(&tables, &options).unwrap().rows;
    let theirs = rows.column("failed_test_runs").unwrap().cast(&DataType::Int64).unwrap();
    for (runtime, theirs) in rows.column("runtime").unwrap().str().unwrap().iter().zip(theirs.i64().unwrap().iter()) {
        let is_unknown = runs[&runtime] > Some(0) && known[&runtime].unwrap_or_default() == 0;
        assert_eq!(if is_unknown { None } else { failed[&runtime] }, theirs, "{runtime:?}");
    }
    assert!(
        failed
            .iter()
            .any(|(runtime, failed)| *failed == Some(0) && known[runtime] == Some(0) && runs[runtime] > Some(0))
    );
}

/// What shipped is that of the report, by outcome and week; a page without commits and pull requests has no such table.
#[test]
fn what_shipped_adds_up_to_the_report() {
    assert!(data(&made(&tables(), &Scope::default(), CostBasis::Auto)).get("shipped").is_none());
    let tables = shipped::frames_of(&shipped::with_commits());
    for scope in [scope(&[], None), scope(&[("runtime", "claude")], None), scope(&[], Some("2026-11-10"))] {
        let data = data(&made(&tables, &scope, CostBasis::Auto));
        let words: Vec<_> = data["words"]["outcome"]["list"].as_array().unwrap().iter().map(Value::as_str).collect();
        let (mut day, mut own) = (0, BTreeMap::new());
        let mut requests: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
        let column = |name| numbers(&data, "shipped", name);
        for (((days, outcome), cost), request) in
            column("day").zip(column("outcome")).zip(column("cost")).zip(column("pull_request"))
        {
            day += days.unwrap();
            let outcome = words[usize::try_from(outcome.unwrap()).unwrap()].unwrap();
            // Weeks begin on Monday, and day 0 was a Thursday.
            *own.entry((day - (day + 3).rem_euclid(7), outcome)).or_insert(0) += cost.unwrap_or_default();
            requests.entry(outcome).or_default().extend(request);
        }
        let run = |by: &[&str]| {
            let by = by.iter().map(|&by| by.to_owned()).collect();
            let options = Options { by, scope: scope.clone(), wide: true, ..Options::default() };
            reports::find("shipped").unwrap().run(&tables, &options).unwrap().rows
        };
        let rows = run(&["week", "outcome"]);
        assert_eq!(rows.height(), own.len(), "{rows} {own:?}");
        let weeks = rows.column("week").unwrap().cast(&DataType::Int64).unwrap();
        let outcomes = rows.column("outcome").unwrap().str().unwrap();
        let costs = rows.column("cost_usd").unwrap().f64().unwrap();
        for ((week, outcome), cost) in weeks.i64().unwrap().iter().zip(outcomes.iter()).zip(costs.iter()) {
            let (own, cost) = (own[&(week.unwrap(), outcome.unwrap())] as f64 / 1e9, cost.unwrap_or_default());
            assert!((own - cost).abs() < 1e-6, "{own} {cost} {week:?} {outcome:?} {scope:?}");
        }
        let rows = run(&["outcome"]);
        let merged = rows.column("merged_pull_requests").unwrap().i64().unwrap();
        for (outcome, merged) in rows.column("outcome").unwrap().str().unwrap().iter().zip(merged.iter()) {
            assert_eq!(requests[outcome.unwrap()].len(), usize::try_from(merged.unwrap()).unwrap(), "{outcome:?}");
        }
        assert!(requests["merged"].len() > 1, "{requests:?}");
    }
}

/// The page contains no text of a log literally, so that none can be markup.
#[test]
fn the_page_holds_no_text_of_a_log() {
    let tables = tables();
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u{2028}'\"&";
    let named = |frame: LazyFrame, names: &[&str]| {
        let texts = names.iter().map(|it| (lit(hostile) + col(*it)).alias(*it)).collect::<Vec<_>>();
        frame.with_columns(texts)
    };
    let tables = tables.into_iter().map(|(name, frame)| {
        let frame = match name {
            "sessions" => {
                named(frame, &["model", "canonical_model", "project", "status", "error_kind", "error_message", "usage"])
            }
            "turns" => named(frame, &["model", "canonical_model", "agent"]),
            "tool_calls" => named(frame, &["tool", "category", "mcp_server", "target", "status"]),
            "events" => named(frame, &["kind", "code", "message"]),
            "rejects" => named(frame, &["reason"]),
            _ => frame,
        };
        (name, frame)
    });
    let page = made(&tables.collect(), &Scope::default(), CostBasis::Auto);
    let empty = made(&tables_without_rows(), &Scope::default(), CostBasis::Auto);
    let (before, rest) = empty.html.split_once("id=\"data\">").unwrap();
    let (_, after) = rest.split_once('<').unwrap();
    // All but the data is the same for every archive, and the data is letters and digits.
    let packed = page.html.strip_prefix(before).unwrap().strip_suffix(after).unwrap();
    let packed = packed.strip_prefix("id=\"data\">").unwrap().strip_suffix('<').unwrap();
    assert!(packed.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/=".contains(&it)));
    let words = data(&page)["words"]["model"]["list"].to_string();
    assert!(words.contains("</script>"), "{words}");
    assert!(before.contains("default-src 'none'; script-src 'sha256-") && before.contains("style-src 'sha256-"));
    assert!(!before.contains("unsafe"));
}

/// A page of these logs is small enough to be mailed; `dashboard::sessions` tests what one of many sessions leaves out.
#[test]
fn a_page_is_small() {
    let size = made(&tables(), &Scope::default(), CostBasis::Auto).html.len();
    assert!(size < 2_000_000, "{size} bytes");
}

/// Waste and behaviour take seconds where there are many sessions.
#[test]
fn a_page_of_many_sessions_has_neither_waste_nor_behaviour() {
    let few = data(&made(&tables(), &Scope::default(), CostBasis::Auto));
    assert_eq!(few["left_out"]["measured"], false);
    assert!(sum(&few, "waste", "waste") > 0 && sum(&few, "behavior", "known_calls") > 0);
    let many = tables().map(|name, rows| {
        let copies = |number: i32| rows.clone().with_column(concat_str([col("session_id"), lit(number)], "-", false));
        match name {
            "sessions" => concat((0..70).map(copies).collect::<Vec<_>>(), UnionArgs::default()).unwrap(),
            _ => rows,
        }
    });
    let many = data(&made(&many, &Scope::default(), CostBasis::Auto));
    assert_eq!(many["left_out"]["measured"], true);
    assert_eq!((sum(&many, "waste", "waste"), sum(&many, "behavior", "known_calls")), (0, 0));
}

/// Whoever reads the page that was there before reads it to its end, and nothing else is left in the directory.
#[test]
fn a_page_is_replaced_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page.html");
    fs::write(&path, "the page before").unwrap();
    let mut before = fs::File::open(&path).unwrap();
    let run = |out: &OsStr| {
        let logs = root().join("sample-logs/drover-events");
        let arguments = ["dashboard".as_ref(), out, "--logs".as_ref(), logs.as_os_str()];
        Command::new(env!("CARGO_BIN_EXE_agentlogs")).args(arguments).current_dir(directory.path()).output().unwrap()
    };
    assert!(run(path.as_os_str()).status.success());
    let mut text = String::new();
    before.read_to_string(&mut text).unwrap();
    assert_eq!(text, "the page before");
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    // The page can be written to standard output; messages are printed to stderr.
    let output = run("-".as_ref());
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("<!doctype html>") && printed.trim_end().ends_with("</html>"));
    assert!(!output.stderr.is_empty());
    let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["page.html"]);
}

fn tables_without_rows() -> Frames {
    tables().into_iter().map(|(name, frame)| (name, frame.limit(0))).collect()
}
