//! The two files of a session of Kiro CLI.

use agentlogs::adapters::{self, Hints};
use agentlogs::model::retention::Retention;
use agentlogs::model::source::Source;

use super::tables;
use crate::reconciled;

const MESSAGES: &str =
    include_str!("../../sample-logs/kiro-session/messages-of-2d4f6a80-1b3c-4d5e-8f90-a1b2c3d4e5f6.jsonl");
const STATE: &str = include_str!("../../sample-logs/kiro-session/state-of-2d4f6a80-1b3c-4d5e-8f90-a1b2c3d4e5f6.json");

/// The messages name no session: the name of their file does.
#[test]
fn messages_and_their_state_are_one_session() {
    let source = |(path, log): (&str, &str)| Source {
        path: path.to_owned(),
        sessions: adapters::parse(log.as_bytes(), Hints { path, ..Hints::default() }, Retention::Text).sessions,
        ..Source::default()
    };
    let id = "2d4f6a80-1b3c-4d5e-8f90-a1b2c3d4e5f6";
    let (messages, state) = (format!("/k/{id}.jsonl"), format!("/k/{id}.json"));
    let sources = [(messages.as_str(), MESSAGES), (state.as_str(), STATE)].map(source);
    let both = reconciled(sources.into());
    let row = &both.sessions[0];
    assert_eq!((both.sessions.len(), row.session.session_id.as_str()), (1, id));
    assert_eq!(row.tokens.kinds(), [Some(1500), Some(120), Some(3000), Some(0)]);
    assert_eq!((row.user_turns, row.tool_calls, row.session.cwd.as_deref()), (Some(1), Some(2), Some("/work/site")));
    assert_eq!(tables(&[STATE]).sessions[0].tokens.total(), Some(4620));
}
