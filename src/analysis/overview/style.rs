//! How the overview is printed: the size, the styles and the characters of the terminal.

use super::sums::Sums;
use crate::analysis::present::{Currency, UNKNOWN};
use crate::base::width::{cut, cut_start, padded, width};

/// The width of an overview that is not for a terminal.
const PAGE: usize = 80;

/// The narrowest columns that are laid out; a narrower terminal shows the beginnings of lines.
const NARROWEST: usize = 60;

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
    pub room: Option<Room>,
    /// Whether the terminal has ASCII characters only.
    pub is_ascii: bool,
}

/// A part of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
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

    /// The width that blocks are laid out for.
    pub(super) fn width(&self) -> usize {
        self.room.map_or(PAGE, |room| room.width.max(NARROWEST))
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
        let shown = crate::base::width::start(text, left);
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
