//! The overview as text of at most 80 columns.

use std::fmt::Write as _;

use super::compute::{Counted, Lost, Overview, Tool};
use super::sums::{Period, Sums, Top};
use crate::analysis::limits::Window;
use crate::analysis::present::{Currency, counted, grouped, short, short_time, visible};
use crate::analysis::reports::LowerBound;
use crate::base::time::Time;
use crate::base::width::{cut, cut_start, padded};

/// The number of models, projects and tools that are shown.
const TOP: usize = 5;

/// The width of the names of models, projects, tools and limits.
const NAME: usize = 40;

/// The heights of a day's column: the first one is 0.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What is unknown.
const UNKNOWN: &str = "-";

/// How the overview is printed.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Whether text may be bold, dim or coloured.
    pub color: bool,
    /// The currency.
    pub currency: Currency,
    /// The option that names the archive in the commands that are shown, with a space before it; may be empty.
    pub archive_option: String,
}

/// A style of text on a terminal.
#[derive(Debug, Clone, Copy)]
enum Style {
    Bold,
    Dim,
    Cyan,
}

impl Look {
    fn styled(&self, style: Style, text: &str) -> String {
        if !self.color || text.trim().is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Cyan => 36,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    fn cost(&self, sums: Sums) -> String {
        sums.cost().map_or_else(|| UNKNOWN.to_owned(), |cost| self.currency.amount(cost))
    }
}

impl Overview {
    /// The overview as lines of text.
    pub fn text(&self, look: &Look) -> String {
        let zone = self.now.time_zone().iana_name().unwrap_or("local time");
        let title = format!("{}  {zone}", self.now.strftime("%a %Y-%m-%d %H:%M"));
        let mut out = format!("{}\n", look.styled(Style::Dim, &title));
        let blocks = [
            self.periods_as_text(look),
            self.days_as_text(look),
            self.top_as_text("models", &self.models, look),
            self.top_as_text("projects", &self.projects, look),
            self.tools_as_text(look),
            self.limits_as_text(look),
            lost_as_text(&self.lost, self.lower_bounds.last(), look),
        ];
        for block in blocks.iter().filter(|block| !block.is_empty()) {
            out.push('\n');
            out.push_str(block);
        }
        // Cells are padded, also the last one of a line.
        out.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
    }

    fn periods_as_text(&self, look: &Look) -> String {
        let head = format!("{:14}{:>14}{:9}{:>9}{:9}{:>9}{:9}", "", "cost", "", "tokens", "", "sessions", "");
        let mut out = look.styled(Style::Bold, head.trim_end()) + "\n";
        for (period, bound) in self.periods.iter().zip(&self.lower_bounds) {
            let least = |text: String| if bound.applies() && text != UNKNOWN { format!("≥ {text}") } else { text };
            let Period { now, before, sessions, sessions_before, .. } = *period;
            let change = |now: Option<f64>, before_value: Option<f64>| {
                let text = if before.rows > 0 {
                    change(now, before_value)
                } else if period.now.rows > 0 {
                    "new".to_owned()
                } else {
                    String::new()
                };
                look.styled(Style::Dim, &format!("{text:>9}"))
            };
            let tokens = now.tokens().map_or_else(|| UNKNOWN.to_owned(), |tokens| short(tokens.into()));
            let _ = writeln!(
                out,
                "{:14}{:>14}{}{tokens:>9}{}{:>9}{}",
                name_of(period.days),
                least(look.cost(now)),
                change(now.cost(), before.cost()),
                change(now.tokens().map(float), before.tokens().map(float)),
                grouped(sessions),
                change(Some(count(sessions)), Some(count(sessions_before))),
            );
        }
        if self.periods.iter().all(|period| period.now.rows == 0) {
            let command = format!("agentlogs report cost --by month{}", look.archive_option);
            let _ = writeln!(out, "\nNothing was logged in this time; this shows all months:\n  {command}");
        }
        out
    }

