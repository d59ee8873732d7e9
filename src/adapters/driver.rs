//! Reads one log from its first byte to its sessions, in steps.
//!
//! The caller owns the loop. Between two steps it does what depends on the progress: it hashes the bytes that were read,
//! releases their memory, stores the sessions that are complete, and starts a second thread for a large log.

use std::mem;

use foldhash::{HashSet, HashSetExt as _};

use crate::adapters::described::{self, UserFormat};
use crate::adapters::detect::{Claims, detect_among, detect_another};
use crate::adapters::engine::api::{Adapter, Context, Folded, Hints, LineSource, LoopInput, Parsed, RecordLoop};
use crate::adapters::engine::unknown::unknown_type;
use crate::adapters::unread::{mark_sessions, newest_version};
use crate::json::lines::Lines;
use crate::model::health::Health;
use crate::model::retention::Retention;
use crate::model::session::SessionResult;
use crate::model::unknown;

/// A log of more bytes is large: see [`Driver::with_large`].
const LARGE: usize = 1 << 26;

/// The bytes of a step of a log that no format claims.
const COUNT_STEP: usize = 1 << 20;

/// Records that a format does not know are kept, as they may be of another format. After so many the others are kept only
/// if another format claims the first of them, so that a log of any number of other records takes no memory for each.
const UNDECIDED: usize = 1 << 16;

/// One log while it is read. Call [`Self::step`] until it returns [`Step::Done`].
pub struct Driver<'a> {
    log: &'a [u8],
    path: String,
    content: Retention,
    claims: Claims,
    formats: &'static [UserFormat],
    large: usize,
    /// The ids of sessions that are known to have more records after a pause: see [`Step::Restart`].
    keep_open: HashSet<String>,
    /// The newest version of the runtime among the sessions that were returned.
    version: Option<String>,
    /// The ids of the sessions that were returned before the end of the log.
    closed: HashSet<String>,
    state: State<'a>,
}

enum State<'a> {
    /// Nothing is read yet.
    New,
    /// No format claims the log: its lines are counted.
    Counting {
        read: usize,
        newlines: usize,
    },
    Reading(Reading<'a>),
    Done,
}

struct Reading<'a> {
    adapter: &'static Adapter,
    records: Box<dyn RecordLoop<'a> + 'a>,
    /// Whether [`UNDECIDED`] records were reached, and it was decided whether to keep more.
    is_decided: bool,
}

/// What one step of a [`Driver`] did.
pub enum Step<'a> {
    /// The log was read up to this offset.
    Progress(usize),
    /// The log is large. If another thread runs this function, it parses records ahead of the following steps, which makes the
    /// reading some 1.3 times as fast. It may be dropped. It ends at the end of the log, or once the driver is dropped.
    ///
    /// It should not run in rayon's pool: a thread of the pool that waits begins with another file, and this one stays half read.
    Large(Box<dyn FnOnce() + Send + 'a>),
    /// These sessions are complete. Only large logs have them.
    Closed(Vec<SessionResult>),
    /// One of the sessions that were returned as complete had another record. The log is read again from its beginning:
    /// discard all sessions that were returned.
    Restart,
    /// The log was read to its end. The sessions that were returned before are not repeated.
    Done(Parsed),
}

impl<'a> Driver<'a> {
    /// Finds the format of a log. `content` is how much of the conversation is kept.
    pub fn new(log: &'a [u8], hints: Hints<'_>, content: Retention) -> Self {
        Self::with_formats(log, hints, content, &[])
    }

    /// As [`Self::new`], with the formats that the user describes.
    pub fn with_formats(log: &'a [u8], hints: Hints<'_>, content: Retention, formats: &'static [UserFormat]) -> Self {
        Self {
            log,
            path: hints.path.to_owned(),
            content,
            claims: detect_among(log, hints, formats),
            formats,
            large: LARGE,
            keep_open: HashSet::new(),
            version: None,
            closed: HashSet::new(),
            state: State::New,
        }
    }

