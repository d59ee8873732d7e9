//! The record loop: lines to records to sessions, with a count of what is lost. It is compiled once for each format.

use std::{mem, panic, thread};

use foldhash::HashSet;

use super::api::{Context, Damage, Fold, Folded, LineSource, LoopInput, RecordLoop, Seen};
use crate::json;
use crate::json::lines::Line;
use crate::model::health::{Health, Reason};
use crate::model::session::SessionResult;

/// A longer line is not a record. Real records reach some 30 MB, with images.
const MAX_LINE: usize = 1 << 30;

/// The bytes of one step, so that the caller finds them in the processor's cache.
const STEP: usize = 1 << 18;

/// The bytes of one step of a large log, and its most lines: a record takes more memory than a short line.
const LARGE_STEP: usize = 1 << 22;
const LARGE_STEP_LINES: usize = 1 << 13;

/// Starts the record loop of the format whose state is `F`.
pub(crate) fn fold<'a, F: Fold>(context: &Context, input: LoopInput<'a>) -> Box<dyn RecordLoop<'a> + 'a> {
    let LoopInput { lines, large, go_on } = input;
    let folder = Folder {
        state: F::new(context),
        health: Health::default(),
        damage: Damage::default(),
        unknown: Vec::new(),
        max_unknown: usize::MAX,
        large,
        is_large: false,
        bytes: 0,
        idle_since: 0,
        go_on,
        closed: Vec::new(),
    };
    Box::new(Loop::<F> { lines, ahead: Vec::new(), folder })
}

/// A line, and the record that was parsed from it.
type Parsed<'a, F> = (Line<'a>, Result<<F as Fold>::Record<'a>, json::Error>);

struct Loop<'a, F: Fold> {
    lines: LineSource<'a>,
    /// Records of a large log that are parsed and not yet folded.
    ahead: Vec<Parsed<'a, F>>,
    folder: Folder<'a, F>,
}

impl<'a, F: Fold> RecordLoop<'a> for Loop<'a, F> {
    fn step(&mut self) -> Option<Line<'a>> {
        if self.folder.is_large && rayon::current_num_threads() > 1 {
            self.step_in_two_threads()
        } else {
            self.step_in_one_thread()
        }
    }

    fn take_closed(&mut self) -> Vec<SessionResult> {
        mem::take(&mut self.folder.closed)
    }

    fn unknown(&self) -> &[Line<'a>] {
        &self.folder.unknown
    }

    fn keep_unknown(&mut self, count: usize) {
        self.folder.unknown.truncate(count);
        self.folder.max_unknown = count;
    }

    fn finish(self: Box<Self>) -> Result<Folded<'a>, HashSet<String>> {
        let Folder { state, mut health, unknown, .. } = self.folder;
        let late = state.late();
        if !late.is_empty() {
            return Err(late);
        }
        if let LineSource::Log(lines) = &self.lines {
            health.lines = lines.count_all();
        }
        Ok(Folded { sessions: state.finish(), unknown, health })
    }
}

impl<'a, F: Fold> Loop<'a, F> {
    fn step_in_one_thread(&mut self) -> Option<Line<'a>> {
        let (mut last, mut bytes) = (None, 0);
        while bytes < STEP.min(self.folder.large)
            && let Some(line) = self.lines.next()
        {
            bytes += line.bytes.len();
            last = Some(line);
            self.folder.add(line, |state, damage| check(line.bytes).and_then(|()| state.line(line, damage)));
        }
        last
    }

    /// Folds the records that are parsed while another thread parses the next ones. That makes the reading of a file of more
    /// than 64 MiB some 1.3 times as fast.
    ///
    /// The thread is not one of rayon's: while such a thread waits, it begins with another file, and this one stays half read.
    fn step_in_two_threads(&mut self) -> Option<Line<'a>> {
        let Self { lines, ahead, folder } = self;
        let records = if ahead.is_empty() { parse_ahead::<F>(lines) } else { mem::take(ahead) };
        let last = records.last().map(|(line, _)| *line)?;
        let next = thread::scope(|scope| {
            let parser = thread::Builder::new().spawn_scoped(scope, || parse_ahead::<F>(lines));
            for (line, record) in records {
                folder.add(line, |state, damage| record.map(|record| state.record(line, record, damage)));
            }
            parser.map(|parser| parser.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)))
        });
        // Where no thread can be started, the next step parses them.
        self.ahead = next.unwrap_or_default();
        Some(last)
    }
}

/// Parses the records of one large step.
fn parse_ahead<'a, F: Fold>(lines: &mut LineSource<'a>) -> Vec<Parsed<'a, F>> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    while bytes < LARGE_STEP
        && records.len() < LARGE_STEP_LINES
        && let Some(line) = lines.next()
    {
        bytes += line.bytes.len();
        records.push((line, check(line.bytes).and_then(|()| F::read(line.bytes))));
    }
    records
}

/// The state of the loop without its lines.
struct Folder<'a, F> {
    state: F,
    health: Health,
    /// Of the record that is being folded.
    damage: Damage,
    unknown: Vec<Line<'a>>,
    max_unknown: usize,
    /// See [`Driver::with_large`](super::driver::Driver::with_large).
    large: usize,
    /// Whether more bytes than that were read.
    is_large: bool,
    /// Bytes since idle sessions were last closed.
    bytes: usize,
    /// The line up to which sessions were open then.
    idle_since: i64,
    go_on: HashSet<String>,
    closed: Vec<SessionResult>,
}

impl<'a, F: Fold> Folder<'a, F> {
    /// Counts a line, and folds its record by `fold`.
    #[inline]
    fn add(&mut self, line: Line<'a>, fold: impl FnOnce(&mut F, &mut Damage) -> Result<Seen, json::Error>) {
        self.bytes += line.bytes.len();
        if self.bytes >= self.large {
            self.close_idle(line.number);
        }
        match fold(&mut self.state, &mut self.damage) {
            Ok(seen) => {
                self.health.records += 1;
                if seen == Seen::Unknown {
                    self.health.unknown_records += 1;
                    if self.unknown.len() < self.max_unknown {
                        self.unknown.push(line);
                    }
                }
                self.damage.move_to(&mut self.health, line);
            }
            Err(error) => self.health.reject(reason(line.bytes, error), line.number, line.bytes),
        }
    }

    /// Closes the sessions without a record in the last `large` bytes.
    #[cold]
    fn close_idle(&mut self, line: i64) {
        self.closed.extend(self.state.idle(self.idle_since, &self.go_on));
        (self.is_large, self.bytes, self.idle_since) = (true, 0, line);
    }
}

/// Whether a line may be a record.
fn check(bytes: &[u8]) -> Result<(), json::Error> {
    if bytes.starts_with(b"{") && bytes.len() <= MAX_LINE { Ok(()) } else { Err(json::Error::Refused) }
}

/// Why a line is not a record.
fn reason(bytes: &[u8], error: json::Error) -> Reason {
    match error {
        _ if !bytes.starts_with(b"{") => {
            let is_json = json::value_end(bytes, 0) == Ok(bytes.len());
            if is_json { Reason::NotAnObject } else { Reason::NotJson }
        }
        _ if bytes.len() > MAX_LINE => Reason::TooLong,
        json::Error::CutShort => Reason::CutShort,
        json::Error::TooDeep => Reason::TooDeep,
        json::Error::NotJson(_) | json::Error::Refused | json::Error::Repeated => Reason::NotJson,
    }
}
