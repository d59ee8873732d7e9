//! What an adapter is, what it sees of a log, and what it returns.

use foldhash::{HashSet, HashSetExt as _};
use serde::Deserialize;

use super::file_id;
use super::probe::Probe;
use super::unknown::{contents_of, named_type, type_of};
use crate::json::fields::Count;
use crate::json::lines::{Line, Lines};
use crate::json::{self, Raw};
use crate::model::health::{Health, Reason};
use crate::model::places::Place;
use crate::model::retention::Retention;
use crate::model::session::{Capabilities, SessionResult};
use crate::model::unknown::{self, Contents, UnknownType};

/// One format.
#[derive(Debug)]
pub struct Adapter {
    /// The format's id: the `format` column, and the directory of its samples.
    pub id: &'static str,
    /// The agent program that writes the format.
    pub runtime: &'static str,
    /// A description for people.
    pub about: &'static str,
    /// What the format can show at all.
    pub capabilities: Capabilities,
    /// The newest version of the runtime whose logs the adapter was tested with; `None` if the logs state no version.
    pub tested: Option<&'static str>,
    /// Where the runtime keeps logs of this format; empty for formats that a user records.
    pub places: &'static [Place],
    /// How surely a record is of this format; 0 if it is not. A word that no other format uses weighs more.
    pub claims: fn(&Probe<'_>) -> u32,
    /// Starts the format's record loop: [`fold`](super::record_loop::fold) with the adapter's [`Fold`].
    pub(crate) parse: Start,
}

/// Starts a record loop.
pub(crate) type Start = for<'a> fn(&Context, LoopInput<'a>) -> Box<dyn RecordLoop<'a> + 'a>;

/// The state of one adapter while it reads one log.
pub trait Fold: Send + 'static {
    /// A record, which borrows the line.
    type Record<'a>: Deserialize<'a> + Send;

    /// The state before the first record.
    fn new(context: &Context) -> Self;

    /// Parses one record and folds it. Formats whose records are large to move override it. It does the same as [`Self::record`] of the
    /// parsed line: of a large log, another thread parses the records, and only `record` is called.
    ///
    /// # Errors
    /// When the line is not an object.
    fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> Result<RecordKind, json::Error> {
        json::from_slice(line.bytes).map(|record| self.record(line, record, damage))
    }

    /// Folds one record into the sessions. What cannot be used of it is noted in `damage`.
    fn record(&mut self, line: Line<'_>, record: Self::Record<'_>, damage: &mut RecordErrors) -> RecordKind;

    /// Closes and returns the sessions without a record since `line`, except those whose ids are in `keep_open`. A format whose
    /// logs contain one session each returns none.
    fn close_idle(&mut self, line: i64, keep_open: &HashSet<String>) -> Vec<SessionResult> {
        let _ = (line, keep_open);
        Vec::new()
    }

    /// The ids of sessions that had another record after [`Self::close_idle`] closed them: the results are wrong, and the log has
    /// to be read again with these ids in `keep_open`.
    fn closed_too_early(&self) -> HashSet<String> {
        HashSet::new()
    }

    /// The remaining sessions, in the order of their first records.
    fn finish(self) -> Vec<SessionResult>;
}

/// What an adapter may use besides the records.
#[derive(Debug, Clone)]
pub struct Context {
    /// The `runtime` column.
    pub runtime: &'static str,
    /// The `format` column.
    pub format: &'static str,
    /// What the format can show.
    pub capabilities: Capabilities,
    /// How much of the conversation is kept.
    pub content: Retention,
    /// The session's id in the name of the file, for logs without one in their records.
    pub file_id: Option<String>,
    /// The name of the file, for runtimes that name a session by it.
    pub file_name: Option<String>,
    /// The session's id in the name of the file's directory, for logs that have the same name in each session.
    pub directory_id: Option<String>,
    /// The name of the agent's directory, below that of the session.
    pub agent_id: Option<String>,
    /// The name of the archive that contains the log.
    pub archive_name: Option<String>,
    /// The names of the directories that contain the log, the innermost first, and no more than four.
    pub directories: Vec<String>,
}

impl Context {
    /// The context of a log at `path`.
    pub(crate) fn new(adapter: &Adapter, path: &str, content: Retention) -> Self {
        Self {
            runtime: adapter.runtime,
            format: adapter.id,
            capabilities: adapter.capabilities,
            content,
            file_id: file_id::id_of(path),
            file_name: file_id::name_of(path),
            directory_id: file_id::directory_id_of(path),
            agent_id: file_id::agent_id_of(path),
            archive_name: file_id::archive_name_of(path),
            directories: file_id::directories_of(path),
        }
    }
}

/// What is known of a log besides its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints<'a> {
    /// The runtime, from a flag or a sidecar. It decides among the formats that claim the log.
    pub runtime: Option<&'a str>,
    /// The file's path. It is only a label: nothing is read there.
    pub path: &'a str,
}

/// The sessions of a log, and the damage that was counted.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The id of the adapter that read it; `None` if no adapter claims it.
    pub format: Option<&'static str>,
    /// The runtime of that adapter.
    pub runtime: Option<&'static str>,
    /// The sessions, in the order of their first records.
    pub sessions: Vec<SessionResult>,
    /// Counts of lines, records and rejects.
    pub health: Health,
}

