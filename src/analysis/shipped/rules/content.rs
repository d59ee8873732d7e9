//! The lines that the session added are in the commit: at least half of the hashes of a change, and at least two, in the same file.

use std::collections::BTreeMap;

use super::TOLERANCE;
use crate::analysis::shipped::history::{Commit, History};
use crate::analysis::shipped::session::{Change, Session};
use crate::base::line_sketch::count_common;
use crate::base::time::DAY_MICROS;

/// How long after a change it may be committed.
const LATEST: i64 = 14 * DAY_MICROS;

/// The commits that contain changes of a session.
#[derive(Debug, Default)]
pub(in crate::analysis::shipped) struct Contained {
    /// The lines of each commit.
    pub lines: BTreeMap<usize, f64>,
    /// The part of the lines that is in files that were committed.
    pub part: f64,
}

/// The commits that contain changes of a session. Each change is in the commit with most of its lines, else the first one.
pub(in crate::analysis::shipped) fn commits<'s>(
    session: &'s Session,
    changes: impl Iterator<Item = &'s Change>,
    history: &History,
    own: &[usize],
) -> Contained {
    let by_files = if own.is_empty() { history.repositories_with_files(session) } else { Vec::new() };
    let repositories = if own.is_empty() { &by_files } else { own };
    let mut lines: BTreeMap<usize, f64> = BTreeMap::new();
    // Lines of each file. A file counts as committed as soon as one of its changes was: others replaced the earlier ones.
    let mut files: BTreeMap<&str, (f64, bool)> = BTreeMap::new();
    for change in changes.filter(|change| !change.sketch.is_empty()) {
        let commit =
            repositories.iter().filter_map(|repository| commit_of(change, session, history, *repository)).max();
        let (all, is_committed) = files.entry(&change.path).or_default();
        *all += change.weight();
        *is_committed |= commit.is_some();
        if let Some(found) = commit {
            *lines.entry(found.commit).or_default() += change.weight();
        }
    }
    // Files outside of the repository, such as plans in the home directory, are never committed.
    files.retain(|path, (_, is_committed)| *is_committed || session.is_of_repository(path));
    let all: f64 = files.values().map(|(lines, _)| lines).sum();
    let committed: f64 = files.values().filter(|(_, is_committed)| *is_committed).map(|(lines, _)| lines).sum();
    Contained { lines, part: if all > 0.0 { committed / all } else { 0.0 } }
}

/// What a session contributed to some commits.
#[derive(Debug, Default)]
pub(in crate::analysis::shipped) struct Contributed<'s> {
    /// The lines of each of the commits.
    pub lines: BTreeMap<usize, f64>,
    /// The changes that none of them contains.
    pub rest: Vec<&'s Change>,
}

/// How many lines a session contributed to each of some commits.
pub(in crate::analysis::shipped) fn contributed<'s>(
    session: &'s Session,
    history: &History,
    commits: &[usize],
) -> Contributed<'s> {
    let lines = commits.iter().map(|commit| (*commit, 0.0)).collect();
    let mut contributed = Contributed { lines, rest: Vec::new() };
    for change in &session.changes {
        let found = commits.iter().filter_map(|index| {
            let commit = history.commits.get(*index)?;
            of_commit(change, session, history, *index, commit)
        });
        match found.max() {
            Some(found) => *contributed.lines.entry(found.commit).or_default() += change.weight(),
            None => contributed.rest.push(change),
        }
    }
    contributed
}

/// A commit that contains a change. The better one is the larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    hashes: usize,
    time: std::cmp::Reverse<i64>,
    commit: usize,
}

fn commit_of(change: &Change, session: &Session, history: &History, repository: usize) -> Option<Found> {
    let files = history.of_file(repository, &change.path);
    let found = files.filter_map(|(index, file)| {
        let commit = history.commits.get(index)?;
        found(change, session, index, commit, &file.hashes)
    });
    found.max()
}

fn of_commit(change: &Change, session: &Session, history: &History, index: usize, commit: &Commit) -> Option<Found> {
    let files = history.of_file(commit.repository, &change.path).filter(|(other, _)| *other == index);
    files.filter_map(|(_, file)| found(change, session, index, commit, &file.hashes)).max()
}

fn found(change: &Change, session: &Session, index: usize, commit: &Commit, hashes: &[u32]) -> Option<Found> {
    let time = commit.time?;
    let changed = change.time.or(session.started_at)?;
    let latest = change.time.or(session.ended_at)?.saturating_add(LATEST);
    let is_in_time = changed.saturating_sub(TOLERANCE) <= time && time <= latest;
    let common = count_common(&change.sketch, hashes);
    let is_enough = 2 * common >= change.sketch.len() && common >= change.sketch.len().min(2) && common > 0;
    (is_in_time && is_enough && !commit.is_merge).then_some(Found {
        hashes: common,
        time: std::cmp::Reverse(time),
        commit: index,
    })
}
