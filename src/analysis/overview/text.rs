//! The overview as text: of 80 columns, or of the size of a terminal.

use super::chart::chart;
use super::compute::Overview;
use super::layout::{Block, block_width, laid_out};
use super::lost;
use super::style::{Look, Style, count, fitted, name_of};
use super::sums::{Day, Period};
use super::tops::{self, List};
use crate::analysis::limits::Window;
use crate::analysis::present::{UNKNOWN, grouped, short, short_time, visible};
use crate::base::time::Time;

/// The numbers of days that need these columns before and after the chart in one line.
const CHART: usize = 30;

/// The windows of limits that the shortest form lists.
const WINDOWS: usize = 6;

impl Overview {
    /// The overview as lines of text.
    pub fn text(&self, look: &Look) -> String {
        let width = block_width(look);
        let list = |rank, list: List<'_>| Block::new(rank, true, |level| list.lines(level, width, look));
        let blocks = [
            Block::new(0, false, |_| self.periods_as_text(width, look)),
            Block::new(4, false, |level| self.days_as_text(level, width, look)),
            Block::new(3, true, |level| self.limits_as_text(level, width, look)),
            Block::new(2, false, |level| tops::sessions(self, level, width, look)),
            list(5, List::Names("models", &self.models, self.top_days)),
            list(6, List::Names("projects", &self.projects, self.top_days)),
            list(7, List::Tools(&self.tools, self.top_days)),
            Block::new(1, false, |level| lost::lines(self, level, width, look)),
        ];
        let lines = laid_out(&blocks, look);
        // Cells are padded, also the last one of a line.
        look.in_its_characters(lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect())
    }

    fn periods_as_text(&self, width: usize, look: &Look) -> Vec<String> {
        let time = self.now.strftime("%a %Y-%m-%d %H:%M").to_string();
        let zone = self.now.time_zone().iana_name().unwrap_or("local time");
        let head = format!("{time:20}{:>8}{:9}{:>9}{:9}{:>9}", "cost", "", "tokens", "", "sessions");
        let zone = format!("{zone:>0$}", width.min(80).saturating_sub(head.len()));
        let mut lines = vec![look.styled(Style::Bold, &head) + &look.styled(Style::Dim, &zone)];
        for (period, bound) in self.periods.iter().zip(&self.lower_bounds) {
            lines.push(period_as_text(period, bound.applies(), look));
        }
        if self.periods.iter().all(|period| period.now.rows == 0) {
            let command = format!("  agentlogs report cost --by month{}", look.archive_option);
            lines.extend([
                String::new(),
                "Nothing was logged in this time; this shows all months:".to_owned(),
                command,
            ]);
        }
        lines
    }

    fn days_as_text(&self, level: usize, width: usize, look: &Look) -> Vec<String> {
        let most = self.days.iter().filter_map(|day| Some((day.sums.cost()?, day.date)));
        let most = most.reduce(|most, day| if day.0 > most.0 { day } else { most });
        let Some((maximum, date)) = most.filter(|(maximum, _)| *maximum > 0.0) else { return Vec::new() };
        let costs: Vec<Option<f64>> = self.days.iter().map(|day| day.sums.cost()).collect();
        let title = look.styled(Style::Bold, "cost per day");
        let most = format!("maximum {} on {date}", look.currency.amount(maximum));
        let lines = match level {
            0 | 1 => {
                let columns = chart(&costs, maximum, 1, 1).concat();
                return vec![format!("{title}  {}  {most}", look.styled(Style::Cyan, &columns))];
            }
            2 => 1,
            3 => 4,
            _ => 8,
        };
        let columns = (width / CHART).clamp(1, 4);
        let date_of = |day: Option<&Day>| day.map(|day| day.date.to_string()).unwrap_or_default();
        let (first, last) = (date_of(self.days.first()), date_of(self.days.last()));
        let axis = format!("{first}{last:>0$}", (columns * costs.len()).saturating_sub(first.len()));
        let drawn = chart(&costs, maximum, lines, columns);
        let mut out = vec![format!("{title}   {most}")];
        out.extend(drawn.iter().map(|line| look.styled(Style::Cyan, line)));
        out.push(look.styled(Style::Dim, &axis));
        out
    }

    fn limits_as_text(&self, level: usize, width: usize, look: &Look) -> Vec<String> {
        if self.limits.is_empty() {
            return Vec::new();
        }
        let name = width.clamp(72, 112) - 52;
        let head =
            format!("{:name$}{:>6}{:>9}{:>14}{:>13}{:>10}", "limits", "used", "tokens", "cost", "at reset", "left");
        let shown = if level == 0 { WINDOWS } else { usize::MAX };
        let now = Time::from(self.now.timestamp());
        let mut lines = vec![look.styled(Style::Bold, &head)];
        lines.extend(self.limits.iter().take(shown).map(|window| limit_as_text(window, now, name, look)));
        lines.extend(tops::more(self.limits.len(), shown, look));
        lines
    }
}

fn period_as_text(period: &Period, is_least: bool, look: &Look) -> String {
    let Period { now, before, sessions, sessions_before, .. } = *period;
    let change = |now_value: Option<f64>, before_value: Option<f64>| {
        let text = match () {
            () if before.rows > 0 => change(now_value, before_value),
            () if now.rows > 0 => "new".to_owned(),
            () => String::new(),
        };
        look.styled(Style::Dim, &format!("{text:>9}"))
    };
    let cost = look.cost(now);
    let cost = if is_least && cost != UNKNOWN { format!("≥ {cost}") } else { cost };
    let tokens = now.tokens().map_or_else(|| UNKNOWN.to_owned(), |tokens| short(tokens.into()));
    format!(
        "{:14}{cost:>14}{}{tokens:>9}{}{:>9}{}",
        name_of(period.days),
        change(now.cost(), before.cost()),
        change(now.tokens().map(float), before.tokens().map(float)),
        grouped(sessions),
        change(Some(count(sessions)), Some(count(sessions_before))),
    )
}

fn limit_as_text(window: &Window, now: Time, name: usize, look: &Look) -> String {
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
    let cells = cells.iter().map(|(cell, width)| format!("{:>width$}", cell.as_deref().unwrap_or(UNKNOWN)));
    fitted(&visible(&limit_name(window)), name) + &cells.collect::<String>()
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

/// Whether a window is shorter than a day.
fn is_short(window: &Window) -> bool {
    const DAY_MS: i64 = 86_400_000;
    window.starts_at.zip(window.ends_at).is_some_and(|(start, end)| end.since(start) < DAY_MS)
}

fn limit_name(window: &Window) -> String {
    let mut text = window.label();
    // Codex states for all windows that one of them is reached.
    if window.reached.is_some() && window.used_percent.is_none_or(|used| used >= 100.0) {
        text.push_str(", reached");
    }
    text
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
