//! What logs state about commits, pull requests and the lines of changes: docs/shipped.md.

use std::collections::BTreeSet;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::base::line_sketch;
use agentlogs::model::session::SessionResult;
use serde_json::json;

use super::sessions;
use crate::{lines_of, root, samples};

/// A call with its result, in a transcript of Claude Code.
fn claude(calls: &[(&str, serde_json::Value, &str, bool)], more: &[serde_json::Value]) -> SessionResult {
    let record = |second: usize, kind: &str, message: serde_json::Value| {
        json!({
            "type": kind, "sessionId": "s", "uuid": format!("{kind}{second}"), "cwd": "/work/shop", "gitBranch": "feature",
            "timestamp": format!("2026-10-07T08:00:{second:02}Z"), "message": message,
        })
    };
    let of_call = |(index, (tool, input, result, is_error)): (usize, &(&str, serde_json::Value, &str, bool))| {
        let call = json!({"type": "tool_use", "id": format!("t{index}"), "name": tool, "input": input});
        let answer =
            json!({"type": "tool_result", "tool_use_id": format!("t{index}"), "content": result, "is_error": is_error});
        let response =
            json!({"id": format!("msg_{index}"), "model": "m", "content": [call], "usage": {"input_tokens": 1}});
        [
            record(2 * index, "assistant", response),
            record(2 * index + 1, "user", json!({"role": "user", "content": [answer]})),
        ]
    };
    let records = calls.iter().enumerate().flat_map(of_call).chain(more.iter().cloned());
    let log: Vec<String> = records.map(|record| record.to_string()).collect();
    sessions(&log.join("\n")).swap_remove(0)
}

fn bash(command: &str) -> serde_json::Value {
    json!({"command": command})
}

#[test]
fn calls_of_git_have_the_hashes_that_they_print() {
    let made = "[feature 1a2b3c4] Add a total\n 1 file changed";
    let whole = "0123456789abcdef0123456789abcdef01234567";
    let calls = [
        ("Bash", bash("git add -A && git commit -m 'Add a total'"), made, false),
        ("Bash", bash("cargo test && git commit -qam x && git rev-parse HEAD"), whole, false),
        ("Bash", bash("git commit -qam x"), "", false),
        ("Bash", bash("git commit -qam x"), "nothing to commit", true),
        ("Bash", bash("git push"), "   1a2b3c4..2a2b3c4  feature -> feature", false),
        ("Bash", bash("git push"), "Everything up-to-date", false),
        ("Bash", bash("git log"), made, false),
        ("Read", json!({"file_path": "a"}), made, false),
    ];
    let session = claude(&calls, &[]);
    let commits: Vec<Option<&str>> = session.tool_calls.iter().map(|call| call.commits.as_deref()).collect();
    let expected = [Some("1a2b3c4"), Some(whole), Some(""), None, Some("2a2b3c4"), None, None, None];
    assert_eq!(commits, expected);
}

#[test]
fn pull_requests_are_those_that_the_session_made_or_that_its_log_links() {
    let of = |number: u32| format!("https://github.com/acme/shop/pull/{number}");
    let link = json!({"type": "pr-link", "sessionId": "s", "prNumber": 4, "prUrl": of(4), "prRepository": "acme/shop",
        "timestamp": "2026-10-07T08:01:00Z"});
    let calls = [
        ("Bash", bash("git push && gh pr create --fill"), &*format!("remote: x\n{}\n", of(1)), false),
        ("Bash", bash("gh pr view 2"), &*of(2), false),
        ("mcp__github__create_pull_request", json!({}), &*format!("{{\"html_url\":\"{}\"}}", of(3)), false),
        ("mcp__github__list_pull_requests", json!({}), &*of(5), false),
    ];
    let session = claude(&calls, &[link]);
    let found: Vec<&str> = session.pull_requests.iter().map(arcstr::ArcStr::as_str).collect();
    assert_eq!(found, [of(1), of(3), of(4)]);
}

#[test]
fn a_change_has_the_hashes_of_its_lines() {
    let content = "fn total() -> u32 {\n    let mut total = 0;\n}\n";
    let created = json!({"type": "user", "sessionId": "s", "uuid": "r", "timestamp": "2026-10-07T08:00:01Z",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "w", "content": "File created"}]},
        "toolUseResult": {"type": "create", "filePath": "/work/shop/a.rs", "content": content, "structuredPatch": []}});
    let call = json!({"type": "tool_use", "id": "w", "name": "Write", "input": {"file_path": "/work/shop/a.rs", "content": content}});
    let response = json!({"type": "assistant", "sessionId": "s", "uuid": "q", "timestamp": "2026-10-07T08:00:00Z",
        "message": {"id": "msg_1", "model": "m", "content": [call], "usage": {"input_tokens": 1}}});
    let session = sessions(&format!("{response}\n{created}")).swap_remove(0);
    let lines = content.lines().map(str::as_bytes);
    let sketch = line_sketch::to_text(&line_sketch::hashes(lines));
    assert_eq!(sketch.len(), 16);
    let change = &session.file_changes[0];
    assert_eq!((change.lines_added, change.line_sketch.as_deref()), (Some(3), Some(sketch.as_str())));
}

/// Aider commits its edits itself.
#[test]
fn commits_of_aider_are_those_of_its_edits() {
    let sample = "aider-chat/architect-and-a-refused-edit.md";
    let log = std::fs::read(root().join("sample-logs").join(sample)).unwrap();
    let parsed = adapters::parse(&log, Hints::default(), Retention::None);
    let commits: Vec<&str> = parsed.sessions[0].tool_calls.iter().filter_map(|call| call.commits.as_deref()).collect();
    assert_eq!(commits, ["3c1a9be"]);
}

/// Formats that report changes, by what their samples show of the lines. Aider's chats, Codex's `exec --json`, exports of Goose and
/// SWE-agent's trajectories name only the files.
#[test]
fn formats_show_the_lines_of_changes_or_only_their_files() {
    let (mut with, mut without) = (BTreeSet::new(), BTreeSet::new());
    for path in samples() {
        for session in adapters::parse(&lines_of(&path), Hints::default(), Retention::None).sessions {
            for change in &session.file_changes {
                let formats = if change.line_sketch.is_some() { &mut with } else { &mut without };
                formats.insert(session.format.clone().into_owned());
            }
        }
    }
    let without: Vec<String> = without.difference(&with).cloned().collect();
    assert_eq!(without, ["aider-chat", "codex-exec", "goose-session", "swe-agent"]);
    assert_eq!(with.len(), 38, "{with:?}");
}
