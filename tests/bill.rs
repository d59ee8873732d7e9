//! `agentlogs bill`: what each format of bills states, and the comparison with logs, both computed by hand. The files of `tests/bill` are
//! made up, in the form of the public documentation that docs/bill.md names.

use std::path::PathBuf;
use std::process::{Command, Output};

use agentlogs::analysis::bill::{self, Bill, By, Measure, Question};
use agentlogs::analysis::reports::{CostBasis, Frames, Scope};
use agentlogs::ingest::bill_files::{BillFile, BillLine, read};
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::prices::Catalog;
use agentlogs::store::frames::frames;
use polars::prelude::*;

use crate::{reconciled, root};

fn path(name: &str) -> PathBuf {
    root().join("tests/bill").join(name)
}

fn file(name: &str) -> BillFile {
    read(&path(name)).unwrap()
}

/// A line as text: day, model, key, project, the four kinds of tokens, all tokens and the cost.
fn shown(line: &BillLine) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let count = |count: Option<i64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let kinds = line.tokens.kinds().map(count).join(" ");
    let cost = line.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}"));
    let days = if line.first == line.last { line.first.to_string() } else { format!("{}..{}", line.first, line.last) };
    let names = [text(&line.model), text(&line.key), text(&line.project)].join(" ");
    format!("{days} {names} | {kinds} = {} {cost}", count(line.total_tokens))
}

fn check(name: &str, seller: Option<&str>, lines: &[&str], problems: &[&str], notes: &[&str]) {
    let file = file(name);
    assert_eq!(file.lines.iter().map(shown).collect::<Vec<_>>(), lines, "{name}");
    assert!(file.lines.iter().all(|line| line.seller == seller), "{name}");
    let found: Vec<String> = file.problems.iter().map(|(line, problem)| format!("{line}: {problem}")).collect();
    assert_eq!(found, problems, "{name}");
    assert_eq!(file.notes, notes, "{name}");
}

#[test]
fn each_format_is_read() {
    let anthropic = Some("anthropic");
    check(
        "anthropic-usage.json",
        anthropic,
        &[
            "2026-11-02 claude-sonnet-4-5-20250929 apikey_01A wrkspc_01A | 50000 10000 100000 0 = 160000 -",
            "2026-11-02 claude-haiku-4-5-20251001 apikey_01A wrkspc_01A | 100000 20000 0 500 = 120500 -",
        ],
        &[],
        &["it is not complete: its last page states has_more"],
    );
    check(
        "anthropic-cost.json",
        anthropic,
        &[
            "2026-11-02 claude-sonnet-4-5-20250929 - wrkspc_01A | - - - - = - $0.3300",
            "2026-11-02 - - wrkspc_01A | - - - - = - $0.0150",
        ],
        &[],
        &[],
    );
    check(
        "anthropic-analytics-cost.json",
        anthropic,
        &["2026-11-02 claude-sonnet-4-5 - wrkspc_01A | - - - - = - $0.3300"],
        &[],
        &[],
    );
    check(
        "anthropic-usage.csv",
        anthropic,
        &[
            "2026-11-02 claude-sonnet-4-5-20250929 laptop Default | 50000 10000 100000 0 = 160000 -",
            "2026-11-02 claude-haiku-4-5-20251001 laptop Default | 100000 20000 0 0 = 120000 -",
            "2026-11-03 claude-sonnet-4-5-20250929 laptop Default | 160000 18000 0 0 = 178000 -",
            "2026-11-04 claude-opus-4-5-20251101 laptop Default | 10000 2000 0 0 = 12000 -",
        ],
        &[],
        &[],
    );
    let costs = file("anthropic-cost.csv");
    assert_eq!(costs.lines.len(), 9);
    assert_eq!(shown(&costs.lines[4]), "2026-11-02 Claude Haiku 4.5 laptop Default | - - - - = - $0.0500");
    let openai = Some("openai");
    check(
        "openai-usage.json",
        openai,
        &["2026-11-03 gpt-5-2025-08-07 key_1 proj_a | 6000 1000 4000 - = 11000 -"],
        &["0: organization.usage.images.result has no tokens"],
        &[],
    );
    check(
        "openai-costs.json",
        openai,
        &["2026-11-03 gpt-5-2025-08-07 - proj_a | - - - - = - $0.0225"],
        &["0: its amount is in eur, not in US dollars"],
        &[],
    );
    // A day without usage has an empty row, which is not a line.
    check(
        "openai-usage.csv",
        openai,
        &["2026-11-03 gpt-5-2025-08-07 key_1 proj_a | 10000 1000 0 - = 11000 -"],
        &["4: input_tokens is \"many\", which is not a count"],
        &[],
    );
    check("openai-costs.csv", openai, &["2026-11-03 gpt-5-2025-08-07 - proj_a | - - - - = - $0.0225"], &[], &[]);
    let openrouter = Some("openrouter");
    // The activity does not state how much of the prompt was cached.
    check(
        "openrouter-activity.json",
        openrouter,
        &["2026-11-02 anthropic/claude-4.5-sonnet-20250929 - - | - 10000 - - = 160000 $0.3300"],
        &[],
        &[],
    );
    check(
        "openrouter-generations.csv",
        openrouter,
        &["2026-11-02 anthropic/claude-4.5-sonnet-20250929 laptop agents | 50000 10000 100000 - = 160000 $0.3300"],
        &[],
        &[],
    );
    check(
        "litellm-spend.json",
        None,
        &[
            "2026-11-02 claude-sonnet-4-5-20250929 laptop shop | 50000 10000 100000 - = 160000 $0.3300",
            "2026-11-03 claude-sonnet-4-5-20250929 - - | - - - - = - $0.7500",
        ],
        &[],
        &[],
    );
    check(
        "focus.csv",
        None,
        &[
            "2026-11-02 claude-sonnet-4-5 - shop | 50000 - - - = 50000 $0.1500",
            "2026-11-02 claude-sonnet-4-5 - shop | - - 100000 - = 100000 $0.0300",
            "2026-11-02 claude-sonnet-4-5 - shop | - 10000 - - = 10000 $0.1500",
            "2026-11-01..2026-11-30 - - - | - - - - = - $-0.1000",
        ],
        &["7: its amount is in EUR, not in US dollars"],
        &["lines of other services than AI, which are not compared: 1"],
    );
    // A log that `ingest` reads, here that of a proxy.
    check(
        "token-usage.jsonl",
        None,
        &["2026-11-02 claude-sonnet-4-5-20250929 - - | 50000 10000 100000 0 = 160000 -"],
        &[],
        &[],
    );
}

