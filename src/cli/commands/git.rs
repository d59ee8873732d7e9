//! `agentlogs git`: reads commits of repositories, and imports pull requests.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use agentlogs::analysis::present::{counted, grouped};
use agentlogs::analysis::working_directories::working_directories;
use agentlogs::base::time::{self, Time};
use agentlogs::ingest::pull_requests;
use agentlogs::ingest::repositories::{Options, Repository, Scanned, root_of};
use agentlogs::model::history::History;
use agentlogs::model::repository::PullRequestRow;
use agentlogs::store::archive::{Archive, Histories};
use agentlogs::store::frames::sessions;
use anyhow::Context;

use super::Outcome;
use super::output::{complain, say};
use super::resolve::check_standard_input;
use super::source::some_tables;
use crate::cli::args::{ArchiveDirectory, DataSource, Git, GitImport, GitScan};
use crate::cli::settings::Settings;

pub fn run(args: Git, settings: &Settings) -> anyhow::Result<Outcome> {
    match args {
        Git::Scan(args) => scan(args, settings),
        Git::Import(args) => import(args, settings),
    }
}

/// A repository to scan.
struct Found {
    root: PathBuf,
    /// When its first session began.
    first_session: Option<Time>,
}

/// The repositories to scan, by the directory that their worktrees share.
type Repositories = BTreeMap<PathBuf, Found>;

fn scan(args: GitScan, settings: &Settings) -> anyhow::Result<Outcome> {
    let archive = settings.archive(args.archive.archive.clone())?;
    let mut of_sessions = of_sessions(args.archive, settings)?;
    let mut outcome = Outcome::Done;
    let repositories = if args.repositories.is_empty() {
        of_sessions
    } else {
        let mut named = Repositories::new();
        for path in &args.repositories {
            match opened(path) {
                Ok((common, root)) => {
                    let first_session = of_sessions.remove(&common).and_then(|found| found.first_session);
                    named.insert(common, Found { root, first_session });
                }
                Err(error) => {
                    complain(format_args!("{error:#}"));
                    outcome = Outcome::NotAllDone;
                }
            }
        }
        named
    };
    if repositories.is_empty() {
        if args.repositories.is_empty() {
            say(
                "no session of the archive ran in a repository that is on this machine; name one: agentlogs git scan REPO",
            );
        }
        return Ok(Outcome::NotAllDone);
    }
    let since = args.since.map(Time::start_of);
    loop {
        let known = archive.histories()?;
        let (histories, is_complete) = scan_all(&repositories, &known, since);
        if histories.is_empty() || write(&archive, &known, &histories)? {
            return Ok(if is_complete { outcome } else { Outcome::NotAllDone });
        }
        say("another process changed the histories in the archive meanwhile: the repositories are scanned again");
    }
}

/// Scans repositories. Returns their histories, and whether everything could be read.
fn scan_all(repositories: &Repositories, known: &Histories, since: Option<Time>) -> (Vec<History>, bool) {
    let now = Time::from(jiff::Timestamp::now());
    let mut histories: Vec<History> = Vec::new();
    let mut is_complete = true;
    for found in repositories.values() {
        let options = Options { since, first_session: found.first_session, now };
        is_complete &= scan_one(&found.root, known, &mut histories, options).unwrap_or_else(|error| {
            complain(format_args!("{error:#}"));
            false
        });
    }
    (histories, is_complete)
}

