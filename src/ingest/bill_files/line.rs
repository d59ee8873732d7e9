//! A line of a bill.

use crate::base::time::{Day, Time};
use crate::model::session::{Tokens, add};

/// A line of a bill: the usage or the cost of a period.
#[derive(Debug, Clone, PartialEq)]
pub struct BillLine {
    /// Its line in the file, or 0.
    pub line: i64,
    /// The first day of its period, in UTC.
    pub first: Day,
    /// The last day of its period; the first one for a line of a day, an hour or a request.
    pub last: Day,
    /// Who sent the bill, as the catalog of prices names providers; `None` if any provider can be on it.
    pub seller: Option<&'static str>,
    /// The model, as the bill names it.
    pub model: Option<String>,
    /// The API key: its name, or its id.
    pub key: Option<String>,
    /// The project, workspace or team: its name, or its id.
    pub project: Option<String>,
    /// The tokens by kind, as far as the bill states them.
    pub tokens: Tokens,
    /// All tokens. The kinds may be unknown.
    pub total_tokens: Option<i64>,
    /// The cost in US dollars.
    pub cost_usd: Option<f64>,
}

impl BillLine {
    /// A line of one day.
    pub(super) fn of_day(day: Day) -> Self {
        Self {
            line: 0,
            first: day,
            last: day,
            seller: None,
            model: None,
            key: None,
            project: None,
            tokens: Tokens::UNKNOWN,
            total_tokens: None,
            cost_usd: None,
        }
    }

    /// A line of the day of a time.
    pub(super) fn at(time: Time) -> Self {
        Self::of_day(Day(time.day()))
    }

    /// A line from a time to the time at which its period ends.
    pub(super) fn from_to(start: Time, end: Option<Time>) -> Self {
        let last = end.map(|end| Day(Time::from_micros(end.micros().saturating_sub(1)).day()));
        Self { last: last.unwrap_or(Day(start.day())).max(Day(start.day())), ..Self::at(start) }
    }

    /// Sets the tokens by kind, and their sum.
    pub(super) fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens, total_tokens: tokens.total(), ..self }
    }

    /// Whether it states neither tokens nor a cost.
    pub(super) const fn is_empty(&self) -> bool {
        self.total_tokens.is_none() && self.cost_usd.is_none()
    }
}

/// Tokens of a bill whose prompt includes cached tokens.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InclusiveTokens {
    pub prompt: Option<i64>,
    pub output: Option<i64>,
    /// Prompt tokens from a cache; `None` if the bill does not state them.
    pub cache_read: Option<i64>,
    /// Prompt tokens that were written to a cache; 0 if the bill does not state them.
    pub cache_write: i64,
}

impl InclusiveTokens {
    /// The line with these tokens. The input is unknown if the bill does not state how much of the prompt was cached.
    pub(super) fn of(self, line: BillLine) -> BillLine {
        let Self { prompt, output, cache_read, cache_write } = self;
        let input = prompt.zip(cache_read).map(|(prompt, cached)| (prompt - cached - cache_write).max(0));
        let cache_write = (cache_write > 0).then_some(cache_write);
        let tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN };
        BillLine { tokens, total_tokens: add(prompt, output), ..line }
    }
}
