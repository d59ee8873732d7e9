//! What callers do with a writer before it commits.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::spool::Spool;
use super::stage::{FactsLocation, Staged};
use crate::ingest::FileStamp;
use crate::ledger::{Repeated, SessionKeys, Unmatched};
use crate::model::known_places::KnownPlaces;
use crate::model::source::{STDIN, Source, SourceStatus};
use crate::prices::{Catalog, Table};
use crate::store::archive::disk;
use crate::store::archive::error::{Error, Problem};
use crate::store::archive::index::{IndexEntry, Sources};
use crate::store::archive::layout::{NEXT, POINTER, Pointer};
use crate::store::archive::manifest::Sums;
use crate::store::archive::open::{Archive, Lock};
use crate::store::archive::part::TablesPool;
use crate::store::archive::state::State;

/// Writes the next generation of an archive. Only one writer of an archive exists at a time.
#[derive(Debug)]
pub struct Writer {
    pub(super) archive: Archive,
    /// The current generation.
    pub(super) state: State,
    /// The directory of the next generation.
    pub(super) next: PathBuf,
    pub(super) staged: Mutex<Staged>,
    pub(super) spool: Spool,
    /// As many as parts were written at once.
    pub(super) tables: TablesPool,
    /// Whether all parts are reconciled again, unchanged ones too.
    pub(super) reconciles_all: bool,
    /// The sessions before the run, if imported verdicts about those that it removes are removed too.
    pub(super) sessions_before: Option<SessionKeys>,
    /// The number of the newest generation in the directory.
    pub(super) newest: u64,
    /// Damaged generations, and the paths to which they are renamed once the next one is current, so that no later writer removes them.
    pub(super) damaged: Vec<(PathBuf, PathBuf)>,
    /// What is removed again if the archive is new and nothing is committed, outermost first.
    pub(super) created: Vec<PathBuf>,
    /// The known places of the sources that are being read, by path: the sessions of a large one are added in many steps.
    pub(super) places: Mutex<HashMap<String, Arc<KnownPlaces>>>,
    pub(super) progress: Arc<PartsWritten>,
    _lock: Lock,
}

/// How far a commit has come. A progress bar reads it while the writer writes it.
#[derive(Debug, Default)]
pub struct PartsWritten {
    /// The parts that are reconciled and written.
    pub done: AtomicUsize,
    /// The number of parts that change; 0 until it is known.
    pub of: AtomicUsize,
}

/// The archive after a run.
#[derive(Debug)]
pub struct Written {
    /// The sums of its tables.
    pub sums: Sums,
    /// The damage that was found, and what was done about it.
    pub problems: Vec<Problem>,
    /// Whether some of it is still damaged.
    pub is_damaged: bool,
    /// Imported verdicts without a session. Empty if nothing changed.
    pub unmatched: Vec<Unmatched>,
    /// How many imported verdicts were removed with their sessions: see [`Writer::remove_verdicts_with_sessions`].
    pub removed_verdicts: usize,
    /// The verdicts of each imported file that are not listed, as others state the same.
    pub repeated_verdicts: BTreeMap<String, Repeated>,
    pub(super) sources: Sources,
}

impl Written {
    /// The entry of each source, by path.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &IndexEntry)> {
        self.sources.iter().map(|(path, entry)| (path.as_str(), &**entry))
    }
}

impl Archive {
    /// Waits until no other process writes the archive, and opens it for writing.
    ///
    /// # Errors
    /// When the directory contains something else or an archive of another version, or cannot be read or written.
    pub fn write(&self) -> Result<Writer, Error> {
        Ok(self.write_beside(|| ())?.0)
    }

    /// As [`Self::write`], and does other work while the indexes are read. The work begins when no other process writes the archive.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub fn write_beside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<(Writer, T), Error> {
        let lock = self.lock()?;
        let (state, done) = rayon::join(|| self.state(), work);
        Ok((Writer::with_state(self.clone(), lock, state?)?, done))
    }
}

