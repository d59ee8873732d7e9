//! The formats: one file each, one line each in [`ADAPTERS`], one record loop for all.
//!
//! An adapter does no I/O and knows neither clock nor environment. It says of a record whether it is one of its own
//! ([`Adapter::claims`]) and folds typed records into [`SessionResult`]s ([`Fold`]). Parsing never fails: what cannot be
//! used is counted in [`Health`].
//!
//! To add a format: write its file, add its line to the table, a sample under `sample-logs/`, and accept the snapshot.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;

use foldhash::{HashSet, HashSetExt as _};
use serde::Deserialize;

use crate::adapters::common::builder::Content;
use crate::json::lines::{self, Line, Lines};
use crate::json::wire::{Count, Pairs};
use crate::json::{self, Raw};
use crate::model::health::{Health, Reason};
use crate::model::session::{SessionResult, Shows, Tokens};
use crate::model::sqlite_schema::Table;

mod amp_thread;
mod atif;
mod claude;
mod claude_stream_json;
mod claude_transcript;
mod cline_task;
mod codex;
mod codex_exec;
mod codex_exec_legacy;
mod codex_rollout;
pub mod common;
mod copilot_events;
mod cursor_stream_json;
mod document;
mod droid_session;
mod drover_events;
mod gemini_chat;
mod gemini_json;
mod goose;
mod kimi_wire;
mod mini_swe_agent;
mod openclaw_events;
mod openclaw_trajectory;
mod opencode;
mod opencode_db;
mod opencode_export;
mod opencode_run;
mod opencode_storage;
mod pi;
mod pi_json;
mod pi_session;
mod pi_subagent;
mod qwen_chat;
mod sessions;
mod zag_json;
mod zag_log;

/// One format.
#[derive(Debug)]
pub struct Adapter {
    /// The format's id: the `format` column, and the folder of its samples.
    pub id: &'static str,
    /// The agent program that writes it.
    pub runtime: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// What it can show at all.
    pub shows: Shows,
    /// How surely a record is one of this format: 0 if it is not. A word that no other format has weighs more.
    pub claims: fn(&Probe<'_>) -> u32,
    /// The fold over its records.
    parse: Parse,
}

/// All formats. On equal claims the first wins.
pub static ADAPTERS: &[Adapter] = &[
    amp_thread::ADAPTER,
    atif::ADAPTER,
    claude_stream_json::JSON,
    claude_stream_json::STREAM,
    claude_transcript::ADAPTER,
    cline_task::CLINE,
    cline_task::ROO,
    cline_task::KILO,
    codex_exec::ADAPTER,
    codex_exec_legacy::ADAPTER,
    codex_rollout::ADAPTER,
    copilot_events::ADAPTER,
    cursor_stream_json::ADAPTER,
    droid_session::ADAPTER,
    drover_events::ADAPTER,
    gemini_chat::ADAPTER,
    gemini_json::JSON,
    gemini_json::STREAM,
    goose::DATABASE,
    goose::SESSION,
    kimi_wire::ADAPTER,
    mini_swe_agent::ADAPTER,
    openclaw_events::ADAPTER,
    pi_session::OPENCLAW,
    openclaw_trajectory::ADAPTER,
    opencode_db::ADAPTER,
    opencode_export::ADAPTER,
    opencode_run::ADAPTER,
    opencode_storage::ADAPTER,
    pi_json::ADAPTER,
    pi_session::PI,
    pi_subagent::ADAPTER,
    qwen_chat::ADAPTER,
    gemini_chat::QWEN,
    zag_json::JSON,
    zag_json::STREAM,
    zag_log::ADAPTER,
];

/// The tables that formats are kept in, where the runtime writes a database.
pub static TABLES: &[Table] = &[goose::SESSIONS, opencode_db::SESSION, opencode_db::SESSION_2];

/// [`fold`] for one format.
type Parse = for<'a> fn(
    &Context,
    &mut (dyn Iterator<Item = Line<'a>> + Send),
    &mut Health,
    Option<&mut (dyn Listener + '_)>,
    &HashSet<String>,
) -> Result<Folded<'a>, HashSet<String>>;

/// The sessions of a log, and the lines that its format does not know.
type Folded<'a> = (Vec<SessionResult>, Vec<Line<'a>>);

/// Who follows the reading of a log.
pub trait Listener: Send {
    /// All before this line was read. Told now and then.
    fn passed(&mut self, line: &[u8]) {
        let _ = line;
    }

