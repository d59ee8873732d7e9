//! The rules by which the work of a session is found in a repository.

use crate::store::frames::commits;

/// A rule, the ones that prove most first. The first one that finds a commit of a session decides, and `content` finds the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::analysis) enum Rule {
    /// A call of the session printed the hash of the commit when it made it.
    Hash,
    /// The commit names the session, in a trailer or a note.
    Trailer,
    /// The commit was made while a call of the session ran that makes commits.
    Time,
    /// The lines that the session added are in the commit.
    Content,
    /// The session made the pull request, or its log links it.
    PullRequest,
    /// The commit is the next one on the branch on which the session worked.
    Branch,
}

impl Rule {
    /// All rules, in their order.
    pub(super) const ALL: [Self; 6] =
        [Self::Hash, Self::Trailer, Self::Time, Self::Content, Self::PullRequest, Self::Branch];

    /// The word in tables.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Trailer => "trailer",
            Self::Time => "time",
            Self::Content => "content",
            Self::PullRequest => commits::PULL_REQUEST,
            Self::Branch => "branch",
        }
    }
}
