//! Logs whose lines have a time or a level before them, as programs and services write them that run agents.

use memchr::memchr_iter;

use crate::base::byte_order_mark::without_mark;
use crate::base::log_prefix::{begins_object, without_prefix};

/// The first record with a prefix is searched for in so many bytes.
const SEARCHED: usize = 16 << 20;

/// The text of a log without the times and levels before its lines; `None` if it needs no other text.
///
/// Only a log that does not begin with a record is searched, and only one whose lines have records after a prefix is copied. Each
/// line keeps its number. A line that was cut in two, with a prefix before its second half, is joined again. A line that repeats the
/// line before or after it keeps its prefix, so that no record is read twice.
pub fn without_prefixes(log: &[u8]) -> Option<Vec<u8>> {
    let searched = log.get(..SEARCHED).unwrap_or(log);
    if begins_with_record(searched) || !lines(searched).any(is_record_after_prefix) {
        return None;
    }
    let mut text = Text { bytes: Vec::with_capacity(log.len()), held: 0, document: Document::default() };
    let (mut previous, mut all) = (None, lines(log).peekable());
    while let Some(line) = all.next() {
        let rest = without_prefix(line);
        let neighbours = [previous, all.peek().copied()];
        let is_repeated = |rest: &[u8]| {
            let rest = rest.trim_ascii();
            rest.ends_with(b"}") && neighbours.iter().flatten().any(|line| line.trim_ascii() == rest)
        };
        text.add(previous.is_none(), line, rest.filter(|rest| !is_repeated(rest)));
        previous = Some(line);
    }
    Some(text.finish())
}

/// Whether a log begins as JSON does: with an object, or with an array of objects.
fn begins_with_record(log: &[u8]) -> bool {
    match without_mark(log).trim_ascii_start() {
        [b'{', ..] => true,
        [b'[', inner @ ..] => matches!(inner.trim_ascii_start().first(), Some(b'{' | b'[' | b']')),
        _ => false,
    }
}

fn is_record_after_prefix(line: &[u8]) -> bool {
    without_prefix(line).is_some_and(begins_object)
}

/// The lines without the ends of lines; an empty one after the last end.
fn lines(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr_iter(b'\n', log).chain([log.len()]).map(move |end| {
        let line = log.get(start..end).unwrap_or_default();
        start = end + 1;
        line
    })
}

/// The text so far.
struct Text {
    bytes: Vec<u8>,
    /// Ends of lines that were removed: they are added to the next end, so that later lines keep their numbers.
    held: usize,
    document: Document,
}

impl Text {
    /// Adds a line. `rest`: the line without its prefix.
    fn add(&mut self, is_first: bool, line: &[u8], rest: Option<&[u8]>) {
        if !is_first {
            self.end_line(rest);
        }
        let text = rest.unwrap_or(line);
        self.document.add(text);
        self.bytes.extend_from_slice(text);
    }

    /// Ends the line before `rest`, unless both are halves of one line.
    fn end_line(&mut self, rest: Option<&[u8]>) {
        let last = self.bytes.iter().rev().find(|byte| **byte != b'\r').copied();
        if rest.is_some_and(|rest| self.document.is_cut_before(last, rest)) {
            while self.bytes.last() == Some(&b'\r') {
                self.bytes.pop();
            }
            self.held += 1;
            return;
        }
        // No text contains the end of a line: the document is damaged.
        if self.document.is_in_text {
            self.document = Document::default();
        }
        self.end_held();
        self.bytes.push(b'\n');
    }

    fn end_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.bytes.resize(self.bytes.len() + held, b'\n');
    }

    fn finish(mut self) -> Vec<u8> {
        self.end_held();
        self.bytes
    }
}

/// The position in a JSON document over one or several lines.
#[derive(Default)]
struct Document {
    /// The number of open brackets; 0 outside of documents.
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
}

