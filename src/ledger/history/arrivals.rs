//! How commits came into the default branch: when, and by which pull request and branch.

use std::collections::HashMap;

use crate::base::time::Time;
use crate::model::history::{Commit, History};

/// How a commit came into the default branch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arrival<'a> {
    /// The time of the first commit on the line of first parents that contains it.
    pub merged_at: Option<Time>,
    /// The pull request.
    pub pull_request: Option<i64>,
    /// The branch that was merged.
    pub branch: Option<&'a str>,
}

/// The arrivals of all commits of the default branch.
pub(super) fn arrivals(history: &History) -> HashMap<&str, Arrival<'_>> {
    let mut found = HashMap::new();
    for tip in history.default_tips() {
        add(history, tip, &mut found);
    }
    found
}

/// Follows the line of first parents from a commit, and then the merged lines, the oldest merge first: what a line contains came in
/// by the first merge that contains it.
fn add<'a>(history: &'a History, tip: &'a str, found: &mut HashMap<&'a str, Arrival<'a>>) {
    let defaults = history.default_branches();
    // The merge by which the line came in; none for that of the default branch.
    let mut waiting: Vec<(&str, Option<Arrival<'a>>)> = vec![(tip, None)];
    while let Some((start, merged)) = waiting.pop() {
        let mut merges = Vec::new();
        let mut next = Some(start);
        while let Some((hash, commit)) = next.and_then(|hash| history.commits.get_key_value(hash)) {
            if found.contains_key(hash.as_str()) {
                break;
            }
            let arrival = own(commit, merged);
            found.insert(hash, arrival);
            let [first, others @ ..] = commit.parents.as_slice() else { break };
            if !others.is_empty() {
                let named = commit.message.source_branch.as_deref().filter(|name| !defaults.contains(name));
                let brought = Arrival {
                    merged_at: arrival.merged_at,
                    pull_request: commit.message.pull_request.or(merged.and_then(|merged| merged.pull_request)),
                    branch: named.or(merged.and_then(|merged| merged.branch)),
                };
                merges.extend(others.iter().map(|parent| (parent.as_str(), Some(brought))));
            }
            next = Some(first);
        }
        // The newest merge is first, and is popped last.
        waiting.extend(merges);
    }
}

/// The arrival of a commit on a line that came in by this merge.
fn own<'a>(commit: &Commit, merged: Option<Arrival<'a>>) -> Arrival<'a> {
    let is_merge = commit.parents.len() > 1;
    let number = commit.message.pull_request;
    match merged {
        None => Arrival { merged_at: commit.committed_at, pull_request: number, branch: None },
        // A merge in a merged line may name a request of its own.
        Some(merged) if is_merge => Arrival { pull_request: number.or(merged.pull_request), ..merged },
        Some(merged) => Arrival { pull_request: merged.pull_request.or(number), ..merged },
    }
}
