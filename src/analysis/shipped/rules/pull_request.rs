//! The session made the pull request, or its log links it.

use std::collections::BTreeSet;

use crate::analysis::shipped::history::{Commit, History};
use crate::analysis::shipped::session::Session;

/// A pull request of a repository.
pub(in crate::analysis::shipped) type Number = (usize, i64);

/// The pull requests that the log of a session links, of known repositories.
pub(in crate::analysis::shipped) fn numbers(session: &Session, history: &History) -> BTreeSet<Number> {
    let number = |address: &String| {
        let (name, number) = parts(address)?;
        Some((history.repositories.iter().position(|it| it.name == name)?, number))
    };
    session.pull_requests.iter().filter_map(number).collect()
}

/// The pull requests of a session that are known, each with its commits on the default branch, as far as those are known.
pub(in crate::analysis::shipped) fn pull_requests(session: &Session, history: &History) -> Vec<(Number, Vec<usize>)> {
    let with_commits = numbers(session, history).into_iter().map(|number| (number, commits(number, session, history)));
    with_commits.filter(|(number, commits)| !commits.is_empty() || is_listed(*number, history)).collect()
}

/// The commits of a pull request. What was merged before the session is not its work.
fn commits((repository, number): Number, session: &Session, history: &History) -> Vec<usize> {
    let is_of = |commit: &Commit| {
        let is_late = || session.started_at.zip(commit.merged_at).is_none_or(|(start, merged)| start <= merged);
        (commit.repository, commit.pull_request) == (repository, Some(number)) && !commit.is_merge && is_late()
    };
    let commits = history.commits.iter().enumerate();
    commits.filter(|(_, commit)| is_of(commit)).map(|(index, _)| index).collect()
}

fn is_listed(number: Number, history: &History) -> bool {
    history.pull_requests.iter().any(|it| (it.repository, it.number) == number)
}

/// The repository and the number of an address: `https://HOST/OWNER/NAME/pull/12`, `https://HOST/GROUP/NAME/-/merge_requests/12`.
fn parts(address: &str) -> Option<(&str, i64)> {
    let (_, rest) = address.split_once("://")?;
    let (rest, number) = rest.rsplit_once('/')?;
    let (rest, _) = rest.rsplit_once('/')?;
    Some((rest.strip_suffix("/-").unwrap_or(rest), number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_repository_and_a_number() {
        assert_eq!(parts("https://github.com/acme/shop/pull/12"), Some(("github.com/acme/shop", 12)));
        assert_eq!(parts("https://gitlab.com/a/b/c/-/merge_requests/3"), Some(("gitlab.com/a/b/c", 3)));
        assert_eq!(parts("https://github.com/acme/shop/pull/new"), None);
    }
}
