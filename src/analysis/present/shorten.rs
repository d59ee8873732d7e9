//! Texts that are shortened to a width: paths keep their end, ids their beginning, sentences their first words, and other names, and
//! ids that have a long beginning in common, both ends.

use super::human::UNKNOWN;
use crate::base::width::{end, packed, start, width};

/// Which part of a text stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// The beginning: `0199a213…`.
    Beginning,
    /// The last directories and the name: `…/src/main.rs`.
    EndOfPath,
    /// The first words: `could not find …`.
    Words,
    /// Both ends: `mcp__browser…screenshot`.
    Ends,
}

impl Kept {
    /// By the name of a column and its texts.
    pub fn of(column: &str, texts: &[String]) -> Self {
        let known = || texts.iter().filter(|text| !text.is_empty() && *text != UNKNOWN);
        let most = |is: fn(&str) -> bool| {
            let count = known().count();
            count > 0 && known().filter(|text| is(text)).count() * 2 >= count
        };
        match column {
            "id" | "session" => Self::Beginning,
            _ if column.ends_with("_id") || column.ends_with("_hash") => Self::Beginning,
            "path" | "project" | "cwd" => Self::EndOfPath,
            _ if column.ends_with("_path") => Self::EndOfPath,
            _ if most(is_id) => Self::Beginning,
            _ if most(|text| text.contains(' ')) => Self::Words,
            _ if most(|text| text.contains(['/', '\\'])) => Self::EndOfPath,
            _ => Self::Ends,
        }
    }
}

/// Whether a text is an id, such as a UUID.
fn is_id(text: &str) -> bool {
    text.len() >= 16 && text.chars().all(|char| char.is_ascii_hexdigit() || char == '-')
}

/// A text of at most `columns`. `ellipsis` is in the place of what is left out.
pub(super) fn shortened(text: &str, columns: usize, kept: Kept, ellipsis: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let left = columns.saturating_sub(width(ellipsis));
    if left == 0 {
        return start(ellipsis, columns).to_owned();
    }
    match kept {
        Kept::Beginning => format!("{}{ellipsis}", start(text, left)),
        Kept::EndOfPath => end_of_path(text, left, ellipsis),
        Kept::Words => {
            let beginning = start(text, left);
            let words = beginning.rsplit_once(' ').map_or(beginning, |(words, _)| words.trim_end());
            // A first word as long as the column is not left out.
            let words = if width(words) * 2 < left { beginning } else { words };
            format!("{words}{ellipsis}")
        }
        Kept::Ends => ends(text, left, ellipsis),
    }
}

/// A text of at most `columns`, of which both ends stay.
pub fn both_ends(text: &str, columns: usize) -> String {
    shortened(text, columns, Kept::Ends, "…")
}

/// A path of at most `columns`, of which the last directories and the name stay.
pub fn path_end(path: &str, columns: usize) -> String {
    shortened(path, columns, Kept::EndOfPath, "…")
}

/// The last directories of a path as far as they fit. A name that is longer keeps both ends.
fn end_of_path(text: &str, left: usize, ellipsis: &str) -> String {
    let separators = text.char_indices().filter(|(at, char)| *at > 0 && matches!(char, '/' | '\\'));
    let mut ends_of_path = separators.map(|(at, _)| text.get(at..).unwrap_or_default());
    match ends_of_path.clone().find(|end| width(end) <= left) {
        Some(end) if end.len() > 1 => format!("{ellipsis}{end}"),
        _ => match ends_of_path.rfind(|end| end.len() > 1) {
            Some(name) if left > 1 + 2 * width(ellipsis) => {
                let (slash, name) = name.split_at(1);
                format!("{ellipsis}{slash}{}", ends(name, left - 1 - width(ellipsis), ellipsis))
            }
            _ => format!("{ellipsis}{}", end(text, left)),
        },
    }
}

/// Both ends of a text, together `left` wide, around the ellipsis.
fn ends(text: &str, left: usize, ellipsis: &str) -> String {
    let tail = end(text, left / 2);
    format!("{}{ellipsis}{tail}", start(text, left - left / 2))
}

/// A text in lines of at most `columns`, which end between words. A longer word keeps both ends.
pub(super) fn wrapped(text: &str, columns: usize, ellipsis: &str) -> Vec<String> {
    let words = text.split(' ').filter(|word| !word.is_empty());
    let lines = packed(words.map(|word| shortened(word, columns, Kept::of("", &[word.to_owned()]), ellipsis)), columns);
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// The name of a column in lines of at most `columns`, which end after an underscore. A part that is longer has a line of its own.
pub(super) fn name_in_lines(name: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in name.split_inclusive('_') {
        match lines.last_mut() {
            Some(line) if width(line) + width(part) <= columns => line.push_str(part),
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_text_keeps_the_part_that_names_it() {
        for (text, columns, kept, expected) in [
            ("shop", 4, Kept::Ends, "shop"),
            ("mcp__browser__take_screenshot", 13, Kept::Ends, "mcp__b…enshot"),
            ("/home/ann/work/shop/src/main.rs", 16, Kept::EndOfPath, "…/src/main.rs"),
            ("/home/ann/work/shop/src/main.rs", 9, Kept::EndOfPath, "…/main.rs"),
            ("/home/ann/a-very-long-name-of-a-file.rs", 14, Kept::EndOfPath, "…/a-very…le.rs"),
            ("/home/ann/work/", 8, Kept::EndOfPath, "…/work/"),
            ("C:\\work\\shop", 8, Kept::EndOfPath, "…\\shop"),
            ("0199a213-81c0-7800", 9, Kept::Beginning, "0199a213…"),
            ("no such file or directory", 14, Kept::Words, "no such file…"),
            ("unbelievably-long word", 8, Kept::Words, "unbelie…"),
            ("日本語の名前です", 9, Kept::Ends, "日本…です"),
            ("abc", 1, Kept::Ends, "…"),
            ("abc", 0, Kept::Ends, ""),
        ] {
            let found = shortened(text, columns, kept, "…");
            assert_eq!(found, expected, "{text}");
            assert!(width(&found) <= columns, "{found}");
        }
        assert_eq!(shortened("abcdefghij", 7, Kept::Ends, "..."), "ab...ij");
        assert_eq!(shortened("abc", 2, Kept::Ends, "..."), "..");
    }

    #[test]
    fn the_kind_of_a_text_is_that_of_most_texts_of_the_column() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for (column, values, expected) in [
            ("session_id", &["a b", "c"][..], Kept::Beginning),
            ("example", &["not found here", "-", "a b"], Kept::Words),
            ("target", &["src/a.rs", "-", "-", "-"], Kept::EndOfPath),
            ("example", &["0199a213-81c0-7800-9f21-aa5b7f0e3d11"], Kept::Beginning),
            ("tool", &["Bash", "Read"], Kept::Ends),
            ("tool", &[], Kept::Ends),
        ] {
            assert_eq!(Kept::of(column, &texts(values)), expected, "{column}");
        }
    }

    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrapped("one two three four", 9, "…"), ["one two", "three", "four"]);
        assert_eq!(wrapped("", 9, "…"), [""]);
        assert_eq!(wrapped("a incomprehensibilities b", 9, "…"), ["a", "inco…ties", "b"]);
        assert_eq!(name_in_lines("p50_duration_ms", 9), ["p50_", "duration_", "ms"]);
        assert_eq!(name_in_lines("p50_duration_ms", 12), ["p50_", "duration_ms"]);
        assert_eq!(name_in_lines("cost_usd", 3), ["cost_", "usd"]);
    }
}
