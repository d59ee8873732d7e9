//! Which sessions are included: by a text, by values, and by a period.

use jiff::{ToSpan as _, Zoned};

use super::session::Session;
use crate::analysis::reports::Scope;
use crate::analysis::rows::NONE;

/// A value of a session by which the list is filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Runtime,
    Model,
    Project,
    Status,
    Verdict,
    Task,
    Failure,
}

impl Field {
    pub const ALL: [Self; 7] =
        [Self::Runtime, Self::Model, Self::Project, Self::Status, Self::Verdict, Self::Task, Self::Failure];

    /// The dimension of reports.
    pub const fn dimension(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::Model => "model",
            Self::Project => "project",
            Self::Status => "status",
            Self::Verdict => "verdict",
            Self::Task => "task",
            Self::Failure => "failure_class",
        }
    }

    /// The value of a session.
    pub fn of(self, session: &Session) -> Option<&str> {
        match self {
            Self::Runtime => Some(&session.key.runtime),
            Self::Model => session.model.as_deref(),
            Self::Project => session.project.as_deref(),
            Self::Status => session.status.as_deref(),
            Self::Verdict => session.verdict.as_deref(),
            Self::Task => session.task.as_deref(),
            // As the dimension: a session that did not fail has none.
            Self::Failure => {
                let has_ended = session.status.as_deref().is_some_and(|status| status != "unknown");
                session.failure.as_deref().or(has_ended.then_some(NONE))
            }
        }
    }
}

/// Periods up to now: their names, and how many days they begin before today.
pub(super) const PERIODS: [(&str, i64, &str); 5] = [
    ("today", 0, "today"),
    ("7 days", 6, "7d"),
    ("30 days", 29, "30d"),
    ("90 days", 89, "90d"),
    ("365 days", 364, "365d"),
];

/// The filters of the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Filters {
    /// In lower case.
    pub text: String,
    /// The values, in the order in which they were chosen.
    pub values: Vec<(Field, String)>,
    /// An index of [`PERIODS`].
    pub period: Option<usize>,
}

impl Filters {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sets or removes the filter by a field.
    pub fn set(&mut self, field: Field, value: Option<String>) {
        self.values.retain(|(of, _)| *of != field);
        self.values.extend(value.map(|value| (field, value)));
    }

    /// Removes the last filter: the text, then the period, then values.
    pub fn pop(&mut self) {
        if !self.text.is_empty() {
            self.text.clear();
        } else if self.period.take().is_none() {
            self.values.pop();
        }
    }

    /// The start of the period in microseconds since 1970.
    pub fn start(&self, now: &Zoned) -> Option<i64> {
        let (_, days, _) = PERIODS.get(self.period?)?;
        let day = now.start_of_day().ok()?.checked_sub(days.days()).ok()?;
        Some(day.timestamp().as_microsecond())
    }

    /// Whether a session passes; `start` is that of the period.
    pub fn include(&self, session: &Session, start: Option<i64>) -> bool {
        let is_value = |(field, value): &(Field, String)| field.of(session) == Some(value.as_str());
        let is_in_period = start.is_none_or(|start| session.started.is_some_and(|started| started >= start));
        is_in_period && self.values.iter().all(is_value) && session.searched.contains(&self.text)
    }

    /// The scope of reports about the same sessions, apart from the text.
    pub fn scope(&self, all: &Scope) -> Scope {
        let mut scope = all.clone();
        scope.only.extend(self.values.iter().map(|(field, value)| (field.dimension().to_owned(), value.clone())));
        if let Some((_, _, bound)) = self.period.and_then(|period| PERIODS.get(period)) {
            scope.since = bound.parse().ok().or(scope.since);
        }
        scope
    }

    /// Those that reports have.
    pub fn of_reports(&self) -> Self {
        Self { text: String::new(), ..self.clone() }
    }

    /// The filters as words, with the shown values of projects.
    pub fn words(&self) -> Vec<String> {
        let values = self.values.iter().map(|(field, value)| format!("{}={value}", field.dimension()));
        let period = self.period.and_then(|period| PERIODS.get(period)).map(|(name, _, _)| (*name).to_owned());
        let text = (!self.text.is_empty()).then(|| format!("/{}", self.text));
        values.chain(period).chain(text).collect()
    }
}
