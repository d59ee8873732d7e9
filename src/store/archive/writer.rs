//! A run that changes an archive: what it takes in, and the next generation that it makes of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde::Serialize;

use super::disk::Waited;
use super::facts::{self, FACTS, Facts, PART, Piece, Pieces};
use super::generations::Snapshot;
use super::parts::{self, New, Part, Round, Sums};
use super::{
    Archive, Error, GENERATION, INDEX, Known, Lock, MANIFEST, MARKER, Manifest, Marker, NEXT, PRICES, Problem, Sources,
    State, disk, generations, whole_file, with_hash,
};
use crate::ingest::{Sink, Stamp};
use crate::ledger;
use crate::model::session::SessionResult;
use crate::model::source::{Aside, STDIN, Source, SourceStatus};
use crate::model::tables::Tables;
use crate::prices::{Catalog, Table};
use crate::store::frames::TABLES;

/// The facts of what was taken in, until they stand in parts.
const SPOOL: &str = "spool";

/// Raised when the same facts settle to other tables, so that the next run settles them again.
const LEDGER: u32 = 4;

/// How many times as much memory as a source takes while it is kept its packed facts take, about.
const PACKED: usize = 5;

/// Memory for sources that were read and are yet to be settled, in bytes. If they are more, all of them are read again from the
/// disk: they are so many then that a part of them would save little time.
const KEPT: usize = if cfg!(test) { 16 << 10 } else { 64 << 20 };

/// Threads that settle batches at once: each holds the rows of one, some 20 MB.
const SETTLING: usize = 4;

/// Parts that are smaller than a quarter are joined once there are more of them.
const SMALL_PARTS: usize = 8;

/// Writes to an archive, alone.
#[derive(Debug)]
pub struct Writer {
    archive: Archive,
    state: State,
    next: PathBuf,
    taken: Mutex<Taken>,
    /// Tables of parts that were written, without their rows: fresh memory costs as much as filling it. There are as many as
    /// parts that were settled at once.
    room: Mutex<Vec<Tables>>,
    /// Whether all parts are to be settled again, also those of which nothing changed.
    settles_all: bool,
    /// The number of the newest generation in the directory.
    newest: u64,
    /// Damaged generations, to be renamed once the next one is current, so that no writer removes them.
    damaged: Vec<PathBuf>,
    /// What has to be removed again if the archive is new and nothing is committed, outermost first.
    made: Vec<PathBuf>,
    _lock: Lock,
}

/// What was taken in.
#[derive(Debug)]
struct Taken {
    /// Its facts, one behind another, on the disk, where they are more than the memory holds.
    spool: BufWriter<File>,
    length: u64,
    /// Their places in the spool; for those that are kept, none yet.
    sources: Sources,
    /// All that was taken in, but for what is too large for that, while there is memory for all of it: its facts are packed when
    /// it is settled.
    kept: HashMap<String, Kept>,
    /// What they take together.
    footprint: usize,
    /// Whether they were too many.
    spools: bool,
    /// Those that were kept until then and are yet to be written.
    left: Vec<Kept>,
    /// See [`Kept::nowhere`]: the last one that was given away.
    nowhere: u64,
    removed: BTreeSet<String>,
    /// The first thing that went wrong.
    error: Option<Error>,
}

/// A source that is kept in memory.
#[derive(Debug)]
struct Kept {
    source: Source,
    /// What it takes of it, about.
    footprint: usize,
    /// The offset that its facts have until they are in the spool: no others have it.
    nowhere: u64,
}

/// A source on its way into a part.
struct Item {
    path: String,
    known: Box<Known>,
    is_new: bool,
    /// Whether nothing links it to another source.
    is_alone: bool,
}

/// What a run left in the archive.
#[derive(Debug)]
pub struct Written {
    /// What it holds now.
    pub sums: Sums,
    /// What was found damaged, and what became of it.
    pub problems: Vec<Problem>,
    /// Whether any of it is still damaged.
    pub is_damaged: bool,
    sources: Sources,
}

impl Written {
    /// What is known of each source, by path.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &Known)> {
        self.sources.iter().map(|(path, it)| (path.as_str(), &**it))
    }
}

/// What a source with so many rows takes in memory, about, in bytes.
fn footprint(source: &Source, rows: usize) -> usize {
    const SOURCE: usize = 3_500;
    const SESSION: usize = 1_200;
    const ROW: usize = 256;
    const CHANGE: usize = 112;
    const TOTAL: usize = 512;
    const NAME: usize = 64;
    let of = |it: &SessionResult| {
        let names = it.prompts.len() + it.asked.len() + it.said.len() + it.subagents.len() + it.labels.len();
        let hashes = it.recording.as_ref().map_or(0, |it| it.len() * size_of::<u64>());
        SESSION + it.file_changes.len() * CHANGE + it.totals.len() * TOTAL + names * NAME + hashes + it.text_bytes()
    };
    SOURCE + rows * ROW + source.sessions.iter().map(of).sum::<usize>()
}

