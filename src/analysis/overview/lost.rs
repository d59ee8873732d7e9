//! What the numbers of the overview do not contain, as text.

use super::compute::{Counted, Lost, Overview};
use super::style::{Look, Style, in_lines};
use crate::analysis::present::{self, counted, grouped, visible};
use crate::base::width::{cut, width};

/// The width of the texts that have a command beside them.
const BESIDE: usize = 40;

/// The command that lists what was not read.
const HEALTH: &str = "report health";

/// What is lost, with the command that lists it.
struct Loss {
    text: String,
    command: &'static str,
}

/// What the numbers do not contain: in one line at the first levels, later with a command for each.
pub(super) fn lines(overview: &Overview, level: usize, width: usize, look: &Look) -> Vec<String> {
    let losses = losses(overview);
    match losses.as_slice() {
        [] => Vec::new(),
        losses if level < 2 => short(losses, width, look),
        losses => {
            let title = look.styled(Style::Bold, "not in these numbers");
            std::iter::once(title).chain(losses.iter().flat_map(|loss| with_command(loss, width, look))).collect()
        }
    }
}

/// As much of the losses as fits, with the command that lists most of them: after them, or on a line of its own.
fn short(losses: &[Loss], columns: usize, look: &Look) -> Vec<String> {
    /// The least columns for the losses in the line of the command.
    const LEAST: usize = 24;
    let title = "not included: ";
    let health = losses.iter().find(|loss| loss.command == HEALTH);
    let command = health.or(losses.first()).map_or(HEALTH, |loss| loss.command);
    let command = format!("  agentlogs {command}{}", look.archive_option);
    let space = columns.saturating_sub(title.len() + width(&command));
    let text = in_space(losses, space);
    if space >= LEAST && width(&text) <= space {
        return vec![look.styled(Style::Bold, title) + &text + &look.styled(Style::Dim, &command)];
    }
    let mut lines = look.in_lines_after(title, &in_space(losses, columns), columns);
    lines.extend(look.command(&command, columns).iter().map(|line| look.styled(Style::Dim, line)));
    lines
}

/// As many of the losses as fit in so many columns, at least the first one.
fn in_space(losses: &[Loss], space: usize) -> String {
    let mut text = String::new();
    for (index, loss) in losses.iter().enumerate() {
        let next = if index == 0 { loss.text.clone() } else { format!("{text}; {}", loss.text) };
        let rest = losses.len() - index;
        if index > 0 && width(&next) + if rest > 1 { 10 } else { 0 } > space {
            text = format!("{text}; {rest} more");
            break;
        }
        text = next;
    }
    text
}

fn with_command(loss: &Loss, columns: usize, look: &Look) -> Vec<String> {
    let Loss { text, command } = loss;
    let command = format!("agentlogs {command}{}", look.archive_option);
    if width(text) < BESIDE && width(&command) <= BESIDE && columns >= 2 * BESIDE {
        return vec![format!("{text:BESIDE$}{command}")];
    }
    [in_lines(text, columns, 2), look.command(&format!("  {command}"), columns)].concat()
}

/// `1 token`, `2.9k tokens`.
fn tokens(count: i64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} token{plural}", present::short(count.into()))
}

fn losses(overview: &Overview) -> Vec<Loss> {
    let lost: &Lost = &overview.lost;
    let mut losses = Vec::new();
    let mut add = |text: String, command| losses.push(Loss { text, command });
    if let Some(bound) = overview.lower_bounds.last().filter(|bound| bound.applies()) {
        let logs = format!("{} of {}", grouped(bound.sessions), counted(bound.of_sessions, "log"));
        add(format!("tokens that {logs} omit (≥)"), "sessions --usage lower_bound");
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
        add(unread.join(", "), HEALTH);
    }
    if lost.counted.records > 0 {
        add(counted_records(&lost.counted), HEALTH);
    }
    if lost.unpriced_tokens > 0 {
        let text = format!("{} of the last 30 days without a cost", tokens(lost.unpriced_tokens));
        add(text, "report cost --last 30d --sort unpriced_tokens");
    }
    if lost.undated.rows > 0 {
        add(format!("{} without a time", counted(lost.undated.rows, "row")), "report cost --undated only");
    }
    if lost.after_today > 0 {
        add(format!("{} with a time after today", counted(lost.after_today, "row")), "report cost --by day");
    }
    losses
}

/// `14 unknown records of type cost-state with token counts or costs`.
fn counted_records(unread: &Counted) -> String {
    let first = unread.types.first().map(|name| cut(&visible(name), BESIDE - 1)).unwrap_or_default();
    let others = match unread.types.len().saturating_sub(1) {
        0 => String::new(),
        others => format!(" and {}", counted(others, "other type")),
    };
    let name = if others.is_empty() { format!("type {first}") } else { first };
    format!("{} of {name}{others} with token counts or costs", counted(unread.records, "unknown record"))
}
