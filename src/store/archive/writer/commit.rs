//! Writes the next generation.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::api::{Writer, Written};
use super::batches::{Queue, bytes_in_memory, divide_changed};
use super::plan::{Item, Plan};
use super::stage::{FactsLocation, InMemory};
use crate::ledger::{self, Repeated, SessionKeys, Unmatched};
use crate::model::source::{Source, SourceStatus};
use crate::prices::Catalog;
use crate::store::archive::disk;
use crate::store::archive::error::Error;
use crate::store::archive::facts::{Chunk, Chunks, FactsFile, ReconcileBatch, codec, read_at};
use crate::store::archive::generations::Snapshot;
use crate::store::archive::index::{self, FactsPlace, IndexEntry, Sources};
use crate::store::archive::layout::{INDEX, VERSION, file_of, kinds};
use crate::store::archive::manifest::{Manifest, Part};
use crate::store::archive::part::{self, PartInputs, WrittenPart};
use crate::store::archive::verdicts::session_keys;
use crate::store::frames::schema_hash;

/// Raised when the same facts are reconciled to other tables, so that the next run computes them again.
const LEDGER: u32 = 27;

/// How many threads write parts at once: each has the rows of a part in memory, some 20 MB.
const MAX_THREADS: usize = 4;

/// The program, its columns, and the prices, built-in and own ones: with others, the same facts may give other rows.
pub fn reconciled_with(catalog: &Catalog) -> String {
    let own: String = catalog.own_entries().filter_map(|entry| serde_json::to_string(entry).ok()).collect();
    let own = twox_hash::XxHash3_64::oneshot(own.as_bytes());
    format!("{} {LEDGER} {} {} {own:x}", env!("CARGO_PKG_VERSION"), schema_hash(), catalog.date)
}

impl Writer {
    /// Writes the next generation, with the known sources and the added ones, and makes it the current one. Until then the archive
    /// does not change, also when an error occurs.
    ///
    /// # Errors
    /// The first error of the run.
    pub fn commit(mut self) -> Result<Written, Error> {
        let catalog = self.archive.catalog()?;
        let reconciled_with = reconciled_with(&catalog);
        let (staged, removed) = {
            let mut staged = self.staged();
            if let Some(error) = staged.error.take() {
                return Err(error);
            }
            (std::mem::take(&mut staged.sources), std::mem::take(&mut staged.removed))
        };
        let before = self.state.snapshot.as_ref();
        let is_of_this_program =
            |manifest: &Manifest| manifest.version == VERSION && manifest.reconciled_with == reconciled_with;
        let is_current = !self.reconciles_all && before.is_some_and(|snapshot| is_of_this_program(&snapshot.manifest));
        if is_current && staged.is_empty() && removed.is_empty() {
            let mut parts_to_rewrite = BTreeSet::new();
            let (problems, is_damaged) = self.verify(&mut parts_to_rewrite)?;
            if let Some(Snapshot { manifest, .. }) = before.filter(|_| parts_to_rewrite.is_empty()) {
                // A process that was interrupted may have left the link as it was before.
                self.archive.link_current(manifest.generation);
                let sums = manifest.sums();
                let sources = std::mem::take(&mut self.state.sources);
                let (unmatched, removed_verdicts, repeated_verdicts) = (Vec::new(), 0, BTreeMap::new());
                return Ok(Written {
                    sums,
                    problems,
                    is_damaged,
                    unmatched,
                    removed_verdicts,
                    repeated_verdicts,
                    sources,
                });
            }
        }
        let mut draft = self.draft(staged, &removed, is_current)?;
        let (problems, is_damaged) = self.verify(&mut draft.parts_to_rewrite)?;
        self.read_links(&mut draft)?;
        let plan = Plan::of(draft);
        let (mut manifest, sources, verdicts) = self.write_parts(plan, reconciled_with, &catalog)?;
        let WrittenVerdicts { unmatched, removed: removed_verdicts, repeated: repeated_verdicts } = verdicts;
        self.finish(&mut manifest)?;
        self.created.clear();
        let sums = manifest.sums();
        Ok(Written { sums, problems, is_damaged, unmatched, removed_verdicts, repeated_verdicts, sources })
    }

