//! How a timeline is printed, and texts that fit a line.

use jiff::tz::TimeZone;

use crate::analysis::present::{Currency, visible};
use crate::base::text::one_line;
use crate::base::width::{end, start, width as width_of};

/// How a timeline is printed.
#[derive(Debug, Clone)]
pub struct TextStyle {
    /// The number of columns.
    pub width: usize,
    /// Whether text may be bold, dim or coloured.
    pub color: bool,
    /// The currency of costs.
    pub currency: Currency,
    /// The time zone of times.
    pub zone: TimeZone,
    /// Whether repeated entries are a line each.
    pub is_whole: bool,
    /// Whether numbers are not abbreviated.
    pub is_exact: bool,
    /// The maximum number of lines of the timeline; all if it is `None` or 0.
    pub limit: Option<u32>,
}

impl TextStyle {
    /// The number of lines to print, of so many.
    pub(super) fn lines_of(&self, count: usize) -> usize {
        self.limit.filter(|limit| *limit > 0).map_or(count, |limit| count.min(limit as usize))
    }
}

/// The width of the names of facts.
pub(super) const NAME: usize = 11;
/// The smallest width of a text: a narrower one hides columns of numbers.
pub(super) const MIN_TEXT: usize = 24;
/// Text of one line with at most `width` columns. `keeps_end` cuts out the middle, so that paths keep their file.
pub(in crate::analysis) fn fitted(text: &str, width: usize, keeps_end: bool) -> String {
    let indent = text.len() - text.trim_start().len();
    let words = one_line(text);
    let text = format!("{:indent$}{}", "", visible(&words));
    if width_of(&text) <= width {
        return text;
    }
    let kept = width.saturating_sub(1);
    let at_start = if keeps_end { kept / 3 } else { kept };
    format!("{}…{}", start(&text, at_start), end(&text, kept - at_start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_its_width() {
        assert_eq!(fitted("  Read src/analysis/show/text.rs", 20, true), "  Read…/show/text.rs");
        assert_eq!(fitted("a\nb\u{1b}[31m", 40, false), "a b\\u{1b}[31m");
        assert_eq!(fitted("end of the line", 8, false), "end of …");
        assert_eq!(fitted("short", 5, true), "short");
    }
}