impl Writer {
    /// A writer that begins with the sources in `state`.
    pub(in crate::store::archive) fn with_state(archive: Archive, lock: Lock, state: State) -> Result<Self, Error> {
        let mut created = Vec::new();
        if state.snapshot.is_none() {
            // It is synced to the disk before a generation becomes current: see `finish`.
            let path = archive.directory().join(POINTER);
            created.clone_from(&lock.created);
            created.extend(Some(path.clone()).filter(|path| !path.exists()));
            let written = disk::create_or_empty(&path).and_then(|mut file| file.write_all(&Pointer::none().json()));
            written.map_err(Error::file(&path))?;
        }
        // The end of a run waits for the prices; now the other threads are idle.
        rayon::spawn(|| {
            let _ = Catalog::built_in();
        });
        let next = archive.directory().join(NEXT);
        // An interrupted process leaves such a directory.
        disk::remove_directory(&next).map_err(Error::file(&next))?;
        disk::create_directory(&next).map_err(Error::file(&next))?;
        let spool = Spool::create(&next)?;
        let newest = archive.generations().last().map_or(0, |generation| generation.0);
        Ok(Self {
            archive,
            state,
            next,
            staged: Mutex::default(),
            spool,
            tables: TablesPool::default(),
            reconciles_all: false,
            sessions_before: None,
            newest,
            damaged: Vec::new(),
            created,
            places: Mutex::default(),
            progress: Arc::default(),
            _lock: lock,
        })
    }

    /// How far [`Self::commit`] has come.
    pub fn progress(&self) -> Arc<PartsWritten> {
        Arc::clone(&self.progress)
    }

    /// Whether the archive contains nothing yet.
    pub fn is_new(&self) -> bool {
        self.state.snapshot.is_none()
    }

    /// The stamp of a known source, which shows whether its file changed.
    pub fn known(&self, path: &str) -> Option<&FileStamp> {
        self.state.sources.get(path).map(|entry| &entry.stamp)
    }

