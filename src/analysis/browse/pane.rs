//! Rows above the list of sessions: a timeline, the details of an entry, a choice, a report, the keys.

use std::rc::Rc;

use super::cursor::{Cursor, Motion};
use super::filters::{Field, PERIODS};
use super::keys::KEYS;
use super::report::ReportPane;
use super::sessions::Sort;
use super::style::Look;
use crate::analysis::present::{grouped, visible};
use crate::analysis::reports::REPORTS;
use crate::analysis::show::{Paint, Target, TextLine, Timeline};
use crate::base::text::one_line;
use crate::base::width::{divided, padded};

/// What a pane shows.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// A session.
    Timeline {
        timeline: Rc<Timeline>,
        is_whole: bool,
    },
    /// The tree of a session.
    Tree(Rc<Timeline>),
    /// An entry of a timeline.
    Details {
        timeline: Rc<Timeline>,
        entry: usize,
    },
    /// Values, of which one is chosen.
    Choice(Choice, Vec<(String, Option<usize>)>),
    /// The names of all reports.
    Reports,
    Report(Box<ReportPane>),
    Keys,
}

/// What is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// A filter. The first value removes it.
    Field(Field),
    /// A period. The first one removes it.
    Period,
    /// The order of sessions.
    Sort,
    /// The dimension of a report.
    By,
    /// The order of a report.
    Column,
}

/// Rows with a cursor.
#[derive(Debug, Clone)]
pub(super) struct Pane {
    pub kind: Kind,
    /// Lines that do not move.
    pub head: Vec<TextLine>,
    pub rows: Vec<TextLine>,
    pub cursor: Cursor,
    /// The text of the search, in lower case.
    pub search: String,
    /// How often rows had changed when it was read.
    pub changes: usize,
}

impl Pane {
    pub fn new(kind: Kind, look: &Look, width: usize) -> Self {
        let mut pane = Self {
            kind,
            head: Vec::new(),
            rows: Vec::new(),
            cursor: Cursor::default(),
            search: String::new(),
            changes: 0,
        };
        pane.fit(look, width);
        pane
    }

    /// Makes the rows for a width.
    pub fn fit(&mut self, look: &Look, width: usize) {
        let (head, rows) = match &self.kind {
            Kind::Timeline { timeline, is_whole } => (Vec::new(), timeline.text_lines(&look.style(width, *is_whole))),
            Kind::Tree(timeline) => (Vec::new(), timeline.tree_lines(&look.style(width, false))),
            Kind::Details { timeline, entry } => (Vec::new(), details(timeline, *entry, look, width)),
            Kind::Choice(_, values) => (Vec::new(), values.iter().map(choice).collect()),
            Kind::Reports => (Vec::new(), REPORTS.iter().map(|report| named(report.name, report.about)).collect()),
            Kind::Report(report) => report.lines(look, width),
            Kind::Keys => (Vec::new(), KEYS.iter().map(|(keys, about)| key(keys, about)).collect()),
        };
        (self.head, self.rows) = (head, rows);
    }

    pub fn go(&mut self, motion: Motion, height: usize) {
        self.cursor.go(motion, self.rows.len(), height);
    }

    pub fn select(&mut self, row: usize, height: usize) {
        self.cursor.select(row, self.rows.len(), height);
    }

    pub fn selected(&self) -> Option<&TextLine> {
        self.rows.get(self.cursor.selected)
    }

    /// The entry of the selected row, or that of the details.
    pub fn entry(&self) -> Option<usize> {
        match (&self.kind, self.selected().and_then(|line| line.target.as_ref())) {
            (Kind::Details { entry, .. }, _) | (_, Some(Target::Entry(entry))) => Some(*entry),
            _ => None,
        }
    }

    /// The row of an entry of a timeline, or the last one before it.
    pub fn row_of_entry(&self, entry: usize) -> Option<usize> {
        let is_entry = |target: &Target| matches!(target, Target::Entry(at) if *at <= entry);
        self.rows.iter().rposition(|line| line.target.as_ref().is_some_and(is_entry))
    }

