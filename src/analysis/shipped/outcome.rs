//! What became of the work of a session.

use std::collections::HashSet;

use super::history::{Commit, History};
use super::landed::Landed;
use crate::analysis::rows::Within;

/// The outcome of what no rule reached.
pub(super) const NOT_ATTRIBUTABLE_WORD: &str = "not_attributable";

/// What became of a commit or pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The default branch contains it.
    Merged,
    /// Not yet, and its branch is not abandoned.
    Open,
    /// Its pull request was closed without a merge.
    Closed,
    /// Its branch has had no commit for some time: see [`Within`].
    Abandoned,
    /// A later commit reverts it.
    Reverted,
    /// More than half of its lines were removed soon.
    Rewritten,
}

impl Outcome {
    /// The word in tables.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Abandoned => "abandoned",
            Self::Reverted => "reverted",
            Self::Rewritten => "rewritten",
        }
    }

    /// Whether it reached the default branch.
    pub(super) const fn is_merged(self) -> bool {
        matches!(self, Self::Merged | Self::Reverted | Self::Rewritten)
    }

    /// The outcome of a pull request that is known only by its state.
    pub(super) fn of_state(state: &str) -> Self {
        match state {
            "merged" => Self::Merged,
            "closed" => Self::Closed,
            _ => Self::Open,
        }
    }
}

/// Finds the outcomes of commits.
pub(super) struct Outcomes<'h> {
    history: &'h History,
    reverts: Reverts,
    /// The newest time that is known.
    now: Option<i64>,
    within: Within,
}

impl<'h> Outcomes<'h> {
    /// `newest` is the end of the last session.
    pub(super) fn new(history: &'h History, newest: Option<i64>, within: Within) -> Self {
        Self { history, reverts: Reverts::of(history), now: history.newest.max(newest), within }
    }

    /// What became of a commit, by where it counts.
    pub(super) fn of(&self, original: usize, landed: Landed) -> Outcome {
        let commit = self.history.commits.get(landed.commit);
        let is_reverted = self.reverts.targets.contains(&landed.commit) || self.reverts.targets.contains(&original);
        let Some(commit) = commit else { return Outcome::Open };
        if landed.by.is_some() {
            let is_soon = |(gone, merged): (i64, i64)| gone.saturating_sub(merged) <= self.within.micros();
            let is_back = commit.half_gone_at.is_some_and(|gone| self.reverts.undone.contains(&(landed.commit, gone)));
            let is_gone = !is_back && commit.half_gone_at.zip(commit.merged_at).is_some_and(is_soon);
            return match () {
                () if is_reverted => Outcome::Reverted,
                () if is_gone => Outcome::Rewritten,
                () => Outcome::Merged,
            };
        }
        let state = self.history.pull_request_of(original).map(|it| Outcome::of_state(&it.state));
        match state {
            Some(Outcome::Merged) if is_reverted => Outcome::Reverted,
            Some(Outcome::Merged) => Outcome::Merged,
            Some(Outcome::Closed) => Outcome::Closed,
            _ if is_reverted => Outcome::Reverted,
            Some(outcome) => outcome,
            None if self.is_abandoned(commit) => Outcome::Abandoned,
            None => Outcome::Open,
        }
    }

    fn is_abandoned(&self, commit: &Commit) -> bool {
        let (Some(now), Some(time)) = (self.now, commit.time) else { return false };
        let after = now.saturating_sub(self.within.micros());
        let goes_on = |other: &Commit| {
            other.repository == commit.repository && other.branches.iter().any(|it| commit.branches.contains(it))
        };
        time < after && !self.history.between(after, now).any(|(.., other)| goes_on(other))
    }
}

/// What later commits revert.
struct Reverts {
    /// The commits that are reverted.
    targets: HashSet<usize>,
    /// The commits that were reverted, and are no more, with the time when the default branch contained the revert.
    undone: HashSet<(usize, i64)>,
}

impl Reverts {
    /// A revert that is itself reverted does not count. The revert of a merge reverts all commits that the merge brought in.
    fn of(history: &History) -> Self {
        let mut reverts: Vec<(Option<i64>, usize, &str)> = Vec::new();
        for (index, commit) in history.commits.iter().enumerate() {
            reverts.extend(commit.reverts.as_deref().map(|reverts| (commit.time, index, reverts)));
        }
        // The latest first.
        reverts.sort_unstable_by(|a, b| b.cmp(a));
        let mut found = Self { targets: HashSet::new(), undone: HashSet::new() };
        for (_, index, hash) in reverts {
            let Some(revert) = history.commits.get(index) else { continue };
            let targets = targets(history, revert.repository, hash);
            if found.targets.contains(&index) {
                let merged_at = revert.merged_at.or(revert.time);
                found.undone.extend(targets.into_iter().zip(merged_at.into_iter().cycle()));
            } else {
                found.targets.extend(targets);
            }
        }
        found
    }
}

/// The commits of a repository that a revert of this hash is about.
fn targets(history: &History, repository: usize, hash: &str) -> Vec<usize> {
    let is_of_repository = |it: &usize| history.commits.get(*it).is_some_and(|it| it.repository == repository);
    let mut found: Vec<usize> = history.with_hash(hash).filter(is_of_repository).collect();
    for target in found.clone() {
        let Some(merge) = history.commits.get(target).filter(|it| it.is_merge && it.merged_at.is_some()) else {
            continue;
        };
        let brought = history
            .commits
            .iter()
            .enumerate()
            .filter(|(_, it)| it.repository == merge.repository && it.merged_at == merge.merged_at && !it.is_merge);
        found.extend(brought.map(|(index, _)| index));
    }
    found
}
