//! Bytes to numbered records: one JSON value a line, or a document that contains them.
//!
//! A recorded stdout is JSON Lines with noise; `--output-format json` is one object or one array, often pretty-printed.
//! Callers get records and the lines where they begin in both cases.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "positions are found in these bytes, and every byte of a log passes here"
    )
)]

use crate::base::byte_order_mark::BYTE_ORDER_MARK;
use crate::base::log_prefix::begins_object;
use crate::json;

/// After so many lines that only seem to begin a document, a document ends before the next line that begins one.
const MOST_SEARCHES: u32 = 16;

/// Lines that are indented further are taken as indented so far.
const MOST_SPACES: usize = 64;

/// A part of a log that should be one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The physical line where it begins, from 1.
    pub number: i64,
    /// Its text without white space, NUL bytes and byte order marks around it.
    pub bytes: &'a [u8],
}

impl Line<'_> {
    /// The physical line where it ends: that of a document may be far after the first.
    pub fn last_number(&self) -> i64 {
        self.number + count_newlines(self.bytes)
    }
}

/// The records of a log, in order. Blank lines and runs of NUL are skipped.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: i64,
    framing: Framing,
    /// The end of an array among lines, whose elements are records.
    array_end: usize,
    /// The end of the physical line in which a value was last searched.
    line_end: usize,
    /// The number of documents whose end was searched in all of the log, and not found.
    searches: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// One value a line.
    Lines,
    /// Values one after the other, or in arrays, over any number of lines.
    Values,
    /// Lines after a damaged value, which may be the rest of an array.
    AfterDamage,
}

