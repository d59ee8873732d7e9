//! Pull requests and merge requests as the programs of hosting services print them: `gh pr list --json …` and
//! `glab mr list --output json`.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Deserializer, Value};

use crate::adapters::shared::repository::of_remote;
use crate::base::byte_order_mark::without_mark;
use crate::base::time::Time;
use crate::ingest::privacy::redacted;
use crate::input::open::{Limit, open_named};
use crate::model::repository::{PullRequestRow, PullRequestState};

/// The pull requests of a file.
#[derive(Debug, Default)]
pub struct PullRequests {
    /// Those that were read.
    pub rows: Vec<PullRequestRow>,
    /// Why others were not read, each with its number in the file from 1.
    pub problems: Vec<(usize, String)>,
}

/// A pull request of GitHub, or a merge request of GitLab.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Printed {
    #[serde(alias = "iid")]
    number: Option<i64>,
    #[serde(alias = "web_url")]
    url: Option<String>,
    title: Option<String>,
    state: Option<String>,
    author: Option<Author>,
    #[serde(rename = "headRefName", alias = "source_branch")]
    branch: Option<String>,
    #[serde(rename = "baseRefName", alias = "target_branch")]
    base: Option<String>,
    #[serde(rename = "createdAt", alias = "created_at")]
    created_at: Option<String>,
    #[serde(rename = "mergedAt", alias = "merged_at")]
    merged_at: Option<String>,
    #[serde(rename = "closedAt", alias = "closed_at")]
    closed_at: Option<String>,
    #[serde(rename = "mergeCommit")]
    merge_commit: Option<Object>,
    merge_commit_sha: Option<String>,
    squash_commit_sha: Option<String>,
    /// The last commit of a merge request.
    sha: Option<String>,
    commits: Option<Vec<Object>>,
    reviews: Option<Vec<Review>>,
    additions: Option<i64>,
    deletions: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Author {
    login: Option<String>,
    username: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Object {
    oid: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Review {
    state: Option<String>,
}

/// Reads a file, a pipe, or standard input for the path `-`.
///
/// # Errors
/// When it cannot be read, is not JSON, or contains no pull request.
pub fn read(path: &Path) -> Result<PullRequests, String> {
    let named = |error: String| format!("{}: {error}", path.display());
    let (bytes, _) = open_named(path, Limit::Usual).map_err(|error| named(error.to_string()))?;
    let found = parse(&bytes).map_err(named)?;
    if found.rows.is_empty() && found.problems.is_empty() {
        return Err(named("it contains no pull requests".to_owned()));
    }
    Ok(found)
}

/// Parses lists of pull requests, or one per line.
fn parse(bytes: &[u8]) -> Result<PullRequests, String> {
    let mut found = PullRequests::default();
    let mut number = 0;
    for value in Deserializer::from_slice(without_mark(bytes)).into_iter::<Value>() {
        let value = value.map_err(|error| format!("it is not JSON as `gh pr list --json …` prints it: {error}"))?;
        for item in if let Value::Array(items) = value { items } else { vec![value] } {
            number += 1;
            match row(item) {
                Ok(row) => found.rows.push(row),
                Err(problem) => found.problems.push((number, problem)),
            }
        }
    }
    Ok(found)
}

fn row(item: Value) -> Result<PullRequestRow, String> {
    let printed: Printed = serde_json::from_value(item).map_err(|error| error.to_string())?;
    let number = printed.number.ok_or("it has no number")?;
    let url = printed.url.ok_or("it has no url: add `url` to --json")?;
    let repository = repository_of(&url).ok_or("its url is not that of a pull request")?;
    let time = |text: Option<String>| text.and_then(|text| Time::parse(&text));
    let (merged_at, closed_at) = (time(printed.merged_at), time(printed.closed_at));
    let state = match printed.state.unwrap_or_default().to_ascii_lowercase().as_str() {
        "merged" => PullRequestState::Merged,
        "closed" if merged_at.is_some() => PullRequestState::Merged,
        "closed" | "locked" => PullRequestState::Closed,
        "open" | "opened" => PullRequestState::Open,
        other => return Err(format!("its state is {other:?}: add `state` to --json")),
    };
    let hash = |hash: String| {
        let is_hash = (7..=64).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| hash.to_ascii_lowercase())
    };
    let merge_commit = printed.merge_commit.and_then(|commit| commit.oid);
    let commits = printed.commits.unwrap_or_default().into_iter().filter_map(|commit| commit.oid).chain(printed.sha);
    let is_round = |review: &Review| {
        review.state.as_deref().is_some_and(|state| matches!(state, "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED"))
    };
    let rounds = printed.reviews.map(|reviews| reviews.iter().filter(|review| is_round(review)).count());
    Ok(PullRequestRow {
        repository,
        number,
        url: Some(url),
        title: printed.title.map(|title| redacted(&title).into_owned()),
        state,
        author: printed.author.and_then(|author| author.login.or(author.username)),
        branch: printed.branch,
        base: printed.base,
        created_at: time(printed.created_at),
        merged_at,
        closed_at: closed_at.or(merged_at),
        merge_commit: merge_commit.or(printed.merge_commit_sha).or(printed.squash_commit_sha).and_then(hash),
        commits: commits.filter_map(hash).collect(),
        reviews: rounds.and_then(|rounds| i64::try_from(rounds).ok()),
        lines_added: printed.additions,
        lines_removed: printed.deletions,
    })
}

/// The repository of the address of a pull request.
fn repository_of(url: &str) -> Option<String> {
    let end = ["/-/merge_requests/", "/merge_requests/", "/pull/", "/pulls/"].iter().find_map(|part| url.find(part))?;
    of_remote(url.get(..end)?).filter(|name| name.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_both_services_are_read() {
        let github = r#"[{"number": 12, "url": "https://github.com/acme/shop/pull/12", "title": "Fix the cart", "state": "MERGED",
            "author": {"login": "ann", "is_bot": false}, "headRefName": "fix-cart", "baseRefName": "main",
            "createdAt": "2026-10-01T08:00:00Z", "mergedAt": "2026-10-02T08:00:00Z", "closedAt": "2026-10-02T08:00:00Z",
            "mergeCommit": {"oid": "0123456789abcdef0123456789abcdef01234567"},
            "commits": [{"oid": "AAAAAAA789abcdef0123456789abcdef01234567", "messageHeadline": "Fix"}],
            "reviews": [{"state": "CHANGES_REQUESTED"}, {"state": "COMMENTED"}, {"state": "APPROVED"}],
            "additions": 10, "deletions": 2},
            {"number": 13, "url": "https://github.com/acme/shop/pull/13", "state": "OPEN", "mergeCommit": null},
            {"number": 14, "state": "OPEN"}]"#;
        let found = parse(github.as_bytes()).unwrap();
        assert_eq!(found.problems, [(3, "it has no url: add `url` to --json".to_owned())]);
        let [merged, open] = found.rows.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (merged.repository.as_str(), merged.number, merged.state),
            ("github.com/acme/shop", 12, PullRequestState::Merged)
        );
        assert_eq!(merged.merge_commit.as_deref(), Some("0123456789abcdef0123456789abcdef01234567"));
        assert_eq!(merged.commits, ["aaaaaaa789abcdef0123456789abcdef01234567"]);
        assert_eq!((merged.reviews, merged.lines_added, merged.lines_removed), (Some(2), Some(10), Some(2)));
        assert_eq!(
            (merged.author.as_deref(), merged.branch.as_deref(), merged.base.as_deref()),
            (Some("ann"), Some("fix-cart"), Some("main"))
        );
        assert_eq!((open.state, open.reviews, open.merged_at), (PullRequestState::Open, None, None));

        let gitlab = r#"{"iid": 3, "web_url": "https://gitlab.com/acme/web/shop/-/merge_requests/3", "title": "Fix", "state": "closed",
            "author": {"username": "bob"}, "source_branch": "fix", "target_branch": "main", "created_at": "2026-10-01T08:00:00.000Z",
            "merged_at": null, "closed_at": "2026-10-03T08:00:00.000Z", "merge_commit_sha": null, "squash_commit_sha": null,
            "sha": "0123456789abcdef0123456789abcdef01234567"}"#;
        let found = parse(gitlab.as_bytes()).unwrap();
        let [closed] = found.rows.as_slice() else { panic!("{found:?}") };
        assert_eq!((closed.repository.as_str(), closed.state), ("gitlab.com/acme/web/shop", PullRequestState::Closed));
        assert_eq!(closed.closed_at, Time::parse("2026-10-03T08:00:00Z"));
        assert!(parse(b"number\ttitle").is_err());
    }
}
