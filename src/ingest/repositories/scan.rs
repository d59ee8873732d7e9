//! Scans a repository: the steps in their order.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use rayon::prelude::*;

use super::changes::Failed;
use super::commit::Read;
use super::error::Error;
use super::files::files;
use super::notes::read_notes;
use super::objects::Unread;
use super::open::{Opened, of_thread, open};
use super::problems::{Problem, Problems};
use super::references::{References, read_references};
use super::surviving;
use super::walk::{Tips, newest, walk};
use crate::base::time::{DAY_MICROS, Time};
use crate::model::history::{Checkout, Commit, History, Identity};

/// Before the first session of a repository.
const BEFORE_SESSIONS: i64 = 30 * DAY_MICROS;
/// Before the newest commit of a repository without sessions.
const BEFORE_NEWEST: i64 = 365 * DAY_MICROS;

/// What is scanned.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The first time, if the user gives one.
    pub since: Option<Time>,
    /// When the first session of the repository began.
    pub first_session: Option<Time>,
    /// The time of the scan.
    pub now: Time,
}

/// A repository that is about to be scanned.
pub struct Repository {
    opened: Opened,
    name: String,
    has_remote: bool,
}

/// What a scan found.
#[derive(Debug)]
pub struct Scanned {
    /// The history, with what was known before.
    pub history: History,
    /// The number of commits that were read.
    pub new: usize,
    /// Whether the repository is a shallow clone: earlier commits are missing.
    pub is_shallow: bool,
    /// What could not be read.
    pub problems: Vec<String>,
}

impl Repository {
    /// Opens the repository with this root: see [`super::root_of`].
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let opened = open(root)?;
        let (name, has_remote) = opened.name();
        Ok(Self { opened, name, has_remote })
    }

    /// `host/owner/name` of its remote, else the name of its root directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The root directory of its main worktree, or its own directory.
    pub fn directory(&self) -> &Path {
        &self.opened.directory
    }

    /// The directory that all its worktrees share.
    pub fn common_directory(&self) -> PathBuf {
        self.opened.common_directory()
    }

    /// What distinguishes it from other repositories.
    pub fn identity(&self) -> Identity {
        let directories = vec![self.directory().to_string_lossy().into_owned()];
        Identity { repository: self.name.clone(), has_remote: self.has_remote, directories }
    }

    /// Whether a known history without a remote is that of a copy in another directory: it has the same name, and commits in common.
    pub fn is_copy_of(&self, history: &History) -> bool {
        let may_be = !self.has_remote && !history.has_remote && self.name == history.repository;
        may_be && {
            let references = read_references(&self.opened, &mut Problems::default());
            let named = references.branches.iter().map(|(_, id)| id);
            let mut tips = references.default_tips.iter().chain(&references.former).chain(named);
            tips.any(|tip| history.commits.contains_key(&tip.to_string()))
        }
    }

    /// Reads what is new since the last scan, or all since a time.
    pub fn scan(self, known: Option<History>, options: Options) -> Scanned {
        let mut problems = Problems::default();
        let references = read_references(&self.opened, &mut problems);
        let mut history = known.unwrap_or_default();
        (history.repository, history.has_remote) = (self.name, self.has_remote);
        let repository = &self.opened.repository;
        let tips: Vec<ObjectId> = {
            let named = references.branches.iter().chain(&references.tags).map(|(_, id)| *id);
            let requests = references.requests.iter().map(|(_, id)| *id);
            references.default_tips.iter().copied().chain(named).chain(requests).collect()
        };
        let since = since(&history, options, || newest(repository, &history, &tips));
        let shallow: HashSet<ObjectId> = repository
            .shallow_commits()
            .ok()
            .flatten()
            .map(|commits| commits.iter().copied().collect())
            .unwrap_or_default();
        let from = Tips { of_references: tips, former: references.former.clone() };
        let found = walk(repository, &history, from, since, &shallow, &mut problems);
        let shared = repository.clone().into_sync();
        let read: Vec<(ObjectId, Commit, Option<Problem>)> = found
            .into_par_iter()
            .map_init(
                || of_thread(&shared),
                |repository, (id, read)| {
                    let is_cut = shallow.contains(&id);
                    let (commit, problem) = with_files(repository, read, is_cut);
                    (id, commit, problem)
                },
            )
            .collect();
        let new = read.iter().filter(|(id, ..)| !history.commits.contains_key(&id.to_string())).count();
        for (id, commit, problem) in read {
            let hash = id.to_string();
            if let Some(problem) = problem {
                problems.add(problem, || hash.clone());
            }
            history.commits.insert(hash, commit);
        }
        history.since = Some(since);
        let notes = notes(&self.opened, &references, &history, &mut problems);
        let newest_tip =
            references.default_tips.iter().copied().max_by_key(|tip| newest(repository, &history, &[*tip]));
        let checkout = checkout(&self.opened, references, notes, options.now);
        history.checkouts.retain(|known| known.directory != checkout.directory);
        history.checkouts.push(checkout);
        if let Some(tip) = newest_tip
            && let Err(Failed::Unread(unread)) = surviving::count(repository, &shared, &mut history, tip)
        {
            problems.add(Problem::of_commit(unread), || tip.to_string());
        }
        Scanned { history, new, is_shallow: !shallow.is_empty(), problems: problems.texts() }
    }
}

