//! The record loop: lines to records to sessions, with a count of what is lost. It is compiled once for each format.

use std::mem;
use std::sync::mpsc::{self, Receiver};

use foldhash::HashSet;

use super::api::{Context, Fold, Folded, LineSource, LoopInput, RecordErrors, RecordKind, RecordLoop};
use super::unknown::{may_be_record, unknown_type};
use crate::base::log_prefix::{begins_object, without_prefix};
use crate::json;
use crate::json::lines::Line;
use crate::json::parts::parts;
use crate::model::health::{Health, Reason};
use crate::model::session::SessionResult;
use crate::model::unknown;

/// A longer line is not a record. Real records reach some 30 MB, with images.
const MAX_LINE: usize = 1 << 30;

/// The bytes of one step, so that the caller finds them in the processor's cache.
const STEP: usize = 1 << 18;

/// The bytes of a batch that is parsed ahead, and its most lines: a record takes more memory than a short line.
const BATCH: usize = 1 << 20;

const BATCH_LINES: usize = 1 << 10;

/// The most records with counts that were not read, whose sessions are searched.
const MOST_COUNTED: usize = 1 << 16;

/// Starts the record loop of the format whose state is `F`.
pub(crate) fn fold<'a, F: Fold>(context: &Context, input: LoopInput<'a>) -> Box<dyn RecordLoop<'a> + 'a> {
    fold_from(F::new(context), input)
}

/// As [`fold`], from this state.
pub(crate) fn fold_from<'a, F: Fold>(state: F, input: LoopInput<'a>) -> Box<dyn RecordLoop<'a> + 'a> {
    let LoopInput { lines, large, keep_open } = input;
    let state = FoldState {
        fold: state,
        health: Health::default(),
        damage: RecordErrors::default(),
        unknown: Vec::new(),
        max_unknown: usize::MAX,
        counted: Vec::new(),
        previous: &[],
        large,
        is_large: false,
        bytes: 0,
        idle_since: 0,
        keep_open,
        closed: Vec::new(),
    };
    Box::new(Loop::<F> { lines, ahead: None, state })
}

/// A line, and the record that was parsed from it.
type Parsed<'a, F> = (Line<'a>, Result<<F as Fold>::Record<'a>, json::Error>);

/// Records that another thread parsed.
struct Batch<'a, F: Fold> {
    records: Vec<Parsed<'a, F>>,
    /// The lines after them.
    rest: LineSource<'a>,
}

struct Loop<'a, F: Fold> {
    /// The lines after the records that were folded.
    lines: LineSource<'a>,
    /// The records of a large log, if they are parsed ahead.
    ahead: Option<Receiver<Batch<'a, F>>>,
    state: FoldState<'a, F>,
}

impl<'a, F: Fold> RecordLoop<'a> for Loop<'a, F> {
    fn step(&mut self) -> Option<Line<'a>> {
        match self.ahead.as_ref().map(Receiver::recv) {
            Some(Ok(batch)) => {
                self.lines = batch.rest;
                self.fold_parsed(batch.records)
            }
            // It was never run, or is at the end of the log: then there are no lines.
            Some(Err(_)) | None => self.parse_and_fold(),
        }
    }

    fn parse_ahead(&mut self) -> Option<Box<dyn FnOnce() + Send + 'a>> {
        if !self.state.is_large || self.ahead.is_some() || rayon::current_num_threads() == 1 {
            return None;
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        self.ahead = Some(receiver);
        let mut lines = self.lines.clone();
        Some(Box::new(move || {
            while let Some(batch) = parse_batch::<F>(&mut lines)
                && sender.send(batch).is_ok()
            {}
        }))
    }

    fn take_closed(&mut self) -> Vec<SessionResult> {
        mem::take(&mut self.state.closed)
    }

    fn unknown(&self) -> &[Line<'a>] {
        &self.state.unknown
    }

    fn counted(&self) -> &[Line<'a>] {
        &self.state.counted
    }

    fn keep_unknown(&mut self, count: usize) {
        let state = &mut self.state;
        let others = state.unknown.split_off(count.min(state.unknown.len()));
        for line in others {
            state.count_unknown(line);
        }
        state.max_unknown = count;
    }

    fn finish(self: Box<Self>) -> Result<Folded<'a>, HashSet<String>> {
        let FoldState { fold: state, mut health, unknown, counted, .. } = self.state;
        let ids = state.closed_too_early();
        if !ids.is_empty() {
            return Err(ids);
        }
        if let LineSource::Log(lines) = &self.lines {
            health.lines = lines.count_all();
        }
        Ok(Folded { sessions: state.finish(), unknown, counted, health })
    }
}

