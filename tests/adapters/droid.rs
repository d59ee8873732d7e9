//! Factory's Droid: a session and its settings.

use agentlogs::model::source::Source;
use agentlogs::model::tables::{SessionRow, Tables};
use serde_json::{Value, json};

use super::sessions_at;
use crate::reconciled;

const FIRST: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const SECOND: &str = "bbbbbbbb-2222-4222-8222-222222222222";

/// The files of a session: its records after the first one, and the tokens of its settings.
fn session(id: &str, parent: Option<&str>, records: &[Value], [input, output]: [i64; 2]) -> Vec<Source> {
    let start = json!({"type": "session_start", "id": id, "owner": "u", "cwd": "/work", "parent": parent});
    let log: Vec<String> = [start].iter().chain(records).map(Value::to_string).collect();
    let usage = json!({"inputTokens": input, "outputTokens": output, "cacheReadTokens": 0, "thinkingTokens": 0});
    let settings = json!({"model": "claude-sonnet-4-5", "tokenUsage": usage}).to_string();
    let file = |end: &str, text: &str| {
        let path = format!("/home/u/.factory/sessions/-work/{id}{end}");
        Source { sessions: sessions_at(&path, text), path, ..Source::default() }
    };
    vec![file(".jsonl", &log.join("\n")), file(".settings.json", &settings)]
}

fn message(id: &str, minute: u32, role: &str, text: &str) -> Value {
    let time = format!("2026-11-01T10:{minute:02}:00.000Z");
    json!({"type": "message", "id": id, "timestamp": time, "message": {"role": role, "content": [{"type": "text", "text": text}]}})
}

fn compaction(id: &str, minute: u32) -> Value {
    json!({"type": "compaction_state", "id": id, "timestamp": format!("2026-11-01T10:{minute:02}:00.000Z"), "summaryText": "s"})
}

fn first() -> Vec<Value> {
    vec![
        message("m1", 0, "user", "Go."),
        message("m2", 1, "assistant", "Half."),
        message("m3", 2, "assistant", "Done."),
    ]
}

fn row<'a>(tables: &'a Tables, id: &str) -> &'a SessionRow {
    tables.sessions.iter().find(|row| row.session.session_id == id).unwrap()
}

/// Turns, prompts, tokens and how far these can be trusted.
fn counts(tables: &Tables, id: &str) -> (Option<i64>, Option<i64>, Option<i64>, &'static str) {
    let row = row(tables, id);
    (row.turns, row.user_turns, row.tokens.total(), row.usage.as_str())
}

/// `/compact` begins a session whose total begins with that of its parent.
#[test]
fn a_compacted_session_counts_what_it_adds() {
    let records = [compaction("k", 10), message("n1", 11, "user", "More."), message("n2", 12, "assistant", "Done.")];
    let child = || session(SECOND, Some(FIRST), &records, [1500, 180]);
    let tables = reconciled([session(FIRST, None, &first(), [1000, 100]), child()].concat());
    assert_eq!(counts(&tables, FIRST), (Some(2), Some(1), Some(1100), "exact"));
    assert_eq!(counts(&tables, SECOND), (Some(1), Some(1), Some(580), "exact"));
    // Without its parent the part of the parent is unknown.
    assert_eq!(counts(&reconciled(child()), SECOND), (Some(1), Some(1), Some(1680), "conflict"));
}

/// A fork begins with copies of messages, and with a total of 0.
#[test]
fn a_fork_counts_its_own_messages() {
    for before in [first(), [&[compaction("k", 0)][..], &first()].concat()] {
        let more = [message("n1", 11, "user", "More."), message("n2", 12, "assistant", "Done.")];
        let fork = session(SECOND, Some(FIRST), &[&before[..], &more].concat(), [500, 80]);
        let tables = reconciled([session(FIRST, None, &before, [1000, 100]), fork].concat());
        assert_eq!(counts(&tables, FIRST), (Some(2), Some(1), Some(1100), "exact"));
        assert_eq!(counts(&tables, SECOND), (Some(1), Some(1), Some(580), "exact"));
    }
}

