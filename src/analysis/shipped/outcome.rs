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
    /// Commits that are reverted.
    reverted: HashSet<usize>,
    /// The newest time that is known.
    now: Option<i64>,
    within: Within,
}

impl<'h> Outcomes<'h> {
    /// `newest` is the end of the last session.
    pub(super) fn new(history: &'h History, newest: Option<i64>, within: Within) -> Self {
        Self { history, reverted: reverted(history), now: history.newest.max(newest), within }
    }

    /// What became of a commit, by where it counts.
    pub(super) fn of(&self, original: usize, landed: Landed) -> Outcome {
        let commit = self.history.commits.get(landed.commit);
        let is_reverted = self.reverted.contains(&landed.commit) || self.reverted.contains(&original);
        let Some(commit) = commit else { return Outcome::Open };
        if landed.by.is_some() {
            let is_soon = |(gone, merged): (i64, i64)| gone.saturating_sub(merged) <= self.within.micros();
            let is_gone = commit.half_gone_at.zip(commit.merged_at).is_some_and(is_soon);
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

/// The commits that later ones revert. A revert that is itself reverted does not count. The revert of a merge reverts all commits that
/// the merge brought in.
fn reverted(history: &History) -> HashSet<usize> {
    let mut reverts: Vec<(Option<i64>, usize, &str)> = Vec::new();
    for (index, commit) in history.commits.iter().enumerate() {
        reverts.extend(commit.reverts.as_deref().map(|reverts| (commit.time, index, reverts)));
    }
    // The latest first.
    reverts.sort_unstable_by(|a, b| b.cmp(a));
    let mut found = HashSet::new();
    for (_, index, reverts) in reverts {
        let Some(commit) = history.commits.get(index).filter(|_| !found.contains(&index)) else { continue };
        let is_of_repository =
            |it: &usize| history.commits.get(*it).is_some_and(|it| it.repository == commit.repository);
        let targets: Vec<usize> = history.with_hash(reverts).filter(is_of_repository).collect();
        for target in targets {
            found.insert(target);
            let Some(merge) = history.commits.get(target).filter(|it| it.is_merge && it.merged_at.is_some()) else {
                continue;
            };
            let brought =
                history.commits.iter().enumerate().filter(|(_, it)| {
                    it.repository == merge.repository && it.merged_at == merge.merged_at && !it.is_merge
                });
            found.extend(brought.map(|(index, _)| index));
        }
    }
    found
}