    /// Sets the number of bytes from which a log is large. A session without a record in so many bytes is complete, and the rest of
    /// the log may be read by two threads. The default is 64 MiB.
    #[must_use]
    pub fn with_large(mut self, bytes: usize) -> Self {
        self.large = bytes;
        self
    }

    /// The formats that claim the log, the likeliest first, with their weights.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Reads the log to its end, in one thread and with all sessions in memory.
    pub fn parse(self) -> Parsed {
        let mut driver = self.with_large(usize::MAX);
        loop {
            if let Step::Done(parsed) = driver.step() {
                return parsed;
            }
        }
    }

    /// Reads on.
    pub fn step(&mut self) -> Step<'a> {
        match &mut self.state {
            State::New => self.start(),
            State::Counting { .. } => self.count(),
            State::Reading(reading) => match reading.step(self.log, self.formats) {
                Some(Step::Closed(closed)) => {
                    self.closed.extend(closed.iter().map(|it| it.session_id.clone()));
                    self.version = newest_version(
                        closed.iter().filter_map(|it| it.runtime_version.clone()).chain(self.version.take()),
                    );
                    Step::Closed(closed)
                }
                Some(step) => step,
                None => self.finish(),
            },
            State::Done => Step::Done(Parsed::default()),
        }
    }

    fn start(&mut self) -> Step<'a> {
        self.state = match self.claims.first() {
            Some((adapter, _)) => State::Reading(Reading {
                adapter,
                records: self.record_loop(adapter, LineSource::Log(Lines::new(self.log)), self.large),
                is_decided: false,
            }),
            None => State::Counting { read: 0, newlines: 0 },
        };
        self.step()
    }

    fn record_loop(&self, adapter: &Adapter, lines: LineSource<'a>, large: usize) -> Box<dyn RecordLoop<'a> + 'a> {
        let context = Context::new(adapter, &self.path, self.content);
        let input = LoopInput { lines, large, keep_open: self.keep_open.clone() };
        match self.formats.iter().find(|format| std::ptr::eq(&raw const format.adapter, adapter)) {
            Some(format) => described::start(&context, input, std::slice::from_ref(&format.description)),
            None => (adapter.parse)(&context, input),
        }
    }

    /// Counts the lines of the next part of a log that no format claims.
    fn count(&mut self) -> Step<'a> {
        let State::Counting { read, newlines } = &mut self.state else { return Step::Done(Parsed::default()) };
        let rest = self.log.get(*read..).unwrap_or_default();
        if rest.is_empty() {
            let has_last_line = self.log.last().is_some_and(|byte| *byte != b'\n');
            let lines = i64::try_from(*newlines + usize::from(has_last_line)).unwrap_or(i64::MAX);
            self.state = State::Done;
            return Step::Done(Parsed { health: Health { lines, ..Health::default() }, ..Parsed::default() });
        }
        let part = rest.get(..COUNT_STEP).unwrap_or(rest);
        *newlines += memchr::memchr_iter(b'\n', part).count();
        *read += part.len();
        Step::Progress(*read)
    }

    fn finish(&mut self) -> Step<'a> {
        let State::Reading(reading) = mem::replace(&mut self.state, State::Done) else {
            return Step::Done(Parsed::default());
        };
        match reading.records.finish() {
            Ok(folded) => Step::Done(self.with_other_formats(reading.adapter, folded)),
            // Each restart knows more ids, and there are as many restarts at most as there are sessions. In bytes that do not
            // change meanwhile, one is enough.
            Err(ids) => {
                self.keep_open.extend(ids);
                self.closed.clear();
                self.state = State::New;
                Step::Restart
            }
        }
    }

    /// Adds the sessions of other formats: recordings of several runtimes may have been appended to one file, and the records
    /// that one format does not know are another's.
    fn with_other_formats(&self, adapter: &'static Adapter, folded: Folded<'a>) -> Parsed {
        let Folded { mut sessions, unknown: mut unread, mut counted, mut health } = folded;
        let mut runtimes = vec![adapter.runtime];
        while let Some(other) = detect_another(&unread, &runtimes, self.formats) {
            let kept = i64::try_from(unread.len()).unwrap_or(i64::MAX);
            let lines = LineSource::Unknown(unread.into_iter());
            // It closes no session early, so it cannot be wrong about one.
            let mut records = self.record_loop(other, lines, usize::MAX);
            while records.step().is_some() {}
            let more = records.finish().unwrap_or_default();
            // Some unknown records may not have been kept.
            let mut losses = more.health;
            health.unknown_records -= kept - losses.unknown_records;
            for unknown in mem::take(&mut losses.unknown_types) {
                unknown::add(&mut health.unknown_types, unknown);
            }
            health.add_losses(losses);
            sessions.extend(more.sessions);
            counted.extend(more.counted);
            unread = more.unknown;
            runtimes.push(other.runtime);
        }
        for line in &unread {
            unknown::add(&mut health.unknown_types, unknown_type(*line));
        }
        mark_sessions(&mut sessions, &unread, &counted, Some(&self.closed));
        if !health.unknown_types.is_empty() {
            let versions = sessions.iter().filter_map(|session| session.runtime_version.clone());
            health.runtime_version = newest_version(versions.chain(self.version.clone()));
        }
        Parsed { format: Some(adapter.id), runtime: Some(adapter.runtime), sessions, health }
    }
}

