//! What could not be read of a repository.

use std::collections::BTreeMap;

use super::objects::Unread;

/// Counts of what could not be read, each with its first example.
#[derive(Debug, Default)]
pub(super) struct Problems(BTreeMap<Problem, (usize, String)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Problem {
    /// References that cannot be read, or do not lead to a commit.
    Reference,
    /// Commits that are missing.
    MissingCommit,
    /// Commits that cannot be decoded.
    DamagedCommit,
    /// Commits whose files or lines are not all known.
    Incomplete(Objects),
    /// Commits with more changed files than are read.
    TooManyFiles,
}

/// Objects of a commit that were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Objects {
    Missing,
    Damaged,
}

impl Problem {
    /// The problem that an object of a commit was not read. Objects that are too large are not a problem.
    pub const fn of_objects(unread: Unread) -> Option<Self> {
        match unread {
            Unread::Missing(_) => Some(Self::Incomplete(Objects::Missing)),
            Unread::Damaged(_) => Some(Self::Incomplete(Objects::Damaged)),
            Unread::TooLarge => None,
        }
    }

    /// The problem that a commit was not read.
    pub const fn of_commit(unread: Unread) -> Self {
        match unread {
            Unread::Missing(_) => Self::MissingCommit,
            Unread::Damaged(_) | Unread::TooLarge => Self::DamagedCommit,
        }
    }
}

impl Problems {
    pub fn add(&mut self, problem: Problem, example: impl FnOnce() -> String) {
        self.0.entry(problem).or_insert_with(|| (0, example())).0 += 1;
    }

    /// Sentences.
    pub fn texts(self) -> Vec<String> {
        let text = |(problem, (count, example)): (Problem, (usize, String))| {
            let (one, many, then) = match problem {
                Problem::Reference => ("a reference", "references", "cannot be read"),
                Problem::MissingCommit => ("a commit", "commits", "missing in the repository"),
                Problem::DamagedCommit => ("a commit", "commits", "damaged"),
                Problem::Incomplete(Objects::Missing) => {
                    ("a commit", "commits", "stored without some files, whose lines are not counted")
                }
                Problem::Incomplete(Objects::Damaged) => {
                    ("a commit", "commits", "stored with damaged files, whose lines are not counted")
                }
                Problem::TooManyFiles => ("a commit", "commits", "too large: the changed files are not listed"),
            };
            let is = if matches!(problem, Problem::Reference) {
                ""
            } else if count == 1 {
                "is "
            } else {
                "are "
            };
            if count == 1 {
                format!("{one} {is}{then}: {example}")
            } else {
                format!("{count} {many} {is}{then}, such as {example}")
            }
        };
        self.0.into_iter().map(text).collect()
    }
}
