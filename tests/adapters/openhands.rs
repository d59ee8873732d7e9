//! OpenHands' conversations: a directory with a file for each event is one session.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::model::tables::SessionRow;

use crate::{facts, settled};

fn session(id: &str) -> SessionRow {
    let tables = settled(facts(Retention::None));
    tables.sessions.into_iter().find(|it| it.session.session_id == id).unwrap()
}

#[test]
fn the_files_of_a_conversation_are_one_session() {
    let row = session("5e1f0a2b3c4d5e6f7a8b9c0d1e2f3a4b");
    assert_eq!((row.tokens.input, row.tokens.output, row.tokens.cache_read), (Some(3300), Some(70), Some(2900)));
    assert_eq!((row.turns, row.tool_calls, row.tool_errors, row.user_turns), (Some(2), Some(1), Some(0), Some(1)));
    assert_eq!((row.money.cost, row.session.status.as_str()), (Some(0.019), "success"));
    let earlier = session("barn-roof-0f3a");
    assert_eq!((earlier.tokens.input, earlier.turns, earlier.tool_errors), (Some(1200), Some(1), Some(1)));
    assert_eq!(earlier.session.status.as_str(), "error");
}