    /// The paths of all known sources.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.state.sources.keys().map(String::as_str)
    }

    /// The logs that were read from standard input before the last one, with their stamps.
    pub fn earlier_stdin(&self) -> Vec<(String, FileStamp)> {
        let is_earlier = |path: &str| path.strip_prefix(STDIN).is_some_and(|rest| rest.starts_with('#'));
        let sources = self.state.sources.iter().filter(|(path, _)| is_earlier(path));
        sources.map(|(path, entry)| (path.clone(), entry.stamp.clone())).collect()
    }

    /// The facts of a source as it was last read; `None` if it is not known.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn facts(&self, path: &str) -> Result<Option<Source>, Error> {
        self.state.sources.get(path).map(|entry| self.state.load(entry)).transpose()
    }

    /// Adds what a file contains now, in place of what it contained before. Earlier sessions that it does not contain any more are
    /// kept at a path of their own ([`Source::sessions_kept_after`]): the archive outlives the logs. [`Self::commit`] returns errors.
    pub fn add(&self, mut source: Source) {
        self.record_error(|| {
            for path in std::mem::take(&mut source.replaces) {
                self.keep_known_places(&path, &mut source.sessions)?;
                self.remove(&path);
            }
            if let Some(known) = self.state.sources.get(&source.path).filter(|entry| entry.has_sessions) {
                // A file that cannot be read replaces nothing.
                if source.status == SourceStatus::Unreadable {
                    return Ok(());
                }
                self.keep_known_places(&source.path, &mut source.sessions)?;
                // A file that grew contains all that it contained before.
                if source.grew {
                    return self.stage(source);
                }
                if let Some(earlier) = self.state.load(known)?.sessions_kept_after(&source) {
                    self.stage(earlier)?;
                }
            }
            self.stage(source)
        });
    }

    /// Adds a source of another archive. The newer state of a file wins, also over one that this run added before.
    pub fn merge(&self, mut source: Source) {
        self.record_error(|| {
            let Some((known, facts)) = self.latest(&source.path) else { return self.stage(source) };
            let age = |stamp: &FileStamp| (stamp.modified_at, stamp.bytes, stamp.content_hash);
            let stamp = FileStamp::of(&source);
            if age(&stamp) == age(&known.stamp) {
                return Ok(());
            }
            let mut known_source = self.load(&known, &facts)?;
            let is_newer = age(&stamp) > age(&known.stamp);
            let knows_more = if is_newer {
                source.keep_known_places(&known_source)
            } else {
                known_source.keep_known_places(&source)
            };
            let (older, newer) = if is_newer { (&known_source, &source) } else { (&source, &known_source) };
            if let Some(earlier) = older.sessions_kept_after(newer) {
                self.stage(earlier)?;
            }
            match (is_newer, knows_more) {
                (true, _) => self.stage(source),
                (false, true) => self.stage(known_source),
                (false, false) => Ok(()),
            }
        });
    }

    /// Removes a source.
    pub fn remove(&self, path: &str) {
        self.staged().removed.insert(path.to_owned());
    }

    /// Removes imported verdicts about sessions that the archive contains now and does not contain after the commit.
    ///
    /// # Errors
    /// When the table of sessions cannot be read.
    pub fn remove_verdicts_with_sessions(&mut self) -> Result<(), Error> {
        let has_verdicts = self.state.sources.values().any(|entry| entry.has_verdicts);
        if let Some(snapshot) = self.state.snapshot.as_ref().filter(|_| has_verdicts) {
            self.sessions_before = Some(snapshot.session_keys()?);
        }
        Ok(())
    }

    /// Replaces the facts of a source.
    pub fn replace(&self, source: Source) {
        self.record_error(|| self.stage(source));
    }

    /// Replaces the archive's own prices.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_own_prices(&self, entries: &Table) -> Result<(), Error> {
        self.archive.write_prices(entries)
    }

    /// Reconciles all sources again, into few parts.
    pub fn reconcile_all(&mut self) {
        self.reconciles_all = true;
    }

    /// Renames damaged generations, each to the path beside it, once the next one is current.
    pub(in crate::store::archive) fn rename_on_commit(&mut self, damaged: Vec<(PathBuf, PathBuf)>) {
        self.damaged = damaged;
    }

    /// The entry of a source as this run added it, else that of the current generation, and where its facts are.
    fn latest(&self, path: &str) -> Option<(Box<IndexEntry>, FactsLocation)> {
        let of_run = self.staged().sources.get(path).map(|staged| (staged.entry.clone(), staged.facts.clone()));
        of_run.or_else(|| Some((self.state.sources.get(path)?.clone(), FactsLocation::Part)))
    }

    /// The facts of a source that are in memory, in the spool or in a part of the current generation.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn load(&self, entry: &IndexEntry, facts: &FactsLocation) -> Result<Source, Error> {
        match facts {
            FactsLocation::Memory(staged) => Ok(staged.source.clone()),
            FactsLocation::Spool(chunks) => {
                let (path, mut spool) = self.spool.open()?;
                chunks.load(&mut spool).map_err(Error::file(path))
            }
            FactsLocation::Part => self.state.load(entry),
        }
    }

    pub(super) fn staged(&self) -> MutexGuard<'_, Staged> {
        // A panic ends the run before it commits anything.
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first error for [`Self::commit`].
    pub(super) fn record_error(&self, run: impl FnOnce() -> Result<(), Error>) {
        if let Err(error) = run() {
            self.staged().error.get_or_insert(error);
        }
    }
}

impl Drop for Writer {
    /// Removes what was written and not committed, and what was created for a new archive.
    fn drop(&mut self) {
        let _ = disk::remove_directory(&self.next);
        if !self.archive.generations().is_empty() {
            // Perhaps the pointer names it, although an error was reported after the pointer was replaced.
            return;
        }
        for path in self.created.iter().rev() {
            let _ = if path.is_dir() { disk::remove_empty_directory(path) } else { disk::remove_file(path) };
        }
    }
}
