//! The work of a session, as its log shows it. Times are in microseconds since 1970.

/// A session.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    pub id: String,
    pub repository: Option<String>,
    /// Its working directory, and the project whose worktree that is.
    pub directories: Vec<String>,
    /// The branch that was checked out there.
    pub branch: Option<String>,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    /// Addresses of pull requests.
    pub pull_requests: Vec<String>,
    pub calls: Vec<Call>,
    pub changes: Vec<Change>,
}

/// A call that made commits.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    /// The beginnings of hashes that it printed.
    pub printed: Vec<String>,
}

/// A change of a file whose lines the log shows.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    /// The path, with `/` between its parts.
    pub path: String,
    pub time: Option<i64>,
    /// The smallest hashes of the added lines, sorted.
    pub sketch: Vec<u32>,
    pub lines_added: Option<i64>,
}

impl Change {
    /// How many lines it counts for: those that it adds, as far as they are known.
    #[expect(clippy::cast_precision_loss, reason = "no change has so many lines")]
    pub(super) fn weight(&self) -> f64 {
        let known = i64::try_from(self.sketch.len()).unwrap_or(i64::MAX);
        self.lines_added.unwrap_or(known).max(1) as f64
    }
}

impl Session {
    /// Whether a time lies between the start and the end of the session, or so many microseconds around them.
    pub(super) fn is_at(&self, time: i64, before: i64, after: i64) -> bool {
        let (Some(start), Some(end)) = (self.started_at, self.ended_at.or(self.started_at)) else { return false };
        start.saturating_sub(before) <= time && time <= end.saturating_add(after)
    }

    /// Whether a path may be that of a file of the session's repository: it is below one of the session's directories, and not in `.git`.
    pub(super) fn is_of_repository(&self, path: &str) -> bool {
        let is_absolute = path.starts_with(['/', '~']) || path.get(1..3) == Some(":/");
        let is_below = |directory: &String| {
            let directory = directory.replace('\\', "/");
            path.strip_prefix(directory.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        };
        let is_within = !is_absolute || self.directories.is_empty() || self.directories.iter().any(is_below);
        is_within && !path.split('/').any(|part| part == ".git")
    }
}
