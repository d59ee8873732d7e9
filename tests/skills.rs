//! `report skills`: docs/reports.md#skills. The expected values are computed by hand from the sample with a skill.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::reports::{Frames, Options, find};
use agentlogs::store::frames::frames;
use polars::prelude::*;

use crate::{facts, reconciled};

/// The sessions of the samples, of which one that used the skill and two others are judged.
fn tables() -> Frames {
    let tables = reconciled(facts(Retention::None));
    let judged = [
        ("5c1e7a10-0000-4111-8222-333344445555", true),
        ("0cccc73d-2c2e-4835-a867-e5c2a16e195d", true),
        ("cc011cdd-9474-431b-bf26-144b98289fcd", false),
    ];
    let verdicts = df!(
        "runtime" => ["claude"; 3],
        "session_id" => judged.map(|(session, _)| session),
        "task" => ["a", "b", "c"],
        "trial" => [None::<&str>; 3],
        "name" => ["verdict"; 3],
        "source_path" => ["verdicts.csv"; 3],
        "matched_by" => ["session_id"; 3],
        "passed" => judged.map(|(_, passed)| passed),
        "score" => [None::<f64>; 3],
        "judged_at" => [None::<i64>; 3],
        "message" => [None::<&str>; 3],
    );
    let verdicts = verdicts.unwrap().lazy();
    let others = frames(&tables).unwrap().into_iter().filter(|(name, _)| *name != "verdicts");
    others.map(|(name, frame)| (name, frame.lazy())).chain([("verdicts", verdicts)]).collect()
}

/// The measures of a group, and those of the total.
fn measures(by: &str, group: &str) -> (DataFrame, DataFrame) {
    let options = Options { by: vec![by.to_owned()], wide: true, total: true, ..Options::default() };
    let answer = find("skills").unwrap().run(&tables(), &options).unwrap();
    let row = answer.rows.lazy().filter(col(by).eq(lit(group))).collect().unwrap();
    assert_eq!(row.height(), 1, "{by} {group}");
    (row, answer.total.unwrap())
}

fn number(row: &DataFrame, name: &str) -> Option<f64> {
    row.column(name).unwrap().cast(&DataType::Float64).unwrap().f64().unwrap().get(0)
}

fn check(row: &DataFrame, expected: &[(&str, Option<f64>)]) {
    for (name, expected) in expected {
        let found = number(row, name);
        let is_equal = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-6,
            (found, expected) => found == *expected,
        };
        assert!(is_equal, "{name}: {found:?}, not {expected:?}");
    }
}

/// Two of five responses are those of the skill: 4 + 4 tokens of input at 3 dollars per million, 3,100 written to the cache at 3.75,
/// 19,000 read from it at 0.30, and 90 of output at 15.
#[test]
fn a_skill_has_its_responses_calls_and_loads() {
    let expected = [
        ("cost_usd", Some(0.018_699)),
        ("total_tokens", Some(22_198.0)),
        ("turns", Some(2.0)),
        // The command. The call that loaded the skill was made before.
        ("tool_calls", Some(1.0)),
        ("tool_errors", Some(0.0)),
        ("loads", Some(1.0)),
        ("load_bytes", Some(30.0)),
        ("sessions", Some(1.0)),
        ("loaded_sessions", Some(1.0)),
        ("used_sessions", Some(1.0)),
    ];
    check(&measures("skill", "office:pptx").0, &expected);
    check(&measures("plugin", "office").0, &expected);
}

/// The list has 91 bytes for two skills, so that each has 11.375 tokens. The contexts of the responses have a mean price of 3.75, 1.24, 0.33,
/// 3.75 and 0.99 dollars per million.
#[test]
fn what_is_offered_and_not_used_has_an_estimated_cost() {
    let used = [("sessions", Some(1.0)), ("offered_sessions", Some(1.0)), ("offered_tokens", Some(11.0))];
    check(&measures("skill", "office:pptx").0, &used);
    let unused = [
        ("sessions", Some(0.0)),
        ("offered_sessions", Some(1.0)),
        ("offered_tokens", Some(11.0)),
        ("offered_cost_usd", Some(0.000_114)),
        ("cost_usd", None),
        ("loads", None),
        ("passed_with", Some(0.0)),
    ];
    check(&measures("skill", "office:docx").0, &unused);
    let server = [("sessions", Some(0.0)), ("offered_sessions", Some(1.0)), ("offered_tokens", None)];
    check(&measures("mcp_server", "tickets").0, &server);
}

/// One of one passed with it, one of two without.
#[test]
fn sessions_pass_with_and_without_a_skill() {
    let expected = [
        ("passed_with", Some(1.0)),
        ("failed_with", Some(0.0)),
        ("pass_rate_with", Some(1.0)),
        ("pass_rate_with_low", Some(0.206_549)),
        ("pass_rate_with_high", Some(1.0)),
        ("passed_without", Some(1.0)),
        ("failed_without", Some(1.0)),
        ("pass_rate_without", Some(0.5)),
    ];
    check(&measures("skill", "office:pptx").0, &expected);
}

/// The rows of skills, plugins and servers sum to all responses and calls, and those without one are apart from the unknown ones.
#[test]
fn the_rows_sum_to_the_total() {
    let tables = tables();
    let sum = |table: &str, value: Expr| {
        let sum = tables.table(table).select([value.cast(DataType::Float64).alias("sum")]).collect().unwrap();
        number(&sum, "sum")
    };
    let cost = sum("turns", col("cost_usd").sum());
    let calls = sum("tool_calls", len());
    for by in ["skill", "plugin", "mcp_server"] {
        let (none, total) = measures(by, "(none)");
        check(&total, &[("cost_usd", cost), ("tool_calls", calls)]);
        assert!(number(&none, "turns") > Some(0.0), "{by}");
    }
    let (server, _) = measures("mcp_server", "github");
    check(&server, &[("cost_usd", None), ("turns", None)]);
    assert!(number(&server, "tool_calls") > Some(0.0));
}