impl<'a> Lines<'a> {
    /// The records of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        let at = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let framing = framing(&bytes[at..]);
        Self { bytes, at, number: 1, framing, array_end: 0, line_end: 0, searches: 0 }
    }

    /// [`count`] of all bytes. Only those after the current position are read.
    pub fn count_all(&self) -> i64 {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_cut = self.bytes.last().is_some_and(|it| *it != b'\n');
        self.number - 1 + count_newlines(rest) + i64::from(is_cut)
    }

    /// The bytes that were not read, for logs that are not JSON, and the number of their first line.
    pub fn rest(&self) -> (&'a [u8], i64) {
        (self.bytes.get(self.at..).unwrap_or_default(), self.number)
    }

    fn next_line(&mut self) -> Option<Line<'a>> {
        while self.at < self.bytes.len() {
            if self.at < self.array_end {
                let found = self.next_value_before(self.array_end);
                if found.is_some() {
                    return found;
                }
                continue;
            }
            let rest = &self.bytes[self.at..];
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = Line { number: self.number, bytes: trim(&rest[..end]) };
            if let Some(end) = self.document_end(line.bytes, self.at + length_around(&rest[..end])) {
                if line.bytes[0] == b'[' {
                    self.array_end = end;
                    continue;
                }
                return Some(self.take_value(end));
            }
            self.at += end + 1;
            self.number += i64::from(end < rest.len());
            let is_between = self.framing == Framing::AfterDamage
                && line.bytes.iter().all(|byte| matches!(byte, b',' | b'[' | b']'));
            if !line.bytes.is_empty() && !is_between {
                return Some(line);
            }
        }
        None
    }

    /// The value up to `end`.
    fn take_value(&mut self, end: usize) -> Line<'a> {
        let value = &self.bytes[self.at..end];
        let line = Line { number: self.number, bytes: trim(value) };
        self.at = end;
        self.number += count_newlines(value);
        line
    }

    fn next_value_before(&mut self, end: usize) -> Option<Line<'a>> {
        while self.at < end {
            match self.bytes[self.at] {
                b'\n' => self.number += 1,
                // The brackets and commas of arrays are between records.
                b' ' | b'\t' | b'\r' | b',' | b'[' | b']' | 0 | 0x1e => {}
                _ if self.bytes[self.at..].starts_with(BYTE_ORDER_MARK) => self.at += BYTE_ORDER_MARK.len() - 1,
                _ => {
                    let value_end = self.value_end(self.at, end).unwrap_or_else(|| self.damage_end(end));
                    return Some(self.take_value(value_end));
                }
            }
            self.at += 1;
        }
        None
    }

    /// Where damage ends that begins here: at the end of the line or, if it began as a document does, before the next document.
    fn damage_end(&mut self, end: usize) -> usize {
        if self.framing == Framing::Values {
            self.framing = Framing::AfterDamage;
        }
        let damage = &self.bytes[self.at..end];
        if damage[0] == b'{' {
            next_beginning(self.bytes, self.at, indentation(self.bytes, self.at)).min(end)
        } else {
            memchr::memchr(b'\n', damage).map_or(end, |length| self.at + length)
        }
    }

    /// The end of a document that begins in a line: an array of records, or a value over several lines or before noise. `start` is the
    /// position of the line.
    fn document_end(&mut self, line: &[u8], start: usize) -> Option<usize> {
        let begins = match line {
            [b'[', inner @ ..] => matches!(inner.iter().find(|it| !is_around(**it)), Some(b'{') | None),
            [b'{', .., b'}'] => self.goes_on_after(start + line.len()) && begins_object(line),
            [b'{', ..] => begins_object(line),
            _ => false,
        };
        if begins { self.value_end(start, self.bytes.len()) } else { None }
    }

    /// Whether what follows can only be the rest of a record: a program that writes in chunks cuts its lines anywhere.
    fn goes_on_after(&self, at: usize) -> bool {
        let rest = &self.bytes[at..];
        matches!(rest.get(length_around(rest)), Some(b'}' | b']' | b','))
    }

    /// The end of the value at `start`, before `end`. It is in the same line, or else before the next line that begins a document as this
    /// line does: a value that was cut does not contain the values after it. A document can also have such lines itself.
    fn value_end(&mut self, start: usize, end: usize) -> Option<usize> {
        if start >= self.line_end {
            let rest = &self.bytes[start..];
            self.line_end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        }
        let line_end = self.line_end.min(end);
        match json::value_end(&self.bytes[..line_end], start) {
            Err(json::Error::CutShort) if line_end < end => {}
            found => return found.ok(),
        }
        let next = next_beginning(self.bytes, start, indentation(self.bytes, start)).min(end);
        if let Ok(found) = json::value_end(&self.bytes[..next], start) {
            return Some(found);
        }
        if next == end || self.searches >= MOST_SEARCHES || !ends_as_a_beginning(&self.bytes[start..next]) {
            return None;
        }
        let found = json::value_end(&self.bytes[..end], start).ok();
        self.searches += u32::from(found.is_none());
        found
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        match self.framing {
            Framing::Values => self.next_value_before(self.bytes.len()),
            Framing::Lines | Framing::AfterDamage => self.next_line(),
        }
    }
}

/// Number of physical lines, including a last one without a newline.
pub fn count(bytes: &[u8]) -> i64 {
    count_newlines(bytes) + i64::from(bytes.last().is_some_and(|it| *it != b'\n'))
}

fn count_newlines(bytes: &[u8]) -> i64 {
    i64::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or(i64::MAX)
}

/// White space, NUL (left by a power failure) and RS (JSON text sequences) are around records, not in them.
const fn is_around(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0 | 0x1e)
}

/// The length of what is before a record: files that were joined have further byte order marks.
fn length_around(bytes: &[u8]) -> usize {
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        if is_around(*byte) {
            length += 1;
        } else if bytes[length..].starts_with(BYTE_ORDER_MARK) {
            length += BYTE_ORDER_MARK.len();
        } else {
            break;
        }
    }
    length
}

/// Bytes without what is around records.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    let mut bytes = &bytes[length_around(bytes)..];
    while let [rest @ .., last] = bytes
        && is_around(*last)
    {
        bytes = rest;
    }
    bytes
}

