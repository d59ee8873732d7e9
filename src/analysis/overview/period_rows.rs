//! The table of the periods as text: with as many columns as fit, or as sentences.

use std::fmt::Write as _;

use super::compute::Overview;
use super::style::{Look, PAGE, Style, count, in_lines, name_of};
use super::sums::Period;
use crate::analysis::present::{UNKNOWN, counted, grouped, short};
use crate::base::width::width;

/// The space before the time zone.
const GAP: usize = 2;

/// The width of a change.
const CHANGE: usize = 9;

/// The widths of the columns.
#[derive(Clone, Copy)]
struct Columns {
    name: usize,
    cost: usize,
    tokens: usize,
    sessions: usize,
    /// Which of cost, tokens and sessions have their change after them.
    changes: [bool; 3],
}

/// A period as texts.
struct Row {
    name: String,
    /// Cost, tokens and sessions.
    values: [String; 3],
    changes: [String; 3],
}

/// The time, the names of the columns, and a line for each period.
pub(super) fn lines(overview: &Overview, columns: usize, look: &Look) -> Vec<String> {
    let bounds = overview.lower_bounds.iter();
    let rows: Vec<Row> =
        overview.periods.iter().zip(bounds).map(|(period, bound)| Row::of(period, bound.applies(), look)).collect();
    let time = overview.now.strftime("%a %Y-%m-%d %H:%M").to_string();
    let zone = overview.now.time_zone().iana_name().unwrap_or("local time");
    let Some(form) = Columns::forms(&rows).into_iter().find(|form| form.width() <= columns) else {
        let sentences = rows.iter().flat_map(|row| row.sentence(columns));
        return clock(&time, zone, columns, look).into_iter().chain(sentences).collect();
    };
    let head = form.head(&time);
    let needed = head.len() + GAP + width(zone);
    let mut lines = if needed <= columns {
        // At the end of the page, or after the names of the columns.
        let zone = format!("{zone:>0$}", PAGE.min(columns).max(needed) - head.len());
        vec![look.styled(Style::Bold, &head) + &look.styled(Style::Dim, &zone)]
    } else {
        let head = look.styled(Style::Bold, &form.head(""));
        clock(&time, zone, columns, look).into_iter().chain([head]).collect()
    };
    lines.extend(rows.iter().map(|row| form.row(row, look)));
    lines
}

/// The time and its zone, one below the other if they do not fit in a line.
fn clock(time: &str, zone: &str, columns: usize, look: &Look) -> Vec<String> {
    if time.len() + GAP + width(zone) <= columns {
        return vec![look.styled(Style::Bold, time) + &look.styled(Style::Dim, &format!("{:GAP$}{zone}", ""))];
    }
    let styled = |style: Style, text: &str| {
        in_lines(text, columns, 0).iter().map(|line| look.styled(style, line)).collect::<Vec<_>>()
    };
    [styled(Style::Bold, time), styled(Style::Dim, zone)].concat()
}

impl Columns {
    /// From the widest to the narrowest.
    fn forms(rows: &[Row]) -> Vec<Self> {
        let usual = Self { name: 14, cost: 14, tokens: 9, sessions: 9, changes: [true; 3] };
        let without_changes = Self { changes: [false; 3], ..usual };
        let name = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
        let mut widest = ["cost", "tokens", "sessions"].map(str::len);
        for row in rows {
            for (widest, value) in widest.iter_mut().zip(&row.values) {
                *widest = (*widest).max(width(value));
            }
        }
        let [cost, tokens, sessions] = widest;
        let tight = |gap: usize| Self {
            name,
            cost: gap + cost,
            tokens: gap + tokens,
            sessions: gap + sessions,
            ..without_changes
        };
        vec![usual, Self { changes: [true, false, false], ..usual }, without_changes, tight(2), tight(1)]
    }

    fn width(self) -> usize {
        let changes = self.changes.iter().filter(|is_shown| **is_shown).count();
        self.name + self.cost + self.tokens + self.sessions + changes * CHANGE
    }

