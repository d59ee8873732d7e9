//! Recovers a damaged archive: keeps what is intact, and lists the sources that have to be read again.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use polars::prelude::*;

use super::disk;
use super::error::{Error, Problem};
use super::facts;
use super::generations::Snapshot;
use super::index::{self, IndexEntry, Sources};
use super::layout::{self, FACTS, INDEX, MANIFEST, POINTER, PRICES, file_of, kinds};
use super::manifest::{Manifest, Part};
use super::open::Archive;
use super::state::State;
use super::table_files;
use super::writer::Writer;
use crate::ingest::FileStamp;
use crate::input::open::open_file;
use crate::model::source::Source;
use crate::store::frames::turns;

/// Where damaged prices are moved.
const DAMAGED_PRICES: &str = "prices.damaged";

/// What is done about a damaged pointer.
const POINTER_IS_DAMAGED: &str = "it is written again; the newest generation that can be read is used";

/// What is done about a damaged manifest, table or index.
const IS_WRITTEN_AGAIN: &str = "it is written again";

/// A repair that has begun. Nothing of the archive changes before [`Writer::commit`], except that damaged prices are renamed, and
/// histories of repositories are repaired.
#[derive(Debug)]
pub struct Repair {
    /// Writes the next generation, with all that is intact.
    pub writer: Writer,
    /// The damage that was found, and what is done about it.
    pub problems: Vec<Problem>,
    /// Sources whose facts are damaged. The next generation contains those that are added to the writer again.
    pub lost: Vec<Lost>,
    /// Whether sources are missing whose paths are not known.
    pub is_incomplete: bool,
}

/// A source whose facts are damaged.
#[derive(Debug)]
pub struct Lost {
    /// Its path, as in the table `sources`.
    pub path: String,
    /// `None` if the index of its part is damaged too.
    stamp: Option<FileStamp>,
}

impl Lost {
    /// Whether the file that was read now has the same content as before; `None` if the index of its part is damaged too.
    pub fn is_same(&self, source: &Source) -> Option<bool> {
        let before = self.stamp.as_ref()?.content_hash?;
        Some(FileStamp::of(source).content_hash == Some(before))
    }

    /// The stamp for [`crate::ingest::read`], which reads the file in any case and finds out whether it only grew.
    pub fn stamp(&self) -> Option<FileStamp> {
        self.stamp.clone().map(|stamp| FileStamp { options: 0, ..stamp })
    }

    /// Whether the file was read with other options than before, or by another version of this program.
    pub fn has_other_options(&self, source: &Source) -> bool {
        self.stamp.as_ref().is_some_and(|stamp| stamp.options != FileStamp::of(source).options)
    }
}

impl Archive {
    /// Begins to recover a damaged archive. An intact archive is reconciled again, as by [`Writer::reconcile_all`].
    ///
    /// # Errors
    /// When there is no archive, another version of this program wrote it, or no generation can be read.
    pub fn repair(&self) -> Result<Repair, Error> {
        if self.generations().is_empty() {
            return Err(Error::Missing(self.directory().to_owned()));
        }
        let lock = self.lock_directory()?;
        let mut problems = Vec::new();
        let mut damaged = Vec::new();
        let snapshot = self.readable_generation(&mut problems, &mut damaged)?;
        let intact = parts_with_intact_facts(&snapshot, &mut problems);
        let mut found = Found::of(&snapshot, &intact, &mut problems);
        if let Err(error) = self.own_prices() {
            let (from, to) = (self.directory().join(PRICES), layout::unused(&self.directory().join(DAMAGED_PRICES)));
            disk::rename(&from, &to).map_err(Error::file(&from))?;
            let name = to.file_name().unwrap_or_default().display();
            problems.push(Problem::of(error, &format!("the file is renamed to {name}; import your prices again")));
        }
        self.repair_histories(&mut problems)?;
        let sources = std::mem::take(&mut found.known);
        let state = State { snapshot: Some(snapshot), sources };
        let mut writer = Writer::with_state(self.clone(), lock, state)?;
        writer.reconcile_all();
        let is_incomplete = found.is_incomplete || !damaged.is_empty();
        writer.rename_on_commit(damaged);
        found.read.into_iter().for_each(|source| writer.replace(source));
        Ok(Repair { writer, problems, lost: found.lost, is_incomplete })
    }