/// The spaces before a value that is the first in its line.
fn indentation(bytes: &[u8], start: usize) -> usize {
    let before = bytes[..start].iter().rev().take(MOST_SPACES);
    before.take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The position of the next line that begins an object or an array of objects and is not indented further than so many spaces; else the
/// end.
fn next_beginning(bytes: &[u8], start: usize, spaces: usize) -> usize {
    const fn is_space(byte: u8) -> bool {
        matches!(byte, b' ' | b'\t' | b'\r')
    }
    let is_beginning = |start: &usize| {
        let indented = &bytes[*start..];
        let text = &indented[indented.iter().take(spaces).take_while(|byte| is_space(**byte)).count()..];
        let inner = text.get(1..).unwrap_or_default();
        let first = || inner.iter().take(MOST_SPACES).find(|byte| !is_space(**byte));
        match text.first() {
            Some(b'{') => matches!(first(), None | Some(b'"' | b'}' | b'\n')),
            Some(b'[') => matches!(first(), None | Some(b'{' | b'\n')),
            _ => false,
        }
    };
    let mut lines = memchr::memchr_iter(b'\n', &bytes[start..]).map(|newline| start + newline + 1);
    lines.find(is_beginning).unwrap_or(bytes.len())
}

/// Whether the beginning of a document ends where an object may follow in it, and not in a text, as that of a cut value may.
fn ends_as_a_beginning(text: &[u8]) -> bool {
    let (mut is_in_text, mut is_escaped) = (false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_text,
            b'"' => is_in_text = !is_in_text,
            _ => {}
        }
    }
    !is_in_text && matches!(trim(text).last(), Some(b'{' | b'[' | b',' | b':'))
}