impl Document {
    /// Reads the next line of the document, or the first one of another document.
    fn add(&mut self, line: &[u8]) {
        if self.depth == 0 && line.trim_ascii_start().first() != Some(&b'{') {
            return;
        }
        for byte in line {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_text => self.is_escaped = true,
                b'"' if self.depth > 0 => self.is_in_text = !self.is_in_text,
                _ if self.is_in_text => {}
                b'{' => self.depth += 1,
                b'[' if self.depth > 0 => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether a text or a word was cut between the byte `last` and the line `rest`.
    fn is_cut_before(&self, last: Option<u8>, rest: &[u8]) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        if self.is_in_text {
            return !begins_object(rest);
        }
        self.depth > 0 && last.is_some_and(is_word) && rest.first().is_some_and(|byte| is_word(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(log: &str) -> Option<String> {
        let text = without_prefixes(log.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        if let Some(text) = &text {
            assert_eq!(text.matches('\n').count(), log.matches('\n').count(), "{log}");
        }
        text
    }

    #[test]
    fn records_lose_their_prefixes() {
        for (log, expected) in [
            ("# Log\n[09:00:00] [INFO] {\"a\":1}\n{\"b\":2}\nDone\n", "# Log\n{\"a\":1}\n{\"b\":2}\nDone\n"),
            ("09:00:00 {\"a\":1}\r\n09:00:00 Done", "{\"a\":1}\r\nDone"),
            // Only the first line of a document has a prefix, or each of them.
            ("[INFO] {\n  \"a\": 1\n}\n[INFO] Done", "{\n  \"a\": 1\n}\nDone"),
            ("[INFO] {\n[INFO]   \"a\": [\n[INFO]     1\n[INFO]   ]\n[INFO] }\n", "{\n  \"a\": [\n    1\n  ]\n}\n"),
        ] {
            assert_eq!(text(log).as_deref(), Some(expected), "{log}");
        }
    }

    #[test]
    fn other_logs_need_no_other_text() {
        for log in [
            "",
            "Done",
            "{\"a\":1}\n[INFO] {\"b\":2}\n",
            "\u{feff}\n {\"a\":1}\n[INFO] {\"b\":2}\n",
            "[\n {\"a\":1}\n]\n[INFO] {\"b\":2}\n",
            "# Log\n{\"a\":1}\n[INFO] Done\n[INFO] x {\"a\":1}\n",
            "[INFO] {x\n",
        ] {
            assert_eq!(text(log), None, "{log}");
        }
    }

    /// A program that writes the output of another in chunks cuts its lines anywhere.
    #[test]
    fn halves_of_a_line_are_joined() {
        for (log, expected) in [
            ("[INFO] {\"a\":\"x\n[INFO] y\",\"b\":1}\n{\"c\":2}\n", "{\"a\":\"xy\",\"b\":1}\n\n{\"c\":2}\n"),
            ("[INFO] {\"a\":\"x\r\n[INFO] y\"}\r\nDone", "{\"a\":\"xy\"}\r\n\nDone"),
            ("[INFO] {\n  \"a\": 12\n[INFO] 34,\n  \"b\": 1\n}\n", "{\n  \"a\": 1234,\n\n  \"b\": 1\n}\n"),
            ("[INFO] {\"a\":\"\\\n[INFO] \"\"}\n", "{\"a\":\"\\\"\"}\n\n"),
            // Neither a record nor a line without a prefix continues a text.
            ("[INFO] {\"a\":\"x\n[INFO] {\"b\":1}\n", "{\"a\":\"x\n{\"b\":1}\n"),
            ("[INFO] {\"a\":\"x\ny\"}\n[INFO] z\n", "{\"a\":\"x\ny\"}\nz\n"),
            ("[INFO] {\"a\":\"x\n[INFO] y", "{\"a\":\"xy\n"),
        ] {
            assert_eq!(text(log).as_deref(), Some(expected), "{log}");
        }
    }

    #[test]
    fn a_repeated_line_keeps_its_prefix() {
        for (log, expected) in [
            ("x\n{\"a\":1}\n[INFO] {\"a\":1}\n", "x\n{\"a\":1}\n[INFO] {\"a\":1}\n"),
            ("[INFO] {\"a\":1}\n{\"a\":1}\n[INFO] {\"b\":1}\n", "[INFO] {\"a\":1}\n{\"a\":1}\n{\"b\":1}\n"),
            ("[INFO] {\"a\":1}\n[INFO] {\"a\":1}\n", "{\"a\":1}\n{\"a\":1}\n"),
        ] {
            assert_eq!(text(log).as_deref(), Some(expected), "{log}");
        }
    }
}
