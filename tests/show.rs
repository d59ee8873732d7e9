//! `agentlogs show`: one session as a timeline. docs/reports.md#one-session describes it.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::present::Currency;
use agentlogs::analysis::reports::{CostBasis, Frames};
use agentlogs::analysis::show::{self, SessionKey, TextStyle, Timeline};
use agentlogs::store::frames::frames;
use jiff::tz::TimeZone;
use polars::prelude::*;

use crate::{facts, reconciled};

fn sample_frames() -> Frames {
    let tables = reconciled(facts(Retention::Full));
    frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn style(width: usize, color: bool) -> TextStyle {
    TextStyle {
        width,
        color,
        currency: Currency::default(),
        zone: TimeZone::UTC,
        is_whole: false,
        is_exact: false,
        limit: None,
    }
}

/// Every session has a timeline with all of its rows, whose sums are those of the session, and whose lines fit the width.
#[test]
fn every_session_has_a_timeline_with_all_of_its_rows() {
    let tables = sample_frames();
    let table = |name: &str| tables.table(name).collect().unwrap();
    let sessions = table("sessions");
    let others: Vec<DataFrame> = ["turns", "tool_calls", "file_changes", "events"].map(table).into();
    let texts = |frame: &DataFrame, name: &str| -> Vec<Option<String>> {
        frame.column(name).unwrap().str().unwrap().iter().map(|text| text.map(str::to_owned)).collect()
    };
    let sum = |frame: &DataFrame, name: &str, skipped: usize| -> f64 {
        let values = frame.column(name).unwrap().cast(&DataType::Float64).unwrap();
        values.f64().unwrap().iter().skip(skipped).flatten().sum()
    };
    let (ids, runtimes) = (texts(&sessions, "session_id"), texts(&sessions, "runtime"));
    let parents = texts(&sessions, "parent_session_id");
    assert!(ids.len() > 50);
    let color = regex::Regex::new("\u{1b}\\[[0-9]+m").unwrap();
    for (row, (id, runtime)) in ids.iter().zip(&runtimes).enumerate() {
        let key = SessionKey { id: id.clone().unwrap(), runtime: runtime.clone().unwrap() };
        assert_eq!(show::find(&tables, &key.id, Some(&key.runtime)).unwrap(), key);
        let timeline = Timeline::read(&tables, &key, CostBasis::Auto).unwrap();
        let shown = timeline.frame().unwrap();
        let count = |frame: &DataFrame| {
            let pairs = texts(frame, "session_id").into_iter().zip(texts(frame, "runtime"));
            pairs.filter(|(of, by)| of == id && by == runtime).count()
        };
        let children = parents.iter().zip(&runtimes).filter(|(of, by)| *of == id && *by == runtime).count();
        let rows = 1 + children + others.iter().map(count).sum::<usize>();
        assert_eq!(shown.height(), rows, "{key:?}");
        let kinds = texts(&shown, "kind");
        let is_billed = |kind: &Option<String>| matches!(kind.as_deref(), Some("turn" | "total"));
        let billed: Vec<bool> = kinds.iter().map(is_billed).collect();
        let billed = shown.filter(&BooleanChunked::new("billed".into(), billed)).unwrap();
        let whole = sessions.slice(row.try_into().unwrap(), 1);
        for name in ["cost_usd", "total_tokens"] {
            let (found, expected) = (sum(&billed, name, 0), sum(&whole, name, 0));
            assert!((found - expected).abs() < 1e-9, "{key:?} {name}: {found} {expected}");
        }
        for width in [40, 73, 100, 200] {
            let text = timeline.text(&style(width, false));
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width.max(52), "{key:?} {width}: {longest}\n{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        // Colours change nothing else.
        let coloured = timeline.text(&style(100, true));
        let plain = color.replace_all(&coloured, "").into_owned();
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&plain), trimmed(&timeline.text(&style(100, false))));
        assert!(timeline.markdown(&style(100, false)).starts_with("# Session "));
    }
}

/// Texts of logs cannot act on a terminal.
#[test]
fn a_timeline_contains_no_control_characters() {
    let tables = sample_frames().map(|name, rows| {
        let harmful = lit("a\u{1b}[31m\nb\u{202e}");
        match name {
            "sessions" => rows.with_columns([harmful.clone().alias("project"), harmful.alias("prompt")]),
            "tool_calls" => rows.with_columns([harmful.clone().alias("tool"), harmful.alias("status")]),
            "events" => rows.with_columns([harmful.clone().alias("code"), harmful.alias("message")]),
            _ => rows,
        }
    });
    let key = show::find(&tables, "run_01a0e7be3f00778aa6b9c60a", None).unwrap();
    let timeline = Timeline::read(&tables, &key, CostBasis::Auto).unwrap();
    for text in [timeline.text(&style(200, false)), timeline.markdown(&style(200, false))] {
        // Markdown escapes its own characters too.
        let is_escaped =
            ["a\\u{1b}[31m b\\u{202e}", r"a\\u\{1b\}\[31m b\\u\{202e\}"].iter().any(|it| text.contains(it));
        assert!(is_escaped, "{text}");
        assert!(text.chars().all(|char| char == '\n' || !char.is_control() && char != '\u{202e}'), "{text}");
    }
}

/// `--limit` and `--exact` apply to a timeline as to a table.
#[test]
fn a_timeline_can_be_limited_and_exact() {
    let tables = sample_frames();
    let key = SessionKey { id: "5c1e7a10-0000-4111-8222-333344445555".to_owned(), runtime: "claude".to_owned() };
    let timeline = Timeline::read(&tables, &key, CostBasis::Auto).unwrap();
    let whole = timeline.text(&style(100, false));
    let limited = timeline.text(&TextStyle { limit: Some(2), ..style(100, false) });
    assert!(limited.ends_with("lines more (--limit 0)\n"), "{limited}");
    assert!(limited.lines().count() < whole.lines().count(), "{limited}");
    assert_eq!(timeline.text(&TextStyle { limit: Some(0), ..style(100, false) }), whole);
    let exact = timeline.text(&TextStyle { is_exact: true, ..style(140, false) });
    assert!(whole.contains(" 8.0k ") && exact.contains(" 8,010 ") && exact.contains(" 1,000 ms"), "{exact}");
}
