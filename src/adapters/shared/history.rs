//! Calls that make commits or pull requests, and the hashes and addresses that they print.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::base::text::SharedStr;
use crate::json::Raw;

/// What a command adds to the history of a repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    /// Whether it makes commits.
    pub commits: bool,
    /// Whether it moves branches to commits, which may be those of others.
    pub moves: bool,
    /// Whether it makes or changes a pull request, whose address it prints.
    pub pull_requests: bool,
}

impl History {
    /// What two commands add.
    pub const fn and(self, other: Self) -> Self {
        Self {
            commits: self.commits || other.commits,
            moves: self.moves || other.moves,
            pull_requests: self.pull_requests || other.pull_requests,
        }
    }

    /// Whether it adds anything.
    pub const fn is_some(self) -> bool {
        self.commits || self.moves || self.pull_requests
    }
}

/// The most hashes that are kept of a call, and the most addresses.
const MOST: usize = 32;

/// What a simple command adds: its program, and its other words.
pub(super) fn of_command(program: &str, arguments: &[Cow<'_, str>]) -> History {
    let none = History::default();
    match program {
        "git" => match command_of_git(arguments) {
            Some(("commit" | "merge" | "cherry-pick" | "rebase" | "revert" | "am", _)) => {
                History { commits: true, ..none }
            }
            // A pull prints the commits of others.
            Some(("push", _)) => History { moves: true, ..none },
            _ => none,
        },
        "gh" | "glab" | "hub" | "tea" => {
            let mut operands = arguments.iter().map(AsRef::as_ref).filter(|it: &&str| !it.starts_with('-'));
            let is_of_pull_requests = operands.any(|it| matches!(it, "pr" | "mr" | "pull-request" | "pulls"));
            match operands.next() {
                _ if !is_of_pull_requests => none,
                Some("create" | "new" | "edit" | "ready" | "reopen") => History { pull_requests: true, ..none },
                Some("merge") => History { moves: true, ..none },
                _ => none,
            }
        }
        _ => none,
    }
}

/// What a tool besides the shell adds: the servers of GitHub and GitLab for models have tools that make pull requests.
pub(super) fn of_tool(tool: &str) -> History {
    let pull_requests = ["create_pull_request", "create_merge_request"].iter().any(|end| tool.ends_with(end));
    History { pull_requests, ..History::default() }
}

/// The command of a call of git, after its own options, and the words after it.
pub(super) fn command_of_git<'w>(
    arguments: &'w [Cow<'_, str>],
) -> Option<(&'w str, impl Iterator<Item = &'w str> + Clone)> {
    let mut words = arguments.iter().map(AsRef::as_ref);
    loop {
        match words.next()? {
            "-C" | "-c" | "--git-dir" | "--work-tree" => drop(words.next()),
            option if option.starts_with('-') => {}
            command => return Some((command, words)),
        }
    }
}

/// The forms in which git prints a commit that it made or moved a branch to: `[branch 0123abc] subject` and
/// `[branch (root-commit) 0123abc]`, `4567def..0123abc` with one or three dots more or less, and a whole hash alone on its line.
#[expect(clippy::expect_used, reason = "the pattern is constant, and tests compile it")]
static PRINTED: LazyLock<Regex> = LazyLock::new(|| {
    let hash = "([0-9a-f]{7,40})";
    let pattern = format!(
        r#"\[[^\[\]"\\\r\n]{{1,200}} {hash}\] |\b[0-9a-f]{{7,40}}\.\.\.?{hash}\b|(?:^|["\n]|\\n)([0-9a-f]{{40}})(?:$|["\r\n]|\\[rn])"#
    );
    Regex::new(&pattern).expect("a valid pattern")
});

/// Addresses of pull requests, of GitHub, GitLab, Gitea and Bitbucket. An account in the address is not kept.
#[expect(clippy::expect_used, reason = "the pattern is constant, and tests compile it")]
static PULL_REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"https?://[A-Za-z0-9.:-]+/[A-Za-z0-9._~/%-]{1,200}?/(?:pull|pulls|merge_requests|pull-requests)/[0-9]{1,12}",
    )
    .expect("a valid pattern")
});

/// The hashes of commits that a result contains, separated by spaces, as they are printed.
pub(super) fn commits(result: Raw<'_>) -> SharedStr {
    let mut hashes: Vec<&str> = Vec::new();
    for found in PRINTED.captures_iter(result.0) {
        let hash = found.iter().skip(1).flatten().find_map(|group| str::from_utf8(group.as_bytes()).ok());
        if let Some(hash) = hash.filter(|hash| !hashes.contains(hash)) {
            hashes.push(hash);
        }
        if hashes.len() == MOST {
            break;
        }
    }
    hashes.join(" ").into()
}

