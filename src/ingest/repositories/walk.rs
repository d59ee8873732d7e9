//! The commits that references lead to and that are not yet known.

use std::collections::{HashMap, HashSet, VecDeque};

use gix::{ObjectId, Repository};

use super::commit::{Read, read_commit};
use super::objects::{Unread, id_of, still_unread};
use super::problems::{Problem, Problems};
use crate::base::time::Time;
use crate::model::history::{Commit, History};

/// Commits before the first time that are passed in a row: clocks differ, and a commit with an early time may have later parents.
const SLOP: u8 = 5;

/// Where a walk begins.
pub(super) struct Tips {
    /// The commits of references.
    pub of_references: Vec<ObjectId>,
    /// Commits that may be gone.
    pub former: Vec<ObjectId>,
}

/// Reads the commits since a time that are not yet known. `shallow` are those whose parents are not in a shallow clone.
pub(super) fn walk(
    repository: &Repository,
    known: &History,
    tips: Tips,
    since: Time,
    shallow: &HashSet<ObjectId>,
    problems: &mut Problems,
) -> Vec<(ObjectId, Read)> {
    let mut new = Vec::new();
    let mut seen: HashMap<ObjectId, u8> = HashMap::new();
    let mut waiting: VecDeque<(ObjectId, u8, bool)> = VecDeque::new();
    waiting.extend(tips.of_references.into_iter().map(|id| (id, 0, true)));
    waiting.extend(tips.former.into_iter().map(|id| (id, 0, false)));
    while let Some((id, older, is_expected)) = waiting.pop_front() {
        if seen.get(&id).is_some_and(|seen| *seen <= older) {
            continue;
        }
        let is_again = seen.insert(id, older).is_some();
        let hash = id.to_string();
        let known = known.commits.get(&hash).filter(|commit| match still_incomplete(repository, commit) {
            Some(problem) => {
                // Only the first visit counts it.
                if !is_again {
                    problems.add(problem, || hash.clone());
                }
                true
            }
            None => !commit.is_incomplete,
        });
        if let Some(commit) = known {
            let parents = commit.parents.iter().filter_map(|parent| id_of(parent));
            waiting.extend(parents.map(|parent| (parent, 0, is_expected)));
            continue;
        }
        let found = match read_commit(repository, id) {
            Ok(found) => found,
            // A former commit, or one that an alternative of the repository had.
            Err(Unread::Missing(_)) if !is_expected => continue,
            Err(unread) => {
                problems.add(Problem::of_commit(unread), || hash);
                continue;
            }
        };
        let is_old = found.commit.committed_at.is_none_or(|time| time < since);
        let older = if is_old { older + 1 } else { 0 };
        if older <= SLOP && !shallow.contains(&id) {
            waiting.extend(found.parents.iter().map(|parent| (*parent, older, is_expected)));
        }
        if !is_old && !is_again {
            new.push((id, found));
        }
    }
    new
}

/// Why a known commit is still incomplete: its objects are read again only when the one that was missing is there.
fn still_incomplete(repository: &Repository, commit: &Commit) -> Option<Problem> {
    let missing = commit.missing.as_deref().filter(|_| commit.is_incomplete)?;
    still_unread(repository, id_of(missing)?).and_then(Problem::of_objects)
}

/// The time of the newest commit among these ones.
pub(super) fn newest(repository: &Repository, known: &History, ids: &[ObjectId]) -> Option<Time> {
    let time = |id: &ObjectId| match known.commits.get(&id.to_string()) {
        Some(Commit { committed_at, .. }) => *committed_at,
        None => read_commit(repository, *id).ok()?.commit.committed_at,
    };
    ids.iter().filter_map(time).max()
}