impl Writer {
    pub(super) fn new(archive: Archive) -> Result<Self, Error> {
        let lock = archive.lock()?;
        let state = archive.state()?;
        Self::of(archive, lock, state)
    }

    /// A writer that begins with what is known in `state`.
    pub(super) fn of(archive: Archive, lock: Lock, state: State) -> Result<Self, Error> {
        let mut made = Vec::new();
        if state.snapshot.is_none() {
            // It reaches the disk before anything becomes current: see `finish`.
            let path = archive.folder.join(MARKER);
            made.clone_from(&lock.made);
            made.extend(Some(path.clone()).filter(|path| !path.exists()));
            let written = disk::create_or_empty(&path).and_then(|mut it| it.write_all(&Marker::of_now()));
            written.map_err(Error::file(&path))?;
        }
        // In the end all else waits for the prices; now no thread but this one has anything to do.
        rayon::spawn(|| {
            let _ = Catalog::built_in();
        });
        let next = archive.folder.join(NEXT);
        // What a process that died left behind.
        disk::remove_folder(&next).map_err(Error::file(&next))?;
        disk::create_folder(&next).map_err(Error::file(&next))?;
        let path = next.join(SPOOL);
        let spool = disk::create(&path);
        let taken = Taken {
            spool: BufWriter::with_capacity(parts::BUFFER, spool.map_err(Error::file(&path))?),
            length: 0,
            sources: Sources::new(),
            kept: HashMap::new(),
            footprint: 0,
            spools: false,
            left: Vec::new(),
            nowhere: u64::MAX,
            removed: BTreeSet::new(),
            error: None,
        };
        let newest = archive.generations().last().map_or(0, |generation| generation.0);
        Ok(Self {
            archive,
            state,
            next,
            taken: Mutex::new(taken),
            room: Mutex::default(),
            settles_all: false,
            newest,
            damaged: Vec::new(),
            made,
            _lock: lock,
        })
    }

    /// Whether the archive contains nothing yet.
    pub fn is_new(&self) -> bool {
        self.state.snapshot.is_none()
    }

    /// By what a source is known again, if it is known.
    pub fn known(&self, path: &str) -> Option<&Stamp> {
        self.state.sources.get(path).map(|it| &it.stamp)
    }