    /// The current generation if its manifest can be read or restored from its facts, else the newest generation of which this is
    /// true. The later ones are added to `damaged`, with the paths to which they are to be renamed.
    fn readable_generation(
        &self,
        problems: &mut Vec<Problem>,
        damaged: &mut Vec<(PathBuf, PathBuf)>,
    ) -> Result<Snapshot, Error> {
        let mut directories: Vec<PathBuf> = self.generations().into_iter().map(|(_, directory)| directory).collect();
        match self.current() {
            Ok(Some(current)) => match Manifest::read(&current.directory.join(MANIFEST)) {
                Ok(manifest) if !current.is_described_by(&manifest) => {
                    let error = Error::changed(self.directory().join(POINTER));
                    problems.push(Problem::of(error, POINTER_IS_DAMAGED));
                }
                _ => directories.push(current.directory),
            },
            Ok(None) => {}
            Err(error @ Error::Version { .. }) => return Err(error),
            Err(error) => problems.push(Problem::of(error, POINTER_IS_DAMAGED)),
        }
        while let Some(directory) = directories.pop() {
            let path = directory.join(MANIFEST);
            match Manifest::read_damaged(&path) {
                Ok((mut manifest, is_intact)) => {
                    if !is_intact {
                        // All that it contains is compared with the files, or computed again.
                        add_unlisted_parts(&mut manifest, &directory);
                        problems.push(Problem::of(Error::changed(path.clone()), IS_WRITTEN_AGAIN));
                    }
                    return Ok(Snapshot::of(directory, manifest));
                }
                Err(error @ Error::Version { .. }) => return Err(error),
                Err(error) => {
                    directories.retain(|other| *other != directory);
                    if let Some(manifest) = manifest_of_facts(&directory) {
                        let then = "it is written again for the parts that are there";
                        problems.push(Problem::of(error, then));
                        return Ok(Snapshot::of(directory, manifest));
                    }
                    let kept = layout::unused(&directory.with_extension("damaged"));
                    let then = format!(
                        "its facts cannot be read either: an earlier generation is used, without what was ingested after it; \
                         ingest the newest logs again. The damaged generation is renamed to {}",
                        kept.file_name().unwrap_or_default().display()
                    );
                    problems.push(Problem::of(error, &then));
                    if directory.is_dir() {
                        damaged.push((directory, kept));
                    }
                }
            }
        }
        Err(Error::Unrepairable(self.directory().to_owned()))
    }
}

/// Verifies all files of the parts, and returns the positions of the parts whose facts are intact.
fn parts_with_intact_facts(snapshot: &Snapshot, problems: &mut Vec<Problem>) -> BTreeSet<usize> {
    let mut intact = BTreeSet::new();
    for (index, part) in snapshot.manifest.parts.iter().enumerate() {
        for kind in part.files.keys() {
            match part.compared_file(&snapshot.directory, kind) {
                Ok(_) if kind == FACTS => drop(intact.insert(index)),
                Ok(_) => {}
                Err(error) if kind == FACTS => {
                    problems.push(Problem::of(error, "the damaged sources are read again from their logs"));
                }
                Err(error) => problems.push(Problem::of(error, IS_WRITTEN_AGAIN)),
            }
        }
    }
    intact
}

/// Restores the manifest of a generation: its parts are those with a file of facts. Their tables have to be written again. `None` if there
/// is a part in which no source is known to be intact, and whose facts cannot be read without the index.
fn manifest_of_facts(directory: &Path) -> Option<Manifest> {
    let parts = parts_in(directory).ok()?;
    let can_be_read = |part: &Part| has_intact_source(directory, part) || scan(directory, part).is_ok();
    if !parts.iter().all(can_be_read) {
        return None;
    }
    let generation = layout::number_of(directory.file_name()?.to_str()?).unwrap_or_default();
    (!parts.is_empty()).then(|| Manifest { generation, parts, ..Manifest::default() })
}

/// Whether the facts of a source of a part have the checksum that the index states.
fn has_intact_source(directory: &Path, part: &Part) -> bool {
    let [facts, index] = [FACTS, INDEX].map(|kind| directory.join(file_of(&part.name, kind)));
    let (Ok(mut facts), Ok(sources)) = (open_file(&facts), index::read(&index)) else { return false };
    sources.iter().map(|(_, entry)| entry.facts).any(|place| {
        facts::checksum_at(&mut facts, place.offset, place.length).is_ok_and(|checksum| checksum == place.checksum)
    })
}

/// The parts with a file of facts in the directory of a generation. No hashes of their files are known.
fn parts_in(directory: &Path) -> io::Result<Vec<Part>> {
    let names = fs::read_dir(directory.join(FACTS))?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    let names = names.collect::<io::Result<Vec<_>>>()?.into_iter().flatten();
    Ok(names.map(|name| Part { name, ..Part::default() }).filter(Part::has_plain_names).collect())
}