#[test]
fn of_two_states_of_the_settings_the_larger_one_counts() {
    let state = |directory: &str, tokens| {
        let mut files = session(FIRST, None, &first(), tokens);
        for file in &mut files {
            file.path = format!("/{directory}{}", file.path);
        }
        files
    };
    for [a, b] in [["a", "b"], ["b", "a"]] {
        let tables = reconciled([state(a, [1000, 100]), state(b, [1200, 130])].concat());
        assert_eq!(counts(&tables, FIRST), (Some(2), Some(1), Some(1330), "exact"));
    }
}

/// What the program prints for a session: its messages, calls and the tokens.
fn recording(id: &str, messages: &[(&str, &str)], [input, output]: [i64; 2]) -> Source {
    let init = json!({"type": "system", "subtype": "init", "cwd": "/work", "session_id": id, "tools": [], "model": "claude-sonnet-4-5"});
    let message = |(index, (id_of, role)): (usize, &(&str, &str))| {
        let time = format!("2026-11-01T10:{index:02}:00.000Z");
        json!({"type": "message", "role": role, "id": id_of, "text": "x", "timestamp": time, "session_id": id})
    };
    let usage = json!({"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 0});
    let end = json!({"type": "completion", "finalText": "Done.", "numTurns": 1, "durationMs": 5000, "session_id": id, "usage": usage});
    let records = [init].into_iter().chain(messages.iter().enumerate().map(message)).chain([end]);
    let log: Vec<String> = records.map(|record| record.to_string()).collect();
    let path = format!("/recorded/{id}-{input}.jsonl");
    Source { sessions: sessions_at(&path, &log.join("\n")), path, ..Source::default() }
}

/// A recording and the session that Droid keeps are one session, whatever the ids of its messages. Both state the tokens of the session.
#[test]
fn a_recording_beside_its_session_adds_nothing() {
    let recorded = |ids: [&str; 3]| {
        recording(FIRST, &[(ids[0], "user"), (ids[1], "assistant"), (ids[2], "assistant")], [1000, 100])
    };
    assert_eq!(counts(&reconciled(vec![recorded(["m1", "m2", "m3"])]), FIRST), (Some(2), Some(1), Some(1100), "exact"));
    for ids in [["m1", "m2", "m3"], ["r1", "r2", "r3"]] {
        for is_first in [true, false] {
            let mut files = session(FIRST, None, &first(), [1000, 100]);
            files.insert(if is_first { 0 } else { files.len() }, recorded(ids));
            let tables = reconciled(files);
            assert_eq!(counts(&tables, FIRST), (Some(2), Some(1), Some(1100), "exact"));
            assert_eq!(tables.sessions.len(), 1);
        }
    }
}

/// Of two runs in one file, the second total is smaller: it is not a running total, so that the largest one is not all.
#[test]
fn a_total_that_falls_is_no_running_total() {
    let log = |tokens: [i64; 2]| {
        let run = |input: i64| {
            let init = json!({"type": "system", "subtype": "init", "session_id": FIRST, "tools": [], "model": "claude-sonnet-4-5", "reasoning_effort": "low"});
            let usage = json!({"input_tokens": input, "output_tokens": 10});
            let end = json!({"type": "completion", "finalText": "Done.", "session_id": FIRST, "usage": usage});
            format!("{init}\n{end}\n")
        };
        let path = "/recorded/a.jsonl";
        let sessions = sessions_at(path, &tokens.map(run).concat());
        let tables = reconciled(vec![Source { sessions, path: path.to_owned(), ..Source::default() }]);
        (tables.sessions[0].tokens.total(), tables.sessions[0].usage.as_str())
    };
    assert_eq!(log([100, 150]), (Some(160), "exact"));
    assert_eq!(log([150, 100]), (Some(160), "lower_bound"));
}

/// The settings have the total of all runs.
#[test]
fn settings_contain_the_total_of_a_recording() {
    let mut files = session(FIRST, None, &first(), [1500, 150]);
    files.push(recording(FIRST, &[("m1", "user"), ("m2", "assistant")], [1000, 100]));
    assert_eq!(counts(&reconciled(files), FIRST), (Some(2), Some(1), Some(1650), "exact"));
    // Without settings a recording has the tokens.
    let mut files = session(FIRST, None, &first(), [0, 0]);
    files.push(recording(FIRST, &[("m1", "user"), ("m2", "assistant")], [1000, 100]));
    assert_eq!(counts(&reconciled(files), FIRST), (Some(2), Some(1), Some(1100), "exact"));
}
