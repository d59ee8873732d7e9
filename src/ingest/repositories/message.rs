//! What the message of a commit states: its subject, the pull request that it merges, what it reverts, and names in its trailers.

use std::sync::LazyLock;

use regex::Regex;

use crate::ingest::privacy::redacted;
use crate::model::history::Message;

/// The most characters of a subject.
const MAX_SUBJECT: usize = 200;
/// The most characters of a name.
const MAX_NAME: usize = 100;
/// The most characters of a session's id.
const MAX_ID: usize = 200;
/// The most names of one message: others are left out.
const MAX_NAMES: usize = 64;

macro_rules! patterns {
    ($($name:ident: $pattern:literal;)*) => {$(
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
    )*};
}

patterns! {
    // GitHub: the first line names the number and the branch.
    MERGE_OF_GITHUB: r"^Merge pull request #(?<number>\d{1,9}) from [^/\s]+/(?<branch>\S+)";
    // bors and homu: the branch follows the account.
    MERGE_OF_BORS: r"^(?:Auto merge|Rollup merge) of #(?<number>\d{1,9}) - (?:[^:\s]+:)?(?<branch>[^,\s]+)";
    // Bitbucket.
    MERGE_OF_BITBUCKET: r"^Merged in (?<branch>\S+) \(pull request #(?<number>\d{1,9})\)";
    // Azure DevOps.
    MERGE_OF_AZURE: r"^Merged PR (?<number>\d{1,9})(?:: |$)";
    // git itself, and GitLab.
    MERGE_OF_GIT: r"^Merge (?:remote-tracking )?branch '(?<branch>[^']+)'";
    // GitLab: the last line.
    NUMBER_OF_GITLAB: r"(?m)^See merge request \S*!(?<number>\d{1,9})\s*$";
    // A squash merge of GitHub.
    SQUASH: r"\(#(?<number>\d{1,9})\)\s*$";
    REVERT: r"(?i)\bThis reverts commit (?<hash>[0-9a-f]{7,64})\b";
    TRAILER: r"(?m)^(?<key>[A-Za-z][A-Za-z0-9-]{1,40}): *(?<value>\S.*?)\s*$";
}

/// The parts of a message.
pub(super) fn parse(text: &str) -> Message {
    let first = text.trim_start().lines().next().unwrap_or_default();
    let mut message = Message { subject: plain(&redacted(first), MAX_SUBJECT), ..Message::default() };
    let merges = [&MERGE_OF_GITHUB, &MERGE_OF_BORS, &MERGE_OF_BITBUCKET, &MERGE_OF_AZURE, &MERGE_OF_GIT];
    if let Some(found) = merges.iter().find_map(|pattern| pattern.as_ref()?.captures(first)) {
        message.pull_request = found.name("number").and_then(|number| number.as_str().parse().ok());
        let branch = found.name("branch").map(|branch| branch.as_str());
        let branch = branch.map(|branch| branch.strip_prefix("origin/").unwrap_or(branch));
        message.source_branch = branch.and_then(|branch| plain(branch, MAX_SUBJECT));
    }
    let number = |pattern: &LazyLock<Option<Regex>>, text| pattern.as_ref()?.captures(text)?["number"].parse().ok();
    let others = || number(&NUMBER_OF_GITLAB, text).or_else(|| number(&SQUASH, first));
    message.pull_request = message.pull_request.or_else(others);
    let reverted = REVERT.as_ref().and_then(|pattern| pattern.captures(text));
    message.reverts = reverted.map(|found| found["hash"].to_ascii_lowercase());
    for trailer in TRAILER.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let (key, value) = (trailer["key"].to_ascii_lowercase(), &trailer["value"]);
        if key == "co-authored-by" {
            // Without the address.
            let name = value.split('<').next().unwrap_or_default();
            add(&mut message.coauthors, plain(name, MAX_NAME));
        } else if names_session(&key) {
            add(&mut message.session_ids, session_id(value));
        }
    }
    message
}

/// Adds a name once.
pub(super) fn add(names: &mut Vec<String>, name: Option<String>) {
    names.extend(name.filter(|name| names.len() < MAX_NAMES && !names.contains(name)));
}

/// Whether the value of a trailer identifies a session, such as `Claude-Session`, `Session-Id` or `Amp-Thread-ID`. GitHub's coding
/// agent names the page of its session as `Agent-Logs-Url`.
fn names_session(key: &str) -> bool {
    let key = key.strip_suffix("-id").or_else(|| key.strip_suffix("-url")).unwrap_or(key);
    ["session", "thread", "conversation"].iter().any(|word| {
        let rest = key.strip_suffix(word);
        rest.is_some_and(|rest| rest.ends_with('-') || rest.is_empty() && *word == "session")
    }) || key == "agent-logs"
}