/// A document differs from lines in its beginning: its first line is not a complete value, but begins one.
fn framing(bytes: &[u8]) -> Framing {
    let rest = &bytes[length_around(bytes)..];
    if rest.is_empty() {
        return Framing::Lines;
    }
    let inner = rest[1..].iter().copied().find(|it| !is_around(*it));
    let begins_like_a_document = match rest[0] {
        b'[' => matches!(inner, Some(b'{' | b'[' | b']')),
        b'{' => matches!(inner, Some(b'"' | b'}')),
        _ => false,
    };
    if !begins_like_a_document {
        return Framing::Lines;
    }
    let newline = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let (first, others) = rest.split_at(newline);
    let after_first = |line: &'_ [u8]| json::value_end(line, 0).ok().map(|end| trim(&line[end..]).first().copied());
    let is_whole = |line: &[u8]| after_first(line) == Some(None);
    // The end of the line between two records can be lost.
    let is_records = |line: &[u8]| matches!(after_first(line), Some(None | Some(b'{')));
    let alone = trim(others).is_empty();
    if is_whole(trim(first)) {
        // A whole array on the only line is a document; one among lines is a line.
        return if rest[0] == b'[' && alone { Framing::Values } else { Framing::Lines };
    }
    if rest[0] == b'{' && !alone && json::value_end(first, 0).is_ok() {
        return Framing::Lines;
    }
    match json::value_end(rest, 0) {
        Ok(end) if matches!(trim(&rest[end..]).first(), None | Some(b'{' | b'[')) => Framing::Values,
        // Cut somewhere below: if the next line is a whole object, these are JSON Lines after a damaged one.
        Err(json::Error::CutShort) => {
            let second = others.split(|it| *it == b'\n').map(trim).find(|it| !it.is_empty());
            if second.is_some_and(|it| it.starts_with(b"{\"") && is_records(it)) {
                Framing::Lines
            } else {
                Framing::Values
            }
        }
        _ => Framing::Lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(i64, &str)]) {
        let mut lines = Lines::new(text.as_bytes());
        assert_eq!(lines.count_all(), count(text.as_bytes()), "{text:?}");
        let found: Vec<_> = lines.by_ref().map(|it| (it.number, std::str::from_utf8(it.bytes).unwrap())).collect();
        assert_eq!(found, expected, "{text:?}");
        assert_eq!(lines.count_all(), count(text.as_bytes()), "{text:?}");
    }

    #[test]
    fn lines_are_numbered_and_trimmed() {
        check("", &[]);
        check("\u{feff}{\"a\":1}\r\n\n \n{\"b\":2}", &[(1, "{\"a\":1}"), (4, "{\"b\":2}")]);
        check("{\"a\":1}\n\0\0\0\0", &[(1, "{\"a\":1}")]);
        check("{\"a\":1}\n\u{feff}{\"b\":2}\n", &[(1, "{\"a\":1}"), (2, "{\"b\":2}")]);
        check("noise\n{broken\n{\"a\":1}\n", &[(1, "noise"), (2, "{broken"), (3, "{\"a\":1}")]);
        check("{broken\n{\"a\":1}\n", &[(1, "{broken"), (2, "{\"a\":1}")]);
        check("{\"a\":\n{\"a\":1}\n", &[(1, "{\"a\":"), (2, "{\"a\":1}")]);
        check("[info] start\n{\"a\":1}\n", &[(1, "[info] start"), (2, "{\"a\":1}")]);
        check("[{\"a\":1}]\n{\"a\":1}\n", &[(1, "{\"a\":1}"), (2, "{\"a\":1}")]);
    }

    #[test]
    fn documents_are_their_values() {
        check("{\n \"a\": {\n }\n}\n", &[(1, "{\n \"a\": {\n }\n}")]);
        check("{\n \"a\": 1\n}\n{\n \"b\": 1\n}\n", &[(1, "{\n \"a\": 1\n}"), (4, "{\n \"b\": 1\n}")]);
        check("[{\"a\":1},{\"b\":2}]", &[(1, "{\"a\":1}"), (1, "{\"b\":2}")]);
        check("[\n {\"a\":1},\n\n 7,\n {\"b\":2}\n]\n", &[(2, "{\"a\":1}"), (4, "7"), (5, "{\"b\":2}")]);
        check("[\n {\"a\":1},\n {\"b\":", &[(2, "{\"a\":1}"), (3, "{\"b\":")]);
        check("{\n \"a\": 1,\n \"b", &[(1, "{\n \"a\": 1,\n \"b")]);
        check("[]", &[]);
    }

    #[test]
    fn documents_among_lines_are_found() {
        check("noise\n[{\"a\":1},{\"b\":2}]\n", &[(1, "noise"), (2, "{\"a\":1}"), (2, "{\"b\":2}")]);
        check("[{\"a\":1}]\n[{\"b\":2}]\nDone\n", &[(1, "{\"a\":1}"), (2, "{\"b\":2}"), (3, "Done")]);
        check(
            "noise\n[\n {\"a\":1},\n {\"b\":2}\n]\n{\"c\":3}\n",
            &[(1, "noise"), (3, "{\"a\":1}"), (4, "{\"b\":2}"), (6, "{\"c\":3}")],
        );
        check("noise\n{\n \"a\": 1\n}\nDone\n", &[(1, "noise"), (2, "{\n \"a\": 1\n}"), (5, "Done")]);
        check("{\n \"a\": 1\n}\nDone\n{\"b\":2}\n", &[(1, "{\n \"a\": 1\n}"), (4, "Done"), (5, "{\"b\":2}")]);
        check("{\"a\":1} Done\n", &[(1, "{\"a\":1}"), (1, "Done")]);
    }

    /// Two values on the first line, or a document there, do not make one of what follows.
    #[test]
    fn a_damaged_value_loses_only_itself() {
        let (a, b, c) = ("{\"a\":1}", "{\"b\":2}", "{\"c\":3}");
        check(&format!("{a}{b}\nnoise {{\n{c}\n"), &[(1, &format!("{a}{b}")), (2, "noise {"), (3, c)]);
        check(&format!("{a}{{\n\"b\": 2\n}}\n{c}\n"), &[(1, a), (1, "{\n\"b\": 2\n}"), (4, c)]);
        check(&format!("{a} {b}"), &[(1, a), (1, b)]);
        let document = "{\n \"a\": 1\n}";
        check(
            &format!("{document}\n{document}\nnoise\n{document}\n{b}\n"),
            &[(1, document), (4, document), (7, "noise"), (8, document), (11, b)],
        );
        // A text was cut in it, so that the quotes of all that follows seem to be outside of texts.
        let cut = "{\n \"a\": \"x";
        let texts = "{\n \"t\": \"}}\"\n}";
        check(&format!("{document}\n{cut}\n{texts}\n{texts}\n"), &[(1, document), (4, cut), (6, texts), (9, texts)]);
        check(&format!("{a}\n{{\"a\":\"x\n{texts}\n"), &[(1, a), (2, "{\"a\":\"x"), (3, texts)]);
        check(&format!("{a}\n{{\"a\":\"x\n{{\"t\":\"}}}}\"}}\n"), &[(1, a), (2, "{\"a\":\"x"), (3, "{\"t\":\"}}\"}")]);
        // In arrays.
        check(&format!("[\n {a},\n oops,\n {b},\n {c}\n]\n"), &[(2, a), (3, "oops,"), (4, b), (5, c)]);
        check(&format!("[\n {a},\n {{\"x\":\"}},\n {b},\n {c}\n]\n"), &[(2, a), (3, "{\"x\":\"},"), (4, b), (5, c)]);
        check(&format!("noise\n[{a},oops]\n{b}\n"), &[(1, "noise"), (2, a), (2, "oops]"), (3, b)]);
    }

    /// Lines of documents are not always indented.
    #[test]
    fn values_may_begin_lines_of_a_document() {
        let document = "{\n\"a\": [\n{\n\"b\": 1\n},\n{\"c\": 2}\n]\n}";
        check(&format!("{document}\n{document}\n"), &[(1, document), (9, document)]);
        check(&format!("noise\n{document}\n"), &[(1, "noise"), (2, document)]);
        let on_lines = "{\"events\":[\n{\"a\":1}\n]}";
        check(on_lines, &[(1, on_lines)]);
        check(&format!("noise\n{on_lines}\n"), &[(1, "noise"), (2, on_lines)]);
    }

    /// A program that writes the output of another in chunks cuts its lines anywhere.
    #[test]
    fn halves_of_a_record_are_one() {
        let record = "{\"a\":{\"b\":[{\"c\":\"x y\"}]},\"d\":[1,2]}";
        for at in 1..record.len() {
            let (first, second) = record.split_at(at);
            let log = format!("{{\"e\":1}}\n{first}\n{second}\n{{\"e\":1}}\n");
            let halves = format!("{first}\n{second}");
            check(&log, &[(1, "{\"e\":1}"), (2, halves.trim_end()), (4, "{\"e\":1}")]);
        }
    }

    #[test]
    fn marks_are_around_records() {
        let mark = '\u{feff}';
        check(
            &format!("{{\"a\":1}}\n{mark} {{\"b\":2}}\n{mark}\n {mark}[{{\"c\":3}}]\n{mark}{{\n\"d\": 4\n}}"),
            &[(1, "{\"a\":1}"), (2, "{\"b\":2}"), (4, "{\"c\":3}"), (5, "{\n\"d\": 4\n}")],
        );
        check(&format!("{mark} {mark}{{\n\"a\": 1\n}}\n{mark}{{\n}}"), &[(1, "{\n\"a\": 1\n}"), (4, "{\n}")]);
    }

    /// The search for the end of what only seems to be a document is bounded.
    #[test]
    fn many_beginnings_of_documents_are_read_in_linear_time() {
        for line in ["{ \"yyy\n", "{\n", "{\"a\": [\n", "[\n", "[{\n", " {\"a\": \"x\n{\"b\":\n"] {
            let log = line.repeat(20_000);
            assert!(Lines::new(log.as_bytes()).count() >= 1, "{line:?}");
            let log = format!("{{\"a\":1}}\n{log}");
            assert!(Lines::new(log.as_bytes()).count() >= 20_000, "{line:?}");
        }
    }

    #[test]
    fn the_last_line_counts_without_its_newline() {
        assert_eq!(["", "a", "a\n", "a\nb"].map(|it| count(it.as_bytes())), [0, 1, 1, 2]);
    }
}