    /// Selects the row that was selected in another state of the pane, on the same line of the terminal.
    pub fn select_as_in(&mut self, before: &Self, height: usize) {
        let row = match (&self.kind, &before.kind) {
            (Kind::Report(now), Kind::Report(report)) => now.row_like(report, before.cursor.selected),
            _ => before.entry().and_then(|entry| self.row_of_entry(entry)),
        };
        let row = row.unwrap_or(before.cursor.selected);
        self.cursor.top = row.saturating_sub(before.cursor.selected.saturating_sub(before.cursor.top));
        self.select(row, height);
    }

    /// Selects the next row that passes, in a direction, from the other end on after the last one. Returns whether there is one.
    pub fn find(&mut self, is_forward: bool, height: usize, is_found: impl Fn(&TextLine) -> bool) -> bool {
        let (count, selected) = (self.rows.len(), self.cursor.selected);
        let step = |offset: usize| if is_forward { selected + offset } else { selected + count - offset };
        let rows = (1..=count).map(|offset| step(offset) % count);
        let found = rows.into_iter().find(|row| self.rows.get(*row).is_some_and(&is_found));
        if let Some(row) = found {
            self.select(row, height);
        }
        found.is_some()
    }

    /// Selects the next match of the search. Returns whether there is one.
    pub fn find_text(&mut self, is_forward: bool, height: usize) -> bool {
        let text = self.search.clone();
        !text.is_empty() && self.find(is_forward, height, |line| line.text().to_lowercase().contains(&text))
    }

    /// Its name, for the first line.
    pub fn title(&self) -> String {
        match &self.kind {
            Kind::Timeline { timeline, .. } => format!("session {}", timeline.key().id),
            Kind::Tree(timeline) => format!("tree of {}", timeline.key().id),
            Kind::Details { timeline, .. } => format!("entry of session {}", timeline.key().id),
            Kind::Choice(choice, _) => choice.title().to_owned(),
            Kind::Reports => "reports".to_owned(),
            Kind::Report(report) => report.title(),
            Kind::Keys => "keys".to_owned(),
        }
    }
}

impl Choice {
    const fn title(self) -> &'static str {
        match self {
            Self::Field(field) => field.dimension(),
            Self::Period => "period",
            Self::Sort | Self::Column => "sort by",
            Self::By => "by",
        }
    }

    /// The periods.
    pub fn periods() -> Vec<(String, Option<usize>)> {
        let names = PERIODS.iter().map(|(name, _, _)| *name);
        std::iter::once("all").chain(names).map(|name| (name.to_owned(), None)).collect()
    }

    /// The orders of sessions.
    pub fn sorts() -> Vec<(String, Option<usize>)> {
        Sort::ALL.iter().map(|sort| (sort.name().to_owned(), None)).collect()
    }
}

fn choice((value, count): &(String, Option<usize>)) -> TextLine {
    let count = count.map(grouped).unwrap_or_default();
    let words = one_line(value);
    TextLine {
        spans: vec![(Some(Paint::Dim), format!("{count:>8}  ")), (None, visible(&words).into_owned())],
        ..TextLine::default()
    }
}

fn named(name: &str, about: &str) -> TextLine {
    TextLine { spans: vec![(None, format!("{name:14}")), (Some(Paint::Dim), about.to_owned())], ..TextLine::default() }
}

fn key(keys: &str, about: &str) -> TextLine {
    if keys.is_empty() {
        return TextLine::of(Paint::Bold, about.to_owned());
    }
    TextLine {
        spans: vec![(None, format!("  {keys:12}")), (Some(Paint::Dim), about.to_owned())],
        ..TextLine::default()
    }
}

/// Values that are wider than the terminal continue on further lines.
fn details(timeline: &Timeline, entry: usize, look: &Look, width: usize) -> Vec<TextLine> {
    const NAME: usize = 15;
    let mut lines = Vec::new();
    for (name, value) in timeline.details(entry, &look.style(width, false)) {
        let mut name = name;
        for part in value.split('\n') {
            let part = visible(part.trim_end()).into_owned();
            for part in divided(&part, width.saturating_sub(NAME)) {
                lines.push(TextLine {
                    spans: vec![(Some(Paint::Dim), padded(name, NAME)), (None, part.to_owned())],
                    ..TextLine::default()
                });
                name = "";
            }
        }
    }
    lines
}