    /// Takes sessions of which nothing more is to come, so that those of a large log need not stay in memory.
    fn over(&mut self, sessions: Vec<SessionResult>);

    /// One of them was not over: the log is read once more, and all of them are to come again.
    fn again(&mut self);

    /// With more bytes than these a log is large: sessions that were silent for as many are taken for being over, and what
    /// follows is read by several threads.
    fn large(&self) -> usize {
        1 << 26
    }
}

/// What an adapter may know besides the records.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// The `runtime` column.
    pub runtime: &'static str,
    /// The `format` column.
    pub format: &'static str,
    /// What the format can show.
    pub shows: Shows,
    /// How much of the conversation is kept.
    pub content: Content,
    /// The session's id in the name of the file, for logs that do not name themselves.
    pub file_id: Option<FileId>,
    /// The name of the file, for runtimes that name a session by it.
    pub file_name: Option<FileName>,
    /// The session's id in the name of the file's folder, for logs that bear the same name in each session.
    pub folder_id: Option<FileId>,
    /// The name of the agent whose folder it is, below that of the session.
    pub agent_id: Option<FileId>,
}

/// The name of a file without its endings, if it is no longer than names of sessions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileName([u8; 64], usize);

impl FileName {
    /// The name in a path.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next()?.split('.').next().filter(|it| !it.is_empty())?;
        let mut bytes = [0; 64];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        Some(Self(bytes, name.len()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        self.0.get(..self.1).and_then(|it| std::str::from_utf8(it).ok()).unwrap_or_default()
    }
}

/// An id in the name of a file or a folder. Of a session: a UUID, or the milliseconds since 1970. Other names repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    bytes: [u8; 36],
    length: usize,
}

impl FileId {
    /// The last UUID in the name of a file: runtimes put the session's id there.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let is_uuid = |it: &&[u8]| {
            it.iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
        };
        Self::new(name.as_bytes().windows(36).rfind(is_uuid)?)
    }

    /// The last UUID in the name of a file's folder, or the milliseconds that are its name. The folder of an agent lies in
    /// that of the session.
    pub fn of_folder(path: &str) -> Option<Self> {
        let mut folders = path.rsplit(['/', '\\']).skip(1);
        let folder = if agent_folder(path).is_some() { folders.nth(2)? } else { folders.next()? };
        let is_time = folder.len() == 13 && folder.bytes().all(|it| it.is_ascii_digit());
        if is_time { Self::new(folder.as_bytes()) } else { Self::of(folder) }
    }

    /// The name of an agent's folder.
    pub fn of_agent(path: &str) -> Option<Self> {
        Self::new(agent_folder(path)?.as_bytes())
    }

    fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; 36];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self { bytes, length: name.len() })
    }
}

fn agent_folder(path: &str) -> Option<&str> {
    let mut folders = path.rsplit(['/', '\\']).skip(1);
    let folder = folders.next()?;
    (folders.next()? == "subagents").then_some(folder)
}

impl std::fmt::Display for FileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bytes.iter().take(self.length).try_for_each(|it| write!(f, "{}", char::from(*it)))
    }
}

/// What is said of a log besides its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints<'a> {
    /// The runtime, as a flag or a sidecar names it; it decides among the formats that claim the log.
    pub runtime: Option<&'a str>,
    /// The file's path, a label.
    pub path: &'a str,
}

