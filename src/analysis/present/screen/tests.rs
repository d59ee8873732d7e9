//! Tables at several widths: nothing is wider than the terminal, and the main measure stays.

use polars::prelude::*;

use super::*;
use crate::analysis::present::{ReportStyle, Roles};

fn screen(width: u16, height: u16) -> Screen {
    Screen { width, height, is_ascii: false }
}

/// The table, and the names of hidden columns.
fn printed(frame: &DataFrame, style: TableStyle<'_>, screen: Screen) -> (String, Vec<String>) {
    let mut out = Vec::new();
    let hidden = table(frame, TableStyle { is_human: true, ..style }, screen, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for line in text.lines() {
        assert!(width(line) <= usize::from(screen.width), "{line:?} is wider than {}", screen.width);
        assert_eq!(line, line.trim_end());
    }
    (text, hidden)
}

fn sessions() -> DataFrame {
    df!(
        "session_id" => ["0199a213-81c0-7800-9f21-aa5b7f0e3d11", "0199a213-81c0-7800-9f21-aa5b7f0e3d12"],
        "project" => [Some("/home/ann/work/of-a-long-name/shop"), None],
        "model" => ["claude-sonnet-4-5", "gpt-5"],
        "turns" => [12_i64, 3],
        "error_kind" => [None::<&str>, None],
        "p50_duration_ms" => [1_375_496_i64, 90],
        "cost_usd" => [Some(742.8589), None],
        "total_tokens" => [1_234_567_890_i64, 1],
        "message" => ["the first of these sentences", "another"]
    )
    .unwrap()
}

#[test]
fn a_table_that_fits_is_whole() {
    let (text, hidden) = printed(&sessions(), TableStyle::default(), screen(200, 50));
    assert_eq!(hidden, Vec::<String>::new());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].chars().all(|char| char == '─') && width(lines[1]) >= width(lines[2]), "{text}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    assert_eq!(
        words(lines[0]),
        "session_id project model turns error_kind p50_duration_ms cost_usd total_tokens message"
    );
    assert_eq!(
        words(lines[2]),
        "0199a213-81c0-7800-9f21-aa5b7f0e3d11 /home/ann/work/of-a-long-name/shop claude-sonnet-4-5 12 - 22m 55s $742.86 1.2B \
         the first of these sentences"
    );
    assert_eq!(words(lines[3]), "0199a213-81c0-7800-9f21-aa5b7f0e3d12 - gpt-5 3 - 90ms - 1 another");
    // Numbers end below their names.
    let end = |line: &str, text: &str| line.find(text).map(|at| at + text.len());
    assert_eq!(end(lines[0], "cost_usd"), end(lines[2], "$742.86"));
}

/// Ids keep the beginning that distinguishes them, paths their end; a column without values is hidden before others; the cost stays.
#[test]
fn a_narrow_table_keeps_names_and_the_main_measure() {
    let many = |count: usize| {
        let one = sessions().head(Some(1));
        (1..count).fold(one.clone(), |all, _| all.vstack(&one).unwrap())
    };
    for width in [60, 80, 100, 120] {
        let (text, hidden) = printed(&many(30), TableStyle::default(), screen(width, 24));
        assert!(text.contains("0199a213") && text.contains("$742.86"), "{text}");
        assert!(hidden.iter().any(|name| name == "error_kind") || hidden.is_empty(), "{hidden:?}");
        assert!(!hidden.iter().any(|name| name == "cost_usd"), "{hidden:?}");
        assert_eq!(text.lines().filter(|line| line.contains("$742.86")).count(), 30);
    }
}