impl<'a, F: Fold> Loop<'a, F> {
    fn parse_and_fold(&mut self) -> Option<Line<'a>> {
        let (mut last, mut bytes) = (None, 0);
        while bytes < STEP.min(self.state.large)
            && let Some(line) = self.lines.next()
        {
            bytes += line.bytes.len();
            last = Some(line);
            self.state.add(line, |state, damage| check(line.bytes).and_then(|()| state.line(line, damage)));
        }
        last
    }

    fn fold_parsed(&mut self, records: Vec<Parsed<'a, F>>) -> Option<Line<'a>> {
        let last = records.last().map(|(line, _)| *line);
        for (line, record) in records {
            self.state.add(line, |state, damage| record.map(|record| state.record(line, record, damage)));
        }
        last
    }
}

/// Parses the next records; `None` at the end.
fn parse_batch<'a, F: Fold>(lines: &mut LineSource<'a>) -> Option<Batch<'a, F>> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    while bytes < BATCH
        && records.len() < BATCH_LINES
        && let Some(line) = lines.next()
    {
        bytes += line.bytes.len();
        records.push((line, check(line.bytes).and_then(|()| json::from_slice(line.bytes))));
    }
    (!records.is_empty()).then(|| Batch { records, rest: lines.clone() })
}

/// The state of the loop without its lines.
struct FoldState<'a, F> {
    fold: F,
    health: Health,
    /// Of the record that is being folded.
    damage: RecordErrors,
    unknown: Vec<Line<'a>>,
    max_unknown: usize,
    /// See [`Folded::counted`].
    counted: Vec<Line<'a>>,
    /// The text of the line before.
    previous: &'a [u8],
    /// See [`Driver::with_large`](crate::adapters::Driver::with_large).
    large: usize,
    /// Whether more bytes than that were read.
    is_large: bool,
    /// Bytes since idle sessions were last closed.
    bytes: usize,
    /// The line up to which sessions were open then.
    idle_since: i64,
    keep_open: HashSet<String>,
    closed: Vec<SessionResult>,
}

impl<'a, F: Fold> FoldState<'a, F> {
    /// Counts a line, and folds its record by `fold`.
    #[inline]
    fn add(&mut self, line: Line<'a>, fold: impl FnOnce(&mut F, &mut RecordErrors) -> Result<RecordKind, json::Error>) {
        self.bytes += line.bytes.len();
        if self.bytes >= self.large {
            self.close_idle(line.number);
        }
        match fold(&mut self.fold, &mut self.damage) {
            Ok(seen) => self.add_record(line, seen),
            Err(error) => self.add_damaged(line, error),
        }
        self.previous = line.bytes;
    }

    /// Adds the records of a line that is not one record: the end of the line between them was lost.
    #[cold]
    fn add_damaged(&mut self, line: Line<'a>, error: json::Error) {
        if line.bytes.len() > MAX_LINE {
            return self.add_rejected(line, error);
        }
        for bytes in parts(line.bytes) {
            if bytes.len() == line.bytes.len() {
                return self.add_rejected(line, error);
            }
            self.add_part(Line { bytes, ..line });
        }
    }

    fn add_part(&mut self, line: Line<'a>) {
        match check(line.bytes).and_then(|()| self.fold.line(line, &mut self.damage)) {
            Ok(seen) => self.add_record(line, seen),
            Err(error) => self.add_rejected(line, error),
        }
    }

    fn add_record(&mut self, line: Line<'a>, seen: RecordKind) {
        self.health.records += 1;
        if seen == RecordKind::Unknown {
            self.add_unknown(line);
        }
        if self.damage.move_to(&mut self.health, line) {
            self.add_counted(line);
        }
    }

    /// Counts a line that is not a record. One that contains a record after a time or a level may have counts, or begin a session, unless
    /// the record is that of the line before.
    #[cold]
    fn add_rejected(&mut self, line: Line<'a>, error: json::Error) {
        self.health.reject(reason(line.bytes, error), line.number, line.bytes);
        let is_record =
            |rest: &&[u8]| begins_object(rest) && json::value_end(rest, 0) == Ok(rest.len()) && may_be_record(rest);
        let record = without_prefix(line.bytes).map(<[u8]>::trim_ascii).filter(is_record);
        if let Some(bytes) = record.filter(|record| *record != self.previous.trim_ascii()) {
            self.add_counted(Line { bytes, ..line });
        }
    }

    /// Keeps an unknown record, as it may be of another format. After the most that are kept, they are only counted.
    #[cold]
    fn add_unknown(&mut self, line: Line<'a>) {
        self.health.unknown_records += 1;
        if self.unknown.len() < self.max_unknown {
            self.unknown.push(line);
        } else {
            self.count_unknown(line);
        }
    }

    /// Counts an unknown record by its type.
    fn count_unknown(&mut self, line: Line<'a>) {
        let unknown = unknown_type(line);
        if unknown.contents.has_counts {
            self.add_counted(line);
        }
        unknown::add(&mut self.health.unknown_types, unknown);
    }

    fn add_counted(&mut self, line: Line<'a>) {
        if self.counted.len() < MOST_COUNTED {
            self.counted.push(line);
        }
    }

    /// Closes the sessions without a record in the last `large` bytes.
    #[cold]
    fn close_idle(&mut self, line: i64) {
        self.closed.extend(self.fold.close_idle(self.idle_since, &self.keep_open));
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
