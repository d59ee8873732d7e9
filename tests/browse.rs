//! `agentlogs browse`: what keys do, and what the terminal shows. docs/browse.md describes it.

use std::sync::Arc;

use agentlogs::analysis::browse::{Browser, Key, Look, Open, Step};
use agentlogs::analysis::present::Currency;
use agentlogs::analysis::reports::{CostBasis, Frames, Scope};
use agentlogs::base::width::width;
use agentlogs::prices::Catalog;
use agentlogs::store::frames::{TABLES, frames};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use polars::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;

use crate::{demo_facts, reconciled, shipped};

/// Tables in memory; `None` if they cannot be read.
#[derive(Clone)]
struct Tables(Option<Frames>);

impl Open for Tables {
    fn tables(&mut self, names: &[&'static str]) -> Result<Frames, String> {
        assert!(names.iter().all(|name| TABLES.contains(name)), "{names:?}");
        self.0.clone().ok_or_else(|| "the archive is damaged".to_owned())
    }

    fn catalog(&mut self) -> Result<Arc<Catalog>, String> {
        Ok(Arc::new(Catalog::built_in().clone()))
    }
}

/// The browser with a terminal in memory.
#[derive(Clone)]
struct Program {
    browser: Browser,
    tables: Tables,
    size: (u16, u16),
    last: Step,
}

impl Program {
    fn new(tables: Frames, size: (u16, u16)) -> Self {
        Self::with_color(tables, size, false)
    }

    fn with_color(tables: Frames, size: (u16, u16), color: bool) -> Self {
        let now: Timestamp = "2026-10-09T12:00:00Z".parse().unwrap();
        let scope = Scope { now, ..Scope::default() };
        let look = Look { currency: Currency::default(), now: now.to_zoned(TimeZone::UTC), color, is_ascii: false };
        let browser = Browser::new(scope, CostBasis::Auto, look, size);
        let mut program = Self { browser, tables: Tables(Some(tables)), size, last: Step::Draw };
        program.browser.load(&mut program.tables).unwrap();
        program
    }

    fn key(&mut self, key: Key) {
        self.last = self.browser.key(key);
        if self.last == Step::Load
            && let Err(message) = self.browser.load(&mut self.tables)
        {
            self.browser.say(&message);
        }
    }

    /// Presses keys: characters, and names between `<` and `>`.
    fn press(&mut self, keys: &str) -> &mut Self {
        let mut rest = keys;
        while let Some(char) = rest.chars().next() {
            let name = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
            let key = if let Some((name, after)) = name {
                rest = after;
                match name {
                    "Enter" => Key::Enter,
                    "Esc" => Key::Escape,
                    "Tab" => Key::Tab,
                    "Backspace" => Key::Backspace,
                    other => panic!("{other}"),
                }
            } else {
                rest = &rest[char.len_utf8()..];
                Key::Char(char)
            };
            self.key(key);
        }
        self
    }

    fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        self.browser.resize(size);
    }

    fn buffer(&self) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| frame.render_widget(&self.browser, frame.area())).unwrap();
        terminal.backend().buffer().clone()
    }

    fn lines(&self) -> Vec<String> {
        let buffer = self.buffer();
        let line = |row: u16| {
            let mut text = String::new();
            let mut column = 0;
            while column < self.size.0 {
                let symbol = buffer[(column, row)].symbol();
                text.push_str(symbol);
                // A wide character takes two cells.
                column += u16::try_from(width(symbol)).unwrap().max(1);
            }
            text.trim_end().to_owned()
        };
        (0..self.size.1).map(line).collect()
    }

    fn text(&self) -> String {
        self.lines().join("\n")
    }

    fn title(&self) -> String {
        self.lines().remove(0)
    }
}