/// What was found in a log and what was lost of it.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The adapter that read it; `None` if no adapter claims it.
    pub format: Option<&'static str>,
    /// The runtime of that adapter.
    pub runtime: Option<&'static str>,
    /// The sessions, in the order of their first records.
    pub sessions: Vec<SessionResult>,
    /// What was taken in and what was lost.
    pub health: Health,
}

/// Whether a record's type is one that the adapter knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It is, used or not.
    Known,
    /// It is none: counted, no damage.
    Unknown,
}

/// The state of one adapter while it reads one log.
pub trait Fold: Send {
    /// A record, which borrows the line.
    type Record<'a>: Deserialize<'a> + Send;

    /// The state before the first record.
    fn new(context: &Context) -> Self;

    /// Reads one record. A format whose records all begin alike need not look for each key.
    ///
    /// # Errors
    /// When the line is no object.
    fn read(line: &[u8]) -> Result<Self::Record<'_>, json::Error> {
        json::from_slice(line)
    }

    /// Reads one record and takes it in: [`Self::read`] and [`Self::record`], with less to move where records are large.
    ///
    /// # Errors
    /// When the line is no object.
    fn line(&mut self, line: Line<'_>, damage: &mut Damage) -> Result<Seen, json::Error> {
        Self::read(line.bytes).map(|record| self.record(line, record, damage))
    }

    /// Takes in one record. What of it could not be used goes into `damage`.
    fn record(&mut self, line: Line<'_>, record: Self::Record<'_>, damage: &mut Damage) -> Seen;

    /// Hands on the sessions of which no record came since `line`, but for those of the ids that are known to go on. Formats of
    /// which a log holds one session have none.
    fn idle(&mut self, line: i64, go_on: &HashSet<String>) -> Vec<SessionResult> {
        let _ = (line, go_on);
        Vec::new()
    }

    /// The ids of sessions that were handed on and went on. What is known of them is wrong.
    fn late(&self) -> HashSet<String> {
        HashSet::new()
    }

    /// The sessions, in the order of their first records.
    fn finish(self) -> Vec<SessionResult>;
}

/// What of one record could not be used.
#[derive(Debug, Default)]
pub struct Damage(Vec<Reason>);

impl Damage {
    /// Notes a loss, once per record and reason.
    pub fn note(&mut self, reason: Reason) {
        if !self.0.contains(&reason) {
            self.0.push(reason);
        }
    }

    /// Whether one of the counts is a number that can be none, which is noted.
    pub fn refuses(&mut self, counts: &[Count]) -> bool {
        let is_bad = counts.contains(&Count::Impossible);
        if is_bad {
            self.note(Reason::BadNumber);
        }
        is_bad
    }
}

/// Longer lines are no records. Real ones reach some 30 MB, with images.
const MAX_LINE: usize = 1 << 30;

/// Bytes after which a listener is told of them.
const STEP: usize = 1 << 18;

/// Bytes of a large log that are read at once while those before them are folded, and lines: records take more memory than
/// the shortest of these.
const AHEAD: usize = 1 << 20;
const MOST_AHEAD: usize = 1 << 10;

/// Records that a format does not know are kept for another format. Of more than these the rest is kept only if another format
/// claims the first of them, so that a log of any number of other records takes no memory for each.
const UNDECIDED: usize = 1 << 16;