    /// Links the parts that stay into the next generation, and writes the others. Returns also the imported verdicts without a session,
    /// and how many were removed with their sessions.
    fn write_parts(
        &self,
        plan: Plan,
        reconciled_with: String,
        catalog: &Catalog,
    ) -> Result<(Manifest, Sources, WrittenVerdicts), Error> {
        let generation = self.next_number();
        for directory in kinds() {
            let path = self.next.join(directory);
            disk::create_directory(&path).map_err(Error::file(&path))?;
        }
        let mut manifest = Manifest { generation, reconciled_with, prices: Some(catalog.date), ..Manifest::default() };
        // A map is built of all sources at once in a tenth of the time of one by one.
        let mut sources: Vec<(String, Box<IndexEntry>)> = Vec::new();
        let mut new_positions = BTreeMap::new();
        for (position, part) in self.state.parts().iter().enumerate() {
            if !plan.parts_to_rewrite.contains(&position) {
                new_positions.insert(position, manifest.parts.len());
                manifest.parts.push(part.clone());
            }
        }
        for mut item in plan.kept {
            item.entry.facts.part = new_positions.get(&item.entry.facts.part).copied().unwrap_or_default();
            sources.push((item.path, item.entry));
        }
        let parts = divide_changed(plan.changed);
        let last = parts.len();
        let link = || manifest.parts.par_iter().try_for_each(|part| self.link(part));
        let (linked, written) = rayon::join(link, || self.write_in_parallel(parts, generation, catalog));
        linked?;
        let mut add = |(part, items): (Part, Vec<Item>), manifest: &mut Manifest| {
            let position = manifest.parts.len();
            manifest.parts.push(part);
            sources.extend(items.into_iter().map(|mut item| {
                item.entry.facts.part = position;
                (item.path, item.entry)
            }));
        };
        for written in written {
            let Done { part, items, .. } = written?;
            add((part, items), &mut manifest);
        }
        let (mut unmatched, mut removed, mut repeated) = (Vec::new(), 0, BTreeMap::new());
        if !plan.verdicts.is_empty() {
            let mut keys = session_keys(&self.next, &manifest.parts)?;
            let mut verdicts = plan.verdicts;
            if let Some(before) = &self.sessions_before {
                (verdicts, removed) = self.without_removed_sessions(verdicts, before, &keys)?;
            }
            if !verdicts.is_empty() {
                self.find_repeated(&verdicts, &mut keys)?;
                repeated = keys.repeated();
                let written = self.write_part(format!("{generation}-{last}"), verdicts, catalog, Some(&keys))?;
                unmatched = written.unmatched;
                add((written.part, written.items), &mut manifest);
            }
        }
        Ok((manifest, sources.into_iter().collect(), WrittenVerdicts { unmatched, removed, repeated }))
    }

    /// Finds the imported verdicts that repeat others: they are not listed.
    fn find_repeated(&self, items: &[Item], keys: &mut SessionKeys) -> Result<(), Error> {
        let sources = items.iter().map(|item| self.load(&item.entry, &item.facts)).collect::<Result<Vec<_>, _>>()?;
        let mut imported: Vec<_> = sources.iter().map(|source| (source.path.as_str(), &source.verdicts[..])).collect();
        imported.sort_by_key(|(path, _)| *path);
        keys.find_repeated(imported.into_iter());
        Ok(())
    }

