//! The commit by which work reached the default branch: the commit itself, the same change after a rebase or a cherry-pick, or the commit of
//! a squash.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::history::{Commit, History, PullRequest};
use crate::base::line_sketch::count_common;
use crate::base::time::DAY_MICROS;
use crate::store::frames::commits;

/// How long after a commit its squash may be made.
const LATEST: i64 = 30 * DAY_MICROS;

/// How a commit reached the default branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LandedBy {
    /// The default branch contains it.
    Itself,
    /// The default branch contains a commit with the same changes.
    Patch,
    /// Its pull request was merged by another commit.
    PullRequest,
    /// A later commit of the default branch contains its lines, in the same files.
    Content,
}

impl LandedBy {
    /// The word in tables.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Itself => "itself",
            Self::Patch => "patch",
            Self::PullRequest => commits::PULL_REQUEST,
            Self::Content => "content",
        }
    }
}

/// Where the change of a commit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landed {
    /// The commit that counts in its place: equal changes count once.
    pub commit: usize,
    /// How it reached the default branch; `None` if it did not.
    pub by: Option<LandedBy>,
}

/// Finds where changes count. Answers are kept: several sessions share commits.
pub(super) struct Landings<'h> {
    history: &'h History,
    /// Commits by their changes: of each repository the one that counts.
    by_patch: HashMap<(usize, &'h str), usize>,
    known: BTreeMap<usize, Landed>,
}

impl<'h> Landings<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        let mut by_patch: HashMap<(usize, &str), usize> = HashMap::new();
        for (index, commit) in history.commits.iter().enumerate() {
            let Some(patch) = commit.patch_id.as_deref() else { continue };
            let known = by_patch.entry((commit.repository, patch)).or_insert(index);
            if history.commits.get(*known).is_some_and(|known| rank(commit) < rank(known)) {
                *known = index;
            }
        }
        Self { history, by_patch, known: BTreeMap::new() }
    }

    /// Where the change of a commit counts.
    pub(super) fn of(&mut self, index: usize) -> Landed {
        if let Some(known) = self.known.get(&index) {
            return *known;
        }
        let landed = self.find(index);
        self.known.insert(index, landed);
        landed
    }

    fn find(&self, index: usize) -> Landed {
        let Some(commit) = self.history.commits.get(index) else { return Landed { commit: index, by: None } };
        if commit.on_default == Some(true) {
            return Landed { commit: index, by: Some(LandedBy::Itself) };
        }
        let equal = commit.patch_id.as_deref().and_then(|patch| self.by_patch.get(&(commit.repository, patch)));
        let equal = equal.copied().unwrap_or(index);
        if self.history.commits.get(equal).is_some_and(|it| it.on_default == Some(true)) {
            return Landed { commit: equal, by: Some(LandedBy::Patch) };
        }
        let by_pull_request = self.history.pull_request_of(index).and_then(|it| merge_of(it, self.history));
        if let Some(merge) = by_pull_request {
            return Landed { commit: merge, by: Some(LandedBy::PullRequest) };
        }
        let is_merged = |it: &Commit| it.on_default == Some(true);
        if let Some(squash) = successor(commit, self.history, is_merged) {
            return Landed { commit: squash, by: Some(LandedBy::Content) };
        }
        // No branch contains a commit that was amended.
        let amended = if commit.branches.is_empty() {
            successor(commit, self.history, |it| !it.branches.is_empty())
        } else {
            None
        };
        Landed { commit: amended.unwrap_or(equal), by: None }
    }
}

/// Of equal changes, the first on the default branch counts, else the first.
fn rank(commit: &Commit) -> (bool, Option<i64>, Option<i64>, &str) {
    (commit.on_default != Some(true), commit.merged_at, commit.time, &commit.hash)
}

/// The commit on the default branch that merged a pull request.
fn merge_of(pull_request: &PullRequest, history: &History) -> Option<usize> {
    let hash = pull_request.merge_commit.as_deref().filter(|_| pull_request.state == "merged")?;
    history.with_hash(hash).find(|index| {
        let commit = history.commits.get(*index);
        commit.is_some_and(|it| it.repository == pull_request.repository && it.on_default == Some(true) && !it.is_merge)
    })
}

/// A later commit that contains at least half of the lines of a commit, and at least two, in the same files: the one with most of them,
/// else the first.
fn successor(commit: &Commit, history: &History, is_candidate: impl Fn(&Commit) -> bool) -> Option<usize> {
    let time = commit.time?;
    let all: usize = commit.files.iter().map(|file| file.hashes.len()).sum();
    let mut common: BTreeMap<usize, usize> = BTreeMap::new();
    for file in &commit.files {
        let mut seen = BTreeSet::new();
        for (index, other) in history.of_file(commit.repository, &file.path) {
            let is_later = |it: &Commit| it.time.is_some_and(|it| (time..=time.saturating_add(LATEST)).contains(&it));
            let is_candidate = |it: &&Commit| is_candidate(it) && !it.is_merge && is_later(it);
            let is_same_path = other.path == file.path;
            if is_same_path && history.commits.get(index).as_ref().is_some_and(is_candidate) && seen.insert(index) {
                *common.entry(index).or_default() += count_common(&file.hashes, &other.hashes);
            }
        }
    }
    let enough = common.into_iter().filter(|(_, common)| 2 * common >= all && *common >= 2);
    let best = enough.max_by_key(|(index, common)| {
        let time = history.commits.get(*index).and_then(|it| it.time);
        (*common, std::cmp::Reverse((time, *index)))
    });
    best.map(|(index, _)| index)
}
