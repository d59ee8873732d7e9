//! A model of power cuts, and a test that cuts the power after every step of an ingest.
//!
//! The model is what POSIX guarantees: the content of a file is on the disk once the file was synced, a name once its directory was.
//! Of other changes, a cut leaves all, none, or any part: each name separately, renames as a whole. A file whose content was not synced
//! is empty or contains zeros. Not modelled: disks that report a sync that they did not do, writes that damage a synced file, and file
//! systems that lose more than that.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Change;
use crate::adapters::shared::builder::Retention;
use crate::adapters::{self, Hints};
use crate::model::source::{Source, SourceStatus};
use crate::store::archive::{Archive, Error, Sums};

/// A change that was made, with the content of a file that was synced.
#[derive(Debug, Clone)]
enum Step {
    Create(PathBuf),
    CreateDirectory(PathBuf),
    Link(PathBuf, PathBuf),
    LinkDirectory(PathBuf, String),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    Sync(PathBuf, Vec<u8>),
    SyncDirectory(PathBuf),
}

/// What happens to changes in a directory, and those that were made.
#[derive(Debug, Default, Clone)]
struct Trial {
    directory: PathBuf,
    /// Whether no links can be made.
    is_without_links: bool,
    /// The numbers of the changes that fail; none if empty.
    failing: Range<usize>,
    /// How many changes were tried.
    tried: usize,
    /// Those that were made, in order.
    made: Vec<Step>,
}

/// One at a time: see [`Trial::run`].
static TRIALS: Mutex<()> = Mutex::new(());
static TRIAL: Mutex<Option<Trial>> = Mutex::new(None);

fn trial() -> MutexGuard<'static, Option<Trial>> {
    TRIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether no links can be made here.
pub fn is_without_links(path: &Path) -> bool {
    trial().as_ref().is_some_and(|trial| trial.is_without_links && path.starts_with(&trial.directory))
}

/// Makes a change, unless it is in the directory of the trial and one of those that fail.
pub fn change<T>(change: Change<'_>, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let (Change::Create(path)
    | Change::CreateDirectory(path)
    | Change::Link(_, path)
    | Change::LinkDirectory(path, _)
    | Change::Rename(_, path)
    | Change::Remove(path)
    | Change::Sync(path)
    | Change::SyncDirectory(path)) = change;
    let is_tried = |trial: &&mut Trial| path.starts_with(&trial.directory);
    if let Some(trial) = trial().as_mut().filter(is_tried) {
        trial.tried += 1;
        if trial.failing.contains(&(trial.tried - 1)) {
            return Err(io::Error::other("a failure that the test wants"));
        }
    }
    let result = make()?;
    if let Some(trial) = trial().as_mut().filter(is_tried) {
        trial.made.push(Step::of(change)?);
    }
    Ok(result)
}

impl Step {
    fn of(change: Change<'_>) -> io::Result<Self> {
        Ok(match change {
            Change::Create(path) => Self::Create(path.to_owned()),
            Change::CreateDirectory(path) => Self::CreateDirectory(path.to_owned()),
            Change::Link(from, to) => Self::Link(from.to_owned(), to.to_owned()),
            Change::LinkDirectory(path, target) => Self::LinkDirectory(path.to_owned(), target.to_owned()),
            Change::Rename(from, to) => Self::Rename(from.to_owned(), to.to_owned()),
            Change::Remove(path) => Self::Remove(path.to_owned()),
            Change::Sync(path) => Self::Sync(path.to_owned(), fs::read(path)?),
            Change::SyncDirectory(path) => Self::SyncDirectory(path.to_owned()),
        })
    }
}

impl Trial {
    /// Ingests `sources` into the archive in the directory.
    fn run(self, sources: &[Source]) -> (Self, Result<Sums, Error>) {
        let _one_at_a_time = TRIALS.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.directory.clone();
        *trial() = Some(self);
        let sums = ingest(&directory, sources);
        (trial().take().unwrap(), sums)
    }
}

fn ingest(directory: &Path, sources: &[Source]) -> Result<Sums, Error> {
    let writer = Archive::at(directory).write()?;
    for source in sources {
        writer.add(source.clone());
    }
    Ok(writer.commit()?.sums)
}

/// The samples of the first formats.
fn sources(formats: usize) -> Vec<Source> {
    let mut sources = Vec::new();
    let below = |directory: &Path| {
        let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
        paths.sort();
        paths
    };
    for directory in below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-logs")).iter().take(formats) {
        let files = below(directory);
        for path in files.iter().filter(|it| it.is_file()) {
            let parsed = adapters::parse(&fs::read(path).unwrap(), Hints::default(), Retention::None);
            let path = path.to_str().unwrap().to_owned();
            let status = SourceStatus::Parsed;
            sources.push(Source {
                path,
                status,
                health: parsed.health,
                sessions: parsed.sessions,
                ..Source::default()
            });
        }
    }
    sources
}

