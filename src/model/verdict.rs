//! Verdicts: judgements of sessions, from result files beside their logs or imported.

use serde::{Deserialize, Serialize};

use crate::base::time::Time;

/// The name of a verdict that has none of its own.
pub const DEFAULT_NAME: &str = "verdict";

/// One judgement of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verdict {
    /// The task that the session worked on.
    pub task: Option<String>,
    /// The attempt at the task.
    pub trial: Option<String>,
    /// Distinguishes several verdicts of one session.
    pub name: String,
    /// Whether the task was solved.
    pub passed: Option<bool>,
    /// The score, as given.
    pub score: Option<f64>,
    /// Who or what judged.
    pub judge: Option<String>,
    /// When.
    pub judged_at: Option<Time>,
    /// The judge's words.
    pub message: Option<String>,
    /// The file that contains the verdict; `None` if that is the source itself.
    pub path: Option<String>,
}

impl Verdict {
    /// Whether both state the same: copies of one judgement can be in several files.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        let stated = |verdict: &Self| Self { path: None, ..verdict.clone() };
        stated(self) == stated(other)
    }
}

/// Adds verdicts to those that are known, without copies of them.
pub fn add_verdicts(known: &mut Vec<Verdict>, more: Vec<Verdict>) {
    for verdict in more {
        if !known.iter().any(|other| verdict.is_copy_of(other)) {
            known.push(verdict);
        }
    }
}

/// A verdict of a file that was imported, with what names its session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// The line of the file, from 1; 0 if it has none.
    pub line: i64,
    /// The runtime's id of the session.
    pub session_id: Option<String>,
    /// The runtime of the session.
    pub runtime: Option<String>,
    /// Labels that the session has, as `key=value`.
    pub labels: Vec<String>,
    /// The path of the session's log, or the end of it.
    pub log: Option<String>,
    /// The path of a report that `ingest` found: its sessions are near it.
    pub beside: Option<String>,
}

/// How the session of a verdict was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// By its id.
    SessionId,
    /// By labels.
    Label,
    /// By the path of its log.
    Path,
    /// The verdict is in a file beside its log, or in the log.
    Sidecar,
}

impl MatchedBy {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionId => "session_id",
            Self::Label => "label",
            Self::Path => "path",
            Self::Sidecar => "sidecar",
        }
    }
}
