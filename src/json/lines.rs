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

use crate::base::byte_order_mark::{BYTE_ORDER_MARK, without_mark};
use crate::json;

/// A part of a log that should be one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The physical line where it begins, from 1.
    pub number: i64,
    /// Its text without white space and NUL bytes around it.
    pub bytes: &'a [u8],
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// One value a line.
    Lines,
    /// Values one after the other, or in arrays, over any number of lines.
    Values,
}

impl<'a> Lines<'a> {
    /// The records of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        let at = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        Self { bytes, at, number: 1, framing: framing(&bytes[at..]), array_end: 0 }
    }

    /// [`count`] of all bytes. Only those after the current position are read.
    pub fn count_all(&self) -> i64 {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_cut = self.bytes.last().is_some_and(|it| *it != b'\n');
        self.number - 1 + count_newlines(rest) + i64::from(is_cut)
    }

    /// The bytes that were not read, for logs that are no JSON, and the number of their first line.
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
            if let Some(end) = document_end(rest, line.bytes) {
                let start = self.at;
                if line.bytes[0] == b'[' {
                    self.array_end = start + end;
                    continue;
                }
                self.at += end;
                self.number += count_newlines(&self.bytes[start..self.at]);
                return Some(Line { number: line.number, bytes: trim(&self.bytes[start..self.at]) });
            }
            self.at += end + 1;
            self.number += i64::from(end < rest.len());
            if !line.bytes.is_empty() {
                return Some(line);
            }
        }
        None
    }

    fn next_value_before(&mut self, end: usize) -> Option<Line<'a>> {
        while self.at < end {
            match self.bytes[self.at] {
                b'\n' => self.number += 1,
                // The brackets and commas of arrays are between records.
                b' ' | b'\t' | b'\r' | b',' | b'[' | b']' | 0 | 0x1e => {}
                _ => {
                    let start = self.at;
                    // A value without an end is the rest of the document: the caller finds the error in it.
                    self.at = json::value_end(self.bytes, start).unwrap_or(self.bytes.len());
                    let line = Line { number: self.number, bytes: trim(&self.bytes[start..self.at]) };
                    self.number += count_newlines(&self.bytes[start..self.at]);
                    return Some(line);
                }
            }
            self.at += 1;
        }
        None
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        match self.framing {
            Framing::Lines => self.next_line(),
            Framing::Values => self.next_value_before(self.bytes.len()),
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

fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_around(*first)
    {
        bytes = rest;
    }
    // Files that were joined have further marks.
    bytes = without_mark(bytes);
    while let [rest @ .., last] = bytes
        && is_around(*last)
    {
        bytes = rest;
    }
    bytes
}

/// The end of a document that begins in a line: an array of records, or a value over several lines or before noise. `rest`
/// begins at the line.
fn document_end(rest: &[u8], line: &[u8]) -> Option<usize> {
    let begins = match line {
        [b'[', inner @ ..] => matches!(inner.iter().find(|it| !is_around(**it)), Some(b'{') | None),
        [b'{', .., last] => *last != b'}',
        [b'{'] => true,
        _ => false,
    };
    let start = rest.iter().position(|it| !is_around(*it))?;
    if begins { json::value_end(rest, start).ok() } else { None }
}

/// A document differs from lines in its beginning: its first line is not a complete value, but begins one.
fn framing(bytes: &[u8]) -> Framing {
    let Some(start) = bytes.iter().position(|it| !is_around(*it)) else { return Framing::Lines };
    let rest = &bytes[start..];
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
    let is_whole = |line: &[u8]| json::value_end(line, 0).is_ok_and(|end| trim(&line[end..]).is_empty());
    if is_whole(trim(first)) {
        // A whole array on the only line is a document; one among lines is a line.
        let alone = trim(others).is_empty();
        return if rest[0] == b'[' && alone { Framing::Values } else { Framing::Lines };
    }
    match json::value_end(rest, 0) {
        Ok(end) if matches!(trim(&rest[end..]).first(), None | Some(b'{' | b'[')) => Framing::Values,
        // Cut somewhere below: if the next line is a whole object, these are JSON Lines after a damaged one.
        Err(json::Error::CutShort) => {
            let second = others.split(|it| *it == b'\n').map(trim).find(|it| !it.is_empty());
            if second.is_some_and(|it| it.starts_with(b"{\"") && is_whole(it)) {
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

    #[test]
    fn the_last_line_counts_without_its_newline() {
        assert_eq!(["", "a", "a\n", "a\nb"].map(|it| count(it.as_bytes())), [0, 1, 1, 2]);
    }
}