fn demo() -> Frames {
    let tables = reconciled(demo_facts());
    frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

/// Keys that lead to each kind of screen.
const SCREENS: [(&str, &str); 12] = [
    ("sessions", "j"),
    ("filtered", "/storefront<Enter>G"),
    ("models", "m"),
    ("failures", "f"),
    ("timeline", "/01a1f188<Enter><Enter>]"),
    ("details", "/01a1f188<Enter><Enter>]<Enter>"),
    ("tree", "/ses_7Q<Enter>t"),
    ("reports", "<Tab>"),
    ("report", "<Tab>/cost<Enter><Enter>bj<Enter>"),
    ("columns", "<Tab><Enter>s"),
    ("prompt", "/sho"),
    ("keys", "?"),
];

/// What a person sees, at the sizes of a small, a usual and a large terminal.
#[test]
fn the_screens_of_the_demo() {
    let tables = demo();
    for (name, keys) in SCREENS {
        let mut program = Program::new(tables.clone(), (80, 24));
        insta::assert_snapshot!(format!("browse_{name}"), program.press(keys).text());
    }
    for (name, keys) in [("sessions", "j"), ("timeline", "<Enter>"), ("report", "<Tab><Enter>")] {
        let mut program = Program::new(tables.clone(), (40, 10));
        insta::assert_snapshot!(format!("browse_{name}_small"), program.press(keys).text());
    }
    let mut program = Program::new(tables.clone(), (160, 20));
    insta::assert_snapshot!("browse_sessions_large", program.press("f<Esc>").text());
    let program = Program::new(tables, (39, 9));
    assert_eq!(program.title(), "at least 40x10 needed, this is 39x9");
}

/// Every key in every view: nothing fails, the selected row is visible, and each line fits.
#[test]
fn each_key_in_each_view_keeps_a_row_selected() {
    let tables = demo();
    let keys = "jkgGnNrbsSmpvfdxta?/q][ z\u{65e5}".chars().map(Key::Char).chain([
        Key::Enter,
        Key::Escape,
        Key::Tab,
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Backspace,
        Key::Control('d'),
        Key::Control('u'),
        Key::Control('z'),
    ]);
    let screens = SCREENS.map(|(name, to_screen)| {
        let mut program = Program::new(tables.clone(), (80, 24));
        program.press(to_screen);
        (name, program)
    });
    for key in keys {
        for (name, program) in &screens {
            let mut program = program.clone();
            program.key(key);
            for size in [(80, 24), (40, 10), (200, 50), (10, 2)] {
                program.resize(size);
                let lines = program.lines();
                let widest = lines.iter().map(|line| width(line)).max().unwrap();
                assert!(widest <= size.0.into(), "{name} {key:?} {size:?}: {lines:?}");
                let buffer = program.buffer();
                let is_reversed = |row: u16| buffer[(0, row)].modifier.contains(ratatui::style::Modifier::REVERSED);
                let reversed = (0..size.1).filter(|row| is_reversed(*row)).count();
                let is_empty = lines[0].ends_with(" 0 of 0") || lines[0].contains("0 of 0 (");
                let expected = usize::from(size.0 >= 40 && !is_empty);
                assert_eq!(reversed, expected, "{name} {key:?} {size:?}: {}", lines.join("\n"));
            }
        }
    }
}

#[test]
fn filters_combine_and_are_removed_in_their_order() {
    let mut program = Program::new(demo(), (100, 30));
    let all = program.title();
    let count = |title: &str| title.rsplit("of ").next().unwrap().to_owned();
    let choices = program.press("m").lines();
    assert!(choices[1].contains("all"), "{choices:?}");
    let (number, model) = choices[2].trim().split_once("  ").unwrap();
    let (number, model) = (number.to_owned(), model.to_owned());
    program.press("j<Enter>");
    assert!(program.title().contains(&format!("model={model}")), "{}", program.title());
    assert!(program.title().contains(&format!("of {number} (")), "{}", program.title());
    program.press("dj<Enter>");
    assert!(program.title().contains("today"), "{}", program.title());
    program.press("/zzz<Enter>");
    assert!(program.text().contains("no session passes the filters"), "{}", program.text());
    program.press("<Esc><Esc>");
    assert!(program.title().contains(&format!("of {number} (")), "{}", program.title());
    program.press("<Esc>");
    assert_eq!(count(&program.title()), count(&all));
    // A filter that is not confirmed has no effect.
    program.press("/zzz<Esc>");
    assert_eq!(count(&program.title()), count(&all));
    program.press("/a");
    program.press("<Backspace><Backspace>");
    assert_eq!(count(&program.title()), count(&all));
}

/// A report about the filtered sessions, and back from one of its rows to the sessions.
#[test]
fn reports_are_about_the_filtered_sessions() {
    let mut program = Program::new(demo(), (100, 30));
    program.press("pj<Enter>");
    let filter = program.title();
    let filter = filter.split_whitespace().find(|word| word.starts_with("project=")).unwrap().to_owned();
    program.press("<Tab>/sessions<Enter><Enter>");
    assert!(program.title().contains(&filter), "{}", program.title());
    program.press("b/model<Enter><Enter><Enter>");
    let title = program.title();
    assert!(title.contains("sessions by") && title.contains("model=") && title.contains(&filter), "{title}");
    program.press("x");
    assert!(!program.title().contains('='), "{}", program.title());
}

/// Labels are dimensions; the text of the filter is not one of a report.
#[test]
fn reports_have_the_labels_of_the_sessions() {
    let mut program = Program::new(demo(), (100, 30));
    program.press("/storefront<Enter><Tab>/outcomes<Enter><Enter>");
    assert!(!program.title().contains("storefront"), "{}", program.title());
    program.press("b/label:prompt<Enter><Enter>");
    assert!(program.title().contains("outcomes by label:prompt"), "{}", program.title());
    assert!(program.text().contains("45.5 %") && program.text().contains("91.7 %"), "{}", program.text());
    program.press("<Esc>/limits<Enter><Enter>b");
    assert!(!program.text().contains("label:"), "{}", program.text());
}

/// The details of a session name its commits, and the list what became of them, once `f` computes more than the log states.
#[test]
fn what_shipped_is_shown() {
    let tables = shipped::frames_of(&shipped::with_commits());
    let mut program = Program::new(tables, (160, 30));
    assert!(!program.text().contains("outcome"), "{}", program.text());
    program.press("/storefront<Enter>f<Esc>");
    insta::assert_snapshot!("browse_sessions_shipped", program.text());
    program.press("x/01a1f188<Enter><Enter>");
    insta::assert_snapshot!("browse_timeline_shipped", program.text());
}

/// The selected session stays on its line when newer ones appear. A pane below another one is read again when it is shown.
#[test]
fn what_changes_is_followed_without_moving_the_selection() {
    let tables = demo();
    let older = tables.clone().map(|name, rows| match name {
        "sessions" => rows.sort(["started_at"], SortMultipleOptions::default()).limit(38),
        _ => rows,
    });
    let mut program = Program::new(older, (80, 24));
    program.press("Gk");
    let selected = |program: &Program| {
        let buffer = program.buffer();
        let is_reversed = |row: &u16| buffer[(0, *row)].modifier.contains(ratatui::style::Modifier::REVERSED);
        let row = (0..program.size.1).find(is_reversed).unwrap();
        (row, program.lines()[usize::from(row)].clone())
    };
    let before = selected(&program);
    let follow = |program: &mut Program, tables: &Frames| {
        program.tables = Tables(Some(tables.clone()));
        program.browser.follow();
        program.browser.load(&mut program.tables).unwrap();
    };
    follow(&mut program, &tables);
    assert!(program.title().ends_with("40 of 41"), "{}", program.title());
    assert_eq!(selected(&program), before);
    // A report selects the row of the same name, also below another pane.
    program.press("<Tab>/cost<Enter><Enter>/gpt-5.5<Enter>");
    let (_, row) = selected(&program);
    let more = tables.clone().map(|name, rows| match name {
        "turns" => rows.with_columns([when(col("canonical_model").eq(lit("claude-opus-5")))
            .then(lit("gpt-5.4-mini"))
            .otherwise(col("canonical_model"))
            .alias("canonical_model")]),
        _ => rows,
    });
    program.press("?");
    follow(&mut program, &more);
    program.press("<Esc>");
    assert!(!program.text().contains("claude-opus-5"), "{}", program.text());
    assert_eq!(selected(&program).1, row);
    follow(&mut program, &tables);
    assert!(program.text().contains("claude-opus-5"), "{}", program.text());
    assert_eq!(selected(&program).1, row);
}

#[test]
fn reading_again_keeps_the_selection_and_an_error_keeps_the_rows() {
    let tables = demo();
    let mut program = Program::new(tables.clone(), (100, 30));
    program.press("jjj");
    let (before, selected) = (program.text(), 5);
    let row = program.lines()[selected].clone();
    // A newer session appears, and an older one is gone.
    let newer = tables.clone().map(|name, rows| match name {
        "sessions" => {
            let fewer = rows.clone().filter(col("started_at").gt(col("started_at").min()));
            let newest = rows
                .sort(["started_at"], SortMultipleOptions::default())
                .tail(1)
                .with_columns([lit("zzzzzzzz-1").alias("session_id"), lit("zzzzzzzz-1").alias("root_session_id")]);
            concat([fewer, newest], UnionArgs::default()).unwrap()
        }
        _ => rows,
    });
    program.tables = Tables(Some(newer));
    program.press("r");
    let lines = program.lines();
    assert!(lines.contains(&row), "{row}\n{}", lines.join("\n"));
    let reversed = |program: &Program| {
        let buffer = program.buffer();
        (0..program.size.1).find(|row| buffer[(0, *row)].modifier.contains(ratatui::style::Modifier::REVERSED))
    };
    assert_eq!(lines[usize::from(reversed(&program).unwrap())], row);
    program.tables = Tables(Some(tables));
    program.press("r");
    assert_eq!(program.text(), before);
    program.tables = Tables(None);
    for keys in ["r", "<Enter>", "t", "<Tab><Enter>"] {
        program.press(keys);
        assert!(program.text().ends_with("the archive is damaged"), "{keys}: {}", program.text());
    }
    program.press("<Tab>");
    assert_eq!(program.text(), before);
}

/// Texts of logs cannot act on a terminal, and take the columns that they need.
#[test]
fn hostile_names_are_escaped_in_each_view() {
    let tables = demo().map(|name, rows| {
        let harmful = lit("a\u{1b}[31m\nb\u{202e}\u{65e5}\u{672c}\t");
        let names: &[&str] = match name {
            "sessions" => &["project", "canonical_model", "model", "status", "prompt", "cwd", "git_branch"],
            "turns" => &["model", "canonical_model", "agent"],
            "tool_calls" => &["tool", "target"],
            "file_changes" => &["path"],
            "events" => &["code", "message"],
            _ => &[],
        };
        rows.with_columns(names.iter().map(|name| harmful.clone().alias(*name)).collect::<Vec<_>>())
    });
    for keys in [
        "",
        "m",
        "p",
        "<Enter>",
        "<Enter>jjjjjjjjjjjjjjjj<Enter>",
        "pj<Enter>",
        "<Tab><Enter>",
        "<Tab>/tools<Enter><Enter>",
    ] {
        let mut program = Program::new(tables.clone(), (100, 30));
        let text = program.press(keys).text();
        let is_harmful = |char: char| (char.is_control() && char != '\n') || ('\u{202a}'..='\u{202e}').contains(&char);
        assert!(!text.contains(is_harmful), "{keys}: {text:?}");
        assert!(text.contains("\\u{1b}"), "{keys}: {text}");
    }
}

#[test]
fn without_colours_no_cell_has_one() {
    let tables = demo();
    let colors = |color: bool, keys: &str| {
        let mut program = Program::with_color(tables.clone(), (100, 30), color);
        program.press(keys);
        program.buffer().content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    for keys in ["", "<Enter>", "<Tab>"] {
        assert!(colors(true, keys) && !colors(false, keys), "{keys}");
    }
}

#[test]
fn an_editor_opens_the_line_of_the_row() {
    let mut program = Program::new(demo(), (100, 30));
    program.press("e");
    let Step::Edit(place) = program.last.clone() else { panic!("{:?}", program.last) };
    assert!(place.path.starts_with("demo/") && place.line == 1, "{place:?}");
    program.press("<Enter>Ge");
    let Step::Edit(last) = program.last.clone() else { panic!("{:?}", program.last) };
    assert!(last.path.starts_with("demo/") && last.line > 1, "{last:?}");
    program.press("<Enter>e");
    assert_eq!(program.last, Step::Edit(last));
    program.press("<Tab>e");
    assert!(program.text().ends_with("this row is not a line of a log"), "{}", program.text());
}

#[test]
fn an_archive_without_sessions_has_an_empty_list() {
    let tables = demo().map(|_, rows| rows.limit(0));
    let mut program = Program::new(tables, (80, 24));
    assert!(program.title().ends_with("0 of 0"), "{}", program.title());
    assert!(program.text().contains("no sessions yet"), "{}", program.text());
    program.press("jGtesdmpvf<Enter><Esc>S?<Esc><Tab><Enter>");
    assert!(program.text().contains("no rows"), "{}", program.text());
    program.press("q");
    assert_ne!(program.last, Step::Quit);
    program.press("qq");
    assert_eq!(program.last, Step::Quit);
}