impl<'a> Reading<'a> {
    /// Folds the next records; `None` if there are none.
    fn step(&mut self, log: &[u8], formats: &'static [UserFormat]) -> Option<Step<'a>> {
        let mut closed = self.records.take_closed();
        if !closed.is_empty() {
            mark_sessions(&mut closed, self.records.unknown(), self.records.counted(), None);
            return Some(Step::Closed(closed));
        }
        if let Some(parse_ahead) = self.records.parse_ahead() {
            return Some(Step::Large(parse_ahead));
        }
        let line = self.records.step()?;
        if !self.is_decided && self.records.unknown().len() >= UNDECIDED {
            self.is_decided = true;
            let unknown = self.records.unknown().get(..UNDECIDED).unwrap_or_default();
            if detect_another(unknown, &[self.adapter.runtime], formats).is_none() {
                self.records.keep_unknown(UNDECIDED);
            }
        }
        Some(Step::Progress(line.bytes.as_ptr_range().end.addr().saturating_sub(log.as_ptr().addr())))
    }
}

/// Reads a log in one pass.
pub fn parse(log: &[u8], hints: Hints<'_>, content: Retention) -> Parsed {
    Driver::new(log, hints, content).parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log's records that another format claims are kept; of those that no format claims only as many as decide that.
    #[test]
    fn records_of_no_format_take_no_memory_for_each() {
        let start = "{\"type\":\"thread.started\",\"thread_id\":\"th1\"}\n";
        let turn = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":3,\"cached_input_tokens\":0,\"output_tokens\":5}}\n";
        let pi = include_str!("../../sample-logs/pi-json/edit-with-diff.jsonl");
        let count = UNDECIDED + 10_000;
        let none = "{}\n".repeat(count);
        let records = i64::try_from(count).unwrap();
        let read = |text: &str| {
            let mut driver = Driver::new(text.as_bytes(), Hints::default(), Retention::None).with_large(usize::MAX);
            let mut kept = 0;
            let parsed = loop {
                if let State::Reading(reading) = &driver.state {
                    kept = reading.records.unknown().len();
                }
                if let Step::Done(parsed) = driver.step() {
                    break parsed;
                }
            };
            (kept, parsed.health.unknown_records, parsed.sessions.len())
        };
        assert_eq!(read(&format!("{start}{turn}{none}{turn}")), (UNDECIDED, records, 1));
        let (kept, unknown, sessions) = read(&format!("{start}{turn}{pi}{none}"));
        assert!(kept > count && unknown >= records);
        assert_eq!(sessions, 2);
    }
}
