//! The list of sessions with its order and filters.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::Zoned;

use super::cursor::{Cursor, Motion};
use super::filters::{Field, Filters};
use super::session::Session;
use crate::analysis::show::SessionKey;

/// A column by which the list is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Started,
    Cost,
    Tokens,
    Turns,
    Project,
    Model,
    Status,
    Verdict,
}

impl Sort {
    pub const ALL: [Self; 8] =
        [Self::Started, Self::Cost, Self::Tokens, Self::Turns, Self::Project, Self::Model, Self::Status, Self::Verdict];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "start",
            Self::Cost => "cost",
            Self::Tokens => "tokens",
            Self::Turns => "turns",
            Self::Project => "project",
            Self::Model => "model",
            Self::Status => "status",
            Self::Verdict => "verdict",
        }
    }

    /// Whether the first values are the largest ones.
    pub const fn descends(self) -> bool {
        matches!(self, Self::Started | Self::Cost | Self::Tokens | Self::Turns)
    }

    /// The order of two sessions. Unknown values are last in both directions.
    fn compare(self, a: &Session, b: &Session, descends: bool) -> Ordering {
        fn known<T>(a: Option<T>, b: Option<T>, descends: bool, by: impl Fn(&T, &T) -> Ordering) -> Ordering {
            match (a, b) {
                (Some(a), Some(b)) if descends => by(&b, &a),
                (Some(a), Some(b)) => by(&a, &b),
                (a, b) => b.is_some().cmp(&a.is_some()),
            }
        }
        match self {
            Self::Started => known(a.started, b.started, descends, i64::cmp),
            Self::Cost => known(a.cost_usd, b.cost_usd, descends, f64::total_cmp),
            Self::Tokens => known(a.tokens, b.tokens, descends, i64::cmp),
            Self::Turns => known(a.turns, b.turns, descends, i64::cmp),
            Self::Project => known(a.project.as_deref(), b.project.as_deref(), descends, Ord::cmp),
            Self::Model => known(a.model.as_deref(), b.model.as_deref(), descends, Ord::cmp),
            Self::Status => known(a.status.as_deref(), b.status.as_deref(), descends, Ord::cmp),
            Self::Verdict => known(a.verdict.as_deref(), b.verdict.as_deref(), descends, Ord::cmp),
        }
    }
}

/// The list of sessions.
#[derive(Debug, Clone)]
pub(super) struct Sessions {
    /// All sessions, the newest first.
    all: Vec<Session>,
    /// Positions in `all`, sorted.
    order: Vec<usize>,
    /// Those that pass the filters.
    shown: Vec<usize>,
    pub filters: Filters,
    pub sort: Sort,
    pub descends: bool,
    pub cursor: Cursor,
    /// Whether the sessions have their classes of failures.
    pub has_failures: bool,
    pub has_outcomes: bool,
    pub has_verdicts: bool,
    pub has_prompts: bool,
    /// The keys of labels.
    pub labels: Vec<String>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            order: Vec::new(),
            shown: Vec::new(),
            filters: Filters::default(),
            sort: Sort::Started,
            descends: true,
            cursor: Cursor::default(),
            has_failures: false,
            has_outcomes: false,
            has_verdicts: false,
            has_prompts: false,
            labels: Vec::new(),
        }
    }
}

impl Sessions {
    /// Replaces the sessions. The selected one stays selected, if it is still there.
    pub fn replace(&mut self, all: Vec<Session>, now: &Zoned, height: usize) {
        let selected = self.selected().map(|session| session.key.clone());
        let before = self.cursor;
        self.has_verdicts = all.iter().any(|it| it.verdict.as_deref().is_some_and(|verdict| verdict != "unjudged"));
        self.has_outcomes = all.iter().any(|session| session.outcome.is_some());
        self.has_prompts = all.iter().any(|session| session.prompt.is_some());
        self.all = all;
        // The list does not move below the eyes, unless its first rows are shown: there new ones appear.
        let line = before.selected.saturating_sub(before.top);
        self.arrange(now, height, selected.as_ref());
        if before.top > 0 && self.selected().map(|session| &session.key) == selected.as_ref() {
            self.cursor.top = self.cursor.selected.saturating_sub(line);
            self.cursor.select(self.cursor.selected, self.shown.len(), height);
        }
    }

    /// Sorts and filters again; the selected session stays selected.
    pub fn update(&mut self, now: &Zoned, height: usize) {
        let selected = self.selected().map(|session| session.key.clone());
        self.arrange(now, height, selected.as_ref());
    }

    fn arrange(&mut self, now: &Zoned, height: usize, selected: Option<&SessionKey>) {
        self.order = (0..self.all.len()).collect();
        let (all, sort, descends) = (&self.all, self.sort, self.descends);
        self.order.sort_by(|a, b| match (all.get(*a), all.get(*b)) {
            (Some(a), Some(b)) => sort.compare(a, b, descends),
            _ => Ordering::Equal,
        });
        self.filter(now, height, selected);
    }

    /// Filters again. The selected session stays selected, if it passes; else the first one is selected.
    pub fn filter(&mut self, now: &Zoned, height: usize, selected: Option<&SessionKey>) {
        let start = self.filters.start(now);
        let passes = |row: &&usize| self.all.get(**row).is_some_and(|session| self.filters.include(session, start));
        self.shown = self.order.iter().filter(passes).copied().collect();
        let is_selected = |row: &usize| self.all.get(*row).map(|session| &session.key) == selected;
        let row = selected.and_then(|_| self.shown.iter().position(is_selected)).unwrap_or(0);
        self.cursor.select(row, self.shown.len(), height);
    }

    pub fn go(&mut self, motion: Motion, height: usize) {
        self.cursor.go(motion, self.shown.len(), height);
    }

    /// The number of sessions that pass the filters.
    pub fn count(&self) -> usize {
        self.shown.len()
    }

    /// The number of all sessions.
    pub fn all_count(&self) -> usize {
        self.all.len()
    }

    /// The session in a row of the filtered list.
    pub fn at(&self, row: usize) -> Option<&Session> {
        self.shown.get(row).and_then(|row| self.all.get(*row))
    }

    pub fn selected(&self) -> Option<&Session> {
        self.at(self.cursor.selected)
    }

    /// The session with an id, the newest one if several runtimes use it.
    pub fn find(&self, id: &str) -> Option<&Session> {
        self.all.iter().find(|session| session.key.id == id)
    }

    /// The values of a field with the number of sessions that pass the other filters, the most frequent first.
    pub fn values(&self, field: Field, now: &Zoned) -> Vec<(String, usize)> {
        let mut others = self.filters.clone();
        others.set(field, None);
        let start = others.start(now);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for session in self.all.iter().filter(|session| others.include(session, start)) {
            if let Some(value) = field.of(session) {
                *counts.entry(value).or_default() += 1;
            }
        }
        let mut values: Vec<(String, usize)> =
            counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        values
    }
}
