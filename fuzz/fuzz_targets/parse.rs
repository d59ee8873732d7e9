//! Bytes of any kind through the adapter that claims them, and through the ledger: no panic, no negative count, no row that
//! points at nothing.
#![no_main]

use agentlogs::builder::Content;
use agentlogs::source::{Source, SourceStatus};
use agentlogs::adapters::{self, Hints};
use agentlogs::ledger;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let parsed = adapters::parse(bytes, Hints::default(), Content::Full);
    for session in &parsed.sessions {
        assert!(session.turns.iter().all(|it| it.tokens.kinds().into_iter().flatten().all(|it| it >= 0)));
        assert!(session.tool_calls.iter().all(|it| it.turn.is_none_or(|it| it < session.turns.len())));
        assert!(session.file_changes.iter().all(|it| it.call.is_none_or(|it| it < session.tool_calls.len())));
    }
    let source = Source { status: SourceStatus::Parsed, sessions: parsed.sessions, ..Source::default() };
    let tables = ledger::settle(vec![source]);
    for (index, row) in tables.sessions.iter().enumerate() {
        let turns = tables.turns.iter().filter(|it| it.session == index);
        assert_eq!(turns.filter_map(|it| it.turn.tokens.total()).sum::<i64>(), row.tokens.total().unwrap_or(0));
    }
});