/// The id of a session: the value, or the last part of an address. `None` for what is not an id.
pub(super) fn session_id(value: &str) -> Option<String> {
    let value = value.trim().trim_matches(['<', '>']);
    let id = match value.split_once("://") {
        Some((_, address)) => {
            let path = address.split(['?', '#']).next()?.trim_end_matches('/');
            path.rsplit_once('/')?.1
        }
        None => value,
    };
    let is_id = |id: &&str| {
        (4..=MAX_ID).contains(&id.len()) && !id.contains(|char: char| char.is_whitespace() || char.is_control())
    };
    Some(id).filter(is_id).map(str::to_owned)
}

/// A name of a file or a reference, with U+FFFD in place of control characters and of what is not UTF-8.
pub(super) fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(char::is_control, "\u{fffd}")
}

/// A text without control characters and with so many characters at most; `None` if nothing is left.
pub(super) fn plain(text: &str, longest: usize) -> Option<String> {
    let text: String = text.chars().filter(|char| !char.is_control()).collect();
    let text: String = text.trim().chars().take(longest).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_name_pull_requests_and_branches() {
        let cases = [
            ("Merge pull request #12 from ann/fix/cart\n\nFix the cart", Some(12), Some("fix/cart")),
            ("Auto merge of #98765 - ann:fix-cart, r=bob", Some(98765), Some("fix-cart")),
            ("Rollup merge of #5 - ann:fix, r=bob", Some(5), Some("fix")),
            ("Merged in fix (pull request #7)", Some(7), Some("fix")),
            ("Merged PR 31: Fix the cart", Some(31), None),
            ("Merge branch 'fix' into 'main'\n\nFix\n\nSee merge request acme/shop!44\n", Some(44), Some("fix")),
            ("Merge remote-tracking branch 'origin/fix' into main", None, Some("fix")),
            ("Merge branch 'main' of github.com:acme/shop", None, Some("main")),
            ("Fix the cart (#8)", Some(8), None),
            ("Fix #8 for the cart", None, None),
            ("Fix\n\nMerge pull request #12 from ann/fix", None, None),
        ];
        for (text, number, branch) in cases {
            let message = parse(text);
            assert_eq!((message.pull_request, message.source_branch.as_deref()), (number, branch), "{text}");
        }
    }

    #[test]
    fn reverts_and_trailers_are_found() {
        let text = "Revert \"Add x\"\n\nThis reverts commit 0123456789ABCDEF0123456789abcdef01234567.\n\n\
                    Co-Authored-By: Claude <noreply@anthropic.com>\nCo-authored-by: Ann B. <ann@example.com>\n\
                    co-authored-by: Claude <other@example.com>\n\
                    Claude-Session: https://claude.ai/code/session_01AbC?x=1\nSession-Id: 0f6c1d5e\n\
                    Amp-Thread-ID: https://ampcode.com/threads/T-5928a90d\nReviewed-Session-Count: 12345\n\
                    Entire-Session: 2026-01-02-abc\nThread: 9999\nAgent-Logs-Url: https://github.com/a/b/sessions/77-88\n\
                    Session-Id: two words\n";
        let message = parse(text);
        assert_eq!(message.subject.as_deref(), Some("Revert \"Add x\""));
        assert_eq!(message.reverts.as_deref(), Some("0123456789abcdef0123456789abcdef01234567"));
        assert_eq!(message.coauthors, ["Claude", "Ann B."]);
        let ids = ["session_01AbC", "0f6c1d5e", "T-5928a90d", "2026-01-02-abc", "77-88"];
        assert_eq!(message.session_ids, ids);
    }

    #[test]
    fn hostile_messages_are_harmless() {
        let text = format!("\u{1b}[2J{}\u{7}\n\nCo-authored-by: <x>\nSession-Id: \u{1b}[1m\n", "x".repeat(1000));
        let message = parse(&text);
        assert_eq!(message.subject.as_deref(), Some(&*format!("[2J{}", "x".repeat(197))));
        assert!(message.coauthors.is_empty() && message.session_ids.is_empty(), "{message:?}");
        assert_eq!(parse(""), Message::default());
        let many = (0..1000).map(|number| format!("Session-Id: session-{number}")).collect::<Vec<_>>().join("\n");
        assert_eq!(parse(&many).session_ids.len(), MAX_NAMES);
        assert_eq!(
            parse("password=hunter2hunter2hunter2 ghp_0123456789abcdefghijklmnopqrstuvwxyz")
                .subject
                .unwrap()
                .find("ghp_0123"),
            None
        );
    }
}
