//! The width of texts on a terminal, in columns: characters of Chinese, Japanese and Korean and emoji take two, marks that are combined
//! with the character before them none.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The width of a text.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text and spaces, at least `columns` wide.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{:1$}", "", columns.saturating_sub(width(text)))
}

/// The beginning of a text, at most `columns` wide. What is shown as one character is not divided.
pub fn start(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text.grapheme_indices(true).find_map(|(at, grapheme)| {
        used += width(grapheme);
        (used > columns).then_some(at)
    });
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// The end of a text, at most `columns` wide. What is shown as one character is not divided.
pub fn end(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let start = text.grapheme_indices(true).rev().find_map(|(at, grapheme)| {
        used += width(grapheme);
        (used > columns).then_some(at + grapheme.len())
    });
    text.get(start.unwrap_or(0)..).unwrap_or_default()
}

/// A text of at most `columns`: a longer one ends with `…`.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    format!("{}…", start(text, columns.saturating_sub(1)))
}

/// A text of at most `columns`: a longer one begins with `…`. The end of a path is more specific than its beginning.
pub fn cut_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    format!("…{}", end(text, columns.saturating_sub(1)))
}

/// Parts of a text in lines of at most `columns`, with a space between two parts. A wider part has a line of its own.
pub fn packed(parts: impl IntoIterator<Item = impl AsRef<str>>, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let part = part.as_ref();
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(part) <= columns => line.extend([" ", part]),
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

/// A text in parts that are at most `columns` wide, divided anywhere.
pub fn divided(text: &str, columns: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while width(rest) > columns {
        let part = start(rest, columns);
        if part.is_empty() {
            break;
        }
        parts.push(part);
        rest = rest.get(part.len()..).unwrap_or_default();
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_their_width() {
        assert_eq!(["shop", "日本語", "e\u{301}", "👩\u{200d}💻"].map(width), [4, 6, 1, 2]);
        assert_eq!(padded("日本", 6), "日本  ");
        assert_eq!((cut("日本語の名", 6), cut_start("日本語の名", 6)), ("日本…".to_owned(), "…の名".to_owned()));
        assert_eq!(cut("日本語", 6), "日本語");
        // A character of several code points is whole or absent.
        assert_eq!((start("ab👩\u{200d}💻", 3), end("e\u{301}x", 1), end("e\u{301}x", 2)), ("ab", "x", "e\u{301}x"));
        assert_eq!((cut("abc", 0), start("", 3), end("", 3)), ("…".to_owned(), "", ""));
        assert_eq!(divided("日本語", 4), ["日本", "語"]);
        assert_eq!((divided("", 4), divided("日本", 1)), (vec![""], vec!["日本"]));
    }

    #[test]
    fn lines_are_filled_with_parts() {
        assert_eq!(packed("one two three four".split(' '), 9), ["one two", "three", "four"]);
        assert_eq!(packed(["a", "incomprehensible", "b"], 9), ["a", "incomprehensible", "b"]);
        assert_eq!(packed(Vec::<&str>::new(), 9), Vec::<String>::new());
    }
}
