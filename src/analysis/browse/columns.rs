//! The columns of the list of sessions: which of them fit a width.

use jiff::Timestamp;

use super::session::Session;
use super::sessions::Sessions;
use super::style::Look;
use crate::analysis::present::{UNKNOWN, short};
use crate::analysis::reports::sessions::{last_part, local_time};
use crate::analysis::show::fitted;
use crate::base::width::{padded, width as width_of};

/// A column of the list.
#[derive(Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    pub width: usize,
    is_right: bool,
    value: fn(&Session, &Look) -> Option<String>,
}

impl Column {
    const fn left(name: &'static str, width: usize, value: fn(&Session, &Look) -> Option<String>) -> Self {
        Self { name, width, is_right: false, value }
    }

    const fn right(name: &'static str, width: usize, value: fn(&Session, &Look) -> Option<String>) -> Self {
        Self { name, width, is_right: true, value }
    }

    /// Its name, as wide as the column.
    pub fn head(&self) -> String {
        self.aligned(self.name)
    }

    /// The value of a session, as wide as the column.
    pub fn cell(&self, session: &Session, look: &Look) -> String {
        self.aligned(&(self.value)(session, look).unwrap_or_else(|| UNKNOWN.to_owned()))
    }

    fn aligned(&self, text: &str) -> String {
        let text = fitted(text, self.width, false);
        if self.is_right {
            return format!("{:1$}{text}", "", self.width.saturating_sub(width_of(&text)));
        }
        padded(&text, self.width)
    }
}

/// The spaces between two columns.
pub(super) const fn gap(width: usize) -> usize {
    if width < WIDE { 1 } else { 2 }
}

/// The width from which columns have more space.
const WIDE: usize = 80;

/// The widest that models and projects become.
const WIDEST: [(&str, usize); 2] = [("model", 26), ("project", 30)];

/// The columns that fit a width, in their order.
pub(super) fn columns(sessions: &Sessions, look: &Look, width: usize) -> Vec<Column> {
    let text = if width < WIDE { 8 } else { 14 };
    let cost = if look.currency.is_other() { 14 } else { 9 };
    // The words of status, verdict, failure and outcome are never cut.
    // Each with its rank: those of rank 0 are always shown, then the others in the order of their ranks.
    let all = [
        (5, Column::left("session", 8, |it, _| Some(it.short.clone()))),
        (0, Column::left("started", 12, started)),
        (0, Column::left("project", text, |it, _| it.project.as_deref().map(|path| last_part(path).to_owned()))),
        (0, Column::left("model", text, |it, _| it.model.clone())),
        (0, Column::right("cost", cost, |it, look| it.cost_usd.map(|cost| look.currency.amount(cost)))),
        (1, Column::left("status", 10, |it, _| it.status.clone())),
        (2, Column::left("verdict", 8, |it, _| it.verdict.clone())),
        (3, Column::left("failure", 16, |it, _| Some(it.failure.clone().unwrap_or_default()))),
        (9, Column::left("outcome", 16, |it, _| it.outcome.clone())),
        (4, Column::right("turns", 5, |it, _| it.turns.map(|turns| turns.to_string()))),
        (6, Column::right("tokens", 6, |it, _| it.tokens.map(|tokens| short(tokens.into())))),
        (8, Column::left("runtime", 14, |it, _| Some(it.key.runtime.clone()))),
        (7, Column::left("about", 20, |it, _| Some(it.prompt.clone().unwrap_or_default()))),
    ];
    let has = |name: &str| match name {
        "verdict" => sessions.has_verdicts,
        "failure" => sessions.has_failures,
        "outcome" => sessions.has_outcomes,
        "about" => sessions.has_prompts,
        _ => true,
    };
    let mut shown: Vec<(usize, Column)> = Vec::new();
    for rank in 0..=9 {
        for (index, (_, column)) in all.iter().enumerate().filter(|(_, (of, it))| *of == rank && has(it.name)) {
            let used = needed(shown.iter().map(|(_, column)| column), width);
            if rank == 0 || used + gap(width) + column.width <= width {
                shown.push((index, *column));
            }
        }
    }
    shown.sort_by_key(|(index, _)| *index);
    let mut columns: Vec<Column> = shown.into_iter().map(|(_, column)| column).collect();
    widen(&mut columns, width);
    columns
}

/// Gives the remaining space to texts.
fn widen(columns: &mut [Column], width: usize) {
    for (name, widest) in WIDEST.into_iter().chain([("about", usize::MAX)]) {
        let free = width.saturating_sub(needed(columns.iter(), width));
        if let Some(column) = columns.iter_mut().find(|column| column.name == name) {
            column.width += free.min(widest.saturating_sub(column.width));
        }
    }
}

fn needed<'c>(columns: impl Iterator<Item = &'c Column>, width: usize) -> usize {
    columns.map(|column| column.width + gap(width)).sum::<usize>().saturating_sub(gap(width))
}

fn started(session: &Session, look: &Look) -> Option<String> {
    let moment = Timestamp::from_microsecond(session.started?).ok()?;
    Some(local_time(moment, &look.now))
}
