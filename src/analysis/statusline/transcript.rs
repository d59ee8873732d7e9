//! The log of a running session: its cost so far, and the size of its last request.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::adapters::{Hints, parse};
use crate::ingest::{self, Options, Progress};
use crate::ledger::{self, costs};
use crate::model::retention::Retention;
use crate::model::session::{Turn, add_money};
use crate::model::tables::UsageReason;
use crate::prices::Catalog;

/// Logs of more bytes in total are not read completely: that would take longer than a status line may.
const LARGEST: u64 = 20_000_000;
/// The bytes at the end of a larger log in which its last response is searched.
const TAIL: u64 = 1_000_000;

/// What the log of a session contains about it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Session {
    /// Its cost, with that of its subagents; `None` if it is unknown, or the log is too large.
    pub cost_usd: Option<f64>,
    /// Whether the cost is a lower bound: the log omits tokens, or tokens have no price.
    pub is_lower_bound: bool,
    /// The size of the main agent's last request.
    pub context_tokens: Option<i64>,
    /// The size of the model's context window, if the log contains it.
    pub context_window: Option<i64>,
}

/// Reads the log of a session, and those of its subagents beside it. Without an id, the cost is that of all sessions in the log.
pub fn session(path: &Path, id: Option<&str>, catalog: &Catalog) -> Session {
    let Ok(length) = fs::metadata(path).map(|metadata| metadata.len()) else { return Session::default() };
    let subagents = path.with_extension("").join("subagents");
    let files = fs::read_dir(&subagents).into_iter().flatten().flatten();
    let bytes: u64 = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    if length.saturating_add(bytes) > LARGEST {
        return tail(path).unwrap_or_default();
    }
    let mut roots = vec![path.to_owned()];
    roots.extend(Some(subagents).filter(|directory| directory.is_dir()));
    whole(roots, id, catalog)
}

fn whole(roots: Vec<PathBuf>, id: Option<&str>, catalog: &Catalog) -> Session {
    let options = Options { roots, ..Options::default() };
    let mut tables = ledger::reconcile(ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources);
    costs::price(&mut tables, catalog);
    let is_this = |row: usize| {
        let found = tables.sessions.get(row).map(|row| row.session.session_id.as_str());
        id.is_none() || id == found
    };
    let mut session = Session::default();
    for (_, row) in tables.sessions.iter().enumerate().filter(|(index, _)| is_this(*index)) {
        session.cost_usd = add_money(session.cost_usd, row.money.cost);
        // The log of a running session has no end, but what it contains is complete so far.
        let omits_tokens = row.usage_reason.is_some_and(|reason| reason != UsageReason::NoEnd);
        session.is_lower_bound |= omits_tokens || row.unpriced_tokens > 0;
    }
    session.with_context_of(tables.turns.iter().map(|row| &*row.turn))
}

/// What the end of a large log contains.
fn tail(path: &Path) -> Option<Session> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let start = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    // The first line is cut, unless it is that of the log.
    let lines = if start == 0 { &bytes } else { bytes.splitn(2, |byte| *byte == b'\n').nth(1)? };
    let parsed = parse(lines, Hints { path: path.to_str().unwrap_or_default(), ..Hints::default() }, Retention::None);
    let turns = parsed.sessions.iter().flat_map(|session| &session.turns);
    Some(Session::default().with_context_of(turns.map(|turn| &**turn)))
}

impl Session {
    /// The same with the context of the last of these responses.
    fn with_context_of<'t>(self, turns: impl Iterator<Item = &'t Turn>) -> Self {
        let known = turns.filter(|turn| !turn.is_subagent && turn.tokens.get().context().is_some());
        let last = known.max_by_key(|turn| turn.occurred_at);
        Self {
            context_tokens: last.and_then(|turn| turn.tokens.get().context()),
            context_window: last.and_then(|turn| turn.context_window.get()),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(number: usize, read: usize, is_subagent: bool) -> String {
        format!(
            "{{\"type\":\"assistant\",\"sessionId\":\"a\",\"isSidechain\":{is_subagent},\"timestamp\":\"2026-10-05T10:{:02}:{:02}Z\",\
             \"message\":{{\"id\":\"m{number}\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"stop_reason\":\"end_turn\",\"content\":[],\"usage\":\
             {{\"input_tokens\":1000,\"cache_read_input_tokens\":{read},\"output_tokens\":1}}}}}}\n",
            number / 60,
            number % 60
        )
    }

    #[test]
    fn a_session_with_its_subagents() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, [response(1, 0, false), response(2, 5000, false), response(3, 9, true)].concat()).unwrap();
        let catalog = Catalog::built_in();
        let alone = session(&path, Some("a"), catalog);
        assert_eq!((alone.context_tokens, alone.is_lower_bound), (Some(6000), false));
        fs::create_dir_all(directory.path().join("a/subagents")).unwrap();
        fs::write(directory.path().join("a/subagents/agent-1.jsonl"), response(4, 0, true)).unwrap();
        let with_subagent = session(&path, Some("a"), catalog);
        assert!(with_subagent.cost_usd > alone.cost_usd && alone.cost_usd > Some(0.0), "{alone:?} {with_subagent:?}");
        let other = session(&path, Some("b"), catalog);
        assert_eq!((other.cost_usd, other.context_tokens), (None, Some(6000)));
        assert_eq!(session(&path, None, catalog), with_subagent);
        assert_eq!(session(&directory.path().join("missing"), None, catalog), Session::default());
    }

    #[test]
    fn of_a_large_log_only_the_end_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        let filler = format!("{{\"type\":\"user\",\"sessionId\":\"a\",\"text\":\"{}\"}}\n", "x".repeat(4_000_000));
        let log = [response(1, 0, false), filler.repeat(5), response(2, 5000, false), response(3, 7, true)].concat();
        fs::write(&path, log).unwrap();
        let found = session(&path, Some("a"), Catalog::built_in());
        assert_eq!((found.cost_usd, found.context_tokens), (None, Some(6000)));
    }
}