    fn days_as_text(&self, look: &Look) -> String {
        let most = self.days.iter().filter_map(|day| Some((day.sums.cost()?, day.date)));
        let most = most.reduce(|most, day| if day.0 > most.0 { day } else { most });
        let Some((maximum, date)) = most.filter(|(maximum, _)| *maximum > 0.0) else { return String::new() };
        let column = |sums: &Sums| -> String {
            // A day with tokens of unknown cost is not a day without cost.
            let height = sums.cost().map_or('?', |cost| height(cost, maximum));
            [height; 2].iter().collect()
        };
        let columns: String = self.days.iter().map(|day| column(&day.sums)).collect();
        let title = look.styled(Style::Bold, "cost per day");
        let first = self.days.first().map(|day| day.date.to_string()).unwrap_or_default();
        let last = self.days.last().map(|day| day.date.to_string()).unwrap_or_default();
        let axis = format!("{first}{last:>width$}", width = (2 * self.days.len()).saturating_sub(first.len()));
        let maximum = look.currency.amount(maximum);
        format!(
            "{title}   maximum {maximum} on {date}\n{}\n{}\n",
            look.styled(Style::Cyan, &columns),
            look.styled(Style::Dim, &axis)
        )
    }

    fn top_as_text(&self, what: &str, top: &[Top], look: &Look) -> String {
        if top.is_empty() {
            return String::new();
        }
        let all = top.iter().filter_map(|top| top.sums.cost_usd).sum::<f64>();
        let title = format!("{what}, {}", name_of(self.top_days));
        let head = format!("{title:NAME$}{:>14}{:>9}{:>12}", "cost", "share", "tokens");
        let mut out = look.styled(Style::Bold, &head) + "\n";
        for top in top.iter().take(TOP) {
            let share = top.sums.cost().filter(|_| all > 0.0).map(|cost| format!("{:.0} %", cost / all * 100.0));
            let tokens = top.sums.tokens().map(|tokens| short(tokens.into()));
            let (share, tokens) = (share.as_deref().unwrap_or(UNKNOWN), tokens.as_deref().unwrap_or(UNKNOWN));
            let _ = writeln!(out, "{}{:>14}{share:>9}{tokens:>12}", name(top.name.as_deref()), look.cost(top.sums));
        }
        out + &more(top.len(), look)
    }

    fn tools_as_text(&self, look: &Look) -> String {
        if self.tools.is_empty() {
            return String::new();
        }
        let title = format!("tools with errors, {}", name_of(self.top_days));
        let head = format!("{title:NAME$}{:>14}{:>9}{:>12}", "errors", "of", "error rate");
        let mut out = look.styled(Style::Bold, &head) + "\n";
        for Tool { name: tool, calls, errors } in self.tools.iter().take(TOP) {
            let rate = format!("{:.0} %", count(*errors) / count(*calls) * 100.0);
            let _ = writeln!(out, "{}{:>14}{:>9}{rate:>12}", name(tool.as_deref()), grouped(errors), grouped(calls));
        }
        out + &more(self.tools.len(), look)
    }