/// Adds the parts that a damaged manifest does not list. If a name in it is damaged, the part of that name has no files, and the real one
/// is not listed: so listed parts without files are removed, unless there are more of them than parts to add.
fn add_unlisted_parts(manifest: &mut Manifest, directory: &Path) {
    let is_unlisted = |part: &Part| manifest.parts.iter().all(|listed| listed.name != part.name);
    let unlisted: Vec<Part> = parts_in(directory).into_iter().flatten().filter(is_unlisted).collect();
    if unlisted.is_empty() {
        return;
    }
    let exists = |part: &Part| kinds().any(|kind| directory.join(file_of(&part.name, kind)).exists());
    if manifest.parts.iter().filter(|part| !exists(part)).count() <= unlisted.len() {
        manifest.parts.retain(exists);
    }
    manifest.parts.extend(unlisted);
    // Its entries refer to parts by their positions in the list, which may have changed.
    manifest.index = None;
}

/// The sources in the facts of a part.
fn scan(directory: &Path, part: &Part) -> io::Result<Vec<Source>> {
    facts::scan(&mut open_file(&directory.join(file_of(&part.name, FACTS)))?)
}

/// The sources of a damaged archive.
#[derive(Default)]
struct Found {
    /// Sources whose entries and facts are intact.
    known: Sources,
    /// Sources whose facts are intact, and are read because their entry or other facts in the file are damaged.
    read: Vec<Source>,
    lost: Vec<Lost>,
    /// Whether sources are lost whose paths are not known.
    is_incomplete: bool,
}

impl Found {
    /// Finds them by the indexes; where these are damaged, by the facts. `intact` are the positions of the parts with intact facts.
    fn of(snapshot: &Snapshot, intact: &BTreeSet<usize>, problems: &mut Vec<Problem>) -> Self {
        let Manifest { index, parts, .. } = &snapshot.manifest;
        let mut found = Self::default();
        // Before version 9.
        let index_of_all = index.as_ref().map(|_| snapshot.sources());
        let is_of_all = matches!(index_of_all, Some(Ok(_)));
        match index_of_all {
            Some(Ok(sources)) => found.add_of_index(snapshot, sources, intact),
            Some(Err(error)) => problems.push(Problem::of(error, IS_WRITTEN_AGAIN)),
            None => {}
        }
        for (position, part) in parts.iter().enumerate().filter(|_| !is_of_all) {
            match snapshot.sources_of(position, part) {
                // Without the links of the index, they are computed again from the facts.
                Ok(sources) if snapshot.links_of(part).is_err() => {
                    found.add_of_index(snapshot, sources, &BTreeSet::new());
                }
                Ok(sources) => found.add_of_index(snapshot, sources, intact),
                Err(_) => {
                    // Of a part that the manifest did not list, no hash is known.
                    let has_intact_facts = intact.contains(&position) || part.files.is_empty();
                    problems.extend(found.add_without_index(snapshot, part, has_intact_facts));
                }
            }
        }
        found.lost.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// Adds sources of an index. In a damaged file of facts the checksum of each source decides.
    fn add_of_index(
        &mut self,
        snapshot: &Snapshot,
        sources: impl IntoIterator<Item = (String, Box<IndexEntry>)>,
        intact: &BTreeSet<usize>,
    ) {
        for (path, entry) in sources {
            if intact.contains(&entry.facts.part) {
                self.known.insert(path, entry);
                continue;
            }
            match snapshot.load_facts(entry.facts) {
                Ok(source) if source.path == path => self.read.push(source),
                _ => self.lost.push(Lost { path, stamp: Some(entry.stamp) }),
            }
        }
    }

    /// Adds the sources of a part by its facts; if these are damaged too, by the paths in its table of sources.
    fn add_without_index(&mut self, snapshot: &Snapshot, part: &Part, has_intact_facts: bool) -> Option<Problem> {
        match scan(&snapshot.directory, part) {
            Ok(sources) if has_intact_facts => self.read.extend(sources),
            _ => match paths_of(&snapshot.directory, part) {
                Ok(paths) => self.lost.extend(paths.into_iter().map(|path| Lost { path, stamp: None })),
                Err(error) => {
                    self.is_incomplete = true;
                    let path = snapshot.directory.join(file_of(&part.name, FACTS));
                    let what = format!("the sources in it and their paths are lost: {error}");
                    return Some(Problem { path, what });
                }
            },
        }
        None
    }
}

/// The paths of the sources of a part, from its table of sources.
fn paths_of(directory: &Path, part: &Part) -> Result<Vec<String>, Error> {
    let path = part.compared_file(directory, "sources")?;
    let path = PlRefPath::try_from_path(&path)?;
    let sources = LazyFrame::scan_parquet(path, table_files::options())?.select([col(turns::SOURCE_PATH)]).collect()?;
    let paths = sources.column(turns::SOURCE_PATH)?.str()?;
    Ok(paths.iter().flatten().map(str::to_owned).collect())
}
