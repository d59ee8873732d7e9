//! Which commit another one undoes: by its message, or because its changes are exactly the opposite ones.

use std::collections::{HashMap, HashSet};

use crate::model::history::History;

/// The undone commit of each commit that undoes one. `ordered` are all commits in their order.
pub(super) fn reverts<'a>(
    history: &'a History,
    ordered: &[&'a str],
    on_default: &HashSet<&str>,
) -> HashMap<&'a str, String> {
    let mut found = HashMap::new();
    let mut by_patch: HashMap<u64, Vec<&str>> = HashMap::new();
    for hash in ordered {
        let Some(commit) = history.commits.get(*hash) else { continue };
        let by_message = commit.message.reverts.as_deref().map(|reverted| full(history, reverted));
        // Moved lines are their own opposite.
        let patch = commit.patch.filter(|patch| patch.id != patch.inverse);
        let by_content = || {
            let opposite = by_patch.get(&patch?.inverse)?;
            let is_near = |other: &&&str| on_default.contains(**other) == on_default.contains(hash);
            opposite.iter().rev().find(is_near).or(opposite.last()).map(ToString::to_string)
        };
        if let Some(reverted) = by_message.or_else(by_content) {
            found.insert(*hash, reverted);
        }
        if let Some(patch) = patch {
            by_patch.entry(patch.id).or_default().push(hash);
        }
    }
    found
}

/// The whole hash, if exactly one commit begins with these digits.
fn full(history: &History, digits: &str) -> String {
    let mut found =
        history.commits.range(digits.to_owned()..).map(|(hash, _)| hash).take_while(|hash| hash.starts_with(digits));
    match (found.next(), found.next()) {
        (Some(hash), None) => hash.clone(),
        _ => digits.to_owned(),
    }
}