/// A file, a directory or a symbolic link on the disk.
#[derive(Debug, Clone)]
enum Node {
    /// Its content, if it was synced.
    File(Option<Vec<u8>>),
    Pointer(String),
    Directory {
        /// Names that were synced.
        synced: BTreeMap<String, usize>,
        /// Later changes of names: each is a list of names that change together.
        pending: Vec<Vec<(String, Option<usize>)>>,
    },
}

/// A disk. The first node is the directory of the archive.
#[derive(Debug, Clone)]
struct Disk {
    root: PathBuf,
    nodes: Vec<Node>,
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

impl Disk {
    /// An existing directory, all of it synced.
    fn of(root: &Path) -> Self {
        let mut disk = Self { root: root.to_owned(), nodes: Vec::new() };
        disk.read(root);
        disk
    }

    fn read(&mut self, path: &Path) -> usize {
        let place = self.nodes.len();
        self.nodes.push(Node::File(None));
        self.nodes[place] = if path.is_symlink() {
            Node::Pointer(fs::read_link(path).unwrap().to_str().unwrap().to_owned())
        } else if path.is_dir() {
            let names = fs::read_dir(path).unwrap().map(|it| it.unwrap().path());
            let synced = names.map(|it| (name_of(&it), self.read(&it))).collect();
            Node::Directory { synced, pending: Vec::new() }
        } else {
            Node::File(fs::read(path).ok())
        };
        place
    }

    /// The names in a directory as a program sees them.
    fn names(&self, directory: usize) -> BTreeMap<String, usize> {
        let Node::Directory { synced, pending } = &self.nodes[directory] else { panic!("{directory} is no directory") };
        let mut names = synced.clone();
        pending.iter().flatten().for_each(|change| apply(&mut names, change));
        names
    }

    fn find(&self, path: &Path) -> Option<usize> {
        let below = path.strip_prefix(&self.root).unwrap();
        below.iter().try_fold(0, |directory, name| self.names(directory).get(name.to_str().unwrap()).copied())
    }

    fn change(&mut self, directory: &Path, names: Vec<(String, Option<usize>)>) {
        let directory = self.find(directory).unwrap();
        let Node::Directory { pending, .. } = &mut self.nodes[directory] else { panic!("{directory} is no directory") };
        pending.push(names);
    }

    fn add(&mut self, path: &Path, node: Node) {
        self.nodes.push(node);
        let place = self.nodes.len() - 1;
        self.change(path.parent().unwrap(), vec![(name_of(path), Some(place))]);
    }

    /// The names in a directory that is removed are removed one by one.
    fn remove(&mut self, path: &Path) {
        let place = self.find(path).unwrap();
        if let Node::Directory { .. } = self.nodes[place] {
            self.names(place).keys().for_each(|it| self.remove(&path.join(it)));
        }
        self.change(path.parent().unwrap(), vec![(name_of(path), None)]);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Create(path) => match self.find(path) {
                Some(place) => self.nodes[place] = Node::File(None),
                None => self.add(path, Node::File(None)),
            },
            Step::CreateDirectory(path) => {
                if self.find(path).is_none() {
                    self.add(path, Node::Directory { synced: BTreeMap::new(), pending: Vec::new() });
                }
            }
            Step::Link(from, to) => {
                let place = self.find(from);
                self.change(to.parent().unwrap(), vec![(name_of(to), place)]);
            }
            Step::LinkDirectory(path, target) => self.add(path, Node::Pointer(target.clone())),
            Step::Rename(from, to) => {
                let place = self.find(from);
                self.change(to.parent().unwrap(), vec![(name_of(from), None), (name_of(to), place)]);
            }
            Step::Remove(path) => self.remove(path),
            Step::Sync(path, content) => {
                let place = self.find(path).unwrap();
                self.nodes[place] = Node::File(Some(content.clone()));
            }
            Step::SyncDirectory(path) => {
                let place = self.find(path).unwrap();
                let names = self.names(place);
                self.nodes[place] = Node::Directory { synced: names, pending: Vec::new() };
            }
        }
    }

    /// Writes what a cut leaves of a node. `survives` decides about each change that was not synced.
    fn write(&self, place: usize, to: &Path, survives: &mut impl FnMut() -> bool) {
        match &self.nodes[place] {
            Node::File(Some(content)) => fs::write(to, content).unwrap(),
            Node::File(None) => fs::write(to, if survives() { &[0; 64][..] } else { &[] }).unwrap(),
            Node::Pointer(target) => std::os::unix::fs::symlink(target, to).unwrap(),
            Node::Directory { synced, pending } => {
                let mut names = synced.clone();
                for changes in pending {
                    if survives() {
                        for change in changes {
                            apply(&mut names, change);
                        }
                    }
                }
                fs::create_dir_all(to).unwrap();
                for (name, place) in names {
                    self.write(place, &to.join(name), survives);
                }
            }
        }
    }
}

fn apply(names: &mut BTreeMap<String, usize>, (name, place): &(String, Option<usize>)) {
    match place {
        Some(place) => names.insert(name.clone(), *place),
        None => names.remove(name),
    };
}