    /// The paths of all sources that are known.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.state.sources.keys().map(String::as_str)
    }

    /// The logs that were read from standard input before the last one, with their stamps.
    pub fn earlier_stdin(&self) -> Vec<(String, Stamp)> {
        let set_aside = |path: &str| path.strip_prefix(STDIN).is_some_and(|it| it.starts_with('#'));
        let sources = self.state.sources.iter().filter(|(path, _)| set_aside(path));
        sources.map(|(path, known)| (path.clone(), known.stamp.clone())).collect()
    }

    /// What a source told when it was last read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn facts(&self, path: &str) -> Result<Option<Source>, Error> {
        self.state.sources.get(path).map(|it| self.state.load(it)).transpose()
    }

    /// Takes in what a file tells now, in place of what it told before. What it does not tell any more is set aside: the
    /// archive outlives the logs. What goes wrong is told by [`Self::commit`].
    pub fn add(&self, mut source: Source) {
        for path in std::mem::take(&mut source.replaces) {
            self.remove(&path);
        }
        self.noted(|| {
            if let Some(known) = self.state.sources.get(&source.path).filter(|it| it.has_sessions) {
                // What could not be read replaces nothing.
                if source.status == SourceStatus::Unreadable {
                    return Ok(());
                }
                // What grew tells all that it told before.
                if source.grew {
                    return self.spool(source);
                }
                if let Some(aside) = self.state.load(known)?.left_by(&source) {
                    self.spool(aside)?;
                }
            }
            self.spool(source)
        });
    }

    /// Takes in what another archive knows of a file. Of two looks at one file the later stands, whichever comes first.
    pub fn merge(&self, source: Source) {
        self.noted(|| {
            let Some(known) = self.state.sources.get(&source.path) else { return self.spool(source) };
            let age = |it: &Stamp| (it.modified_at, it.bytes, it.content_hash);
            let stamp = Stamp::of(&source);
            if age(&stamp) == age(&known.stamp) {
                return Ok(());
            }
            let old = self.state.load(known)?;
            let is_later = age(&stamp) > age(&known.stamp);
            let (old, new) = if is_later { (&old, &source) } else { (&source, &old) };
            if let Some(aside) = old.left_by(new) {
                self.spool(aside)?;
            }
            if is_later { self.spool(source) } else { Ok(()) }
        });
    }

    /// Forgets a source.
    pub fn remove(&self, path: &str) {
        self.noted(|| {
            self.taken().removed.insert(path.to_owned());
            Ok(())
        });
    }

    /// Puts other facts in place of a source's.
    pub fn replace(&self, source: Source) {
        self.noted(|| self.spool(source));
    }

    /// Keeps prices as the archive's own, in place of those that it has.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_own_prices(&self, entries: &Table) -> Result<(), Error> {
        let written = self.archive.replace(PRICES, with_hash(&entries.to_json_lines()).as_bytes());
        written.map_err(Error::file(self.archive.folder.join(PRICES)))
    }

    /// Settles all of it again, into as few parts as it needs.
    pub fn settle_all(&mut self) {
        self.settles_all = true;
    }

    /// Gives damaged generations another name once the next one is current: `generation-N.damaged`.
    pub(super) fn set_aside_on_commit(&mut self, damaged: Vec<PathBuf>) {
        self.damaged = damaged;
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, Taken> {
        // A panic ends the run before anything of it is committed.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted(&self, run: impl FnOnce() -> Result<(), Error>) {
        if let Err(error) = run() {
            self.taken().error.get_or_insert(error);
        }
    }

    /// Keeps sessions of a source that is taken in later.
    fn keep(&self, sessions: &[SessionResult]) -> Result<Vec<Aside>, Error> {
        let keep = |session: &SessionResult| {
            let sessions = std::slice::from_ref(session);
            let (offset, length) = self.append(session, facts::rows_of(sessions))?;
            let (session_id, links) = (session.session_id.clone(), ledger::links_of(sessions, None));
            Ok(Aside { offset, length, session_id, links })
        };
        sessions.iter().map(keep).collect()
    }

    /// Writes facts of about so many rows to the spool, and says where they begin and how long they are.
    fn append<T: Serialize>(&self, facts: &T, rows: usize) -> Result<(u64, u64), Error> {
        let append = |bytes: &[u8]| {
            let mut taken = self.taken();
            let (offset, length) = (taken.length, bytes.len() as u64);
            taken.length += length;
            taken.spool.write_all(bytes).map(|()| (offset, length))
        };
        facts::encode(facts, rows, append).flatten().map_err(Error::file(self.next.join(SPOOL)))
    }

    /// Keeps a source until it is settled.
    fn spool(&self, mut source: Source) -> Result<(), Error> {
        if facts::rows_of(&source.sessions) > facts::MANY_ROWS && source.sessions.len() > 1 {
            source.aside.extend(self.keep(&std::mem::take(&mut source.sessions))?);
        }
        let rows = facts::rows_of(&source.sessions);
        let aside = std::mem::take(&mut source.aside);
        let mut links = ledger::links(&source);
        let mut groups = Vec::new();
        if !aside.is_empty() {
            let all = || aside.iter().map(|it| &*it.links).chain([&*links]);
            groups = ledger::groups(all());
            links = ledger::distinct(all().flatten().copied().collect());
        }
        // Nobody asks for it once they are too many.
        let footprint = if self.taken().spools { 0 } else { footprint(&source, rows) };
        let mut known = Box::new(Known {
            stamp: Stamp::of(&source),
            has_sessions: !source.sessions.is_empty() || !aside.is_empty(),
            rejects: source.health.rejects.iter().map(|it| (it.reason, it.lines)).collect(),
            unknown_records: source.health.unknown_records,
            status: source.status,
            part: 0,
            offset: 0,
            length: (footprint / PACKED) as u64,
            pieces: Vec::new(),
            links,
            checksum: None,
        });
        let path = source.path.clone();
        let mut taken = self.taken();
        if let Some(kept) = taken.kept.remove(&path) {
            taken.footprint -= kept.footprint;
        }
        let nowhere = taken.nowhere - 1;
        (taken.nowhere, known.offset) = (nowhere, nowhere);
        taken.sources.insert(path.clone(), known);
        if rows <= facts::MANY_ROWS && aside.is_empty() {
            if !taken.spools && footprint <= KEPT.saturating_sub(taken.footprint) {
                taken.footprint += footprint;
                taken.kept.insert(path, Kept { source, footprint, nowhere });
                return Ok(());
            }
            taken.spools = true;
            let kept = std::mem::take(&mut taken.kept);
            taken.left.extend(kept.into_values());
        }
        drop(taken);
        self.write(&source, nowhere, &aside, &groups)?;
        drop(source);
        // Each thread that comes by takes one of them, and then the next.
        loop {
            let mut taken = self.taken();
            let Some(kept) = taken.left.pop() else {
                taken.left = Vec::new();
                return Ok(());
            };
            drop(taken);
            self.write(&kept.source, kept.nowhere, &[], &[])?;
        }
    }

    /// Writes the facts of a source to the spool, in place of an offset that stands for none, unless other facts have come in their
    /// place.
    fn write(&self, source: &Source, nowhere: u64, aside: &[Aside], groups: &[usize]) -> Result<(), Error> {
        let (offset, length) = self.append(source, facts::rows_of(&source.sessions))?;
        let mut taken = self.taken();
        let Some(known) = taken.sources.get_mut(&source.path).filter(|it| it.offset == nowhere) else { return Ok(()) };
        (known.offset, known.length) = (offset, length);
        if !aside.is_empty() {
            let places = aside.iter().map(|it| (it.offset, it.length)).chain([(known.offset, known.length)]);
            // The source itself comes last.
            let pieces = places.zip(groups).map(|((offset, length), group)| Piece { offset, length, group: *group });
            known.pieces = pieces.collect();
            known.length = known.pieces.iter().map(|it| it.length).sum();
        }
        Ok(())
    }

    /// Makes the next generation of what is known and what was taken in, and makes it the current one. Until then the
    /// archive is as it was, and stays so if anything goes wrong.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub fn commit(mut self) -> Result<Written, Error> {
        let catalog = self.archive.catalog()?;
        let own: String = self.archive.own_prices()?.iter().filter_map(|it| serde_json::to_string(it).ok()).collect();
        let own = twox_hash::XxHash3_64::oneshot(own.as_bytes());
        let settled_with = format!("{} {LEDGER} {} {own:x}", env!("CARGO_PKG_VERSION"), catalog.date);
        let (taken, removed) = {
            let mut taken = self.taken();
            if let Some(error) = taken.error.take() {
                return Err(error);
            }
            taken.spool.flush().map_err(Error::file(self.next.join(SPOOL)))?;
            (std::mem::take(&mut taken.sources), std::mem::take(&mut taken.removed))
        };
        let was_settled = |it: &Snapshot| !self.settles_all && it.manifest.settled_with == settled_with;
        let before = self.state.snapshot.as_ref();
        let is_settled = before.is_some_and(was_settled);
        if is_settled && taken.is_empty() && removed.is_empty() {
            let mut dirty = BTreeSet::new();
            let (problems, is_damaged) = self.verify(&mut dirty)?;
            let intact = before.filter(|it| dirty.is_empty() && it.problem.is_none()).map(|it| it.manifest.sums());
            if let Some(sums) = intact {
                let sources = std::mem::take(&mut self.state.sources);
                return Ok(Written { sums, problems, is_damaged, sources });
            }
        }
        let (items, mut dirty) = self.plan(taken, &removed, is_settled);
        let (problems, is_damaged) = self.verify(&mut dirty)?;
        let (sums, sources) = self.next_generation(items, &dirty, settled_with, &catalog)?;
        self.made.clear();
        Ok(Written { sums, problems, is_damaged, sources })
    }

    /// Compares the files of parts that are to stay as they are with their hashes. Where the facts of a part are intact, damaged
    /// tables are settled again: the part becomes dirty. Where its tables are, it stays. Returns what is damaged, and whether any of
    /// it stays so.
    fn verify(&self, dirty: &mut BTreeSet<usize>) -> Result<(Vec<Problem>, bool), Error> {
        let Some(Snapshot { folder, manifest, problem, .. }) = &self.state.snapshot else {
            return Ok((Vec::new(), false));
        };
        let damage = |(index, part): (usize, &Part)| {
            let kinds = part.files.keys().filter(|_| !dirty.contains(&index));
            let damaged = kinds.filter_map(|kind| Some((kind == FACTS, whole_file(folder, part, kind).err()?)));
            (index, damaged.collect::<Vec<_>>())
        };
        let damaged: Vec<_> = manifest.parts.par_iter().enumerate().map(damage).collect();
        let mut problems: Vec<Problem> = problem.clone().into_iter().collect();
        let mut is_damaged = false;
        for (index, damaged) in damaged {
            let has_facts = damaged.iter().all(|(is_facts, _)| !is_facts);
            let has_tables = damaged.iter().all(|(is_facts, _)| *is_facts);
            for (_, error) in damaged {
                let Error::Damaged { path, error } = error else { return Err(error) };
                let what = if has_facts {
                    dirty.insert(index);
                    format!("{error}; it was written again from what the archive knows of its sources")
                } else if has_tables && path.exists() {
                    is_damaged = true;
                    format!(
                        "{error}; its tables are intact and stay; `agentlogs archive repair` reads its sources again"
                    )
                } else {
                    return Err(Error::Damaged { path, error });
                };
                problems.push(Problem { path, what });
            }
        }
        Ok((problems, is_damaged))
    }

    /// All sources with their groups, and the parts that have to be settled again.
    fn plan(
        &mut self,
        taken: Sources,
        removed: &BTreeSet<String>,
        is_settled: bool,
    ) -> (Vec<(usize, Item)>, BTreeSet<usize>) {
        let known = std::mem::take(&mut self.state.sources);
        let parts = self.state.parts();
        let mut dirty: BTreeSet<usize> = if is_settled { BTreeSet::new() } else { (0..parts.len()).collect() };
        let mut items = Vec::with_capacity(known.len() + taken.len());
        for (path, known) in known {
            if taken.contains_key(&path) || removed.contains(&path) {
                dirty.insert(known.part);
            } else {
                items.push(Item { path, known, is_new: false, is_alone: false });
            }
        }
        let taken = taken.into_iter().filter(|(path, _)| !removed.contains(path));
        items.extend(taken.map(|(path, known)| Item { path, known, is_new: true, is_alone: false }));
        items.sort_by(|a, b| a.path.cmp(&b.path));
        let groups = ledger::groups(items.iter().map(|it| &*it.known.links));
        let changed: BTreeSet<usize> = groups.iter().zip(&items).filter(|it| it.1.is_new).map(|it| *it.0).collect();
        let known = groups.iter().zip(&items).filter(|it| !it.1.is_new);
        dirty.extend(known.filter(|it| changed.contains(it.0)).map(|it| it.1.known.part));
        let is_small = |it: &usize| {
            let facts = parts.get(*it).and_then(|it| it.files.get(FACTS));
            facts.is_some_and(|it| it.bytes < PART / 4)
        };
        let small: Vec<usize> = (0..parts.len()).filter(is_small).collect();
        if small.len() > SMALL_PARTS {
            dirty.extend(small);
        }
        (groups.into_iter().zip(items).collect(), dirty)
    }

    fn next_generation(
        &self,
        items: Vec<(usize, Item)>,
        dirty: &BTreeSet<usize>,
        settled_with: String,
        catalog: &Catalog,
    ) -> Result<(Sums, Sources), Error> {
        let old = self.state.snapshot.as_ref().map(|it| it.manifest.generation);
        // In a damaged archive there may be newer ones than that which is the base of this one.
        let generation = 1 + if self.settles_all { old.max(Some(self.newest)) } else { old }.unwrap_or(0);
        for folder in TABLES.iter().chain([&FACTS]) {
            let path = self.next.join(folder);
            disk::create_folder(&path).map_err(Error::file(&path))?;
        }
        let (mut changed, kept): (Vec<_>, Vec<_>) =
            items.into_iter().partition(|(_, it)| it.is_new || dirty.contains(&it.known.part));
        let mut manifest = Manifest { generation, settled_with, prices: Some(catalog.date), ..Manifest::default() };
        let mut sources = Sources::new();
        let mut places = BTreeMap::new();
        for (index, part) in self.state.parts().iter().enumerate().filter(|(index, _)| !dirty.contains(index)) {
            self.link(part)?;
            places.insert(index, manifest.parts.len());
            manifest.parts.push(part.clone());
        }
        for (_, mut item) in kept {
            item.known.part = places.get(&item.known.part).copied().unwrap_or_default();
            sources.insert(item.path, item.known);
        }
        // Groups stay together; both they and their members are in the order of paths.
        changed.sort_by_key(|(group, _)| *group);
        for group in changed.chunk_by_mut(|a, b| a.0 == b.0) {
            if let [(_, item)] = group {
                item.is_alone = true;
            }
        }
        let done = self.parts(batches(changed, weight), generation, catalog);
        for part in done {
            let (part, items) = part?;
            let index = manifest.parts.len();
            manifest.parts.push(part);
            sources.extend(items.into_iter().map(|mut it| {
                it.known.part = index;
                (it.path, it.known)
            }));
        }
        self.finish(manifest, sources)
    }

    /// Settles batches of sources and writes each as a part, on all cores: by threads that have read them, which use the memory
    /// again that these free. The others, and one that waits for others, take columns of theirs, but begin with no other batch of
    /// this commit: that is no task of rayon's. So none holds two.
    fn parts(
        &self,
        batches: Vec<Vec<Item>>,
        generation: u64,
        catalog: &Catalog,
    ) -> Vec<Result<(Part, Vec<Item>), Error>> {
        let threads = rayon::current_num_threads().min(batches.len()).min(SETTLING);
        let mut done: Vec<Option<_>> = batches.iter().map(|_| None).collect();
        let work = batches.into_iter().zip(&mut done).enumerate();
        let work = work.map(|(index, (items, place))| (facts_of(&items), (index, items, place)));
        let queue = Mutex::new(Queue::new(work.collect(), threads));
        let queue = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        rayon::broadcast(|thread| {
            while thread.index() < SETTLING {
                let next = queue().next();
                let Some((size, (index, items, place))) = next else { break };
                *place = Some(self.part(format!("{generation}-{index}"), items, catalog));
                queue().done(size);
            }
        });
        done.into_iter().flatten().collect()
    }

    /// Settles sources and writes them as a part.
    fn part(&self, name: String, mut items: Vec<Item>, catalog: &Catalog) -> Result<(Part, Vec<Item>), Error> {
        let mut facts = Facts::create(&self.next, &name).map_err(Error::file(&self.next))?;
        let mut sources = Vec::with_capacity(items.len());
        let mut in_pieces = Vec::new();
        let spool = self.next.join(SPOOL);
        let mut spooled = File::open(&spool).map_err(Error::file(&spool))?;
        for item in &items {
            let mut old = if item.is_new { None } else { Some(self.state.open(&item.known)?) };
            let (path, file) = old.as_mut().map_or((&spool, &mut spooled), |(path, file)| (&*path, file));
            let Known { offset, length, .. } = *item.known;
            let kept = self.taken().kept.remove(&item.path);
            let read = || -> io::Result<()> {
                if let Some(Kept { source, .. }) = kept {
                    let added = facts::encode(&source, facts::rows_of(&source.sessions), |it| facts.add(it)).flatten();
                    added.map_err(at(&self.next))?;
                    sources.push(source);
                    return Ok(());
                }
                let pieces = match &item.known.pieces {
                    pieces if !pieces.is_empty() => Some(Pieces::new(pieces.clone())),
                    _ if item.is_new => None,
                    _ => Pieces::read(file, offset, length)?,
                };
                let Some(pieces) = pieces else {
                    let bytes = facts::read_at(file, offset, length)?;
                    facts.add(&bytes).map_err(at(&self.next))?;
                    sources.push(facts::decode(&bytes)?);
                    return Ok(());
                };
                facts.add_pieces(file, &pieces)?;
                if item.is_alone {
                    let path = path.clone();
                    let rounds = pieces.rounds(file.try_clone()?)?;
                    in_pieces.push(rounds.map(move |it| it.map_err(at(&path))));
                } else {
                    // What others tell of its sessions may meet any of them.
                    sources.push(pieces.load(file)?);
                }
                Ok(())
            };
            read().map_err(Error::file(path))?;
        }
        let whole = (!sources.is_empty()).then_some(Ok(Round { sources, has_more: false }));
        let rounds = whole.into_iter().chain(in_pieces.into_iter().flatten());
        let New { part, places, settled } =
            parts::write(&self.next, name, rounds, facts, catalog, &self.room).map_err(Error::file(&self.next))?;
        let statuses: BTreeMap<&str, SourceStatus> = settled.iter().map(|it| (it.path.as_str(), it.status)).collect();
        for (item, place) in items.iter_mut().zip(places) {
            (item.known.offset, item.known.length) = (place.offset, place.length);
            item.known.checksum = Some(place.checksum);
            item.known.pieces.clear();
            item.known.status = statuses.get(item.path.as_str()).copied().unwrap_or(item.known.status);
        }
        Ok((part, items))
    }

    /// Takes a part over as it is.
    fn link(&self, part: &Part) -> Result<(), Error> {
        let Some(Snapshot { folder, .. }) = &self.state.snapshot else { return Ok(()) };
        for kind in part.files.keys() {
            let name = parts::file_of(part, kind);
            let (from, to) = (folder.join(&name), self.next.join(&name));
            disk::link(&from, &to).map_err(Error::listed(&from))?;
        }
        Ok(())
    }

    fn finish(&self, mut manifest: Manifest, sources: Sources) -> Result<(Sums, Sources), Error> {
        let mut written = || -> io::Result<()> {
            // All of the next generation reaches the disk: the parts while the index is written.
            disk::sync_all(|wait_for| {
                self.new_files(&manifest).for_each(|it| wait_for(Waited::File(it)));
                let checksum = parts::write_file(&self.next.join(INDEX), sources.len(), |file| {
                    // zstd takes as long for a byte as for many.
                    let mut index = BufWriter::new(zstd::Encoder::new(file, 1)?);
                    rmp_serde::encode::write(&mut index, &sources).map_err(io::Error::other)?;
                    index.into_inner().map_err(io::IntoInnerError::into_error)?.finish().map(|_| ())
                })?;
                manifest.index = checksum.hash;
                let text = manifest.to_json()?;
                parts::write_file(&self.next.join(MANIFEST), 0, |file| file.write_all(text.as_bytes()))?;
                disk::remove_file(&self.next.join(SPOOL))?;
                for file in [INDEX, MANIFEST] {
                    wait_for(Waited::File(self.next.join(file)));
                }
                for folder in TABLES.iter().chain([&FACTS, &""]) {
                    wait_for(Waited::Folder(self.next.join(folder)));
                }
                if self.is_new() {
                    wait_for(Waited::File(self.archive.folder.join(MARKER)));
                }
                Ok(())
            })?;
            if self.is_new() {
                // What this folder is stands there before anything in it that would make it another's.
                disk::sync_folder(&self.archive.folder)?;
            }
            // Earlier versions of this program read this archive no more.
            self.archive.mark()?;
            let name = format!("{GENERATION}{}", manifest.generation);
            let folder = self.archive.folder.join(&name);
            // Of a process that died between its two renames.
            disk::remove_folder(&folder)?;
            disk::rename(&self.next, &folder)?;
            disk::sync_folder(&self.archive.folder)?;
            self.archive.make_current(&name)?;
            Ok(())
        };
        written().map_err(Error::file(&self.next))?;
        self.clean_up(manifest.generation);
        Ok((manifest.sums(), sources))
    }

    /// The files of parts that are not those of the generation before.
    fn new_files(&self, manifest: &Manifest) -> impl Iterator<Item = PathBuf> {
        let linked: BTreeSet<&str> = self.state.parts().iter().map(|it| it.name.as_str()).collect();
        let new = manifest.parts.iter().filter(move |it| !linked.contains(it.name.as_str()));
        new.flat_map(|part| part.files.keys().map(|kind| self.next.join(parts::file_of(part, kind))))
    }

    /// Removes generations: all but the current one, the one before it, and those that are being read.
    fn clean_up(&self, current: u64) {
        for folder in &self.damaged {
            let name = super::repair::unused(&folder.with_extension("damaged"));
            let _ = disk::rename(folder, &name);
        }
        for (number, folder) in self.archive.generations() {
            if self.damaged.contains(&folder) {
                continue;
            }
            if number != current && number + 1 != current {
                generations::remove_unless_read(&folder);
            }
        }
    }

    /// Removes what this writer made of a new archive.
    fn withdraw(&self) {
        for path in self.made.iter().rev() {
            let _ = if path.is_dir() { disk::remove_empty_folder(path) } else { disk::remove_file(path) };
        }
    }
}