/// Whether the adapter knows a record's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// It does, whether or not it uses the record.
    Known,
    /// It does not. Such records are counted, and are not damage.
    Unknown,
}

/// The parts of one record that could not be used.
#[derive(Debug, Default)]
pub struct RecordErrors {
    reasons: Vec<Reason>,
    /// See [`Self::unknown_part`].
    parts: Vec<UnknownType>,
}

impl RecordErrors {
    /// Notes a loss, once per record and reason.
    pub fn note(&mut self, reason: Reason) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// Notes a part of a known record whose own type the adapter does not know, such as an item of a list. `what` is its place.
    pub fn unknown_part(&mut self, what: &str, part: Raw<'_>) {
        self.add_part(what, part, contents_of(part.0));
    }

    /// As [`Self::unknown_part`], only if the part contains token counts or costs. For parts with many types, of which no known one has
    /// counts of its own.
    pub fn unread_counts(&mut self, what: &str, part: Raw<'_>) {
        let contents = contents_of(part.0);
        if contents.has_counts {
            self.add_part(what, part, contents);
        }
    }

    /// As [`Self::unread_counts`], for a message of a role that the format does not know. The message is or is in `part`.
    pub fn unread_role(&mut self, role: &str, part: Raw<'_>) {
        let contents = contents_of(part.0);
        if contents.has_counts {
            self.push_part(named_type(&["message", role]), contents);
        }
    }

    fn add_part(&mut self, what: &str, part: Raw<'_>, contents: Contents) {
        self.push_part(named_type(&[what, &type_of(part.0)]), contents);
    }

    fn push_part(&mut self, name: String, contents: Contents) {
        self.parts.push(UnknownType { name, records: 1, first_line: 0, contents });
    }

    /// Whether one of the counts is an impossible number; then that is noted.
    pub fn note_impossible(&mut self, counts: &[Count]) -> bool {
        let is_bad = counts.contains(&Count::Impossible);
        if is_bad {
            self.note(Reason::BadNumber);
        }
        is_bad
    }

    /// Moves what was noted into `health`, with `line` as the example. Returns whether an unknown part contains counts.
    #[inline]
    pub(crate) fn move_to(&mut self, health: &mut Health, line: Line<'_>) -> bool {
        self.reasons.drain(..).for_each(|reason| health.reject(reason, line.number, line.bytes));
        if self.parts.is_empty() { false } else { self.move_parts_to(health, line.number) }
    }

    #[cold]
    fn move_parts_to(&mut self, health: &mut Health, line: i64) -> bool {
        let mut has_counts = false;
        for part in self.parts.drain(..) {
            has_counts |= part.contents.has_counts;
            unknown::add(&mut health.unknown_types, UnknownType { first_line: line, ..part });
        }
        has_counts
    }
}

/// The lines that a record loop reads.
#[derive(Clone)]
pub(crate) enum LineSource<'a> {
    /// All lines of a log.
    Log(Lines<'a>),
    /// The records of a log that another format did not know.
    Unknown(std::vec::IntoIter<Line<'a>>),
}

impl<'a> Iterator for LineSource<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        match self {
            Self::Log(lines) => lines.next(),
            Self::Unknown(lines) => lines.next(),
        }
    }
}

/// What a record loop reads, and how.
pub(crate) struct LoopInput<'a> {
    pub lines: LineSource<'a>,
    /// See [`Driver::with_large`](crate::adapters::Driver::with_large).
    pub large: usize,
    /// The ids of sessions that an earlier pass closed too early: see [`Fold::closed_too_early`].
    pub keep_open: HashSet<String>,
}

/// One format's record loop over one log, in steps.
pub(crate) trait RecordLoop<'a> {
    /// Folds the next records, some hundred kilobytes of them. Returns the last one; `None` at the end.
    fn step(&mut self) -> Option<Line<'a>>;

    /// If the log has become large: a function that parses the rest of its records, to be run by another thread.
    fn parse_ahead(&mut self) -> Option<Box<dyn FnOnce() + Send + 'a>>;

    /// Returns the sessions that were closed since the last call.
    fn take_closed(&mut self) -> Vec<SessionResult>;

    /// The records so far that the format does not know.
    fn unknown(&self) -> &[Line<'a>];

    /// See [`Folded::counted`].
    fn counted(&self) -> &[Line<'a>];

    /// Keeps only so many records that the format does not know, now and later.
    fn keep_unknown(&mut self, count: usize);

    /// Returns the sessions that are left, and the unknown records.
    ///
    /// # Errors
    /// The ids of sessions that were closed too early: see [`Fold::closed_too_early`].
    fn finish(self: Box<Self>) -> Result<Folded<'a>, HashSet<String>>;
}

/// The result of a record loop.
#[derive(Default)]
pub(crate) struct Folded<'a> {
    pub sessions: Vec<SessionResult>,
    pub unknown: Vec<Line<'a>>,
    /// Records with counts that were not read: known ones with an unknown part, and unknown ones that are not kept.
    pub counted: Vec<Line<'a>>,
    pub health: Health,
}