#[test]
fn other_files_are_no_bills() {
    let directory = tempfile::tempdir().unwrap();
    for (content, expected) in [
        ("", "it is empty"),
        ("a,b\n1,2\n", "no format of bills has these columns: a, b"),
        ("{\"a\":1}", "no format of bills has these records"),
        ("[1,2]", "no format of bills has these records"),
        ("{\"data\":[],\"has_more\":false}", "it states neither usage nor costs"),
        ("usage_date_utc,cost_usd\n", "it states neither usage nor costs"),
        ("\u{0}\u{1}", "no format of bills has these columns"),
    ] {
        let path = directory.path().join("bill");
        std::fs::write(&path, content).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.contains(expected), "{content:?}: {error}");
    }
    assert!(read(&directory.path().join("none")).is_err());
}

/// A count that no bill has is not a count, so that no sum is out of range.
#[test]
fn counts_out_of_range_are_problems() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bill.csv");
    let header = "usage_date_utc,model_version,usage_input_tokens_no_cache,usage_output_tokens\n";
    let rows = "2026-11-02,m,9223372036854775807,1\n2026-11-02,m,-1,1\n2026-11-02,m,1e300,1\n2026-11-02,m,0.5,1\n2026-11-02,m,2.0,1\n";
    std::fs::write(&path, format!("{header}{rows}")).unwrap();
    let file = read(&path).unwrap();
    assert_eq!((file.lines.len(), file.problems.len()), (1, 4), "{:?}", file.problems);
    let prompt = r#"{"object":"organization.usage.completions.result","start_time":1,"input_tokens":0"#;
    let cached = r#""input_cached_tokens":9223372036854775807,"input_cache_write_tokens":9223372036854775807}"#;
    std::fs::write(&path, format!("{prompt},{cached}")).unwrap();
    assert_eq!(read(&path).unwrap().problems.len(), 1);
}