impl Sink for Writer {
    fn take(&self, source: Source) {
        self.add(source);
    }

    fn spill(&self, sessions: Vec<SessionResult>) -> Result<Vec<Aside>, Vec<SessionResult>> {
        // What is lost here is told by [`Self::commit`], which changes nothing then.
        self.keep(&sessions).map_err(|error| {
            self.taken().error.get_or_insert(error);
            sessions
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = disk::remove_folder(&self.next);
        self.withdraw();
    }
}

/// Whether nothing stands in a folder but what a writer makes in its own: such a folder the next writer removes.
pub fn is_next(folder: &Path) -> bool {
    let is_known = |it: &str| TABLES.contains(&it) || [FACTS, INDEX, MANIFEST, SPOOL].contains(&it);
    fs::read_dir(folder)
        .is_ok_and(|mut it| it.all(|it| it.is_ok_and(|it| it.file_name().to_str().is_some_and(is_known))))
}

/// An error with the path where it happened, for a caller that names another.
fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Facts that the sources of a batch have in memory together, in bytes as they are kept. It is known of new ones which are in
/// pieces, and settled in rounds.
fn facts_of(items: &[Item]) -> u64 {
    let in_rounds = |it: &Item| it.is_alone && !it.known.pieces.is_empty();
    let sizes = items.iter().map(|it| if in_rounds(it) { weight(it).min(PART) } else { weight(it) });
    sizes.fold(0, u64::saturating_add)
}

/// How long the facts of a source are, or would be if all of it took as much memory as rows: of tiny ones a batch would hold many.
fn weight(item: &Item) -> u64 {
    const SOURCE: u64 = 600;
    item.known.length.saturating_add(SOURCE)
}

/// Batches that are yet to be settled, the largest last, with the sizes of their facts.
struct Queue<T> {
    left: Vec<(u64, T)>,
    /// The sum of those in work.
    in_work: u64,
    threads: u64,
}

impl<T> Queue<T> {
    /// Most batches are no larger, in bytes.
    const ORDINARY: u64 = PART + PART / 2;
    /// Facts in work for each thread, in bytes, where there is a choice.
    const FOR_EACH: u64 = 3 * PART;

    fn new(mut left: Vec<(u64, T)>, threads: usize) -> Self {
        left.sort_by_key(|it| it.0);
        Self { left, in_work: 0, threads: threads as u64 }
    }

    /// The largest, so that no thread is left alone with it at the end; but beside large ones, the largest that is not too much
    /// with them, or else the smallest.
    fn next(&mut self) -> Option<(u64, T)> {
        let others_are_ordinary = self.in_work <= self.threads.saturating_sub(1) * Self::ORDINARY;
        let most = self.threads * Self::FOR_EACH;
        let may = |it: &(u64, T)| others_are_ordinary || self.in_work.saturating_add(it.0) <= most;
        let place = self.left.iter().rposition(may).unwrap_or(0);
        let next = (place < self.left.len()).then(|| self.left.remove(place))?;
        self.in_work = self.in_work.saturating_add(next.0);
        Some(next)
    }

    /// One of that size is settled.
    fn done(&mut self, size: u64) {
        self.in_work = self.in_work.saturating_sub(size);
    }
}

/// Whole groups, together about as large as a part. Many batches are an even number of about the same size: most machines have an
/// even number of threads, which then end together.
fn batches<T>(items: Vec<(usize, T)>, length_of: impl Fn(&T) -> u64) -> Vec<Vec<T>> {
    let all = items.iter().fold(0_u64, |all, it| all.saturating_add(length_of(&it.1)));
    let count = match all.saturating_add(PART / 2) / PART {
        few @ 0..=2 => few.max(1),
        many => many.next_multiple_of(2),
    };
    let each = all.div_ceil(count).max(1);
    let mut batches: Vec<Vec<T>> = Vec::new();
    let (mut before, mut size) = (0_u64, 0);
    // The group of the last item, and which batch it would be in if all were as large.
    let mut last = None;
    for (group, item) in items {
        let length = length_of(&item);
        let place = last.filter(|it: &(usize, u64)| it.0 == group).map_or(before / each, |it| it.1);
        let goes_on = last.is_some_and(|it| it.1 == place) || size < each / 2;
        before = before.saturating_add(length);
        if let Some(batch) = batches.last_mut().filter(|_| goes_on) {
            size = length.saturating_add(size);
            batch.push(item);
        } else {
            size = length;
            batches.push(vec![item]);
        }
        last = Some((group, place));
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As large as most batches are at least.
    const HALF: u64 = PART / 2;

    fn queue(halves: &[u64], threads: usize) -> Queue<u64> {
        Queue::new(halves.iter().map(|it| (it * HALF, *it)).collect(), threads)
    }

    #[test]
    fn batches_are_whole_groups_of_about_the_same_size() {
        let sizes = |items: &[(usize, u64)]| {
            let batches = batches(items.to_vec(), |it| *it);
            batches.iter().map(|it| it.iter().sum::<u64>() * 10 / PART).collect::<Vec<_>>()
        };
        let alone = |count: usize, size: u64| (0..count).map(|it| (it, size)).collect::<Vec<_>>();
        assert_eq!(sizes(&[]), [0; 0]);
        assert_eq!(sizes(&[(1, 0)]), [0]);
        assert_eq!(sizes(&alone(22, PART / 16)), [13]);
        assert_eq!(sizes(&alone(26, PART / 16)), [8, 8]);
        // Three would leave one thread of two alone.
        assert_eq!(sizes(&alone(48, PART / 16)), [7, 7, 7, 7]);
        assert_eq!(sizes(&alone(160, PART / 16)), [10; 10]);
        // What belongs together stays together.
        let group = [(5, PART), (5, PART), (5, PART), (6, PART / 2), (7, PART / 2), (8, PART)];
        assert_eq!(sizes(&group), [30, 5, 15]);
        let small = [(1, PART * 2), (2, PART / 20), (3, PART * 2), (4, PART / 20), (5, PART * 2), (6, PART * 2)];
        assert_eq!(sizes(&small), [20, 20, 20, 20]);
        assert_eq!(batches(vec![(1, u64::MAX), (2, u64::MAX)], |it| *it).len(), 2);
    }

    #[test]
    fn the_largest_batch_that_is_not_too_much_is_settled_first() {
        let mut queue = queue(&[1, 7, 3, 20, 9, 2, 5], 2);
        let mut next = || queue.next().map(|it| it.1);
        // The largest of all, and beside it, as all are too much with it, the smallest.
        assert_eq!((next(), next()), (Some(20), Some(1)));
        queue.done(20 * HALF);
        // Beside an ordinary one any.
        assert_eq!(queue.next().map(|it| it.1), Some(9));
        queue.done(HALF);
        assert_eq!(queue.next().map(|it| it.1), Some(3));
        queue.done(9 * HALF);
        assert_eq!(queue.next().map(|it| it.1), Some(7));
    }

    /// Threads end at about the same time, and what is in work has a bound for each of them.
    #[test]
    fn threads_end_together_and_hold_little() {
        for threads in [1, 2, 4, 16] {
            let sizes: Vec<u64> = (0..200).map(|it| 1 + it % 6).chain([8; 8]).collect();
            let mut queue = queue(&sizes, threads);
            let (mut busy, mut taken, mut most, mut now) = (BTreeSet::new(), 0, 0, 0);
            loop {
                while busy.len() < threads
                    && let Some((size, halves)) = queue.next()
                {
                    busy.insert((now + halves, taken, size));
                    taken += 1;
                }
                most = most.max(busy.iter().map(|it| it.2 / HALF).sum());
                let Some((end, _, size)) = busy.pop_first() else { break };
                queue.done(size);
                now = end;
            }
            let ideal = sizes.iter().sum::<u64>().div_ceil(threads as u64);
            assert_eq!((taken, queue.in_work), (sizes.len(), 0));
            assert!(now <= ideal + 2, "{threads}: {now} {ideal}");
            assert!(most <= 6 * threads as u64 + 2, "{threads}: {most}");
        }
    }
}
