//! Reads the commits of repositories, and the work of sessions.

use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;

use super::history::{Commit, File, History, PullRequest, Repository};
use super::session::{Call, Change, Session};
use crate::analysis::rows::{Find, Frames, Sorted};
use crate::base::line_sketch;
use crate::base::time::Time;
use crate::store::frames::{
    TypedRows, commit_files, commits, file_changes, for_each_batch, pull_requests, rows, sessions, time_value,
    tool_calls,
};

rows! {
    /// The columns of sessions.
    struct SessionColumns {
        id: sessions::SESSION_ID,
        repository: sessions::REPOSITORY,
        directory: sessions::CWD,
        project: sessions::PROJECT,
        branch: sessions::GIT_BRANCH,
        started_at: sessions::STARTED_AT,
        ended_at: sessions::ENDED_AT,
        pull_requests: sessions::PULL_REQUESTS,
    }

    /// The columns of calls.
    struct CallColumns {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        time: tool_calls::OCCURRED_AT,
        duration_ms: tool_calls::DURATION_MS,
        commits: tool_calls::COMMITS,
    }

    /// The columns of changes.
    struct ChangeColumns {
        runtime: file_changes::RUNTIME,
        session: file_changes::SESSION_ID,
        time: file_changes::OCCURRED_AT,
        path: file_changes::PATH,
        lines_added: file_changes::LINES_ADDED,
        line_sketch: file_changes::LINE_SKETCH,
    }

    /// The columns of commits.
    struct CommitColumns {
        repository: commits::REPOSITORY,
        directory: commits::DIRECTORY,
        hash: commits::COMMIT,
        parents: commits::PARENTS,
        author: commits::AUTHOR,
        time: commits::COMMITTED_AT,
        authored_at: commits::AUTHORED_AT,
        branches: commits::BRANCHES,
        on_default: commits::ON_DEFAULT,
        merged_at: commits::MERGED_AT,
        pull_request: commits::PULL_REQUEST,
        reverts: commits::REVERTS,
        sessions: commits::SESSION_IDS,
        patch_id: commits::PATCH_ID,
        lines_added: commits::LINES_ADDED,
        lines_surviving: commits::LINES_SURVIVING,
        half_gone_at: commits::HALF_GONE_AT,
    }

    /// The columns of files of commits.
    struct FileColumns {
        repository: commit_files::REPOSITORY,
        hash: commit_files::COMMIT,
        path: commit_files::PATH,
        line_hashes: commit_files::LINE_HASHES,
    }

    /// The columns of pull requests.
    struct PullRequestColumns {
        repository: pull_requests::REPOSITORY,
        number: pull_requests::NUMBER,
        state: pull_requests::STATE,
        branch: pull_requests::BRANCH,
        merged_at: pull_requests::MERGED_AT,
        merge_commit: pull_requests::MERGE_COMMIT,
        commits: pull_requests::COMMITS,
    }
}

/// The tables of repositories.
pub(in crate::analysis) const TABLES: [&str; 3] = [commits::TABLE, commit_files::TABLE, pull_requests::TABLE];

/// The sessions of rows, without their calls and changes.
pub(super) fn sessions(rows: LazyFrame) -> PolarsResult<Vec<Session>> {
    let rows = SessionColumns::read(rows)?;
    let session = |row: usize| Session {
        id: rows.id(row).unwrap_or_default().to_owned(),
        repository: rows.repository(row).map(str::to_owned),
        directories: [rows.directory(row), rows.project(row)].into_iter().flatten().map(str::to_owned).collect(),
        branch: rows.branch(row).map(str::to_owned),
        started_at: rows.started_at(row).map(Time::micros),
        ended_at: rows.ended_at(row).map(Time::micros),
        pull_requests: rows.pull_requests(row),
        ..Session::default()
    };
    Ok((0..rows.height()).map(session).collect())
}

