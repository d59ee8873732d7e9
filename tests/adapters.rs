//! What the tables contain of a log of one format: tests of an adapter that need the ledger.

mod aider;
mod antigravity;
mod atif;
mod attribution;
mod claude;
mod claude_forks;
mod claude_managed;
mod claude_programs;
mod claude_totals;
mod cline;
mod cline_session;
mod codex;
mod continue_dev;
mod copilot;
mod copilot_chat;
mod copilot_requests;
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
mod openhands_completions;
mod openhands_forks;
mod otlp;
mod pi;
mod pi_ledger;
mod response_ends;
mod swe_agent;
mod zag;

use std::collections::BTreeSet;

use agentlogs::adapters::{self, Hints};
use agentlogs::model::health::Reason;
use agentlogs::model::retention::Retention;
use agentlogs::model::session::SessionResult;
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;

use crate::rules::{large_logs_are_read_as_small_ones, parse};
use crate::{lines_of, reconciled, samples};

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
        // Noise before and after lines that are several records each, the first one of the log among them.
        (format!("{header}{first}\nnoise {{\n{second}\n"), vec![10, 20], 1),
        (format!("noise\n{header}{first}\n{second}{}\n", message("c", 30)), vec![10, 20, 30], 1),
        (format!("{header}{first}\n{second}{half}\nnoise\n{}\n", message("c", 30)), vec![10, 20, 30], 2),
    ] {
        let parsed = adapters::parse(log.as_bytes(), Hints::default(), Retention::None);
        let inputs: Vec<_> = parsed.sessions[0].turns.iter().filter_map(|turn| turn.tokens.get().input).collect();
        let lines: i64 = parsed.health.rejects.iter().map(|reject| reject.lines).sum();
        assert_eq!((inputs, lines), (expected, rejected), "{log}");
        let claims = adapters::detect(log.as_bytes(), Hints::default());
        assert_eq!(claims.first().map(|(adapter, _)| adapter.id), Some("pi-session"), "{log}");
    }
}

/// The last record of Claude Code begins with another key than the others.
#[test]
fn a_record_after_a_cut_one_is_read_whatever_its_first_key() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s","uuid":"u1","cwd":"/w","model":"m","tools":[]}"#;
    let answer = r#"{"type":"assistant","session_id":"s","uuid":"u2","parent_tool_use_id":null,"message":{"id":"m1","model":"m","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":4,"output_tokens":5}}}"#;
    let result = r#"{"duration_ms":9,"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"u3","num_turns":1,"result":"Done.","usage":{"input_tokens":4,"output_tokens":9},"modelUsage":{"m":{"inputTokens":4,"outputTokens":9}}}"#;
    for half in ["{\"type\":\"assis", &answer[..answer.len() - 1], &answer[..answer.len() - 3], &answer[..150]] {
        let tables = tables(&[format!("{init}\n{answer}\n{half}{result}\n")]);
        assert_eq!(tables.sessions.len(), 1, "{half}");
        assert_eq!(tables.sessions[0].tokens.total(), Some(13), "{half}");
    }
}

/// Costs that are read are checked: a negative one is named. It is tried in each format whose samples contain a cost.
#[test]
fn an_impossible_cost_is_named() {
    const MEMBERS: &str = r#""(?:cost|cost_usd|costUSD|total_cost|total_cost_usd|instance_cost|accumulated_cost)"\s*:\s*-?[0-9.]+(?:e-?[0-9]+)?"#;
    let cost = regex::Regex::new(MEMBERS).unwrap();
    let mut silent: BTreeSet<String> = BTreeSet::new();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for path in samples() {
        let text = String::from_utf8(lines_of(&path)).unwrap_or_default();
        let impossible = cost.replace_all(&text, |found: &regex::Captures<'_>| {
            let (member, _) = found[0].rsplit_once(':').unwrap();
            format!("{member}: -1")
        });
        if impossible == text {
            continue;
        }
        let parsed = parse(impossible.as_bytes());
        let is_named = parsed.health.rejects.iter().any(|it| it.reason == Reason::BadNumber);
        let format = parsed.format.unwrap_or_default().to_owned();
        if is_named {
            named.insert(format)
        } else {
            silent.insert(format)
        };
    }
    let silent: Vec<&String> = silent.difference(&named).collect();
    // Numbers of premium requests, and the sum of a subagent whose responses have costs of their own.
    assert_eq!(silent, ["copilot-events", "pi-subagent"]);
    assert!(named.len() > 10, "{named:?}");
}