/// Ids that have a long beginning in common keep both ends, so that none of them are alike.
#[test]
fn ids_with_a_common_beginning_are_shortened_in_the_middle() {
    let ids = (10..50).map(|task| format!("swebench-verified-2026-11-20-claude-sonnet-4-5-run1-django__django-{task}"));
    let frame = df!(
        "n" => (1..41).collect::<Vec<i64>>(), "session" => ids.collect::<Vec<_>>(), "started" => ["Nov 27 10:00"; 40],
        "project" => ["testbed"; 40], "model" => ["claude-sonnet-4-5"; 40], "cost_usd" => [0.5; 40], "status" => ["success"; 40]
    );
    let frame = frame.unwrap();
    let style = TableStyle { roles: Roles { names: Some(2), ..Roles::default() }, ..TableStyle::default() };
    for (columns, is_ascii) in [(60, false), (80, false), (80, true), (100, false), (120, false)] {
        let (text, _) = printed(&frame, style, Screen { width: columns, height: 24, is_ascii });
        let shown: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        let shown: Vec<&str> = shown.into_iter().filter(|id| id.starts_with("swebench")).collect();
        let distinct: std::collections::BTreeSet<&&str> = shown.iter().collect();
        assert_eq!((shown.len(), distinct.len()), (40, 40), "{text}");
        assert!(shown[0].ends_with("django-10") && text.contains("$0.50"), "{text}");
    }
}

/// A few rows are blocks before a column is hidden. So are rows whose names do not fit.
#[test]
fn rows_become_blocks() {
    let (text, hidden) = printed(&sessions(), TableStyle::default(), screen(60, 30));
    let expected = "\
session_id       0199a213-81c0-7800-9f21-aa5b7f0e3d11
project          /home/ann/work/of-a-long-name/shop
model            claude-sonnet-4-5
turns            12
error_kind       -
p50_duration_ms  22m 55s
cost_usd         $742.86
total_tokens     1.2B
message          the first of these sentences

session_id       0199a213-81c0-7800-9f21-aa5b7f0e3d12
project          -
model            gpt-5
turns            3
error_kind       -
p50_duration_ms  90ms
cost_usd         -
total_tokens     1
message          another
";
    assert_eq!((text.as_str(), hidden), (expected, Vec::new()), "{text}");
    let names = TableStyle { roles: Roles { names: Some(3), ..Roles::default() }, ..TableStyle::default() };
    let (text, hidden) = printed(&sessions(), names, screen(30, 5));
    assert!(text.contains("project          …/shop\n") && hidden.is_empty(), "{text}");
    assert!(text.contains("message          the first of\n                 these\n"), "{text}");
    // All columns were asked for.
    let whole = TableStyle { is_whole: true, ..TableStyle::default() };
    let (text, hidden) = printed(&sessions(), whole, screen(80, 5));
    assert!(text.starts_with("session_id       0199") && hidden.is_empty(), "{text}");
}

/// Characters of Chinese take two columns.
#[test]
fn wide_names_are_aligned() {
    let name = "計".repeat(60);
    let frame = df!("project" => [name.as_str(), "shop"], "tool" => ["読む".repeat(30).as_str(), "Read"], "cost_usd" => [1.5, 20.0]);
    for columns in [60, 80, 100, 200] {
        let (text, hidden) = printed(&frame.clone().unwrap(), TableStyle::default(), screen(columns, 5));
        assert!(hidden.is_empty() && text.contains("$1.50"), "{text}");
        let end = |line: &str| width(line);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains('$')).collect();
        assert_eq!(end(lines[0]), end(lines[1]), "{text}");
    }
}

#[test]
fn names_of_columns_are_broken_after_underscores() {
    let frame = df!(
        "tool" => ["mcp__browser_automation__take_screenshot_of_page"; 40],
        "calls" => [1_i64; 40], "p50_duration_ms" => [5_i64; 40], "p90_duration_ms" => [5_i64; 40], "error_rate" => [0.5; 40]
    );
    let style = TableStyle { roles: Roles { main: Some("calls"), ..Roles::default() }, ..TableStyle::default() };
    let (text, hidden) = printed(&frame.unwrap(), style, screen(70, 24));
    assert!(hidden.is_empty() && text.starts_with(' '), "{text}");
    let head: Vec<&str> =
        text.lines().take_while(|line| !line.starts_with('─')).flat_map(str::split_whitespace).collect();
    for part in ["tool", "calls", "p50_", "p90_", "error_", "rate"] {
        assert!(head.contains(&part), "{part}: {text}");
    }
    assert!(text.contains("mcp__browser") && text.contains("_page"), "{text}");
}

