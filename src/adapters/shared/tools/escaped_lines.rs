//! Lines of texts in a log. Those of a text with invalid escapes are counted, too; the sketch of a diff is unknown then.

use super::{diff_lines, line_count, lines};
use crate::adapters::shared::changed_lines::{ChangedLines, HEAD, Sketch};
use crate::json;
use crate::json::fields::LazyText;

/// [`diff_lines`] of a string in a log.
pub fn diff_lines_in(diff: &LazyText<'_>) -> ChangedLines {
    match unescaped(diff) {
        Some(text) => diff_lines(lines(text)),
        None => ChangedLines::counted(escaped_diff_lines(diff)),
    }
}

/// The lines of a file that is written whole, from a string in a log.
pub fn written_lines_in(text: &LazyText<'_>) -> ChangedLines {
    let sketch = Sketch::of_text(&text.head(HEAD + 1));
    ChangedLines { added: line_count_in(text), removed: 0, sketch: Some(sketch) }
}

/// The text, unless its escapes are invalid: then it has the quotes that are around it in the log.
fn unescaped<'t>(text: &'t LazyText<'_>) -> Option<&'t str> {
    Some(text.as_str()).filter(|plain| plain.len() <= text.escaped().len())
}

/// [`diff_lines`] of a string whose escapes are not undone for that.
fn escaped_diff_lines(diff: &LazyText<'_>) -> (i64, i64) {
    let text = diff.escaped();
    let (mut added, mut removed) = (0, 0);
    let is_plain = each_line(text, |line| match line {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => true,
        // A deciding character may be written as an escape with its number. No known runtime does so.
        [b'\\', b'u', ..] | [b'+' | b'-', b'\\', b'u', ..] => false,
        [b'+', b'+', b'\\', b'u', ..] | [b'-', b'-', b'\\', b'u', ..] => false,
        [b'+', b'+', b'+', b'\\', b'u', ..] | [b'-', b'-', b'-', b'\\', b'u', ..] => false,
        [b'+', ..] => {
            added += 1;
            true
        }
        [b'-', ..] => {
            removed += 1;
            true
        }
        _ => true,
    });
    if is_plain { (added, removed) } else { diff_lines(lines(diff.as_str())).counts() }
}

/// [`line_count`] of a string whose escapes are not undone for that.
fn line_count_in(text: &LazyText<'_>) -> i64 {
    let mut count = 0;
    let is_plain = each_line(text.escaped(), |_| {
        count += 1;
        true
    });
    if is_plain { count } else { line_count(text.as_str()) }
}

/// Calls `visit` with the rest of an escaped text from each line on. Returns `false` as soon as `visit` does, and for a text with
/// a newline that is not escaped, which JSON does not allow.
fn each_line(text: &[u8], mut visit: impl FnMut(&[u8]) -> bool) -> bool {
    if memchr::memchr(b'\n', text).is_some() {
        return false;
    }
    let mut rest = text;
    while !rest.is_empty() {
        if !visit(rest) {
            return false;
        }
        rest = after_newline(rest);
    }
    true
}

/// The text after the first newline.
fn after_newline(mut text: &[u8]) -> &[u8] {
    while let Some(at) = json::backslash(text) {
        let escape = text.get(at + 1..).unwrap_or_default();
        match escape {
            [b'n', rest @ ..] | [b'u', b'0', b'0', b'0', b'a' | b'A', rest @ ..] => return rest,
            _ => text = escape.get(1..).unwrap_or_default(),
        }
    }
    &[]
}
#[cfg(test)]
mod tests {
    use super::*;

    /// Of all texts of up to five of these.
    #[test]
    fn lines_with_escapes_are_those_without() {
        let letters =
            ["\\n", "+", "-", " ", "\\\"", "\\\\", "\\u000a", "\\u000A", "\\u002b", "\\u002D", "\\u0020", "\\r", "n"];
        let count = letters.len();
        for length in 0..=5 {
            for number in 0..count.pow(length) {
                let letter = |it: u32| letters[number / count.pow(it) % count];
                let string = format!("\"{}\"", (0..length).map(letter).collect::<String>());
                let text: LazyText<'_> = json::from_slice(string.as_bytes()).unwrap();
                let plain: String = serde_json::from_str(&string).unwrap();
                assert_eq!(escaped_diff_lines(&text), diff_lines(lines(&plain)).counts(), "{string}");
                assert_eq!(diff_lines_in(&text), diff_lines(lines(&plain)), "{string}");
                assert_eq!(line_count_in(&text), line_count(&plain), "{string}");
            }
        }
        for (string, expected) in [
            ("\"+++\\u0020a\\n+\"", (1, 0)),
            ("\"---\\t\\n--- a\\n-\\n\"", (0, 2)),
            ("\"+\n-\\n-\"", (1, 2)),
            ("\"\"", (0, 0)),
        ] {
            let text: LazyText<'_> = json::from_slice(string.as_bytes()).unwrap();
            assert_eq!(diff_lines_in(&text).counts(), expected, "{string}");
        }
    }
}