    /// Sources of imported verdicts without the verdicts about sessions that were there before and are not there now, and how many
    /// these are.
    fn without_removed_sessions(
        &self,
        items: Vec<Item>,
        before: &SessionKeys,
        now: &SessionKeys,
    ) -> Result<(Vec<Item>, usize), Error> {
        let mut kept = Vec::with_capacity(items.len());
        let mut removed = 0;
        for item in items {
            let mut source = self.load(&item.entry, &item.facts)?;
            let count = source.verdicts.len();
            source.verdicts.retain(|verdict| before.find(verdict).map_or(true, |(session, _)| now.contains(session)));
            removed += count - source.verdicts.len();
            if source.verdicts.len() == count {
                kept.push(item);
            } else if !source.verdicts.is_empty() {
                let entry = Box::new(IndexEntry::of(&source, false, ledger::links(&source)));
                let facts = FactsLocation::Memory(InMemory::new(source).map_err(Error::file(&self.next))?);
                kept.push(Item { entry, facts, ..item });
            }
        }
        Ok((kept, removed))
    }

    /// The number of the next generation.
    fn next_number(&self) -> u64 {
        let current = self.state.snapshot.as_ref().map(|snapshot| snapshot.manifest.generation);
        // A damaged archive may contain newer generations than the one that was readable.
        let last = if self.reconciles_all { current.max(Some(self.newest)) } else { current };
        last.map_or(1, |last| last + 1)
    }

    /// Writes parts on several threads of rayon, which have read the sources and use the memory again that they freed. The other
    /// threads, and one that waits, encode columns for them. They begin no other part meanwhile, as that is not a task of rayon's: so
    /// no thread has two parts in memory.
    fn write_in_parallel(&self, parts: Vec<Vec<Item>>, generation: u64, catalog: &Catalog) -> Vec<Result<Done, Error>> {
        let threads = rayon::current_num_threads().min(parts.len()).min(MAX_THREADS);
        self.progress.of.store(parts.len(), Ordering::Relaxed);
        let mut results: Vec<Option<_>> = parts.iter().map(|_| None).collect();
        let work = parts.into_iter().zip(&mut results).enumerate();
        let work = work.map(|(number, (items, result))| (bytes_in_memory(&items), (number, items, result)));
        let queue = Mutex::new(Queue::new(work.collect(), threads));
        let queue = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        rayon::broadcast(|thread| {
            while thread.index() < MAX_THREADS {
                let next = queue().next();
                let Some((size, (number, items, result))) = next else { break };
                *result = Some(self.write_part(format!("{generation}-{number}"), items, catalog, None));
                self.progress.done.fetch_add(1, Ordering::Relaxed);
                queue().done(size);
            }
        });
        results.into_iter().flatten().collect()
    }

    /// Reconciles sources and writes them as a part. With `keys`, imported verdicts find their sessions.
    fn write_part(
        &self,
        name: String,
        mut items: Vec<Item>,
        catalog: &Catalog,
        keys: Option<&SessionKeys>,
    ) -> Result<Done, Error> {
        let mut loader = Loader {
            next: &self.next,
            facts: FactsFile::create(&self.next, &name).map_err(Error::file(&self.next))?,
            whole: Vec::with_capacity(items.len()),
            in_batches: Vec::new(),
        };
        let (spool_path, mut spool) = self.spool.open()?;
        for item in &mut items {
            match std::mem::replace(&mut item.facts, FactsLocation::Part) {
                FactsLocation::Memory(staged) => loader.add_from_memory(staged)?,
                FactsLocation::Spool(chunks) => {
                    loader.add_from_file(spool_path, &mut spool, chunks, item.is_alone)?;
                }
                FactsLocation::Part => {
                    let (path, mut file, chunks) = self.state.open(item.entry.facts)?;
                    loader.add_from_file(&path, &mut file, chunks, item.is_alone)?;
                }
            }
        }
        let Loader { facts, whole, in_batches, .. } = loader;
        let whole = (!whole.is_empty()).then_some(Ok(ReconcileBatch { sources: whole, has_more: false }));
        let batches = whole.into_iter().chain(in_batches.into_iter().flatten());
        let written = part::write(&self.next, name, batches, facts, &PartInputs { catalog, pool: &self.tables, keys })?;
        let WrittenPart { mut part, places, reconciled, unmatched } = written;
        let statuses: BTreeMap<&str, SourceStatus> =
            reconciled.iter().map(|source| (source.path.as_str(), source.status)).collect();
        for (item, place) in items.iter_mut().zip(places) {
            item.entry.facts =
                FactsPlace { part: 0, offset: place.offset, length: place.length, checksum: place.checksum };
            item.entry.status = statuses.get(item.path.as_str()).copied().unwrap_or(item.entry.status);
        }
        let path = self.next.join(file_of(&part.name, INDEX));
        let entries: Vec<_> = items.iter().map(|item| (item.path.as_str(), &*item.entry)).collect();
        part.files.insert(INDEX.to_owned(), index::write(&path, &entries).map_err(Error::file(&path))?);
        Ok(Done { part, items, unmatched })
    }

