//! The records of a line that is more than one record: the end of the line between them was lost, and the first of them may be cut.

use crate::base::log_prefix::begins_object;
use crate::json::lines::trim;
use crate::json::structure::structure_end;

/// The parts of a line that begins with an object: records, and what is between them. The only part of a line without another record is
/// the line.
///
/// A record is found after a cut one where the text stops being JSON, as the texts and brackets that were cut have no end. It is whole, and
/// the end of the line or another record follows. An object inside of a cut record is not one. Each byte is read a few times at most.
pub fn parts(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_object = begins_object(line);
    let mut rest = line;
    std::iter::from_fn(move || {
        let end = if is_object { part_end(rest) } else { rest.len() };
        let (part, others) = rest.split_at_checked(end)?;
        rest = trim(others);
        (!part.is_empty()).then(|| trim(part))
    })
}

/// What `read` makes of a line, or else of its parts.
pub fn read_records<'a, R>(line: &'a [u8], read: impl Fn(&'a [u8]) -> Option<R>) -> impl Iterator<Item = R> {
    let whole = read(line);
    let others = whole.is_none().then(|| parts(line)).into_iter().flatten();
    let others = others.filter(move |part| part.len() < line.len());
    whole.into_iter().chain(others.filter_map(read))
}

/// The end of the first part.
fn part_end(text: &[u8]) -> usize {
    let damaged_at = if text.first() == Some(&b'{') {
        match structure_end(text, 0) {
            Ok(end) => return end,
            Err(at) => at,
        }
    } else {
        0
    };
    next_record(text, damaged_at).unwrap_or(text.len())
}

/// The position of the first whole record after damage, before which the text was JSON.
fn next_record(text: &[u8], mut damaged_at: usize) -> Option<usize> {
    // Braces up to this position are known not to begin a record.
    let mut searched = 0;
    while damaged_at < text.len() {
        // If a text was cut, the first quote of the next record is its end. So the brace is before the damage.
        let before = text.get(searched + 1..=damaged_at).and_then(|text| memchr::memrchr(b'{', text));
        let after = || {
            memchr::memchr(b'{', text.get(damaged_at.max(searched) + 1..)?).map(|at| damaged_at.max(searched) + 1 + at)
        };
        let at = before.map(|at| searched + 1 + at).or_else(after)?;
        match structure_end(text, at) {
            Ok(end) if has_key(text, at) && is_end_of_record(text, end) => return Some(at),
            // It is inside of the damaged record.
            Ok(end) => (searched, damaged_at) = (end - 1, end - 1),
            Err(wrong) => (searched, damaged_at) = (at, wrong),
        }
    }
    None
}

fn has_key(text: &[u8], at: usize) -> bool {
    text.get(at + 1..).is_some_and(|inner| inner.trim_ascii_start().starts_with(b"\""))
}

fn is_end_of_record(text: &[u8], end: usize) -> bool {
    text.get(end..).is_some_and(|rest| matches!(trim(rest), [] | [b'{', ..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let found: Vec<&str> = parts(line.as_bytes()).map(|part| std::str::from_utf8(part).unwrap()).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn whole_records_are_parts() {
        let (a, b) = (r#"{"a":{"x":1}}"#, r#"{"b":2}"#);
        check(&format!("{a}{b} {a}"), &[a, b, a]);
        check(&format!("{a}{b}{{\"c"), &[a, b, "{\"c"]);
        check(&format!("{a} x {b}"), &[a, "x", b]);
        check(&format!("{a}}}"), &[a, "}"]);
        for line in [a, "noise", "noise {\"a\":1}", "{noise {\"a\":1}", "[1]{\"a\":1}"] {
            check(line, &[line]);
        }
    }

    /// Wherever a record is cut, the whole one after it is found, whatever its first key is; only where an object may follow in the cut record,
    /// it may be a part of that.
    #[test]
    fn the_record_after_a_cut_one_is_found() {
        let cut = r#"{"type":"assistant","message":{"type":"message","text":"He said \"{}\" {","list":[1,"x",{"y":null}]},"n":12}"#;
        let whole = r#"{"duration":12,"type":"result","usage":{"input":4,"text":"a \"{b\"}"}}"#;
        for at in 2..cut.len() - 1 {
            let (part, _) = cut.split_at(at);
            let line = format!("{part}{whole}");
            if part.ends_with([':', '[']) || part.ends_with("\"x\",") || part.ends_with("[1,") {
                check(&line, &[&line]);
                check(&format!("{line}{whole}"), &[&line, whole]);
            } else {
                check(&line, &[part.trim_end(), whole]);
                check(&format!("{line}{whole}"), &[part.trim_end(), whole, whole]);
                check(&format!("{part}{line}"), &[&format!("{part}{}", part.trim_end()), whole]);
            }
        }
    }

    #[test]
    fn a_long_line_is_read_in_linear_time() {
        for part in [
            r#"{"a":{"b":"x"#,
            r#"{"a":{"b":"x{"c":{"d":1}}"#,
            r#"{"a":[{"b":1},"#,
            "{\"a\":\"}{\"",
            r#"{"a""#,
            "{\"a\":1}x",
        ] {
            assert!(parts(part.repeat(100_000).as_bytes()).count() > 0, "{part}");
        }
    }

    #[test]
    fn an_object_inside_of_a_cut_record_is_no_record() {
        for line in [r#"{"a":{"a":1}"#, r#"{"a":[{"a":1},{"a":2}"#, r#"{"a":"{\"a\":1}"#, r#"{"a":"x{}"#] {
            check(line, &[line]);
        }
    }
}
