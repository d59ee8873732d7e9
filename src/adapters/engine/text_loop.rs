//! The record loop of logs that are plain text: each physical line is a record.

use foldhash::HashSet;

use super::api::{Context, Folded, LineSource, LoopInput, RecordLoop};
use crate::json::lines::Line;
use crate::model::health::Health;
use crate::model::session::SessionResult;

/// The bytes of one step.
const STEP: usize = 1 << 18;

/// The state of one adapter while it reads a log that is plain text. Every line is a part of it: none is lost or unknown.
pub(crate) trait TextFold: Send + 'static {
    /// The state before the first line.
    fn new(context: &Context) -> Self;

    /// Adds a line, without its end. `source` are its bytes.
    fn line(&mut self, text: &str, source: Line<'_>);

    /// Adds the last line, if it has no end: the file may be a copy that was cut, or the line is still being written.
    fn cut_line(&mut self, text: &str, source: Line<'_>) {
        self.line(text, source);
    }

    /// The sessions, in the order of their first lines.
    fn finish(self) -> Vec<SessionResult>;
}

/// Starts the loop of the format whose state is `F`.
pub(crate) fn fold_text<'a, F: TextFold>(context: &Context, input: LoopInput<'a>) -> Box<dyn RecordLoop<'a> + 'a> {
    let (bytes, number) = match input.lines {
        LineSource::Log(lines) => lines.rest(),
        // A record of another log is not text.
        LineSource::Unknown(_) => (&[][..], 1),
    };
    Box::new(TextLoop { state: F::new(context), bytes, number, records: 0 })
}

struct TextLoop<'a, F> {
    state: F,
    /// The bytes that were not read yet, and the number of their first line.
    bytes: &'a [u8],
    number: i64,
    /// Lines with text.
    records: i64,
}

impl<'a, F: TextFold> RecordLoop<'a> for TextLoop<'a, F> {
    fn step(&mut self) -> Option<Line<'a>> {
        let (mut last, mut read) = (None, 0);
        while read < STEP && !self.bytes.is_empty() {
            let end = memchr::memchr(b'\n', self.bytes).unwrap_or(self.bytes.len());
            let (text, rest) = self.bytes.split_at(end);
            let line = Line { number: self.number, bytes: text };
            read += end + 1;
            self.bytes = rest.get(1..).unwrap_or_default();
            self.number += 1;
            last = Some(line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            self.records += i64::from(!text.trim_ascii().is_empty());
            let text = String::from_utf8_lossy(text);
            if rest.is_empty() {
                self.state.cut_line(&text, line);
            } else {
                self.state.line(&text, line);
            }
        }
        last
    }

    fn parse_ahead(&mut self) -> Option<Box<dyn FnOnce() + Send + 'a>> {
        None
    }

    fn take_closed(&mut self) -> Vec<SessionResult> {
        Vec::new()
    }

    fn unknown(&self) -> &[Line<'a>] {
        &[]
    }

    fn counted(&self) -> &[Line<'a>] {
        &[]
    }

    fn keep_unknown(&mut self, _count: usize) {}

    fn finish(self: Box<Self>) -> Result<Folded<'a>, HashSet<String>> {
        let health = Health { lines: self.number - 1, records: self.records, ..Health::default() };
        Ok(Folded { sessions: self.state.finish(), unknown: Vec::new(), counted: Vec::new(), health })
    }
}