/// The sums of the archive, if there is one. It must be intact.
fn held(directory: &Path) -> Option<Sums> {
    match Archive::at(directory).check() {
        Ok(checked) => {
            assert_eq!(checked.problems, []);
            Some(Archive::at(directory).sums().unwrap())
        }
        Err(Error::Missing(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// After each step of a first ingest and of one that adds, the power is cut in several ways: the archive is as before or as after the
/// ingest, and the next ingest has the same result as without the cut.
#[test]
fn a_power_cut_leaves_the_archive_before_or_after() {
    [false, true].into_iter().for_each(cut_after_every_step);
}

#[expect(clippy::print_stderr, reason = "shows how many cuts were tried")]
fn cut_after_every_step(is_without_links: bool) {
    // The ways in turn, after steps that sync, rename or remove; `FAULTS=10` tries ten ways after every step.
    let ways: Option<u64> = std::env::var("FAULTS").ok().and_then(|it| it.parse().ok());
    let (few, all) = (sources(1), sources(2));
    let home = tempfile::tempdir().unwrap();
    let archive = home.path().join("archive");
    let (mut cuts, mut kept, mut done) = (0_u32, 0_u32, 0_u32);
    for (round, sources) in [&few, &all, &few].into_iter().take(if ways.is_some() { 3 } else { 2 }).enumerate() {
        fs::create_dir_all(&archive).unwrap();
        let mut disk = Disk::of(&archive);
        let before = held(&archive);
        let trial = Trial { directory: archive.clone(), is_without_links, ..Trial::default() };
        let (Trial { made: steps, .. }, after) = trial.run(sources);
        let after = after.unwrap();
        assert!(steps.len() > 20, "{steps:?}");
        for (index, step) in steps.iter().enumerate() {
            disk.step(step);
            if ways.is_none() && matches!(step, Step::Create(_) | Step::CreateDirectory(_) | Step::Link(..)) {
                continue;
            }
            for way in ways.map_or(index as u64 % 4..index as u64 % 4 + 1, |it| 0..it) {
                // None, all, or some of the changes that were not synced.
                let mut random = oorandom::Rand32::new(((index as u64) << 16) | way);
                let mut survives = || match way {
                    0 => false,
                    1 => true,
                    _ => random.rand_u32() & 1 == 1,
                };
                let left = home.path().join(format!("{round}-{index}-{way}"));
                disk.write(0, &left, &mut survives);
                let now = held(&left);
                assert!(now == before || now == Some(after), "{now:?} after {step:?}: {before:?} or {after:?}");
                assert_eq!(ingest(&left, sources).unwrap(), after, "after {step:?}");
                fs::remove_dir_all(&left).unwrap();
                cuts += 1;
                if now == before { kept += 1 } else { done += 1 }
            }
        }
        // All of a finished ingest is on the disk.
        let left = home.path().join("ended");
        disk.write(0, &left, &mut || false);
        assert_eq!(held(&left), Some(after));
        fs::remove_dir_all(&left).unwrap();
    }
    eprintln!("{cuts} power cuts: {kept} before, {done} after");
    assert!(kept > 0 && done > 0);
}

/// Each change of an ingest fails in turn, alone or with all later ones, as if the process were killed or the disk had failed: the archive
/// is as before or as after, and the next ingest has the same result. `FAULTS=1` tries both ways with each change.
#[test]
fn a_failing_change_leaves_the_archive_before_or_after() {
    let is_thorough = std::env::var_os("FAULTS").is_some();
    let (few, all) = (sources(1), sources(2));
    let home = tempfile::tempdir().unwrap();
    for is_without_links in [false, true] {
        let archive = home.path().join(format!("archive-{is_without_links}"));
        for sources in [&few, &all] {
            let before = held(&archive);
            let attempt = |number: Range<usize>| {
                let directory = home.path().join(format!("{}-{}-{is_without_links}", number.start, number.end));
                copy(&archive, &directory);
                let trial =
                    Trial { directory: directory.clone(), is_without_links, failing: number, ..Trial::default() };
                let (trial, result) = trial.run(sources);
                (trial, result, directory)
            };
            let (whole, after, directory) = attempt(0..0);
            fs::remove_dir_all(directory).unwrap();
            let after = after.unwrap();
            let mut failed = 0;
            for number in 0..whole.tried {
                let ways = [number..number + 1, number..usize::MAX];
                let chosen = if is_thorough {
                    0..2
                } else {
                    let way = (number + usize::from(is_without_links)) % 2;
                    way..way + 1
                };
                for failing in ways.get(chosen).unwrap() {
                    let (_, result, directory) = attempt(failing.clone());
                    let now = held(&directory);
                    let what = format!("{failing:?}, {result:?}: {now:?}");
                    assert!(now == before || now == Some(after), "{what}");
                    // An ingest that reports success has happened.
                    assert!(result.is_err() || now == Some(after), "{what}");
                    failed += u32::from(result.is_err());
                    assert_eq!(ingest(&directory, sources).unwrap(), after, "{what}");
                    fs::remove_dir_all(directory).unwrap();
                }
            }
            assert!(failed > 10);
            ingest(&archive, sources).unwrap();
        }
    }
}

/// Copies a directory with its links, if it exists.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(path).unwrap(), copied).unwrap();
        } else if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(path, copied).unwrap();
        }
    }
}
