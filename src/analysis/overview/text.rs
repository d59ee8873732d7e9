//! The overview as text: of 80 columns, or of the size of a terminal.

use super::chart::chart;
use super::compute::Overview;
use super::layout::{Block, block_width, laid_out};
use super::lost;
use super::period_rows;
use super::style::{Look, Style, fitted, in_lines};
use super::sums::Day;
use super::tops::{self, List};
use crate::analysis::limits::Window;
use crate::analysis::present::{UNKNOWN, short, short_time, visible};
use crate::base::time::{DAY_MS, Time};

/// The title of the chart.
const TITLE: &str = "cost per day";

/// The numbers of days that need these columns before and after the chart in one line.
const CHART: usize = 30;

/// The windows of limits that the shortest form lists.
const WINDOWS: usize = 6;

/// The narrowest table of these windows: narrower ones are sentences.
const TABLE_OF_LIMITS: usize = 72;

/// The narrowest axis: two days with a space between them.
const AXIS: usize = 21;

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
        let mut lines = period_rows::lines(self, width, look);
        if self.periods.iter().all(|period| period.now.rows == 0) {
            let command = format!("  agentlogs report cost --by month{}", look.archive_option);
            lines.push(String::new());
            lines.extend(in_lines("Nothing was logged in this time; this shows all months:", width, 0));
            lines.extend(look.command(&command, width));
        }
        lines
    }

    fn days_as_text(&self, level: usize, width: usize, look: &Look) -> Vec<String> {
        let most = self.days.iter().filter_map(|day| Some((day.sums.cost()?, day.date)));
        let most = most.reduce(|most, day| if day.0 > most.0 { day } else { most });
        let Some((maximum, date)) = most.filter(|(maximum, _)| *maximum > 0.0) else { return Vec::new() };
        // A narrow terminal has the last days.
        let days = self.days.get(self.days.len().saturating_sub(width)..).unwrap_or_default();
        let costs: Vec<Option<f64>> = days.iter().map(|day| day.sums.cost()).collect();
        let is_whole = days.len() == self.days.len();
        let title = if is_whole { TITLE.to_owned() } else { format!("{TITLE}, last {} days", days.len()) };
        let most = format!("maximum {} on {date}", look.currency.amount(maximum));
        let is_line = level < 2 && is_whole;
        if is_line && title.len() + most.len() + costs.len() + 4 <= width {
            let columns = chart(&costs, maximum, 1, 1).concat();
            return vec![format!(
                "{}  {}  {most}",
                look.styled(Style::Bold, &title),
                look.styled(Style::Cyan, &columns)
            )];
        }
        let lines = match level {
            0..=2 => 1,
            3 => 4,
            _ => 8,
        };
        let columns = (width / CHART).clamp(1, 4);
        let drawn = chart(&costs, maximum, lines, columns);
        let mut out = if title.len() + 3 + most.len() <= width {
            vec![format!("{}   {most}", look.styled(Style::Bold, &title))]
        } else {
            let title = in_lines(&title, width, 2).into_iter().map(|line| look.styled(Style::Bold, &line));
            title.chain(in_lines(&most, width, 2)).collect()
        };
        out.extend(drawn.iter().map(|line| look.styled(Style::Cyan, line)));
        if !is_line {
            out.push(look.styled(Style::Dim, &axis(days, columns * costs.len())));
        }
        out
    }

    fn limits_as_text(&self, level: usize, width: usize, look: &Look) -> Vec<String> {
        if self.limits.is_empty() {
            return Vec::new();
        }
        if width < TABLE_OF_LIMITS {
            return self.limits_as_sentences(level, width, look);
        }
        let name = width.min(112) - 52;
        let head =
            format!("{:name$}{:>6}{:>9}{:>14}{:>13}{:>10}", "limits", "used", "tokens", "cost", "at reset", "left");
        let shown = if level == 0 { WINDOWS } else { usize::MAX };
        let now = Time::from(self.now.timestamp());
        let mut lines = vec![look.styled(Style::Bold, &head)];
        lines.extend(self.limits.iter().take(shown).map(|window| limit_as_text(window, now, name, look)));
        lines.extend(tops::more(self.limits.len(), shown, look));
        lines
    }

    fn limits_as_sentences(&self, level: usize, width: usize, look: &Look) -> Vec<String> {
        let shown = if level == 0 { WINDOWS } else { usize::MAX };
        let now = Time::from(self.now.timestamp());
        let mut lines = vec![look.styled(Style::Bold, "limits")];
        lines.extend(self.limits.iter().take(shown).flat_map(|window| limit_as_sentence(window, now, width, look)));
        lines.extend(tops::more(self.limits.len(), shown, look));
        lines
    }
}

/// The first and the last day below the columns of a chart, or the last one if they do not fit.
fn axis(days: &[Day], columns: usize) -> String {
    let date_of = |day: Option<&Day>| day.map(|day| day.date.to_string()).unwrap_or_default();
    let (first, last) = (date_of(days.first()), date_of(days.last()));
    let first = if columns < AXIS { String::new() } else { first };
    format!("{first}{last:>0$}", columns.saturating_sub(first.len()))
}

/// `codex, week: 54 % used, 4.5M tokens, $3.20, 80 % at reset, 2d left`, without what is unknown.
fn limit_as_sentence(window: &Window, now: Time, width: usize, look: &Look) -> Vec<String> {
    let [used, tokens, cost, at_reset, left] = limit_cells(window, now, look);
    let parts = [(used, " used"), (tokens, " tokens"), (cost, ""), (at_reset, " at reset"), (left, " left")];
    let parts: Vec<String> = parts.into_iter().filter_map(|(cell, what)| Some(cell? + what)).collect();
    in_lines(&format!("{}: {}", visible(&limit_name(window)), parts.join(", ")), width, 2)
}

fn limit_as_text(window: &Window, now: Time, name: usize, look: &Look) -> String {
    let cells = limit_cells(window, now, look).into_iter().zip([6, 9, 14, 13, 10]);
    let cells = cells.map(|(cell, width)| format!("{:>width$}", cell.as_deref().unwrap_or(UNKNOWN)));
    fitted(&visible(&limit_name(window)), name) + &cells.collect::<String>()
}

/// What is used, tokens, cost, what is used at the reset, and the time until it.
fn limit_cells(window: &Window, now: Time, look: &Look) -> [Option<String>; 5] {
    let percent = |used: Option<f64>| used.map(|used| format!("{used:.0} %"));
    let rates = window.rates(now);
    let money = |cost: Option<f64>| cost.map(|cost| look.currency.amount(cost));
    // The rate of some minutes does not predict a week.
    let projected_cost = rates.projected_cost_usd.filter(|_| is_short(window));
    let at_reset = percent(rates.projected_used_percent).or_else(|| money(projected_cost));
    let remaining = window.ends_at.map(|end| short_time(end.since(now).max(0).into()));
    [
        percent(window.used_percent),
        window.spent.tokens.map(|tokens| short(tokens.into())),
        money(window.spent.cost_usd),
        at_reset,
        remaining,
    ]
}

/// Whether a window is shorter than a day.
fn is_short(window: &Window) -> bool {
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
