//! What the tables contain of a log of one format: tests of an adapter that need the ledger.

mod aider;
mod antigravity;
mod atif;
mod attribution;
mod claude;
mod claude_managed;
mod claude_programs;
mod claude_totals;
mod cline;
mod cline_session;
mod codex;
mod continue_dev;
mod copilot;
mod copilot_chat;
mod crush;
mod cursor;
mod droid;
mod gemini;
mod gh_aw;
mod goose;
mod goose_copies;
mod goose_run;
mod hermes;
mod history;
mod inspect;
mod kimi;
mod kiro;
mod mini_swe_agent;
mod offers;
mod opencode;
mod opencode_2;
mod openhands;
mod otlp;
mod pi;
mod response_ends;
mod swe_agent;
mod zag;

use agentlogs::adapters::{self, Hints};
use agentlogs::model::retention::Retention;
use agentlogs::model::session::SessionResult;
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;

use crate::reconciled;
use crate::rules::{large_logs_are_read_as_small_ones, parse};

/// The sessions of a log, which are the same if it is read as a large one.
fn sessions(log: &str) -> Vec<SessionResult> {
    // Logs of other lengths are read by two threads.
    let log = if log.len().is_multiple_of(4) { format!("{log}\n") } else { log.to_owned() };
    large_logs_are_read_as_small_ones(log.as_bytes(), &parse(log.as_bytes()), 1);
    sessions_at("", &log)
}

/// The sessions of a log at a path.
fn sessions_at(path: &str, log: &str) -> Vec<SessionResult> {
    adapters::parse(log.as_bytes(), Hints { path, ..Hints::default() }, Retention::Text).sessions
}

/// The tables of logs, each in a file of its own: `0`, `1` and so on.
fn tables<L: AsRef<str>>(logs: &[L]) -> Tables {
    let source = |(index, log): (usize, &L)| Source {
        path: index.to_string(),
        sessions: sessions(log.as_ref()),
        ..Source::default()
    };
    reconciled(logs.iter().enumerate().map(source).collect())
}

/// The end of a line that a crash cut, or of a file to which another one was appended, is missing. What was cut is rejected.
#[test]
fn records_without_an_end_of_line_between_them_are_read() {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-10-05T10:00:00Z","cwd":"/w"}"#;
    let message = |id: &str, input: u32| {
        format!(
            r#"{{"type":"message","id":"{id}","timestamp":"2026-10-05T10:00:01Z","message":{{"role":"assistant","content":[{{"type":"text","text":"x"}}],"provider":"p","model":"m","usage":{{"input":{input},"output":1,"cacheRead":0,"cacheWrite":0}},"timestamp":{input}}}}}"#
        )
    };
    let (first, second) = (message("a", 10), message("b", 20));
    let (half, quarter) = (&first[..first.len() / 2], &first[..20]);
    for (log, expected, rejected) in [
        (format!("{header}\n{first}{second}\n"), vec![10, 20], 0),
        (format!("{header}{first} {second}"), vec![10, 20], 0),
        (format!("{header}\n{half}{second}\n"), vec![20], 1),
        (format!("{header}\n{quarter}{second}{first}\n"), vec![20, 10], 1),
        (format!("{header}\n{second}{half}\n"), vec![20], 1),
        (format!("{header}\n{second}\n{half}\n"), vec![20], 1),
    ] {
        let parsed = adapters::parse(log.as_bytes(), Hints::default(), Retention::None);
        let inputs: Vec<_> = parsed.sessions[0].turns.iter().filter_map(|turn| turn.tokens.get().input).collect();
        let lines: i64 = parsed.health.rejects.iter().map(|reject| reject.lines).sum();
        assert_eq!((inputs, lines), (expected, rejected), "{log}");
    }
}
