//! The commits of repositories, found by their hashes, files and sessions. Times are in microseconds since 1970.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::session::Session;
use crate::base::split::base_name;

/// A commit.
#[derive(Debug, Clone, Default)]
pub(super) struct Commit {
    /// The index of its repository.
    pub repository: usize,
    pub hash: String,
    pub is_merge: bool,
    pub author: Option<String>,
    pub time: Option<i64>,
    /// When it was written; a rebase keeps this time.
    pub authored_at: Option<i64>,
    /// Branches that contain it, besides the default branch.
    pub branches: Vec<String>,
    /// Whether the default branch contains it.
    pub on_default: Option<bool>,
    /// When the default branch first contained it.
    pub merged_at: Option<i64>,
    pub pull_request: Option<i64>,
    /// The beginning of the hash of the commit that it reverts.
    pub reverts: Option<String>,
    /// The sessions that it names.
    pub sessions: Vec<String>,
    pub patch_id: Option<String>,
    pub lines_added: Option<i64>,
    pub lines_surviving: Option<i64>,
    /// When more than half of the added lines were gone.
    pub half_gone_at: Option<i64>,
    pub files: Vec<File>,
}

/// A file that a commit changed.
#[derive(Debug, Clone, Default)]
pub(super) struct File {
    pub path: String,
    /// The hashes of the added lines, sorted.
    pub hashes: Vec<u32>,
}

/// A repository.
#[derive(Debug, Clone, Default)]
pub(super) struct Repository {
    pub name: String,
    /// The directories in which it was scanned.
    pub directories: BTreeSet<String>,
}

/// A pull request, as a hosting service lists it.
#[derive(Debug, Clone, Default)]
pub(super) struct PullRequest {
    pub repository: usize,
    pub number: i64,
    /// `open`, `merged` or `closed`.
    pub state: String,
    pub branch: Option<String>,
    pub merged_at: Option<i64>,
    pub merge_commit: Option<String>,
    /// The hashes of its commits.
    pub commits: Vec<String>,
}

/// The commits of all repositories.
#[derive(Debug, Default)]
pub(super) struct History {
    pub repositories: Vec<Repository>,
    pub commits: Vec<Commit>,
    pub pull_requests: Vec<PullRequest>,
    /// The time of the newest commit.
    pub newest: Option<i64>,
    /// Commits by their hashes.
    by_hash: BTreeMap<String, Vec<usize>>,
    /// Commits and the positions of their files, by the repository and the last part of the path.
    by_name: HashMap<(usize, String), Vec<(usize, usize)>>,
    /// Commits by their times.
    by_time: Vec<(i64, usize)>,
    /// Commits by the sessions that they name.
    by_session: HashMap<String, Vec<usize>>,
    /// Commits by their branches, in the order in which they were written.
    by_branch: HashMap<String, Vec<(i64, usize)>>,
}

