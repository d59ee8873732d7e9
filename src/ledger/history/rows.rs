//! The rows of `commits` and `commit_files`, from the scanned history of a repository.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::arrivals::{Arrival, arrivals};
use super::gone::{Gone, gone};
use super::reverts::reverts;
use crate::base::line_sketch;
use crate::model::history::{ChangedFile, ChangedLines, Commit, History, Lines};
use crate::model::repository::{CommitFileRow, CommitRow};
use crate::model::tables::Tables;

/// Adds the rows of a repository, in the order in which the commits were made.
pub fn add_rows(history: &History, tables: &mut Tables) {
    let on_default = history.reachable(history.default_tips());
    let all: HashSet<&str> = history.commits.keys().map(String::as_str).collect();
    let ordered = history.in_order(&all);
    let arrivals = arrivals(history);
    let derived = Derived {
        branches: branches(history, &on_default, &arrivals),
        tags: tags(history),
        requests: requests(history, &on_default),
        reverts: reverts(history, &ordered, &on_default),
        gone: gone(history, &on_default, &arrivals),
        directory: history.checkouts.iter().max_by_key(|checkout| checkout.scanned_at).map(|it| it.directory.as_str()),
        on_default,
        arrivals,
    };
    for hash in ordered {
        let Some(commit) = history.commits.get(hash) else { continue };
        tables.commits.push(derived.row(history, hash, commit));
        let files = commit.files.iter().flatten();
        tables.commit_files.extend(files.map(|file| file_row(history, hash, file)));
    }
}

/// What follows from the references, by commit.
struct Derived<'a> {
    on_default: HashSet<&'a str>,
    arrivals: HashMap<&'a str, Arrival<'a>>,
    branches: HashMap<&'a str, BTreeSet<&'a str>>,
    tags: HashMap<&'a str, BTreeSet<&'a str>>,
    requests: HashMap<&'a str, i64>,
    reverts: HashMap<&'a str, String>,
    gone: HashMap<&'a str, Gone>,
    directory: Option<&'a str>,
}

impl Derived<'_> {
    fn row(&self, history: &History, hash: &str, commit: &Commit) -> CommitRow {
        let names = |of: &HashMap<&str, BTreeSet<&str>>| {
            of.get(hash).into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>()
        };
        let arrival = self.arrivals.get(hash);
        let lines = if commit.is_incomplete { None } else { commit.files.as_deref() };
        let sum = |count: fn(&ChangedLines) -> Option<usize>| -> Option<i64> {
            let counts = lines?.iter().filter_map(|file| file.lines.as_ref()).map(count);
            i64::try_from(counts.sum::<Option<usize>>()?).ok()
        };
        let gone = self.gone.get(hash).filter(|_| lines.is_some());
        let is_known = history.has_default_branch();
        let mut session_ids = commit.message.session_ids.clone();
        for id in history.checkouts.iter().filter_map(|checkout| checkout.notes.get(hash)).flatten() {
            if !session_ids.contains(id) {
                session_ids.push(id.clone());
            }
        }
        CommitRow {
            repository: history.repository.clone(),
            directory: self.directory.map(str::to_owned),
            commit: hash.to_owned(),
            parents: commit.parents.len().try_into().unwrap_or(i64::MAX),
            author: commit.author.clone(),
            committed_at: commit.committed_at,
            authored_at: commit.authored_at,
            subject: commit.message.subject.clone(),
            branches: names(&self.branches),
            on_default: is_known.then(|| self.on_default.contains(hash)),
            merged_at: arrival.and_then(|arrival| arrival.merged_at),
            tags: names(&self.tags),
            pull_request: match arrival {
                Some(arrival) => arrival.pull_request,
                None => self.requests.get(hash).copied().or(commit.message.pull_request),
            },
            reverts: self.reverts.get(hash).cloned(),
            coauthors: commit.message.coauthors.clone(),
            session_ids,
            patch_id: commit.patch.map(|patch| patch.id.cast_signed()),
            files: commit.files.as_ref().and_then(|files| i64::try_from(files.len()).ok()),
            lines_added: sum(|lines| Some(lines.added.count())),
            lines_removed: sum(|lines| Some(lines.removed.count())),
            lines_surviving: sum(|lines| lines.surviving.and_then(|count| usize::try_from(count).ok()))
                .filter(|_| is_known),
            lines_gone_soon: gone.and_then(Gone::soon),
            half_gone_at: gone.and_then(|gone| gone.half_gone_at),
        }
    }
}

fn file_row(history: &History, hash: &str, file: &ChangedFile) -> CommitFileRow {
    let lines = file.lines.as_ref();
    let count = |lines: &Lines| i64::try_from(lines.count()).ok();
    CommitFileRow {
        repository: history.repository.clone(),
        commit: hash.to_owned(),
        path: file.path.clone(),
        old_path: file.old_path.clone(),
        operation: file.operation,
        lines_added: lines.and_then(|lines| count(&lines.added)),
        lines_removed: lines.and_then(|lines| count(&lines.removed)),
        line_hashes: lines.map(|lines| {
            let mut hashes = lines.added.long.clone();
            hashes.dedup();
            line_sketch::to_text(&hashes)
        }),
    }
}

/// The branches of each commit: those that contain it while the default branch does not, and the branch whose merge brought it into
/// the default branch.
fn branches<'a>(
    history: &'a History,
    on_default: &HashSet<&'a str>,
    arrivals: &HashMap<&'a str, Arrival<'a>>,
) -> HashMap<&'a str, BTreeSet<&'a str>> {
    let defaults = history.default_branches();
    let mut found: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for (hash, arrival) in arrivals {
        if let Some(branch) = arrival.branch {
            found.entry(hash).or_default().insert(branch);
        }
    }
    let branches = history.checkouts.iter().flat_map(|checkout| &checkout.branches);
    let branches: BTreeSet<&(String, String)> =
        branches.filter(|(name, _)| !defaults.contains(name.as_str())).collect();
    for (name, tip) in branches {
        let mut waiting = vec![tip];
        while let Some(hash) = waiting.pop() {
            if let Some((hash, commit)) =
                history.commits.get_key_value(hash).filter(|(hash, _)| !on_default.contains(hash.as_str()))
                && found.entry(hash).or_default().insert(name)
            {
                waiting.extend(&commit.parents);
            }
        }
    }
    found
}

/// The pull request of each commit that the default branch does not have: the first one that contains it.
fn requests<'a>(history: &'a History, on_default: &HashSet<&str>) -> HashMap<&'a str, i64> {
    let requests: BTreeSet<&(i64, String)> = history.checkouts.iter().flat_map(|checkout| &checkout.requests).collect();
    let mut found = HashMap::new();
    for (number, tip) in requests {
        let mut waiting = vec![tip];
        while let Some(hash) = waiting.pop() {
            let commit = history.commits.get_key_value(hash).filter(|(hash, _)| !on_default.contains(hash.as_str()));
            if let Some((hash, commit)) = commit.filter(|(hash, _)| !found.contains_key(hash.as_str())) {
                found.insert(hash.as_str(), *number);
                waiting.extend(&commit.parents);
            }
        }
    }
    found
}

fn tags(history: &History) -> HashMap<&str, BTreeSet<&str>> {
    let mut found: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    let tags: BTreeMap<&str, &str> = history
        .checkouts
        .iter()
        .flat_map(|checkout| &checkout.tags)
        .map(|(name, hash)| (name.as_str(), hash.as_str()))
        .collect();
    for (name, hash) in tags {
        found.entry(hash).or_default().insert(name);
    }
    found
}
