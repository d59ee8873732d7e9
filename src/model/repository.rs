//! The rows of the tables of repositories: commits, their files, and pull requests.

use serde::{Deserialize, Serialize};

use crate::base::time::Time;
use crate::model::session::Operation;

/// A row of `commits`. The columns of the table describe the values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields have the names of the columns")]
pub struct CommitRow {
    pub repository: String,
    pub directory: Option<String>,
    pub commit: String,
    pub parents: i64,
    pub author: Option<String>,
    pub committed_at: Option<Time>,
    pub authored_at: Option<Time>,
    pub subject: Option<String>,
    pub branches: Vec<String>,
    pub on_default: Option<bool>,
    pub merged_at: Option<Time>,
    pub tags: Vec<String>,
    pub pull_request: Option<i64>,
    pub reverts: Option<String>,
    pub coauthors: Vec<String>,
    pub session_ids: Vec<String>,
    pub patch_id: Option<i64>,
    pub files: Option<i64>,
    pub lines_added: Option<i64>,
    pub lines_removed: Option<i64>,
    pub lines_surviving: Option<i64>,
    pub lines_gone_soon: Option<i64>,
    pub half_gone_at: Option<Time>,
}

/// A row of `commit_files`. The columns of the table describe the values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields have the names of the columns")]
pub struct CommitFileRow {
    pub repository: String,
    pub commit: String,
    pub path: String,
    pub old_path: Option<String>,
    pub operation: Operation,
    pub lines_added: Option<i64>,
    pub lines_removed: Option<i64>,
    pub line_hashes: Option<String>,
}

/// The state of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PullRequestState {
    /// Neither merged nor closed.
    Open,
    /// Merged.
    Merged,
    /// Closed without a merge.
    Closed,
}

impl PullRequestState {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Merged => "merged",
            Self::Closed => "closed",
        }
    }
}

/// A row of `pull_requests`. The columns of the table describe the values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields have the names of the columns")]
pub struct PullRequestRow {
    pub repository: String,
    pub number: i64,
    pub url: Option<String>,
    pub title: Option<String>,
    pub state: PullRequestState,
    pub author: Option<String>,
    pub branch: Option<String>,
    pub base: Option<String>,
    pub created_at: Option<Time>,
    pub merged_at: Option<Time>,
    pub closed_at: Option<Time>,
    pub merge_commit: Option<String>,
    pub commits: Vec<String>,
    pub reviews: Option<i64>,
    pub lines_added: Option<i64>,
    pub lines_removed: Option<i64>,
}