/// The record loop: reads, folds, counts damage. Gives the sessions but for those that `listener` took, and the records that
/// the format does not know.
///
/// # Errors
/// The ids of sessions that were taken for being over and went on. Of a second run they are `go_on`.
fn fold<'a, F: Fold>(
    context: &Context,
    lines: &mut (dyn Iterator<Item = Line<'a>> + Send),
    health: &mut Health,
    listener: Option<&mut (dyn Listener + '_)>,
    go_on: &HashSet<String>,
) -> Result<Folded<'a>, HashSet<String>> {
    let mut folding = Folding {
        state: F::new(context),
        health,
        unknown: Vec::new(),
        keeps_unknown: true,
        runtime: context.runtime,
        damage: Damage::default(),
        large: listener.as_ref().map_or(usize::MAX, |it| it.large()),
        listener,
        go_on,
        since: 0,
        read: 0,
        told: 0,
    };
    while let Some(line) = lines.next() {
        let seen = |state: &mut F, damage: &mut Damage| check(line.bytes).and_then(|()| state.line(line, damage));
        if folding.take(line, seen) && rayon::current_num_threads() > 1 {
            folding.side_by_side(lines);
        }
    }
    let late = folding.state.late();
    if late.is_empty() { Ok((folding.state.finish(), folding.unknown)) } else { Err(late) }
}

/// Whether a line may be a record.
fn check(bytes: &[u8]) -> Result<(), json::Error> {
    if bytes.starts_with(b"{") && bytes.len() <= MAX_LINE { Ok(()) } else { Err(json::Error::Refused) }
}

/// Why a line is no record.
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

/// The state of [`fold`].
struct Folding<'a, 'f, 'd, F> {
    state: F,
    health: &'f mut Health,
    unknown: Vec<Line<'a>>,
    /// See [`UNDECIDED`].
    keeps_unknown: bool,
    runtime: &'static str,
    damage: Damage,
    listener: Option<&'f mut (dyn Listener + 'd)>,
    /// See [`Listener::large`].
    large: usize,
    go_on: &'f HashSet<String>,
    /// The line up to which sessions were last looked for that are over.
    since: i64,
    /// Bytes since then.
    read: usize,
    /// Those that the listener was told of.
    told: usize,
}

impl<'a, F: Fold> Folding<'a, '_, '_, F> {
    /// Takes in a line. Says whether the log turns out to be large.
    #[inline]
    fn take(&mut self, line: Line<'a>, seen: impl FnOnce(&mut F, &mut Damage) -> Result<Seen, json::Error>) -> bool {
        let is_large = self.follow(line);
        match seen(&mut self.state, &mut self.damage) {
            Ok(seen) => {
                self.health.records += 1;
                if seen == Seen::Unknown {
                    self.health.unknown_records += 1;
                    self.keep_unknown(line);
                }
                self.damage.0.drain(..).for_each(|reason| self.health.reject(reason, line.number, line.bytes));
            }
            Err(error) => self.health.reject(reason(line.bytes, error), line.number, line.bytes),
        }
        is_large
    }

    fn keep_unknown(&mut self, line: Line<'a>) {
        if !self.keeps_unknown {
            return;
        }
        self.unknown.push(line);
        if self.unknown.len() == UNDECIDED {
            self.keeps_unknown = another(&self.unknown, &[self.runtime]).is_some();
        }
    }

    /// Tells the listener how far the reading is, and hands on what is over.
    fn follow(&mut self, line: Line<'a>) -> bool {
        let Some(listener) = &mut self.listener else { return false };
        self.read += line.bytes.len();
        if self.read - self.told >= STEP.min(self.large) {
            listener.passed(line.bytes);
            self.told = self.read;
        }
        let is_large = self.read >= self.large;
        if is_large {
            let idle = self.state.idle(self.since, self.go_on);
            if !idle.is_empty() {
                listener.over(idle);
            }
            (self.since, self.read, self.told) = (line.number, 0, 0);
        }
        is_large
    }

