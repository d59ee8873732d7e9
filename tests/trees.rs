//! Trees of sessions: docs/accounting.md#trees.

use std::fs;
use std::path::Path;
use std::process::Command;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::reports::{CostBasis, Frames, Options, find};
use agentlogs::store::frames::frames;
use agentlogs::store::query::query;
use polars::prelude::*;

use crate::{facts, reconciled, root};

fn sample_frames() -> Frames {
    let tables = reconciled(facts(Retention::None));
    frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

/// The answer of the program as text.
fn agentlogs(arguments: &[&str], archive: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    let done = command.args(arguments).arg("--archive").arg(archive).current_dir(root()).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// The rows of a query as CSV, without the names of the columns.
fn rows(sql: &str) -> Vec<String> {
    let answer = query(sample_frames(), sql).unwrap();
    let cell = |column: &Column, row| match column.get(row).unwrap() {
        AnyValue::Null => "-".to_owned(),
        AnyValue::Float64(dollars) => format!("{dollars:.6}"),
        value => value.str_value().into_owned(),
    };
    let row = |row| answer.columns().iter().map(|column| cell(column, row)).collect::<Vec<_>>().join(",");
    (0..answer.height()).map(row).collect()
}

/// A response of 100,000 tokens of input, which costs 30 cents, at this second.
fn log(session: &str, parent: Option<&str>, second: i64) -> String {
    let parent = parent.map(|parent| format!(",\"parentSession\":\"/logs/2026_{parent}.jsonl\"")).unwrap_or_default();
    let (time, millis) = (format!("2026-10-05T08:00:{second:02}.000Z"), 1_791_187_200_000 + second * 1000);
    format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{session}\",\"timestamp\":\"{time}\",\"cwd\":\"/w\"{parent}}}\n\
         {{\"type\":\"message\",\"id\":\"m-{session}\",\"parentId\":null,\"timestamp\":\"{time}\",\"message\":{{\
         \"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"Done.\"}}],\"provider\":\"anthropic\",\
         \"model\":\"claude-sonnet-4-5\",\"usage\":{{\"input\":100000,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\
         \"cost\":{{\"total\":0.3}}}},\"stopReason\":\"stop\",\"timestamp\":{millis}}}}}\n"
    )
}

/// The values of the samples, computed by hand from the costs of their responses.
#[test]
fn trees_have_the_sums_of_their_sessions() {
    let columns =
        "own_cost_usd, inclusive_cost_usd, inclusive_total_tokens, descendants, missing_descendants, root_session_id";
    let of = |session: &str| rows(&format!("SELECT {columns} FROM sessions WHERE session_id = '{session}'")).join(";");
    // 0.0325 + 0.0091 and an unknown cost; 50,700 + 15,120 + 1,560 tokens.
    assert_eq!(of("20260711_080000_aa0001"), "0.032500,0.041600,67380,2,0,20260711_080000_aa0001");
    assert_eq!(of("20260711_080500_aa0002"), "0.009100,0.009100,16680,1,0,20260711_080000_aa0001");
    assert_eq!(of("20260711_080600_aa0003"), "-,-,1560,0,0,20260711_080000_aa0001");
    // A fork is a child, and a session without relatives a tree of its own.
    assert_eq!(
        of("01a0cd62-cf40-76f0-8316-00a35a099950").split(',').next_back(),
        Some("01a0c857-ea80-7269-8ef2-a74de452e6b4")
    );
    assert!(of("0cccc73d-2c2e-4835-a867-e5c2a16e195d").ends_with(",0,0,0cccc73d-2c2e-4835-a867-e5c2a16e195d"));
    // The log names the session of its subagent, which no log contains.
    assert!(of("ses_f0d503d7fffeHYIP96ZX157jIY").ends_with(",0,1,ses_f0d503d7fffeHYIP96ZX157jIY"));
}

/// Each session of the samples is in one tree, so that the roots have all costs and tokens.
#[test]
fn the_roots_have_the_sums_of_all_sessions() {
    let sums =
        |columns: &str, condition: &str| rows(&format!("SELECT {columns} FROM sessions WHERE {condition}")).join(";");
    let all = sums("SUM(cost_usd), SUM(total_tokens), COUNT(*)", "TRUE");
    let roots = sums(
        "SUM(inclusive_cost_usd), SUM(inclusive_total_tokens), SUM(descendants) + COUNT(*)",
        "session_id = root_session_id",
    );
    assert_eq!(all, roots);
    assert_eq!(sums("SUM(own_cost_usd), SUM(total_tokens), COUNT(*)", "TRUE"), all);
}

/// Also a child of a child, and a parent that is ingested last; a lake and an export have the same values.
#[test]
fn a_child_that_is_ingested_later_counts() {
    let directory = tempfile::tempdir().unwrap();
    let (logs, archive, lake) =
        (directory.path().join("logs"), directory.path().join("archive"), directory.path().join("lake"));
    fs::create_dir(&logs).unwrap();
    let ingest = |session: &str, parent: Option<&str>| {
        let second = session.bytes().map(|letter| i64::from(letter - b'a')).sum();
        fs::write(logs.join(format!("2026_{session}.jsonl")), log(session, parent, second)).unwrap();
        agentlogs(&["ingest", logs.to_str().unwrap()], &archive);
    };
    let sql = "SELECT session_id, root_session_id, inclusive_cost_usd, descendants FROM sessions ORDER BY session_id";
    let values = |archive: &Path| {
        let csv = agentlogs(&["query", sql, "--format", "csv"], archive);
        csv.lines().skip(1).collect::<Vec<_>>().join(" ")
    };
    ingest("b", Some("a"));
    assert_eq!(values(&archive), "b,b,0.3,0");
    ingest("a", None);
    assert_eq!(values(&archive), "a,a,0.6,1 b,a,0.3,0");
    ingest("c", Some("b"));
    let all = "a,a,0.9,2 b,a,0.6,1 c,a,0.3,0";
    assert_eq!(values(&archive).replace("0.8999999999999999", "0.9"), all);
    agentlogs(&["export", lake.to_str().unwrap(), "--as", "lake"], &archive);
    assert_eq!(values(&lake).replace("0.8999999999999999", "0.9"), all);
    // A cycle has a root.
    ingest("a", Some("c"));
    assert_eq!(values(&archive).replace("0.8999999999999999", "0.9"), all);
    let tree = |options: &[&str]| {
        let arguments = [&["report", "sessions", "--tree", "--timezone", "UTC"], options].concat();
        agentlogs(&arguments, &archive)
    };
    let csv = tree(&["--format", "csv"]);
    let rows: Vec<String> = csv.lines().map(|line| line.split(',').take(8).collect::<Vec<_>>().join(",")).collect();
    let expected = [
        "root,depth,session,agent,model,status,own_cost_usd,inclusive_cost_usd",
        "a,0,a,,claude-sonnet-4-5,success,0.3,0.9",
        "a,1,b,,claude-sonnet-4-5,success,0.3,0.6",
        "a,2,c,,claude-sonnet-4-5,success,0.3,0.3",
    ];
    assert_eq!(rows, expected);
    let table = tree(&[]);
    assert!(
        table.contains("\n a         ") && table.contains("\n └ b       ") && table.contains("\n   └ c     "),
        "{table}"
    );
    // Filters select rows, not what is added up.
    let one = tree(&["--session", "b", "--format", "csv"]);
    assert_eq!(
        one.lines()
            .skip(1)
            .map(|line| line.starts_with("a,1,b,,claude-sonnet-4-5,success,0.3,0.6,"))
            .collect::<Vec<_>>(),
        [true]
    );
    let by_root = agentlogs(&["report", "cost", "--by", "root", "--format", "csv"], &archive);
    assert!(by_root.lines().nth(1).is_some_and(|line| line.starts_with("a,0.9,")), "{by_root}");
    let shown = agentlogs(&["show", "a"], &archive);
    assert!(shown.contains("turns   own_usd inclusive_usd\n"), "{shown}");
    let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in
        [["a", "claude-sonnet-4-5", "1", "0.3000", "0.9000"], ["b", "claude-sonnet-4-5", "1", "0.3000", "0.6000"]]
    {
        assert!(lines.iter().any(|it| it[..] == line), "{shown}");
    }
}

/// The tree of a report has the sums of the choice of the cost, sorts by each of its columns, and adds up.
#[test]
fn a_tree_can_be_sorted_by_every_column() {
    let run = |sort: Option<&str>, cost| {
        let options = Options { tree: true, wide: true, cost, sort: sort.map(str::to_owned), ..Options::default() };
        find("sessions").unwrap().run(&sample_frames(), &options).unwrap().rows
    };
    let all = run(None, CostBasis::Auto);
    assert!(all.column("depth").unwrap().i64().unwrap().max() == Some(2) && all.height() > 100);
    for column in all.get_column_names() {
        let sorted = run(Some(column), CostBasis::Auto);
        assert_eq!(sorted.height(), all.height(), "{column}");
        // A session is never before the one that started it.
        let depths = sorted.column("depth").unwrap().i64().unwrap().clone();
        let mut before = -1;
        for depth in depths.iter().flatten() {
            assert!(depth <= before + 1, "{column}");
            before = depth;
        }
    }
    for cost in [CostBasis::Auto, CostBasis::Reported, CostBasis::Computed] {
        let rows = run(None, cost);
        let sum = |column: &str, is_counted: &dyn Fn(i64) -> bool| -> f64 {
            let depths = rows.column("depth").unwrap().i64().unwrap().clone();
            let values = rows.column(column).unwrap().f64().unwrap().clone();
            depths
                .iter()
                .zip(values.iter())
                .filter(|(depth, _)| depth.is_some_and(is_counted))
                .filter_map(|(_, value)| value)
                .sum()
        };
        let (own, inclusive) = (sum("own_cost_usd", &|_| true), sum("inclusive_cost_usd", &|depth| depth == 0));
        assert!(own > 0.0 && (own - inclusive).abs() < 1e-6, "{cost:?}: {own} {inclusive}");
    }
}