#[test]
fn sentences_are_wrapped_between_words() {
    let about = "what this query answers in many words that do not fit one line of a narrow terminal";
    let frame = df!("query" => ["runaway-sessions"], "about" => [about]).unwrap();
    let style = TableStyle { roles: Roles { sentences: &["about"], ..Roles::default() }, ..TableStyle::default() };
    let (text, _) = printed(&frame, style, screen(60, 2));
    assert!(text.lines().count() > 3, "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(about.split(' ').all(|word| words.contains(&word)), "{text}");
}

#[test]
fn a_terminal_of_ascii_gets_ascii() {
    let frame = df!("project" => ["/home/ann/work/of-a-long-name/shop/of/many"; 9], "cost_usd" => [0.5; 9], "share" => [0.5; 9]);
    let style =
        TableStyle { report: Some(ReportStyle { dimensions: 1, ..ReportStyle::default() }), ..TableStyle::default() };
    for width in [40, 80] {
        let (text, _) = printed(&frame.clone().unwrap(), style, Screen { width, height: 5, is_ascii: true });
        assert!(text.is_ascii() && text.contains("50.0 %") && text.contains("----"), "{text}");
        assert_eq!(text.contains("####"), width == 80, "{text}");
    }
}

#[test]
fn values_of_logs_have_no_effect_on_a_terminal() {
    let frame = df!("name\u{1b}[31m" => ["a\u{1b}[31m\nb"; 3], "n" => [1_i64; 3]).unwrap();
    for columns in [12, 80] {
        let (text, _) = printed(&frame, TableStyle::default(), screen(columns, 2));
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn times_have_no_fraction() {
    assert_eq!(without_fraction("2026-10-05T08:00:01.123456Z"), "2026-10-05 08:00:01Z");
    assert_eq!(without_fraction("2026-10-05T08:00:01Z"), "2026-10-05 08:00:01Z");
    assert_eq!(without_fraction("-"), "-");
}

#[test]
fn columns_that_matter_least_are_hidden_first() {
    let frame = df!(
        "finding" => ["rejected"; 9], "reason" => ["not_json"; 9], "lines" => [1_i64; 9], "unit" => ["lines"; 9],
        "source_path" => ["/home/ann/logs/2026-10-05.jsonl"; 9], "example" => [None::<&str>; 9]
    )
    .unwrap();
    let roles =
        Roles { also: &["source_path"], sentences: &["example"], least: &["unit", "reason"], ..Roles::default() };
    let style = TableStyle { roles, ..TableStyle::default() };
    assert_eq!(printed(&frame, style, screen(52, 10)).1, ["unit", "example"]);
    let (text, hidden) = printed(&frame, style, screen(42, 10));
    assert_eq!(hidden, ["reason", "unit", "example"]);
    assert!(text.contains("/2026-10-05.jsonl"), "{text}");
    // Such a column is not a main measure.
    let frame = df!(
        "measure" => ["cost_per_session_usd"; 9], "before" => [" $1.19"; 9],
        "changed" => ["prompt: from this one to that one"; 9], "sessions" => [33_i64; 9]
    );
    let roles = Roles { sentences: &["changed"], least: &["sessions"], ..Roles::default() };
    let style = TableStyle { roles, ..TableStyle::default() };
    assert_eq!(printed(&frame.unwrap(), style, screen(58, 10)).1, ["sessions"]);
}

#[test]
fn fine_amounts_have_six_decimal_places() {
    let frame = df!("of" => ["input", "sum"], "cost_usd" => [0.000_612_7, 12.5]).unwrap();
    let style = TableStyle { roles: Roles { fine: &["cost_usd"], ..Roles::default() }, ..TableStyle::default() };
    let (text, _) = printed(&frame, style, screen(80, 24));
    assert!(text.contains("$0.000613") && text.contains("$12.500000"), "{text}");
}