    /// Takes in all lines, which another thread reads ahead. Not one of rayon's: while it waits it would begin with another
    /// file, and this one would lie half read. Where no thread can be started, nothing happens.
    fn side_by_side(&mut self, lines: &mut (dyn Iterator<Item = Line<'a>> + Send)) {
        let (sender, ready) = mpsc::sync_channel::<Vec<(Line<'a>, Result<F::Record<'a>, json::Error>)>>(1);
        std::thread::scope(|scope| {
            let ahead = move || {
                let mut lines = lines.peekable();
                while lines.peek().is_some() {
                    let (mut records, mut bytes) = (Vec::new(), 0);
                    while bytes < AHEAD
                        && records.len() < MOST_AHEAD
                        && let Some(line) = lines.next()
                    {
                        bytes += line.bytes.len();
                        records.push((line, check(line.bytes).and_then(|()| F::read(line.bytes))));
                    }
                    if sender.send(records).is_err() {
                        break;
                    }
                }
            };
            if std::thread::Builder::new().spawn_scoped(scope, ahead).is_err() {
                return;
            }
            for (line, record) in ready.into_iter().flatten() {
                self.take(line, |state, damage| record.map(|record| state.record(line, record, damage)));
            }
        });
    }
}

/// The top level of one record, for [`Adapter::claims`].
#[derive(Debug)]
pub struct Probe<'a> {
    fields: Vec<(Cow<'a, str>, Raw<'a>)>,
    /// The objects among them that were asked for, by the index of their key: many formats ask for the same.
    objects: RefCell<Vec<(usize, Rc<Probe<'a>>)>>,
    /// A bit for each key. Formats ask for many keys that are not there.
    bits: u64,
    /// See [`Self::kind`].
    kind: Cow<'a, str>,
    path: &'a str,
}

/// The bit of a key.
#[inline]
fn bit(key: &str) -> u64 {
    let key = key.as_bytes();
    let ends = key.first().zip(key.last()).map_or(0, |(first, last)| usize::from(*first) * 5 + usize::from(*last));
    1 << ((ends + key.len() * 11) % 64)
}

impl<'a> Probe<'a> {
    fn new(bytes: &'a [u8], path: &'a str) -> Option<Self> {
        let pairs: Pairs<'a, Raw<'a>> =
            if bytes.first() == Some(&b'{') { json::from_slice(bytes).ok()? } else { return None };
        let bits = pairs.0.iter().fold(0, |bits, (key, _)| bits | bit(key));
        let mut probe = Self { fields: pairs.0, objects: RefCell::default(), bits, kind: "".into(), path };
        probe.kind = probe.text("type");
        Some(probe)
    }

    /// The string of `type`, by which most formats tell their records; empty if there is none.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The path of the log: a hint where runtimes write the same records to their own places.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(key, _)| key.as_ref())
    }

    /// The value of a key, absent or not.
    #[inline]
    pub fn raw(&self, key: &str) -> Raw<'a> {
        if self.bits & bit(key) == 0 {
            return Raw::default();
        }
        self.fields.iter().find(|(it, _)| it == key).map_or(Raw::default(), |(_, raw)| *raw)
    }

    /// Whether a key is there, whatever its value.
    #[inline]
    pub fn has(&self, key: &str) -> bool {
        self.bits & bit(key) != 0 && self.fields.iter().any(|(it, _)| it == key)
    }

    /// Whether all of the keys are there.
    pub fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|it| self.has(it))
    }

    /// The string of a key; empty if there is none.
    pub fn text(&self, key: &str) -> Cow<'a, str> {
        let raw = self.raw(key);
        if raw.0.first() == Some(&b'"') { raw.text() } else { Cow::Borrowed("") }
    }

    /// The object of a key; one without keys if there is none.
    #[must_use]
    pub fn object(&self, key: &str) -> Rc<Probe<'a>> {
        let index = self.fields.iter().position(|(it, _)| it == key).unwrap_or(usize::MAX);
        let mut objects = self.objects.borrow_mut();
        if let Some((_, known)) = objects.iter().find(|(it, _)| *it == index) {
            return Rc::clone(known);
        }
        let empty =
            || Probe { fields: Vec::new(), objects: RefCell::default(), bits: 0, kind: "".into(), path: self.path };
        let object = Rc::new(Probe::new(self.raw(key).0, self.path).unwrap_or_else(empty));
        objects.push((index, Rc::clone(&object)));
        object
    }
}