/// Scans a repository, and adds its history to those of this run. Returns whether everything could be read.
fn scan_one(root: &Path, known: &Histories, histories: &mut Vec<History>, options: Options) -> anyhow::Result<bool> {
    let repository = Repository::open(root)?;
    let identity = repository.identity();
    let directory = repository.directory().to_owned();
    // Another copy of it may have been scanned in this run.
    let is_same = |history: &History| history.identity().is_same(&identity) || repository.is_copy_of(history);
    let earlier = histories.iter().position(is_same);
    let before = match earlier {
        Some(position) => Some(histories.swap_remove(position)),
        None => match known.load(&identity)? {
            None => known.find(&identity.repository, |history| repository.is_copy_of(history))?,
            before => before,
        },
    };
    let copy = before.clone().filter(|_| earlier.is_some());
    let Ok(scanned) = catch_unwind(AssertUnwindSafe(|| repository.scan(before, options))) else {
        histories.extend(copy);
        anyhow::bail!("{}: the repository is damaged", directory.display());
    };
    let Scanned { history, new, is_shallow, problems } = scanned;
    let since = history.since.map(|since| format!(" since {}", time::Day(since.day()))).unwrap_or_default();
    let shallow = if is_shallow { "; a shallow clone, without earlier commits" } else { "" };
    let total = counted(history.commits.len(), "commit");
    say(&format!("{}: {} new of {total}{since}{shallow}", history.repository, grouped(new)));
    for problem in &problems {
        complain(format_args!("{}: {problem}", directory.display()));
    }
    histories.push(history);
    Ok(problems.is_empty())
}

/// Writes histories that follow from those in `known`: see [`Archive::write_histories`].
fn write(archive: &Archive, known: &Histories, histories: &[History]) -> anyhow::Result<bool> {
    if archive.is_being_written() {
        say(&format!("waiting for another process that writes {}", archive.directory().display()));
    }
    Ok(archive.write_histories(known, histories)?)
}

/// The directory that all worktrees of a repository share, and the root around a directory.
fn opened(path: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let real = dunce::canonicalize(path).with_context(|| path.display().to_string())?;
    let root = root_of(&real).with_context(|| format!("{}: no git repository here", path.display()))?;
    Ok((Repository::open(&root)?.common_directory(), root))
}

/// The repositories around the directories of the sessions of this machine.
fn of_sessions(archive: ArchiveDirectory, settings: &Settings) -> anyhow::Result<Repositories> {
    let source = DataSource { archive, logs: Vec::new() };
    let tables = some_tables(source, settings, &[sessions::TABLE])?.frames;
    let host = gethostname::gethostname().into_string().ok();
    let mut roots: BTreeMap<PathBuf, Option<Time>> = BTreeMap::new();
    for (directory, first_session) in working_directories(&tables, host.as_deref())? {
        if let Some(root) = Some(directory).filter(|directory| directory.is_dir()).and_then(|it| root_of(&it)) {
            let first = roots.entry(root).or_default();
            *first = (*first).into_iter().chain(first_session).min();
        }
    }
    let mut found = Repositories::new();
    for (root, first_session) in roots {
        // That one cannot be opened is an error when it is scanned.
        let common = Repository::open(&root).map_or_else(|_| root.clone(), |repository| repository.common_directory());
        let known = found.entry(common).or_insert(Found { root, first_session });
        known.first_session = known.first_session.into_iter().chain(first_session).min();
    }
    Ok(found)
}

fn import(args: GitImport, settings: &Settings) -> anyhow::Result<Outcome> {
    check_standard_input(&args.files)?;
    let archive = settings.archive(args.archive.archive)?;
    let mut outcome = Outcome::Done;
    let mut rows: Vec<PullRequestRow> = Vec::new();
    for path in &args.files {
        match pull_requests::read(path) {
            Ok(found) => {
                for (number, problem) in found.problems {
                    complain(format_args!("{}: request {number}: {problem}", path.display()));
                    outcome = Outcome::NotAllDone;
                }
                rows.extend(found.rows);
            }
            Err(error) => {
                complain(format_args!("{error}"));
                outcome = Outcome::NotAllDone;
            }
        }
    }
    if rows.is_empty() {
        return Ok(Outcome::NotAllDone);
    }
    let mut states: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for row in &rows {
        *states.entry(row.repository.clone()).or_default().entry(row.state.as_str()).or_default() += 1;
    }
    archive.add_pull_requests(rows)?;
    for (repository, states) in states {
        let total: usize = states.values().sum();
        let states: Vec<String> = states.iter().map(|(state, count)| format!("{} {state}", grouped(*count))).collect();
        say(&format!("{repository}: {}: {}", counted(total, "pull request"), states.join(", ")));
    }
    Ok(outcome)
}
