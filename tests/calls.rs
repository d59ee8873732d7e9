//! Servers and models that use the id of a call again: docs/accounting.md#calls-with-the-id-of-another-call.

use std::collections::BTreeMap;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::ledger;
use agentlogs::model::session::{CallStatus, SessionResult};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::Tables;

use crate::{lines_of, samples};

fn parse(text: &str) -> Vec<SessionResult> {
    adapters::parse(text.as_bytes(), Hints::default(), Retention::None).sessions
}

/// The program itself gives the ids, or the log has another id of each call.
const OWN_IDS: [&str; 5] =
    ["codex-exec", "cursor-transcript", "antigravity-transcript", "mini-swe-agent", "claude-managed-events"];

/// Calls, failed calls and changed files.
fn counted(sessions: &[SessionResult]) -> [usize; 3] {
    let calls = || sessions.iter().flat_map(|session| &session.tool_calls);
    [
        calls().count(),
        calls().filter(|call| call.status == CallStatus::Error).count(),
        sessions.iter().map(|session| session.file_changes.len()).sum(),
    ]
}

/// Counts the ids of calls again in each response, as some servers do, and returns the changed text.
fn with_ids_of_responses(text: &str, sessions: &[SessionResult]) -> String {
    let (mut counts, mut ids) = (BTreeMap::new(), BTreeMap::new());
    for session in sessions {
        for call in session.tool_calls.iter().filter(|call| call.call_id.len() > 3) {
            let response = call.turn.map_or((None, call.line), |turn| (Some(turn), 0));
            let count = counts.entry((&session.session_id, call.is_subagent, response)).or_insert(0);
            ids.entry(call.call_id.to_string()).or_insert_with(|| {
                *count += 1;
                format!("call_{count}")
            });
        }
    }
    let mut ids: Vec<_> = ids.into_iter().collect();
    ids.sort_by_key(|(id, _)| std::cmp::Reverse(id.len()));
    ids.iter().fold(text.to_owned(), |text, (old, new)| {
        text.replace(&format!("\"{old}\""), &format!("\"{new}\""))
            .replace(&format!("\\\"{old}\\\""), &format!("\\\"{new}\\\""))
    })
}

#[test]
fn ids_that_each_response_uses_again_lose_no_call() {
    let mut wrong = Vec::new();
    let mut changed = 0;
    for sample in samples() {
        let Ok(text) = String::from_utf8(lines_of(&sample)) else { continue };
        let sessions = parse(&text);
        if sessions.is_empty() || OWN_IDS.contains(&&*sessions[0].format) {
            continue;
        }
        let other = with_ids_of_responses(&text, &sessions);
        changed += usize::from(other != text);
        let (before, after) = (counted(&sessions), counted(&parse(&other)));
        if before != after {
            wrong.push(format!("{}: {before:?} {after:?}", sample.display()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(changed > 50, "{changed}");
}

/// The tables of pi's files, which have to be the same for every order of the files.
fn reconciled(files: &[String]) -> Tables {
    let sources = || {
        files.iter().enumerate().map(|(index, text)| Source {
            path: format!("{index}.jsonl"),
            status: SourceStatus::Parsed,
            sessions: parse(text),
            ..Source::default()
        })
    };
    let tables = ledger::reconcile(sources().collect());
    for first in 0..files.len() {
        let mut others: Vec<Source> = sources().collect();
        others.rotate_left(first);
        assert_eq!(format!("{:?}", ledger::reconcile(others)), format!("{tables:?}"));
    }
    tables
}

fn header(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-10-05T10:00:00.000Z","cwd":"/work"{parent}}}"#
    ) + "\n"
}

/// A response at `second` whose call has the id of all others, and its result.
fn call(second: u32, command: &str, is_error: bool) -> String {
    let time = 1_791_194_400_000_u64 + u64::from(second) * 1000;
    let usage = format!(r#"{{"input":{second},"output":3,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}"#, second + 3);
    let at = |second: u32| format!("2026-10-05T10:00:{second:02}.000Z");
    format!(
        r#"{{"type":"message","id":"a{second}","timestamp":"{}","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"call_0","name":"bash","arguments":{{"command":"{command}"}}}}],"provider":"p","model":"m","usage":{usage},"stopReason":"toolUse","timestamp":{time}}}}}
{{"type":"message","id":"r{second}","timestamp":"{}","message":{{"role":"toolResult","toolCallId":"call_0","toolName":"bash","content":[{{"type":"text","text":""}}],"isError":{is_error},"timestamp":{}}}}}
"#,
        at(second),
        at(second + 1),
        time + 500,
    )
}

/// `session: calls, failed calls`, and the turns of the calls.
fn told(tables: &Tables) -> (Vec<String>, Vec<Option<usize>>) {
    let row = |it: &agentlogs::model::tables::SessionRow| {
        format!("{}: {:?} {:?}", it.session.session_id, it.tool_calls, it.tool_errors)
    };
    (tables.sessions.iter().map(row).collect(), tables.tool_calls.iter().map(|it| it.call.turn).collect())
}

#[test]
fn copies_of_calls_with_one_id_count_once() {
    let calls = [call(1, "ls", false), call(3, "make", true), call(5, "ls", false), call(7, "ls", true)];
    let file = |id: &str, parent: &str, calls: &[String]| header(id, parent) + &calls.concat();
    // A copy that was cut, a file that begins later, and the whole.
    let parts = [file("s", "", &calls[..2]), file("s", "", &calls[1..3]), file("s", "", &calls)];
    for files in [&parts[..], &parts[..2], &parts[1..], &parts[2..]] {
        let (sessions, turns) = told(&reconciled(files));
        let (count, errors) = if files.len() == 2 && files[1] == parts[1] { (3, 1) } else { (4, 2) };
        assert_eq!(sessions, [format!("s: Some({count}) Some({errors})")]);
        assert_eq!(turns, (0..count).map(Some).collect::<Vec<_>>());
    }
    // A fork repeats the history, and goes on.
    let fork = file("t", r#","parentSession":"s""#, &calls);
    let (sessions, _) = told(&reconciled(&[file("s", "", &calls[..2]), fork]));
    assert_eq!(sessions, ["s: Some(2) Some(1)", "t: Some(2) Some(1)"]);
}

/// For many runtimes a tool that ran a failing command did its work.
#[test]
fn an_exit_code_is_an_error() {
    let mut failed = 0;
    for sample in samples() {
        let Ok(text) = String::from_utf8(lines_of(&sample)) else { continue };
        for session in parse(&text) {
            let calls = &session.tool_calls;
            for call in calls.iter().filter(|call| call.exit_code.get().is_some_and(|code| code != 0)) {
                assert_ne!(call.status, CallStatus::Ok, "{} {}", sample.display(), call.call_id);
                failed += 1;
            }
            let mut changed = session.file_changes.iter().filter_map(|change| change.call);
            assert!(changed.all(|call| calls[call].status == CallStatus::Ok), "{}", sample.display());
        }
    }
    assert!(failed > 10, "{failed}");
}