/// The tables of the log that the bills are compared with.
fn tables() -> Frames {
    let options = Options { roots: vec![path("logs")], ..Options::default() };
    let sources = ingest::read(&options, &std::collections::BTreeMap::new(), &Progress::default()).sources;
    frames(&reconciled(sources)).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn compared(names: &[&str], change: impl Fn(&mut Question<'_>)) -> Option<Bill> {
    let lines = names.iter().flat_map(|name| file(name).lines).collect();
    let scope = Scope::default();
    let mut question = Question {
        by: None,
        tolerance: 0.01,
        delay: 1,
        key: None,
        workspace: None,
        cost: CostBasis::Auto,
        scope: &scope,
        catalog: Catalog::built_in(),
    };
    change(&mut question);
    bill::compare(&tables(), lines, &question).unwrap()
}

/// The rows as CSV without spaces.
fn csv(bill: &Bill) -> Vec<String> {
    let mut out = Vec::new();
    CsvWriter::new(&mut out).include_header(false).finish(&mut bill::rows(bill).unwrap()).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

/// The console's two files. The logs have, at $3 and $15 (cached $0.30) for Sonnet and $1 and $5 for Haiku:
///
/// - on 2 November Sonnet for 0.15 + 0.15 + 0.03 and, half a minute before midnight, for 0.30 + 0.15: 0.78; Haiku for 0.20
/// - on 3 November Sonnet for 0.18 + 0.12: 0.30; on 4 November Haiku for 0.04 + 0.02: 0.06; and a response of another provider
///
/// The bill has Sonnet for 0.33 on the first and for 0.75 on the second day, Haiku at half the price, and Opus, which no log has.
#[test]
fn usage_and_costs_are_one_bill() {
    let bill = compared(&["anthropic-usage.csv", "anthropic-cost.csv"], |_| {}).unwrap();
    assert_eq!((bill.measure, bill.by.as_slice()), (Measure::Dollars, [By::Day, By::Model].as_slice()));
    assert_eq!(
        csv(&bill),
        [
            "2026-11-02,claude-haiku-4-5,price_difference,0.1,0.2,0.0,0.0,-0.1,0.1,0.0,120000,120000,0",
            "2026-11-04,claude-opus-4-5,bill_only,0.1,,0.1,,,0.0,0.0,12000,,",
            "2026-11-04,claude-haiku-4-5,logs_only,,0.06,,0.06,,,,,44000,0",
            "2026-11-02,claude-sonnet-4-5,other_day,0.33,0.78,0.0,0.0,0.0,0.33,0.0,160000,270000,0",
            "2026-11-03,claude-sonnet-4-5,other_day,0.75,0.3,0.0,0.0,0.0,0.75,0.45,178000,68000,0",
        ]
    );
    let sums = bill.sums;
    let rounded = [sums.bill, sums.explained, sums.moved, sums.bill_only, sums.logs_only, sums.cheaper, sums.dearer];
    assert_eq!(
        rounded.map(|sum| format!("{sum:.4}")),
        ["1.2800", "1.1800", "0.4500", "0.1000", "0.0600", "0.1000", "0.0000"]
    );
    assert_eq!(format!("{:.4}", sums.share().unwrap()), "0.9219");
    assert_eq!(
        (bill.of_others.responses, bill.of_others.cost_usd.map(|cost| format!("{cost:.4}"))),
        (1, Some("0.0225".to_owned()))
    );
}

/// Without a delay, no other day explains a difference.
#[test]
fn days_around_explain_only_if_they_may() {
    let bill = compared(&["anthropic-cost.csv"], |question| question.delay = 0).unwrap();
    assert_eq!(
        csv(&bill)[..2],
        [
            "2026-11-02,claude-sonnet-4-5,differs,0.33,0.78,0.0,0.45,0.0,0.33,0.0,,270000,0",
            "2026-11-03,claude-sonnet-4-5,differs,0.75,0.3,0.45,0.0,0.0,0.3,0.0,,68000,0",
        ]
    );
    // By model alone there is no day to move from.
    let bill = compared(&["anthropic-cost.csv"], |question| question.by = Some(vec![By::Model])).unwrap();
    assert_eq!(csv(&bill).last().unwrap(), "claude-sonnet-4-5,explained,1.08,1.08,0.0,0.0,0.0,1.08,0.0,,338000,0");
}

/// A bill without costs is compared by its tokens, and no cost is made up.
#[test]
fn usage_alone_is_compared_by_tokens() {
    let bill = compared(&["anthropic-usage.csv"], |_| {}).unwrap();
    assert_eq!(bill.measure, Measure::Tokens);
    assert_eq!(
        csv(&bill)[..3],
        [
            "2026-11-04,claude-haiku-4-5,logs_only,,44000,,44000,,,0.06,0",
            "2026-11-04,claude-opus-4-5,bill_only,12000,,12000,,0,0,,",
            "2026-11-02,claude-haiku-4-5,explained,120000,120000,0,0,120000,0,0.2,0",
        ]
    );
    assert_eq!((bill.sums.bill, bill.sums.explained), (470_000.0, 458_000.0));
    let proxy = compared(&["token-usage.jsonl"], |_| {}).unwrap();
    assert_eq!(csv(&proxy)[0], "2026-11-02,claude-haiku-4-5,logs_only,,120000,,120000,,,0.2,0");
    assert_eq!(csv(&proxy)[1], "2026-11-02,claude-sonnet-4-5,differs,160000,270000,0,110000,160000,0,0.78,0");
}

/// Names of models are those of the catalog, whoever sells them; filters by key, workspace and model choose lines of the bill.
#[test]
fn filters_choose_lines_of_the_bill() {
    let bill = compared(&["openrouter-generations.csv"], |question| question.key = Some("lap*")).unwrap();
    assert!(csv(&bill).iter().any(|row| row.starts_with("2026-11-02,claude-sonnet-4-5,")), "{:?}", csv(&bill));
    assert!(compared(&["openrouter-generations.csv"], |question| question.key = Some("ci")).is_none());
    assert!(compared(&["litellm-spend.json"], |question| question.workspace = Some("none")).is_none());
    let scope = Scope {
        only: vec![("model".to_owned(), "*haiku*".to_owned())],
        since: Some("2026-11-02".parse().unwrap()),
        until: Some("2026-11-02".parse().unwrap()),
        ..Scope::default()
    };
    let lines = file("anthropic-cost.csv").lines;
    let question = Question {
        by: None,
        tolerance: 0.0,
        delay: 0,
        key: None,
        workspace: None,
        cost: CostBasis::Computed,
        scope: &scope,
        catalog: Catalog::built_in(),
    };
    let bill = bill::compare(&tables(), lines, &question).unwrap().unwrap();
    assert_eq!(csv(&bill), ["2026-11-02,claude-haiku-4-5,differs,0.1,0.2,0.0,0.1,0.0,0.1,0.0,,120000,0"]);
}

/// Projects of FOCUS are those of the archive, by their name or the last part of their path. A credit is of a month and no model.
#[test]
fn lines_of_more_than_a_day_are_not_compared_by_day() {
    let bill = compared(&["focus.csv"], |question| question.by = Some(vec![By::Project])).unwrap();
    // The rows of the log with a price of the day, in the month of the credit: 0.78 + 0.20 + 0.30 + 0.0225 + 0.06.
    assert_eq!(
        csv(&bill),
        ["shop,differs,0.33,1.3625,0.0,1.0325,0.0,0.33,0.0,160000,513000,0", ",bill_only,-0.1,,-0.1,,,0.0,0.0,,,",]
    );
    let by_default = compared(&["focus.csv"], |_| {}).unwrap();
    assert_eq!(by_default.by, [By::Model]);
    let scope = Scope::default();
    let question = Question {
        by: Some(vec![By::Day]),
        tolerance: 0.01,
        delay: 1,
        key: None,
        workspace: None,
        cost: CostBasis::Auto,
        scope: &scope,
        catalog: Catalog::built_in(),
    };
    let error = bill::compare(&tables(), file("focus.csv").lines, &question).unwrap_err();
    assert!(error.to_string().contains("1 of the bill's lines are of more than a day"), "{error}");
}

/// What `export --as focus` writes is explained completely, also responses without a model.
#[test]
fn an_own_export_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.current_dir(directory.path()).env("HOME", directory.path()).args(arguments).output().unwrap()
    };
    let [demo, samples] = ["demo", "sample-logs"].map(|logs| root().join(logs).to_str().unwrap().to_owned());
    assert!(run(&["ingest", &demo, &samples, "--archive", "a"]).status.success());
    assert!(run(&["export", "costs", "--as", "focus", "--archive", "a"]).status.success());
    let arguments = ["bill", "costs/focus.csv", "--archive", "a", "--by", "day,model,project", "--tolerance", "0"];
    let output = run(&[&arguments[..], &["--delay", "0", "--min-explained", "100", "--format", "json"]].concat());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("(100.0 %)"), "{stderr}");
    assert!(!stdout.contains("\"bill_only\"") && stdout.contains("\"explained\""), "{stdout}");
}
