//! Lines of texts in a log. Those of a text with invalid escapes are counted, too; the sketch of a diff is unknown if they are in a line
//! that it adds.

use super::edits::marked_lines;
use super::line_count;
use crate::adapters::shared::changed_lines::{ChangedLines, HEAD, Sketch};
use crate::base::split::lines;
use crate::json;
use crate::json::fields::LazyText;

/// [`diff_lines`](super::diff_lines) of a string in a log.
pub fn diff_lines_in(diff: &LazyText<'_>) -> ChangedLines {
    marked_lines_in(diff, |line| line)
}

/// The same of a diff that has the number of each line between its mark and its text: `+ 14 text`.
pub fn numbered_diff_lines_in(diff: &LazyText<'_>) -> ChangedLines {
    marked_lines_in(diff, without_number)
}

/// What follows a number and a space.
fn without_number(line: &[u8]) -> &[u8] {
    let number = line.trim_ascii_start();
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    number.get(digits..).filter(|_| digits > 0).and_then(|text| text.strip_prefix(b" ")).unwrap_or(line)
}

/// The lines of a file that is written whole, from a string in a log.
pub fn written_lines_in(text: &LazyText<'_>) -> ChangedLines {
    let sketch = Sketch::of_text(&text.head(HEAD + 1));
    ChangedLines { added: line_count_in(text), removed: 0, sketch: Some(sketch) }
}

/// The lines of a diff, of which only those that it adds are unescaped. `text_of` returns the text of a line without its mark.
fn marked_lines_in(diff: &LazyText<'_>, text_of: impl Fn(&[u8]) -> &[u8]) -> ChangedLines {
    let mut changed = ChangedLines::none();
    let mut unescaped = Vec::new();
    let is_plain = each_line(diff.escaped(), |line| match line {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => true,
        // A deciding character may be written as an escape with its number. No known runtime does so.
        [b'\\', b'u', ..] | [b'+' | b'-', b'\\', b'u', ..] => false,
        [b'+', b'+', b'\\', b'u', ..] | [b'-', b'-', b'\\', b'u', ..] => false,
        [b'+', b'+', b'+', b'\\', b'u', ..] | [b'-', b'-', b'-', b'\\', b'u', ..] => false,
        [b'+', added @ ..] => {
            let added = text_of(added);
            if json::backslash(added).is_none() {
                changed.add(added);
                return true;
            }
            unescaped.clear();
            match json::unescape_into(added, &mut unescaped) {
                Some(()) => changed.add(&unescaped),
                None => changed = ChangedLines::counted((changed.added + 1, changed.removed)),
            }
            true
        }
        [b'-', ..] => {
            changed.removed += 1;
            true
        }
        _ => true,
    });
    if is_plain { changed } else { marked_lines(lines(diff.as_str()), text_of) }
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

/// Calls `visit` with each line of an escaped text. Returns `false` as soon as `visit` does, and for a text with a newline that is not
/// escaped, which JSON does not allow.
fn each_line(text: &[u8], mut visit: impl FnMut(&[u8]) -> bool) -> bool {
    if memchr::memchr(b'\n', text).is_some() {
        return false;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = split_line(rest);
        if !visit(line) {
            return false;
        }
        rest = after;
    }
    true
}

/// The text before the first newline, and the text after it.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some(distance) = text.get(at..).and_then(json::backslash) {
        let before = at + distance;
        match text.get(before + 1..) {
            Some([b'n', rest @ ..] | [b'u', b'0', b'0', b'0', b'a' | b'A', rest @ ..]) => {
                return (text.get(..before).unwrap_or_default(), rest);
            }
            _ => at = before + 2,
        }
    }
    (text, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::shared::tools::diff_lines;

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

    /// pi writes the number of each line after its mark.
    #[test]
    fn numbers_of_lines_are_not_in_the_sketch() {
        let read = |json: &'static str| -> LazyText<'static> { json::from_slice(json.as_bytes()).unwrap() };
        let numbered = read(
            r#"" 12 fn next() {\n- 13 \treturn \"old text\";\n+ 13 \treturn \"new text\";\n+101 one more line\n""#,
        );
        let plain = read(r#"" fn next() {\n-\treturn \"old text\";\n+\treturn \"new text\";\n+one more line\n""#);
        let lines = numbered_diff_lines_in(&numbered);
        assert_eq!(lines, diff_lines_in(&plain));
        assert_eq!(lines.sketch, Some(Sketch::of_text("\treturn \"new text\";\none more line")));
        // Text without a number stays as it is, and escapes with numbers are undone first.
        for (numbered, plain) in [
            (r#""+12 monkeys in a row""#, r#""+monkeys in a row""#),
            (r#""+twelve monkeys""#, r#""+twelve monkeys""#),
            (r#""+\u0020 12 twelve monkeys""#, r#""+twelve monkeys""#),
        ] {
            assert_eq!(numbered_diff_lines_in(&read(numbered)), diff_lines_in(&read(plain)), "{numbered}");
        }
        // The lines are counted if an escape is invalid.
        let invalid = numbered_diff_lines_in(&read(r#""+ 1 a long \q line\n- 2 b\n""#));
        assert_eq!((invalid.counts(), invalid.sketch), ((1, 1), None));
    }
}