    fn limits_as_text(&self, look: &Look) -> String {
        if self.limits.is_empty() {
            return String::new();
        }
        let now = Time::from_micros(self.now.timestamp().as_microsecond());
        let head =
            format!("{:28}{:>6}{:>9}{:>14}{:>13}{:>10}", "limits", "used", "tokens", "cost", "at reset", "resets in");
        let mut out = look.styled(Style::Bold, &head) + "\n";
        for window in &self.limits {
            let percent = |used: Option<f64>| used.map(|used| format!("{used:.0} %"));
            let rates = window.rates(now);
            let money = |cost: Option<f64>| cost.map(|cost| look.currency.amount(cost));
            // The rate of some minutes does not predict a week.
            let projected_cost = rates.projected_cost_usd.filter(|_| is_short(window));
            let at_reset = percent(rates.projected_used_percent).or_else(|| money(projected_cost));
            let remaining = window.ends_at.map(|end| short_time(end.since(now).max(0).into()));
            let cells = [
                (percent(window.used_percent), 6),
                (window.spent.tokens.map(|tokens| short(tokens.into())), 9),
                (money(window.spent.cost_usd), 14),
                (at_reset, 13),
                (remaining, 10),
            ];
            let mut line = fitted(&visible(&limit_name(window)), 28);
            for (cell, width) in cells {
                let _ = write!(line, "{:>width$}", cell.as_deref().unwrap_or(UNKNOWN));
            }
            out.push_str(&line);
            out.push('\n');
        }
        out
    }
}

/// How much a value changed: `+12 %`; `-` if a value is unknown or the change is no percentage.
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

fn name_of(days: i64) -> String {
    if days == 1 { "today".to_owned() } else { format!("last {days} days") }
}

/// Whether a window is shorter than a day.
fn is_short(window: &Window) -> bool {
    const DAY_MS: i64 = 86_400_000;
    window.starts_at.zip(window.ends_at).is_some_and(|(start, end)| end.since(start) < DAY_MS)
}

fn limit_name(window: &Window) -> String {
    let limit = window.limit_id.as_deref().filter(|limit| *limit != window.runtime);
    let names = [Some(window.runtime.as_str()), limit, Some(&window.window_name)];
    let mut text = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
    // Codex states for all windows that one of them is reached.
    if window.reached.is_some() && window.used_percent.is_none_or(|used| used >= 100.0) {
        text.push_str(", reached");
    }
    text
}

/// The height of a day's column. A cost above 0 is never drawn as 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 7")]
fn height(cost: f64, maximum: f64) -> char {
    let index = (cost / maximum * 7.0).ceil().clamp(0.0, 7.0) as usize;
    HEIGHTS.get(index).copied().unwrap_or('?')
}

/// A name in its column, with a space after it.
fn name(name: Option<&str>) -> String {
    let name = match name {
        None => "(unknown)",
        Some("") => "(empty)",
        Some(name) => name,
    };
    fitted(&visible(name), NAME)
}

/// A text in a column of this width, with a space after it. The end of a path is kept, else the beginning.
fn fitted(text: &str, width: usize) -> String {
    let most = width.saturating_sub(1);
    let text = if text.contains(['/', '\\']) { cut_start(text, most) } else { cut(text, most) };
    padded(&text, width)
}

/// A line about the names that are not shown.
fn more(names: usize, look: &Look) -> String {
    if names <= TOP {
        return String::new();
    }
    look.styled(Style::Dim, &format!("and {} more", grouped(names - TOP))) + "\n"
}

fn lost_as_text(lost: &Lost, bound: Option<&LowerBound>, look: &Look) -> String {
    let mut lines: Vec<(String, &str)> = Vec::new();
    if let Some(bound) = bound.filter(|bound| bound.applies()) {
        lines.push((
            format!(
                "≥ the logs of {} of {} omit tokens or have no end",
                grouped(bound.sessions),
                counted(bound.of_sessions, "session")
            ),
            "report health",
        ));
    }
    let unread: Vec<String> = [
        (lost.rejected_lines, "rejected line"),
        (lost.unknown_records, "unknown record"),
        (lost.unreadable_files, "unreadable file"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, thing)| counted(count, thing))
    .collect();
    if !unread.is_empty() {
        lines.push((unread.join(", "), "report health"));
    }
    if lost.counted.records > 0 {
        lines.push((counted_records(&lost.counted), "report health"));
    }
    if lost.unpriced_tokens > 0 {
        let text = format!("{} tokens of the last 30 days without a price", short(lost.unpriced_tokens.into()));
        lines.push((text, "report cost --since 29d --sort unpriced_tokens"));
    }
    if lost.undated.rows > 0 {
        let text = format!("{} without a time", counted(lost.undated.rows, "row"));
        lines.push((text, "report cost --undated only"));
    }
    if lines.is_empty() {
        return String::new();
    }
    let mut out = look.styled(Style::Bold, "not in these numbers") + "\n";
    for (text, command) in lines {
        let command = format!("agentlogs {command}{}", look.archive_option);
        let is_short = text.chars().count() < NAME && command.chars().count() <= NAME;
        let line = if is_short { format!("{text:NAME$}{command}") } else { format!("{text}\n  {command}") };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// `14 unknown records of type cost-state with token counts or costs`.
fn counted_records(unread: &Counted) -> String {
    let first = unread.types.first().map(|name| cut(&visible(name), NAME - 1)).unwrap_or_default();
    let others = match unread.types.len().saturating_sub(1) {
        0 => String::new(),
        others => format!(" and {}", counted(others, "other type")),
    };
    let name = if others.is_empty() { format!("type {first}") } else { first };
    format!("{} of {name}{others} with token counts or costs", counted(unread.records, "unknown record"))
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn float(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn count(number: u64) -> f64 {
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

    #[test]
    fn a_small_cost_is_not_drawn_as_zero() {
        let heights: String = [0.0, 0.001, 1.0, 3.5, 7.0].iter().map(|cost| height(*cost, 7.0)).collect();
        assert_eq!(heights, "▁▂▂▅█");
    }

    #[test]
    fn long_names_are_shortened() {
        assert_eq!(fitted("/home/ann/projects/shop", 12), "…jects/shop ");
        assert_eq!(fitted("日本語の名前", 8), "日本語… ");
        assert_eq!(fitted("claude-sonnet-4-5", 12), "claude-son… ");
        assert_eq!(fitted("short", 7), "short  ");
    }
}
