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
