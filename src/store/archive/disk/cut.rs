//! A model of power cuts, and a test that cuts the power after every step of an ingest.
//!
//! The model is what POSIX guarantees: the content of a file is on the disk once the file was synced, a name once its directory was.
//! Of other changes, a cut leaves all, none, or any part: each name separately, renames as a whole. A file whose content was not synced
//! is empty or contains zeros. Not modelled: disks that report a sync that they did not do, writes that damage a synced file, and file
//! systems that lose more than that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::adapters::common::builder::Retention;
use crate::adapters::{self, Hints};
use crate::model::source::{Source, SourceStatus};
use crate::store::archive::{Archive, Error, Sums};

/// A change of the disk.
#[derive(Debug, Clone)]
pub enum Step {
    Create(PathBuf),
    CreateFolder(PathBuf),
    Link(PathBuf, PathBuf),
    Point(PathBuf, String),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    Sync(PathBuf, Vec<u8>),
    SyncFolder(PathBuf),
}

/// The directory that is recorded, and the changes of files in it, in order.
static JOURNAL: Mutex<Option<(PathBuf, Vec<Step>)>> = Mutex::new(None);

fn journal() -> MutexGuard<'static, Option<(PathBuf, Vec<Step>)>> {
    JOURNAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a step, if it is in the directory that is recorded.
pub fn note(step: &Step) {
    let path = match step {
        Step::Create(it) | Step::CreateFolder(it) | Step::Link(_, it) | Step::Point(it, _) => it,
        Step::Rename(_, it) | Step::Remove(it) | Step::Sync(it, _) | Step::SyncFolder(it) => it,
    };
    if let Some((folder, steps)) = &mut *journal()
        && path.starts_with(folder)
    {
        steps.push(step.clone());
    }
}

/// The steps of an ingest of `sources` into the archive in `folder`.
fn steps(folder: &Path, sources: &[Source]) -> (Vec<Step>, Sums) {
    *journal() = Some((folder.to_owned(), Vec::new()));
    let sums = ingest(folder, sources).unwrap();
    let (_, steps) = journal().take().unwrap();
    (steps, sums)
}

fn ingest(folder: &Path, sources: &[Source]) -> Result<Sums, Error> {
    let writer = Archive::at(folder).write()?;
    for source in sources {
        writer.add(source.clone());
    }
    Ok(writer.commit()?.sums)
}

/// The samples of the first formats.
fn sources(formats: usize) -> Vec<Source> {
    let mut sources = Vec::new();
    let below = |folder: &Path| {
        let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
        paths.sort();
        paths
    };
    for folder in below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-logs")).iter().take(formats) {
        let files = below(folder);
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
    Folder {
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
            Node::Folder { synced, pending: Vec::new() }
        } else {
            Node::File(fs::read(path).ok())
        };
        place
    }

    /// The names in a directory as a program sees them.
    fn names(&self, folder: usize) -> BTreeMap<String, usize> {
        let Node::Folder { synced, pending } = &self.nodes[folder] else { panic!("{folder} is no folder") };
        let mut names = synced.clone();
        pending.iter().flatten().for_each(|change| apply(&mut names, change));
        names
    }

    fn find(&self, path: &Path) -> Option<usize> {
        let below = path.strip_prefix(&self.root).unwrap();
        below.iter().try_fold(0, |folder, name| self.names(folder).get(name.to_str().unwrap()).copied())
    }

    fn change(&mut self, folder: &Path, names: Vec<(String, Option<usize>)>) {
        let folder = self.find(folder).unwrap();
        let Node::Folder { pending, .. } = &mut self.nodes[folder] else { panic!("{folder} is no folder") };
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
        if let Node::Folder { .. } = self.nodes[place] {
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
            Step::CreateFolder(path) => {
                if self.find(path).is_none() {
                    self.add(path, Node::Folder { synced: BTreeMap::new(), pending: Vec::new() });
                }
            }
            Step::Link(from, to) => {
                let place = self.find(from);
                self.change(to.parent().unwrap(), vec![(name_of(to), place)]);
            }
            Step::Point(path, target) => self.add(path, Node::Pointer(target.clone())),
            Step::Rename(from, to) => {
                let place = self.find(from);
                self.change(to.parent().unwrap(), vec![(name_of(from), None), (name_of(to), place)]);
            }
            Step::Remove(path) => self.remove(path),
            Step::Sync(path, content) => {
                let place = self.find(path).unwrap();
                self.nodes[place] = Node::File(Some(content.clone()));
            }
            Step::SyncFolder(path) => {
                let place = self.find(path).unwrap();
                let names = self.names(place);
                self.nodes[place] = Node::Folder { synced: names, pending: Vec::new() };
            }
        }
    }

    /// Writes what a cut leaves of a node. `survives` decides about each change that was not synced.
    fn write(&self, place: usize, to: &Path, survives: &mut impl FnMut() -> bool) {
        match &self.nodes[place] {
            Node::File(Some(content)) => fs::write(to, content).unwrap(),
            Node::File(None) => fs::write(to, if survives() { &[0; 64][..] } else { &[] }).unwrap(),
            Node::Pointer(target) => std::os::unix::fs::symlink(target, to).unwrap(),
            Node::Folder { synced, pending } => {
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
fn held(folder: &Path) -> Option<Sums> {
    match Archive::at(folder).check() {
        Ok(checked) => {
            assert_eq!(checked.problems, []);
            Some(Archive::at(folder).sums().unwrap())
        }
        Err(Error::Missing(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// After each step of a first ingest and of one that adds, the power is cut in several ways: the archive is as before or as after the
/// ingest, and the next ingest has the same result as without the cut.
#[test]
#[expect(clippy::print_stderr, reason = "shows how many cuts were tried")]
fn a_power_cut_leaves_the_archive_before_or_after() {
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
        let (steps, after) = steps(&archive, sources);
        assert!(steps.len() > 20, "{steps:?}");
        for (index, step) in steps.iter().enumerate() {
            disk.step(step);
            if ways.is_none() && matches!(step, Step::Create(_) | Step::CreateFolder(_) | Step::Link(..)) {
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