    /// Links the files of a part into the next generation.
    fn link(&self, part: &Part) -> Result<(), Error> {
        let Some(Snapshot { directory, .. }) = &self.state.snapshot else { return Ok(()) };
        for kind in part.files.keys() {
            let name = file_of(&part.name, kind);
            let (from, to) = (directory.join(&name), self.next.join(&name));
            disk::link(&from, &to).map_err(Error::listed(&from))?;
        }
        Ok(())
    }
}

/// What became of imported verdicts.
struct WrittenVerdicts {
    /// Those without a session.
    unmatched: Vec<Unmatched>,
    /// How many were removed with their sessions.
    removed: usize,
    /// Those of each source that repeat another verdict.
    repeated: BTreeMap<String, Repeated>,
}

/// A part that was written.
struct Done {
    part: Part,
    items: Vec<Item>,
    unmatched: Vec<Unmatched>,
}

/// Loads the sources of a part, and copies their facts into its file.
struct Loader<'a> {
    /// The directory of the next generation.
    next: &'a Path,
    facts: FactsFile,
    /// Sources that are reconciled together.
    whole: Vec<Source>,
    /// Sources that are loaded and reconciled some chunks at a time.
    in_batches: Vec<Box<dyn Iterator<Item = Result<ReconcileBatch, Error>>>>,
}

impl Loader<'_> {
    fn add_from_memory(&mut self, staged: Arc<InMemory>) -> Result<(), Error> {
        self.facts.add_one(&staged.encoded).map_err(Error::file(self.next))?;
        let source = Arc::try_unwrap(staged).map_or_else(|shared| shared.source.clone(), |staged| staged.source);
        self.whole.push(source);
        Ok(())
    }

    fn add_from_file(&mut self, path: &Path, file: &mut File, chunks: Chunks, is_alone: bool) -> Result<(), Error> {
        if let Some(chunk) = chunks.only() {
            let bytes = read_at(file, chunk.offset, chunk.length).map_err(Error::file(path))?;
            self.facts.add_one(&bytes).map_err(Error::file(self.next))?;
            self.whole.push(codec::decode_facts(&bytes).map_err(Error::file(path))?);
            return Ok(());
        }
        let read = |chunk: &Chunk| read_at(file, chunk.offset, chunk.length).map(Cow::Owned);
        self.facts.add(&chunks, read).map_err(Error::file(path))?;
        if is_alone {
            let batches = chunks.batches(file.try_clone().map_err(Error::file(path))?).map_err(Error::file(path))?;
            let path = path.to_owned();
            self.in_batches.push(Box::new(batches.map(move |batch| batch.map_err(Error::file(&path)))));
        } else {
            // Sources of the group may contain any of its sessions.
            self.whole.push(chunks.load(file).map_err(Error::file(path))?);
        }
        Ok(())
    }
}
