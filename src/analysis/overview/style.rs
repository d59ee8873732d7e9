//! How the overview is printed: the size, the styles and the characters of the terminal.

use super::sums::Sums;
use crate::analysis::present::{Currency, UNKNOWN};
use crate::base::width::{cut, cut_start, padded, start, width};

/// The width of an overview that is not for a terminal.
pub(super) const PAGE: usize = 80;

/// Narrower blocks have sentences and fewer columns in place of the usual tables.
const NARROW: usize = 60;

/// How the overview is printed.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Whether text may be bold, dim or coloured.
    pub color: bool,
    /// The currency.
    pub currency: Currency,
    /// The option that names the archive in the commands that are shown, with a space before it; may be empty.
    pub archive_option: String,
    /// The space on the terminal. Without it the overview has 80 columns, and as many lines as it needs.
    pub space: Option<Space>,
    /// Whether the terminal has ASCII characters only.
    pub is_ascii: bool,
}

/// A part of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// In columns.
    pub width: usize,
    /// In lines.
    pub height: usize,
}

/// A style of text on a terminal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Style {
    Bold,
    Dim,
    Cyan,
}

impl Look {
    pub(super) fn styled(&self, style: Style, text: &str) -> String {
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

    pub(super) fn cost(&self, sums: Sums) -> String {
        sums.cost().map_or_else(|| UNKNOWN.to_owned(), |cost| self.currency.amount(cost))
    }

    /// A text in lines of at most `columns`, as [`in_lines`] returns them, with its beginning in bold.
    pub(super) fn in_lines_after(&self, title: &str, text: &str, columns: usize) -> Vec<String> {
        let mut lines = in_lines(&format!("{title}{text}"), columns, 2);
        if let Some(first) = lines.first_mut()
            && let Some(rest) = first.strip_prefix(title)
        {
            *first = self.styled(Style::Bold, title) + rest;
        }
        lines
    }

    /// The width that blocks are laid out for.
    pub(super) fn width(&self) -> usize {
        self.space.map_or(PAGE, |space| space.width)
    }

    /// A command in lines of a terminal. Elsewhere it is one line of any length, as a path may be long.
    pub(super) fn command(&self, command: &str, columns: usize) -> Vec<String> {
        if self.space.is_some() { in_lines(command, columns, 4) } else { vec![command.to_owned()] }
    }

    /// The text, in the characters of the terminal.
    pub(super) fn in_its_characters(&self, text: String) -> String {
        if self.is_ascii { text.chars().map(ascii).collect() } else { text }
    }
}

/// A character of the overview in ASCII. Others come from logs, and stay.
fn ascii(char: char) -> char {
    match char {
        '▁' => '_',
        '▂' => '.',
        '▃' => ':',
        '▄' => '-',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        '█' => '#',
        '≥' => '>',
        '…' => '~',
        _ => char,
    }
}

/// A text in a column of this width, with a space after it. The end of a path is kept, else the beginning.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let most = width.saturating_sub(1);
    let text = if text.contains(['/', '\\']) { cut_start(text, most) } else { cut(text, most) };
    padded(&text, width)
}

/// Whether blocks of this width have no space for the usual tables.
pub(super) fn is_narrow(columns: usize) -> bool {
    columns < NARROW
}

/// A text in lines of at most `columns`, which end between words; all lines after the first one begin with `indent` spaces, and the first
/// one with the spaces of the text. A longer word continues in the next line, so that a path is whole.
pub(super) fn in_lines(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let columns = columns.max(2 * indent + 1);
    let mut lines = vec![" ".repeat(text.len() - text.trim_start().len())];
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let mut word = word;
        let line = lines.last().map_or(0, |line| width(line));
        if !is_empty && line + 1 + width(word) > columns {
            lines.push(" ".repeat(indent));
            is_empty = true;
        }
        while let Some(line) = lines.last_mut() {
            if !is_empty {
                line.push(' ');
            }
            let fitting = start(word, columns.saturating_sub(width(line)));
            // A character wider than the line is shown nevertheless.
            let fitting = if fitting.is_empty() { word } else { fitting };
            line.push_str(fitting);
            is_empty = false;
            word = word.get(fitting.len()..).unwrap_or_default();
            if word.is_empty() {
                break;
            }
            lines.push(" ".repeat(indent));
            is_empty = true;
        }
    }
    lines
}

/// The width of a line, whose styles take none.
pub(super) fn visible_width(line: &str) -> usize {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().map_or(0, width);
    first + parts.map(|part| width(part.split_once('m').map_or("", |(_, text)| text))).sum::<usize>()
}

/// The beginning of a line with styles, at most `columns` wide.
pub(super) fn cut_line(line: &str, columns: usize) -> String {
    if visible_width(line) <= columns {
        return line.to_owned();
    }
    let mut left = columns;
    let mut out = String::new();
    for (index, part) in line.split('\u{1b}').enumerate() {
        let (style, text) = if index == 0 { ("", part) } else { part.split_at(part.find('m').map_or(0, |at| at + 1)) };
        if index > 0 {
            out.push('\u{1b}');
        }
        out.push_str(style);
        let shown = start(text, left);
        // After a character that does not fit, a narrower one is not shown either.
        left = if shown.len() < text.len() { 0 } else { left - width(shown) };
        out.push_str(shown);
    }
    out
}

/// The name of a period.
pub(super) fn name_of(days: i64) -> String {
    if days == 1 { "today".to_owned() } else { format!("last {days} days") }
}

/// A number as a float.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn count(number: u64) -> f64 {
    number as f64
}

/// The share of a sum in another one, in percent.
pub(super) fn share(sums: Sums, all: f64) -> Option<String> {
    sums.cost().filter(|_| all > 0.0).map(|cost| format!("{:.0} %", cost / all * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened() {
        assert_eq!(fitted("/home/ann/projects/shop", 12), "…jects/shop ");
        assert_eq!(fitted("日本語の名前", 8), "日本語… ");
        assert_eq!(fitted("claude-sonnet-4-5", 12), "claude-son… ");
        assert_eq!(fitted("short", 7), "short  ");
    }

    #[test]
    fn texts_continue_in_the_next_line() {
        let lines = in_lines("today: $3.20, 4.5M tokens", 14, 2);
        assert_eq!(lines, ["today: $3.20,", "  4.5M tokens"]);
        let command = in_lines("  agentlogs report health --archive /home/ann/archives/of-the-team", 26, 4);
        assert_eq!(
            command,
            ["  agentlogs report health", "    --archive", "    /home/ann/archives/of-", "    the-team"]
        );
        assert_eq!((in_lines("", 9, 2), in_lines("日本語", 1, 0)), (vec![String::new()], vec!["日本語".to_owned()]));
    }

    #[test]
    fn styles_have_no_width() {
        let look = Look { color: true, ..Look::default() };
        let line = format!("ab{}日本{}", look.styled(Style::Bold, "cd"), look.styled(Style::Dim, "ef"));
        assert_eq!(visible_width(&line), 10);
        assert_eq!(cut_line(&line, 3), "ab\u{1b}[1mc\u{1b}[0m\u{1b}[2m\u{1b}[0m");
        assert_eq!(cut_line(&line, 5), "ab\u{1b}[1mcd\u{1b}[0m\u{1b}[2m\u{1b}[0m");
        assert_eq!(cut_line(&line, 10), line);
    }

    #[test]
    fn ascii_has_a_character_for_each() {
        let look = Look { is_ascii: true, ..Look::default() };
        assert_eq!(look.in_its_characters("▁▂█ ≥ $1 …/shop".to_owned()), "_.# > $1 ~/shop");
    }
}
