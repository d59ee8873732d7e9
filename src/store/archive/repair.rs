//! Recovers a damaged archive: keeps what is intact, and lists the sources that have to be read again.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use polars::prelude::*;

use super::facts::{self, FACTS, Pieces};
use super::generations::{self, Snapshot};
use super::parts::{self, Checksum, Part, Sums};
use super::{
    Archive, Error, Known, MANIFEST, Manifest, PRICES, Problem, Sources, State, VERSION, Writer, disk, whole_file,
};
use crate::ingest::Stamp;
use crate::model::source::Source;

/// Where damaged prices are moved.
const DAMAGED_PRICES: &str = "prices.damaged";

/// A damaged archive on its way to a new generation. Nothing of it changes before [`Writer::commit`].
#[derive(Debug)]
pub struct Repair {
    /// Writes the next generation of all that is intact.
    pub writer: Writer,
    /// What was found damaged, and what becomes of it.
    pub problems: Vec<Problem>,
    /// Sources whose facts are damaged: they are in the next generation if they are added to the writer.
    pub lost: Vec<Lost>,
    /// Whether sources are missing whose paths are not known.
    pub is_incomplete: bool,
}

/// A source whose facts are damaged.
#[derive(Debug)]
pub struct Lost {
    /// Its path, as in the table `sources`.
    pub path: String,
    stamp: Option<Stamp>,
}

impl Lost {
    /// Whether the file that was read now has the content that the damaged facts were of. Not known where the index is damaged.
    pub fn is_same(&self, source: &Source) -> Option<bool> {
        let before = self.stamp.as_ref()?.content_hash?;
        Some(Stamp::of(source).content_hash == Some(before))
    }

    /// By what [`crate::ingest::read`] finds out whether the file only grew. It reads the file in any case.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamp.clone().map(|stamp| Stamp { options: 0, ..stamp })
    }

    /// Whether the file was read with other options than before, or by another version of this program.
    pub fn has_other_options(&self, source: &Source) -> bool {
        self.stamp.as_ref().is_some_and(|stamp| stamp.options != Stamp::of(source).options)
    }
}

impl Archive {
    /// Begins to recover a damaged archive. An archive that is intact is settled again, as by [`Writer::settle_all`].
    ///
    /// # Errors
    /// When there is no archive, a newer program wrote it, or no generation has a readable manifest.
    pub fn repair(&self) -> Result<Repair, Error> {
        if self.generations().is_empty() {
            return Err(Error::Missing(self.folder.clone()));
        }
        let lock = self.lock_folder()?;
        let mut problems = Vec::new();
        match self.check_version() {
            Err(error @ Error::Version { found, .. }) if found > VERSION => return Err(error),
            Err(error) => problems.push(problem(error, "it is written again")),
            Ok(_) => {}
        }
        let mut damaged = Vec::new();
        let snapshot = self.readable_generation(&mut problems, &mut damaged)?;
        let mut intact = Vec::new();
        for (index, part) in snapshot.manifest.parts.iter().enumerate() {
            for kind in part.files.keys() {
                match whole_file(&snapshot.folder, part, kind) {
                    Ok(_) if kind == FACTS => intact.push(index),
                    Ok(_) => {}
                    Err(error) if kind == FACTS => {
                        problems.push(problem(error, "the sources it reaches are read again"));
                    }
                    Err(error) => problems.push(problem(error, "it is written again")),
                }
            }
        }
        let intact: BTreeSet<usize> = intact.into_iter().collect();
        let mut found = match snapshot.sources() {
            Ok(sources) => Found::of_index(&snapshot, sources, &intact),
            Err(error) => {
                problems.push(problem(error, "it is written again"));
                Found::without_index(&snapshot, &intact, &mut problems)
            }
        };
        if let Err(error) = self.own_prices() {
            let (from, to) = (self.folder.join(PRICES), unused(&self.folder.join(DAMAGED_PRICES)));
            disk::rename(&from, &to).map_err(Error::file(&from))?;
            let name = to.file_name().unwrap_or_default().display();
            problems.push(problem(error, &format!("it is now {name}; import your prices again")));
        }
        let sources = std::mem::take(&mut found.known);
        let state = State { snapshot: Some(snapshot), sources, verified: Mutex::new(intact) };
        let mut writer = Writer::of(self.clone(), lock, state)?;
        writer.settle_all();
        let is_incomplete = found.is_incomplete || !damaged.is_empty();
        writer.set_aside_on_commit(damaged);
        found.read.into_iter().for_each(|source| writer.replace(source));
        Ok(Repair { writer, problems, lost: found.lost, is_incomplete })
    }

    /// The current generation if its manifest can be read or made again from its facts, else the newest one of which this is
    /// true. The later ones are added to `damaged`.
    fn readable_generation(&self, problems: &mut Vec<Problem>, damaged: &mut Vec<PathBuf>) -> Result<Snapshot, Error> {
        let mut folders: Vec<PathBuf> = self.generations().into_iter().map(|(_, folder)| folder).collect();
        match self.current() {
            Ok(current) => {
                let current = current.into_iter();
                folders.extend(current.map(|current| {
                    problems.extend(current.problem);
                    current.folder
                }));
            }
            Err(error) => problems.push(problem(error, "the newest generation that can be read is used")),
        }
        while let Some(folder) = folders.pop() {
            let path = folder.join(MANIFEST);
            match Manifest::read_damaged(&path) {
                Ok((manifest, is_whole)) => {
                    if !is_whole {
                        // All that it states is compared with the files, or computed again.
                        problems.push(problem(Error::changed(path.clone()), "it is written again"));
                    }
                    return Snapshot::of(folder, manifest, MANIFEST);
                }
                Err(error) => {
                    folders.retain(|other| *other != folder);
                    if let Some(manifest) = manifest_of_facts(&folder) {
                        problems
                            .push(problem(error, "it is made again from the facts of all sources, which are intact"));
                        return Snapshot::of(folder, manifest, FACTS);
                    }
                    let kept = folder.with_extension("damaged");
                    let then = format!(
                        "its facts cannot be read either: an earlier generation is used, without what was ingested after it; \
                         ingest the newest logs again. The damaged one is kept as {}",
                        kept.file_name().unwrap_or_default().display()
                    );
                    problems.push(problem(error, &then));
                    if folder.is_dir() {
                        damaged.push(folder);
                    }
                }
            }
        }
        Err(Error::Unrepairable(self.folder.clone()))
    }
}