/// The calls that made commits.
pub(super) fn calls(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Call>> {
    Sorted::read(
        table.filter(col(tool_calls::COMMITS).is_not_null()),
        |calls: &CallColumns, row| {
            let index = find(calls.runtime(row), calls.session(row))?;
            let started_at = calls.time(row).map(Time::micros);
            let duration = calls.duration_ms(row).map(|it| it.saturating_mul(1000));
            let ended_at = started_at.zip(duration).map(|(start, duration)| start.saturating_add(duration));
            Some((index, Call { started_at, ended_at, printed: calls.commits(row).unwrap_or_default() }))
        },
        |call| call.started_at,
    )
}

/// The changes whose lines are shown.
pub(super) fn changes(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Change>> {
    Sorted::read(
        table.filter(col(file_changes::LINE_SKETCH).is_not_null()),
        |changes: &ChangeColumns, row| {
            let index = find(changes.runtime(row), changes.session(row))?;
            let change = Change {
                path: changes.path(row).unwrap_or_default().replace('\\', "/"),
                time: changes.time(row).map(Time::micros),
                sketch: line_sketch::from_text(changes.line_sketch(row).unwrap_or_default()),
                lines_added: changes.lines_added(row),
            };
            Some((index, change))
        },
        |change| change.time,
    )
}

/// The commits from a time on, and all pull requests.
pub(super) fn history(tables: &Frames, since: Option<Time>) -> PolarsResult<History> {
    let mut repositories = Repositories::default();
    let table = tables.table(commits::TABLE);
    let is_late = since.map_or_else(|| lit(true), |since| col(commits::COMMITTED_AT).gt_eq(time_value(since)));
    let mut found = Vec::new();
    let mut positions: HashMap<(usize, String), usize> = HashMap::new();
    for_each_batch(table.filter(is_late), |rows: &CommitColumns| {
        for row in 0..rows.height() {
            let repository = repositories.index(rows.repository(row), rows.directory(row));
            let commit = commit(rows, row, repository);
            positions.insert((repository, commit.hash.clone()), found.len());
            found.push(commit);
        }
        Ok(())
    })?;
    for_each_batch(tables.table(commit_files::TABLE), |rows: &FileColumns| {
        for row in 0..rows.height() {
            let repository = repositories.index(rows.repository(row), None);
            let position = positions.get(&(repository, rows.hash(row).unwrap_or_default().to_owned()));
            let Some(commit) = position.and_then(|position| found.get_mut(*position)) else { continue };
            let hashes = line_sketch::from_text(rows.line_hashes(row).unwrap_or_default());
            commit.files.push(File { path: rows.path(row).unwrap_or_default().to_owned(), hashes });
        }
        Ok(())
    })?;
    let rows = PullRequestColumns::read(tables.table(pull_requests::TABLE))?;
    let listed = (0..rows.height()).map(|row| pull_request(&rows, row, &mut repositories)).collect();
    // Tables have no order of their own.
    found.sort_by(|a, b| (a.repository, a.time, &a.hash).cmp(&(b.repository, b.time, &b.hash)));
    Ok(History::new(repositories.known, found, listed))
}

fn commit(rows: &CommitColumns, row: usize, repository: usize) -> Commit {
    Commit {
        repository,
        hash: rows.hash(row).unwrap_or_default().to_owned(),
        is_merge: rows.parents(row).is_some_and(|parents| parents > 1),
        author: rows.author(row).map(str::to_owned),
        time: rows.time(row).map(Time::micros),
        authored_at: rows.authored_at(row).map(Time::micros),
        branches: rows.branches(row),
        on_default: rows.on_default(row),
        merged_at: rows.merged_at(row).map(Time::micros),
        pull_request: rows.pull_request(row),
        reverts: rows.reverts(row).map(str::to_owned),
        sessions: rows.sessions(row),
        patch_id: rows.patch_id(row).map(str::to_owned),
        lines_added: rows.lines_added(row),
        lines_surviving: rows.lines_surviving(row),
        half_gone_at: rows.half_gone_at(row).map(Time::micros),
        files: Vec::new(),
    }
}

fn pull_request(rows: &PullRequestColumns, row: usize, repositories: &mut Repositories) -> PullRequest {
    PullRequest {
        repository: repositories.index(rows.repository(row), None),
        number: rows.number(row).unwrap_or_default(),
        state: rows.state(row).unwrap_or_default().to_owned(),
        branch: rows.branch(row).map(str::to_owned),
        merged_at: rows.merged_at(row).map(Time::micros),
        merge_commit: rows.merge_commit(row).map(str::to_owned),
        commits: rows.commits(row),
    }
}

/// The repositories by their names.
#[derive(Default)]
struct Repositories {
    known: Vec<Repository>,
    indices: BTreeMap<String, usize>,
}

impl Repositories {
    /// The index of a repository, which is added if it is new.
    fn index(&mut self, name: Option<&str>, directory: Option<&str>) -> usize {
        let name = name.unwrap_or_default();
        let index = self.indices.get(name).copied().unwrap_or_else(|| {
            self.indices.insert(name.to_owned(), self.known.len());
            self.known.push(Repository { name: name.to_owned(), ..Repository::default() });
            self.known.len() - 1
        });
        if let (Some(repository), Some(directory)) = (self.known.get_mut(index), directory)
            && !repository.directories.contains(directory)
        {
            repository.directories.insert(directory.to_owned());
        }
        index
    }
}