/// The part of a path or an address after the last `/`.
pub(super) fn last_part(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

/// Whether one of two paths ends with all parts of the other one: paths in logs are absolute, or begin in a directory of the
/// repository.
pub(super) fn are_of_one_file(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let short = short.strip_prefix("./").unwrap_or(short);
    long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

impl History {
    /// Indexes commits.
    pub(super) fn new(repositories: Vec<Repository>, commits: Vec<Commit>, pull_requests: Vec<PullRequest>) -> Self {
        let newest = commits.iter().filter_map(|commit| commit.time).max();
        let mut history = Self { repositories, pull_requests, newest, ..Self::default() };
        for (index, commit) in commits.iter().enumerate() {
            history.by_hash.entry(commit.hash.clone()).or_default().push(index);
            for session in &commit.sessions {
                history.by_session.entry(last_part(session).to_owned()).or_default().push(index);
            }
            for branch in &commit.branches {
                let Some(written) = commit.authored_at.or(commit.time) else { continue };
                history.by_branch.entry(branch.clone()).or_default().push((written, index));
            }
            for (file, File { path, .. }) in commit.files.iter().enumerate() {
                let key = (commit.repository, last_part(path).to_owned());
                history.by_name.entry(key).or_default().push((index, file));
            }
        }
        history.by_time = commits.iter().enumerate().filter_map(|(index, it)| Some((it.time?, index))).collect();
        history.by_time.sort_unstable();
        history.by_branch.values_mut().for_each(|commits| commits.sort_unstable());
        history.commits = commits;
        history
    }

    /// Whether nothing was scanned or imported.
    pub(super) fn is_empty(&self) -> bool {
        self.commits.is_empty() && self.pull_requests.is_empty()
    }

    /// Whether a commit merges others.
    pub(super) fn is_merge(&self, index: usize) -> bool {
        self.commits.get(index).is_some_and(|commit| commit.is_merge)
    }

    /// The commits whose hash begins so.
    pub(super) fn with_hash<'h>(&'h self, start: &'h str) -> impl Iterator<Item = usize> + 'h {
        let found = self.by_hash.range(start.to_owned()..).take_while(move |(hash, _)| hash.starts_with(start));
        found.filter(move |_| !start.is_empty()).flat_map(|(_, commits)| commits.iter().copied())
    }

    /// The commits that name a session.
    pub(super) fn of_session(&self, session: &str) -> &[usize] {
        self.by_session.get(session).map_or(&[], Vec::as_slice)
    }

    /// The commits of branches of a name that were written in a span of time, in that order.
    pub(super) fn on_branch(&self, branch: &str, start: i64, end: i64) -> impl Iterator<Item = usize> {
        let all = self.by_branch.get(branch).map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|(written, _)| *written < start);
        let from = all.get(first..).unwrap_or_default().iter();
        from.take_while(move |(written, _)| *written <= end).map(|(_, index)| *index)
    }

    /// The commits of a repository that changed a file, with the file.
    pub(super) fn of_file<'h>(
        &'h self,
        repository: usize,
        path: &'h str,
    ) -> impl Iterator<Item = (usize, &'h File)> + 'h {
        let named = self.by_name.get(&(repository, last_part(path).to_owned())).into_iter().flatten();
        let files = named.filter_map(|(commit, file)| Some((*commit, self.commits.get(*commit)?.files.get(*file)?)));
        files.filter(move |(_, file)| are_of_one_file(path, &file.path))
    }

    /// The commits of a span of time, by time, without merges.
    pub(super) fn between(&self, start: i64, end: i64) -> impl Iterator<Item = (i64, usize, &Commit)> {
        let first = self.by_time.partition_point(|(time, _)| *time < start);
        let from = self.by_time.get(first..).unwrap_or_default().iter().take_while(move |(time, _)| *time <= end);
        let commits = from.filter_map(|(time, index)| Some((*time, *index, self.commits.get(*index)?)));
        commits.filter(|(.., commit)| !commit.is_merge)
    }

    /// The repositories of a session: those with the name of its repository; else those whose directory contains its working directory;
    /// else those with the name of its working directory, as it may have run on another machine.
    pub(super) fn repositories_of(&self, session: &Session) -> Vec<usize> {
        let is_named = |repository: &Repository, name: &str| {
            if name.contains('/') && repository.name.contains('/') {
                name == repository.name
            } else {
                // The name of a directory, of a clone whose remote one of the two does not know.
                last_part(name) == last_part(&repository.name)
            }
        };
        let is_within = |repository: &Repository, own: &str| {
            let mut rests = repository.directories.iter().filter_map(|it| own.strip_prefix(it.as_str()));
            rests.any(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
        };
        let directories = || session.directories.iter().map(String::as_str);
        let which = |is_of: &dyn Fn(&Repository) -> bool| -> Vec<usize> {
            let found = self.repositories.iter().enumerate().filter(|(_, repository)| is_of(repository));
            found.map(|(index, _)| index).collect()
        };
        if let Some(name) = &session.repository {
            return which(&|repository| is_named(repository, name));
        }
        let within = which(&|repository| directories().any(|own| is_within(repository, own)));
        if within.is_empty() {
            let last = |own: &str| base_name(own.trim_end_matches(['/', '\\'])).to_owned();
            let names: Vec<String> = directories().map(last).filter(|name| !name.is_empty()).collect();
            return which(&|repository| names.iter().any(|name| name == last_part(&repository.name)));
        }
        within
    }

    /// The repositories that contain at least half of the files which a session changed: it may have run in a directory of another name.
    /// None if the log states the repository.
    pub(super) fn repositories_with_files(&self, session: &Session) -> Vec<usize> {
        let paths: BTreeSet<&str> = session.changes.iter().map(|change| change.path.as_str()).collect();
        let has_lines = session.changes.iter().any(|change| !change.sketch.is_empty());
        if session.repository.is_some() || !has_lines {
            return Vec::new();
        }
        let has_most = |repository: &usize| {
            let has = |path: &&&str| self.of_file(*repository, path).next().is_some();
            2 * paths.iter().filter(has).count() >= paths.len()
        };
        (0..self.repositories.len()).filter(has_most).collect()
    }

    /// The pull request of a commit that is known by its branch or its list of commits, if its own message names none.
    pub(super) fn pull_request_of(&self, index: usize) -> Option<&PullRequest> {
        let commit = self.commits.get(index)?;
        let is_of = |it: &&PullRequest| {
            if it.repository != commit.repository {
                return false;
            }
            if let Some(number) = commit.pull_request {
                return it.number == number;
            }
            let is_before = it.merged_at.is_none_or(|merged| commit.time.is_none_or(|time| time <= merged));
            it.commits.contains(&commit.hash)
                || it.merge_commit.as_ref() == Some(&commit.hash)
                || it.branch.as_ref().is_some_and(|branch| commit.branches.contains(branch)) && is_before
        };
        self.pull_requests.iter().find(is_of)
    }
}