/// A manifest of a generation whose own is damaged: its parts are its files of facts. Their tables and the index are to be written
/// again. `None` if not all facts can be read.
fn manifest_of_facts(folder: &Path) -> Option<Manifest> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder.join(FACTS)).ok()? {
        let entry = entry.ok()?;
        let path = entry.path();
        let rows = facts::scan(&mut File::open(&path).ok()?).ok()?.len();
        let (bytes, hash) = parts::checksum(&path).ok()?;
        let files = [(FACTS.to_owned(), Checksum { bytes, hash, rows })].into();
        parts.push(Part { name: entry.file_name().into_string().ok()?, files, sums: Sums::default() });
    }
    let generation = generations::number_of(folder.file_name()?.to_str()?).unwrap_or_default();
    (!parts.is_empty()).then(|| Manifest { generation, parts, ..Manifest::default() })
}

/// The path itself, or with a number after it if it is in use.
pub(super) fn unused(path: &Path) -> PathBuf {
    let numbered = (2..).map(|number: u32| PathBuf::from(format!("{}.{number}", path.display())));
    std::iter::once(path.to_owned()).chain(numbered).find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}

/// What is found of the sources of a damaged archive.
#[derive(Default)]
struct Found {
    /// Sources of which the index and the facts are intact.
    known: Sources,
    /// Sources whose facts are intact, beside damage.
    read: Vec<Source>,
    lost: Vec<Lost>,
    /// Whether sources are lost whose paths are not known.
    is_incomplete: bool,
}

impl Found {
    /// By the index. In a damaged file of facts the checksum of each source decides.
    fn of_index(snapshot: &Snapshot, sources: Sources, intact: &BTreeSet<usize>) -> Self {
        let mut found = Self::default();
        for (path, known) in sources {
            if intact.contains(&known.part) {
                found.known.insert(path, known);
                continue;
            }
            match read_beside_damage(snapshot, &path, &known) {
                Some(source) => found.read.push(source),
                None => found.lost.push(Lost { path, stamp: Some(known.stamp) }),
            }
        }
        found
    }

    /// By the facts of the parts, and of parts whose facts are damaged as well, by the names in the table of sources.
    fn without_index(snapshot: &Snapshot, intact: &BTreeSet<usize>, problems: &mut Vec<Problem>) -> Self {
        let mut found = Self::default();
        for (index, part) in snapshot.manifest.parts.iter().enumerate() {
            let path = snapshot.folder.join(parts::file_of(part, FACTS));
            let sources = File::open(&path).and_then(|mut file| facts::scan(&mut file));
            match sources {
                Ok(sources) if intact.contains(&index) => found.read.extend(sources),
                _ => match paths_of(&snapshot.folder, part) {
                    Ok(paths) => found.lost.extend(paths.into_iter().map(|path| Lost { path, stamp: None })),
                    Err(error) => {
                        found.is_incomplete = true;
                        let what = format!("the sources in it are lost, and their names: {error}");
                        problems.push(Problem { path, what });
                    }
                },
            }
        }
        found
    }
}

/// A source of a damaged file, if its own facts are intact.
fn read_beside_damage(snapshot: &Snapshot, path: &str, known: &Known) -> Option<Source> {
    let part = snapshot.manifest.parts.get(known.part)?;
    let mut file = File::open(snapshot.folder.join(parts::file_of(part, FACTS))).ok()?;
    let bytes = facts::read_at(&mut file, known.offset, known.length).ok()?;
    if known.checksum != Some(facts::checksum(&bytes)) {
        return None;
    }
    let source = facts::read(&mut file, known.offset, known.length, Pieces::load).ok()?;
    (source.path == path).then_some(source)
}

/// The paths of the sources of a part.
fn paths_of(folder: &Path, part: &Part) -> Result<Vec<String>, Error> {
    let path = whole_file(folder, part, "sources")?;
    let path = PlRefPath::try_from_path(&path)?;
    let options = ScanArgsParquet { glob: false, ..ScanArgsParquet::default() };
    let sources = LazyFrame::scan_parquet(path, options)?.select([col("source_path")]).collect()?;
    let paths = sources.column("source_path")?.str()?;
    Ok(paths.iter().flatten().map(str::to_owned).collect())
}

/// What is wrong, and what becomes of it.
fn problem(error: Error, then: &str) -> Problem {
    match error {
        Error::Damaged { path, error } => Problem { path, what: format!("{error}; {then}") },
        Error::Prices { path, error } => Problem { path, what: format!("{error}; {then}") },
        Error::File { path, error } => Problem { path, what: format!("{error}; {then}") },
        Error::Version { path, found } => Problem { path, what: format!("it contains version {found}; {then}") },
        other => Problem { path: PathBuf::new(), what: format!("{other}; {then}") },
    }
}