/// Whether a word can be the beginning of a hash as git prints it.
pub fn is_hash(word: &str) -> bool {
    (7..=40).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it))
}

/// Adds the addresses of pull requests in a result.
pub(super) fn add_pull_requests(result: Raw<'_>, known: &mut BTreeSet<SharedStr>) {
    let found = PULL_REQUEST.find_iter(result.0).filter_map(|found| str::from_utf8(found.as_bytes()).ok());
    known.extend(found.take(MOST).map(SharedStr::from));
}

/// The address of a pull request, if a text begins with one.
pub fn pull_request(text: &str) -> Option<SharedStr> {
    let found = PULL_REQUEST.find(text.as_bytes()).filter(|found| found.start() == 0)?;
    str::from_utf8(found.as_bytes()).ok().map(SharedStr::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::shared::shell::shell_command;

    #[test]
    fn commands_that_make_commits_are_known() {
        for (command, expected) in [
            ("git add -A && git commit -m x", "commits"),
            ("cargo test && git -C /work commit -qm x | tail -3", "commits"),
            ("bash -lc 'git push -u origin x'", "moves"),
            ("x=$(git commit -m y); echo $x", "commits"),
            ("git commit -m x && gh -R o/r pr create --fill", "commits pull_requests"),
            ("gh pr merge 12 --squash", "moves"),
            ("glab mr create", "pull_requests"),
            ("gh pr view 12", ""),
            ("gh issue create", ""),
            ("git pull", ""),
            ("git status; git log", ""),
            ("echo git commit", ""),
        ] {
            let History { commits, moves, pull_requests } = shell_command(command).history;
            let words = [("commits", commits), ("moves", moves), ("pull_requests", pull_requests)];
            let words: Vec<&str> = words.iter().filter(|(_, is_so)| *is_so).map(|(word, _)| *word).collect();
            assert_eq!(words.join(" "), expected, "{command}");
        }
    }

    #[test]
    fn printed_hashes_are_found() {
        let whole = "0123456789abcdef0123456789abcdef01234567";
        for (text, expected) in [
            ("[main 1a2b3c4] Add x\n 1 file changed", "1a2b3c4"),
            ("[feat/a-b 1a2b3c4d] x\n[feat/a-b 2a2b3c4d] [x] y", "1a2b3c4d 2a2b3c4d"),
            ("[detached HEAD 1a2b3c4] x", "1a2b3c4"),
            ("[main (root-commit) 1a2b3c4] x", "1a2b3c4"),
            ("Updating 1a2b3c4..2a2b3c4\nFast-forward", "2a2b3c4"),
            (" + 1a2b3c4...2a2b3c4 x -> x (forced update)", "2a2b3c4"),
            (&format!("a\n{whole}\nb"), whole),
            (whole, whole),
            (&format!("commit {whole}"), ""),
            ("[1/3] x\n[main] y\n[info 12] z", ""),
        ] {
            let string = serde_json::to_string(text).unwrap();
            assert_eq!(commits(Raw(string.as_bytes())), expected, "{text}");
            assert_eq!(commits(Raw(text.as_bytes())), expected, "{text}");
        }
        let many = (0..100).map(|it| format!("[a {it:07x}] x\n")).collect::<Vec<_>>().concat();
        assert_eq!(commits(Raw(many.as_bytes())).split(' ').count(), MOST);
    }

    #[test]
    fn addresses_of_pull_requests_are_found() {
        let found = |text: &str| {
            let mut known = BTreeSet::new();
            add_pull_requests(Raw(text.as_bytes()), &mut known);
            known.into_iter().collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            (r#""https://github.com/o/r/pull/12\n""#, "https://github.com/o/r/pull/12"),
            ("https://gitlab.com/a/b/c/-/merge_requests/3", "https://gitlab.com/a/b/c/-/merge_requests/3"),
            ("https://host:8443/o/r/pulls/4#x", "https://host:8443/o/r/pulls/4"),
            ("https://github.com/o/r/pull/new/branch", ""),
            ("https://user:secret@github.com/o/r/pull/12", ""),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
        assert_eq!(pull_request("see https://github.com/o/r/pull/12"), None);
        assert_eq!(
            pull_request("https://github.com/o/r/pull/12/files").as_deref(),
            Some("https://github.com/o/r/pull/12")
        );
    }
}