/// Records that decide on the format. The header of a pi log decides nothing, and a stream may begin with hooks.
const DECIDING: usize = 40;

/// So many are enough where they are long: what lies behind these bytes is not read twice.
const FEW_DECIDING: usize = 12;
const DECIDING_BYTES: usize = 1 << 15;

/// So many are enough if a single format claims anything of them, and that much.
const FIRST_DECIDING: usize = 8;
const SURE: u32 = 16;

/// How surely a log is of each format: the sum of [`Adapter::claims`] over its first records. Ordered by weight, the
/// likeliest first; formats that claim nothing are left out. A runtime among the hints decides among those that claim.
pub fn detect(bytes: &[u8], hints: Hints<'_>) -> Vec<(&'static Adapter, u32)> {
    let mut weights = Weights::default();
    for line in Lines::new(bytes) {
        let offset = line.bytes.as_ptr().addr() - bytes.as_ptr().addr();
        if weights.probes == DECIDING || (weights.probes >= FEW_DECIDING && offset >= DECIDING_BYTES) {
            break;
        }
        let Some(probe) = Probe::new(line.bytes, hints.path) else { continue };
        weights.add(&probe);
        if weights.probes == FIRST_DECIDING {
            let claims = weights.claims(hints.runtime);
            if matches!(claims[..], [(_, SURE..)]) {
                return claims;
            }
        }
    }
    weights.claims(hints.runtime)
}

/// Whether a file that no format claims belongs to logs and is none: an index, a pointer.
pub fn is_auxiliary(bytes: &[u8]) -> bool {
    let document = Lines::new(bytes).next().and_then(|it| Probe::new(it.bytes, ""));
    document.is_some_and(|it| openclaw_trajectory::is_auxiliary(&it))
}

/// How surely records are of each format, in sum.
#[derive(Default)]
struct Weights {
    probes: usize,
    /// In the order of [`ADAPTERS`].
    sums: Vec<u32>,
}

impl Weights {
    fn add(&mut self, probe: &Probe<'_>) {
        self.probes += 1;
        self.sums.resize(ADAPTERS.len(), 0);
        for (sum, adapter) in self.sums.iter_mut().zip(ADAPTERS) {
            *sum += (adapter.claims)(probe);
        }
    }

    fn claims(&self, runtime: Option<&str>) -> Vec<(&'static Adapter, u32)> {
        let mut claims: Vec<_> = ADAPTERS.iter().zip(self.sums.iter().copied()).filter(|it| it.1 > 0).collect();
        claims.sort_by_key(|(adapter, weight)| (runtime != Some(adapter.runtime), std::cmp::Reverse(*weight)));
        claims
    }
}

/// Reads a log: the likeliest format, then its records.
pub fn parse(bytes: &[u8], hints: Hints<'_>, content: Content) -> Parsed {
    parse_with(bytes, hints, content, None)
}