    /// The names of the columns, with the time before them. The last one has no change after it.
    fn head(self, time: &str) -> String {
        let first = self.name + self.cost;
        let head: Vec<String> = [(first, "cost"), (self.tokens, "tokens"), (self.sessions, "sessions")]
            .iter()
            .zip(self.changes)
            .map(|((columns, name), has_change)| {
                format!("{name:>columns$}{:1$}", "", if has_change { CHANGE } else { 0 })
            })
            .collect();
        let head = head.concat();
        let rest = head.get(time.len()..).unwrap_or_default().trim_end();
        format!("{time}{rest}")
    }

    fn row(self, row: &Row, look: &Look) -> String {
        let mut line = format!("{:1$}", row.name, self.name);
        let cells = row.values.iter().zip(&row.changes).zip(self.changes);
        for (((value, change), has_change), columns) in cells.zip([self.cost, self.tokens, self.sessions]) {
            let _ = write!(line, "{value:>columns$}");
            if has_change {
                line.push_str(&look.styled(Style::Dim, &format!("{change:>CHANGE$}")));
            }
        }
        line
    }
}

impl Row {
    fn of(period: &Period, is_least: bool, look: &Look) -> Self {
        let Period { now, before, sessions, sessions_before, .. } = *period;
        let change = |now_value: Option<f64>, before_value: Option<f64>| match () {
            () if before.rows > 0 => change(now_value, before_value),
            () if now.rows > 0 => "new".to_owned(),
            () => String::new(),
        };
        let marked = |text: String| if is_least && text != UNKNOWN { format!("≥ {text}") } else { text };
        let cost = marked(look.cost(now));
        let tokens = marked(now.tokens().map_or_else(|| UNKNOWN.to_owned(), |tokens| short(tokens.into())));
        Self {
            name: name_of(period.days),
            values: [cost, tokens, grouped(sessions)],
            changes: [
                change(now.cost(), before.cost()),
                change(now.tokens().map(float), before.tokens().map(float)),
                change(Some(count(sessions)), Some(count(sessions_before))),
            ],
        }
    }

    /// `last 7 days: $3.20, 4.5M tokens, 12 sessions`.
    fn sentence(&self, columns: usize) -> Vec<String> {
        let [cost, tokens, sessions] = &self.values;
        in_lines(&format!("{}: {cost}, {tokens} tokens, {}", self.name, counted(sessions, "session")), columns, 2)
    }
}

/// How much a value changed: `+12 %`; `-` if a value is unknown or the change is not a percentage.
pub fn change(now: Option<f64>, before: Option<f64>) -> String {
    let (Some(now), Some(before)) = (now, before) else { return UNKNOWN.to_owned() };
    if now.to_bits() == before.to_bits() {
        return "0 %".to_owned();
    }
    if before <= 0.0 {
        return UNKNOWN.to_owned();
    }
    let percent = (now / before - 1.0) * 100.0;
    match percent.round() {
        rounded if rounded > 9999.0 => ">+9,999 %".to_owned(),
        rounded if rounded > 0.0 => format!("+{} %", grouped(rounded)),
        rounded if rounded < 0.0 => format!("{rounded} %"),
        _ => "0 %".to_owned(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn float(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_percentage_or_unknown() {
        for (now, before, expected) in [
            (Some(1.12), Some(1.0), "+12 %"),
            (Some(0.0), Some(3.0), "-100 %"),
            (Some(3.001), Some(3.0), "0 %"),
            (Some(0.0), Some(0.0), "0 %"),
            (Some(25.0), Some(1.0), "+2,400 %"),
            (Some(1e9), Some(1.0), ">+9,999 %"),
            (Some(1.0), Some(0.0), "-"),
            (None, Some(1.0), "-"),
            (Some(1.0), None, "-"),
        ] {
            assert_eq!(change(now, before), expected, "{now:?} {before:?}");
        }
    }
}