/// The first time of commits that are scanned: never later than that of an earlier scan.
fn since(known: &History, options: Options, newest: impl FnOnce() -> Option<Time>) -> Time {
    let before = |time: Time, micros: i64| Time::from_micros(time.micros().saturating_sub(micros));
    let by_sessions = options.first_session.map(|first| before(first, BEFORE_SESSIONS));
    let wanted = options.since.or(by_sessions);
    match (wanted, known.since) {
        (Some(wanted), Some(known)) => wanted.min(known),
        (Some(since), None) | (None, Some(since)) => since,
        (None, None) => before(newest().unwrap_or(options.now), BEFORE_NEWEST),
    }
}

/// A commit with its files: none of a merge, and none if its parents are cut off in a shallow clone.
fn with_files(repository: &gix::Repository, read: Read, is_cut: bool) -> (Commit, Option<Problem>) {
    let Read { mut commit, tree, parents } = read;
    if parents.len() > 1 {
        return (commit, None);
    }
    if is_cut && !parents.is_empty() {
        // A later scan may find the parents.
        commit.is_incomplete = true;
        return (commit, None);
    }
    let (unread, problem) = match files(repository, tree, parents.first().copied()) {
        Ok(found) => {
            (commit.files, commit.patch) = (Some(found.files), found.patch);
            (found.unread, found.unread.and_then(Problem::of_objects))
        }
        Err(Failed::TooMany) => return (commit, Some(Problem::TooManyFiles)),
        Err(Failed::Unread(unread)) => (Some(unread), Problem::of_objects(unread).or(Some(Problem::TooManyFiles))),
    };
    commit.is_incomplete = problem.is_some();
    commit.missing = unread.and_then(Unread::object).map(|id| id.to_string());
    (commit, problem)
}

fn notes(
    opened: &Opened,
    references: &References,
    history: &History,
    problems: &mut Problems,
) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for target in &references.notes {
        let is_wanted = |hash: &str| history.commits.contains_key(hash);
        if read_notes(&opened.repository, *target, is_wanted, &mut found).is_err() {
            problems.add(Problem::Reference, || "notes".to_owned());
        }
    }
    found
}

fn checkout(opened: &Opened, references: References, notes: BTreeMap<String, Vec<String>>, now: Time) -> Checkout {
    let named = |named: Vec<(String, ObjectId)>| named.into_iter().map(|(name, id)| (name, id.to_string())).collect();
    Checkout {
        directory: opened.directory.to_string_lossy().into_owned(),
        scanned_at: Some(now),
        default_branch: references.default_branch,
        default_tips: references.default_tips.iter().map(ToString::to_string).collect(),
        branches: named(references.branches),
        tags: named(references.tags),
        notes,
        requests: references.requests.into_iter().map(|(number, id)| (number, id.to_string())).collect(),
    }
}