/// As [`parse`]; `listener` may take sessions of a large log that are over before it is.
pub fn parse_with(
    bytes: &[u8],
    hints: Hints<'_>,
    content: Content,
    mut listener: Option<&mut (dyn Listener + '_)>,
) -> Parsed {
    let Some((adapter, _)) = detect(bytes, hints).into_iter().next() else {
        let lines = lines::count_beside(bytes, |part| listener.iter_mut().for_each(|it| it.passed(part)));
        return Parsed { health: Health { lines, ..Health::default() }, ..Parsed::default() };
    };
    let context = |adapter: &Adapter| Context {
        runtime: adapter.runtime,
        format: adapter.id,
        shows: adapter.shows,
        content,
        file_id: FileId::of(hints.path),
        file_name: FileName::of(hints.path),
        folder_id: FileId::of_folder(hints.path),
        agent_id: FileId::of_agent(hints.path),
    };
    let own = context(adapter);
    let mut go_on = HashSet::new();
    let (mut sessions, mut unknown, mut health) = loop {
        match read(adapter, bytes, &own, listener.as_deref_mut(), &go_on) {
            Ok(read) => break read,
            // Each time more of them are known to go on. (In bytes that nobody changes meanwhile, once is enough.)
            Err(late) => {
                go_on.extend(late);
                if let Some(listener) = &mut listener {
                    listener.again();
                }
            }
        }
    };
    // Recordings of several runtimes may have been appended to one file: what one format does not know is another's.
    let mut runtimes = vec![adapter.runtime];
    while let Some(other) = another(&unknown, &runtimes) {
        let mut own = Health::default();
        let kept = i64::try_from(unknown.len()).unwrap_or(i64::MAX);
        let folded = (other.parse)(&context(other), &mut unknown.into_iter(), &mut own, None, &HashSet::new());
        // Nobody listens, so nothing was handed on.
        let (more, rest) = folded.unwrap_or_default();
        // Some of them may not have been kept.
        health.unknown_records -= kept - own.unknown_records;
        own.rejects.into_iter().for_each(|it| health.add(it));
        sessions.extend(more);
        unknown = rest;
        runtimes.push(other.runtime);
    }
    Parsed { format: Some(adapter.id), runtime: Some(adapter.runtime), sessions, health }
}

/// The lines of a log by one format.
fn read<'a>(
    adapter: &Adapter,
    bytes: &'a [u8],
    context: &Context,
    listener: Option<&mut (dyn Listener + '_)>,
    go_on: &HashSet<String>,
) -> Result<(Vec<SessionResult>, Vec<Line<'a>>, Health), HashSet<String>> {
    let (mut lines, mut health) = (Lines::new(bytes), Health::default());
    let (sessions, unknown) = (adapter.parse)(context, &mut lines, &mut health, listener, go_on)?;
    health.lines = lines.count_all();
    Ok((sessions, unknown, health))
}

/// The format of records that formats of these runtimes do not know, if two of them are surely of it.
fn another(unknown: &[Line<'_>], runtimes: &[&str]) -> Option<&'static Adapter> {
    let mut weights = Weights::default();
    unknown.iter().filter_map(|it| Probe::new(it.bytes, "")).take(DECIDING).for_each(|it| weights.add(&it));
    let claims = weights
        .claims(None)
        .into_iter()
        .filter(|(adapter, weight)| *weight >= 4 && !runtimes.contains(&adapter.runtime));
    claims.map(|(adapter, _)| adapter).next()
}

/// The id of a session whose log names none: `~` and a hash of its first record that has a time or a message. It stays
/// the same while the log grows and is equal in copies.
pub fn hashed_id(record: &[u8]) -> String {
    format!("~{:016x}", twox_hash::XxHash3_64::oneshot(record))
}

/// Adds a number to a name, as `{:x}` writes it.
fn push_hexadecimal(name: &mut String, number: u64) {
    let digits: [u8; 16] = std::array::from_fn(|place| {
        let digit = (number >> (60 - 4 * place)).to_le_bytes()[0] & 15;
        digit + if digit < 10 { b'0' } else { b'a' - 10 }
    });
    let zeros = number.leading_zeros() as usize / 4;
    let digits = digits.get(zeros.min(15)..).and_then(|it| std::str::from_utf8(it).ok());
    name.push_str(digits.unwrap_or_default());
}

/// Counts of tokens in the names of responses, as `{:?}` of [`Tokens::kinds`] writes them: archives hold these names.
fn counts_name(tokens: Tokens) -> String {
    let mut name = String::with_capacity(64);
    push_counts_name(&mut name, tokens);
    name
}

/// Adds [`counts_name`] to a name.
fn push_counts_name(name: &mut String, tokens: Tokens) {
    let mut digits = itoa::Buffer::new();
    for (place, count) in tokens.kinds().into_iter().enumerate() {
        // Texts of known lengths are added without a call.
        match place {
            0 => name.push('['),
            _ => name.push_str(", "),
        }
        match count {
            Some(count) => {
                name.push_str("Some(");
                name.push_str(digits.format(count));
                name.push(')');
            }
            None => name.push_str("None"),
        }
    }
    name.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named_as_they_are_shown() {
        let tokens = Tokens { input: Some(0), cache_read: Some(i64::MAX), cache_write: Some(-12), ..Tokens::UNKNOWN };
        assert_eq!(counts_name(tokens), format!("{:?}", tokens.kinds()));
        for number in [0, 1, 15, 16, 0x0f00, u64::MAX, u64::MAX >> 4, 1 << 60] {
            let mut name = String::new();
            push_hexadecimal(&mut name, number);
            assert_eq!(name, format!("{number:x}"));
        }
    }

    /// What another format claims is kept; of what none claims only so much as decides that.
    #[test]
    fn records_of_no_format_take_no_memory_for_each() {
        let start = "{\"type\":\"thread.started\",\"thread_id\":\"th1\"}\n";
        let turn = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":3,\"cached_input_tokens\":0,\"output_tokens\":5}}\n";
        let pi = include_str!("../../sample-logs/pi-json/edit-with-diff.jsonl");
        let count = UNDECIDED + 10_000;
        let none = "{}\n".repeat(count);
        let records = i64::try_from(count).unwrap();
        let read = |text: &str| {
            let mut lines = Lines::new(text.as_bytes());
            let adapter = detect(text.as_bytes(), Hints::default())[0].0;
            let context = Context {
                runtime: adapter.runtime,
                format: adapter.id,
                shows: adapter.shows,
                content: Content::None,
                file_id: None,
                file_name: None,
                folder_id: None,
                agent_id: None,
            };
            let (mut health, go_on) = (Health::default(), HashSet::new());
            let (_, unknown) = (adapter.parse)(&context, &mut lines, &mut health, None, &go_on).unwrap();
            (health.unknown_records, unknown.len(), parse(text.as_bytes(), Hints::default(), Content::None))
        };
        let (unknown, kept, parsed) = read(&format!("{start}{turn}{none}{turn}"));
        assert_eq!((unknown, kept), (records, UNDECIDED));
        assert_eq!((parsed.health.unknown_records, parsed.sessions.len()), (records, 1));
        let (_, kept, parsed) = read(&format!("{start}{turn}{pi}{none}"));
        assert!(kept > count);
        assert_eq!(parsed.sessions.len(), 2);
        assert!(parsed.health.unknown_records >= records);
    }

    #[test]
    fn a_folder_that_is_named_by_a_session_names_it() {
        let id = |path: &str| FileId::of_folder(path).map(|it| it.to_string());
        let uuid = "0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f";
        assert_eq!(id(&format!("/a/session_{uuid}/wire.jsonl")).as_deref(), Some(uuid));
        assert_eq!(id(r"C:\tasks\1790000000000\ui_messages.json").as_deref(), Some("1790000000000"));
        assert_eq!(id(&format!("/a/{uuid}/subagents/a1/wire.jsonl")).as_deref(), Some(uuid));
        assert_eq!((id("/backup/wire.jsonl"), id("wire.jsonl"), id(&format!("/a/{uuid}.jsonl"))), (None, None, None));
    }

    #[test]
    fn the_table_is_in_order() {
        for (index, adapter) in ADAPTERS.iter().enumerate() {
            assert!(ADAPTERS[..index].iter().all(|it| it.id != adapter.id), "{} stands twice", adapter.id);
            assert!(adapter.id.starts_with(adapter.runtime), "{}", adapter.id);
            assert!(!adapter.about.is_empty() && !adapter.about.ends_with('.'), "{}", adapter.id);
        }
    }
}
