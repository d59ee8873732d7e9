//! Which session started which: see docs/accounting.md#subagents.

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::part::{SessionKey, key_of};
use crate::model::session::{EventKind, SessionResult};
use crate::model::tables::{SessionRow, Tables};

/// Sets the parents of sessions. A child's log may not name its parent, but the parent's log names its children.
/// `renamed` contains the new key of each session that was joined with another one.
pub(super) fn link_children(tables: &mut Tables, renamed: &HashMap<SessionKey, SessionKey>) {
    let mut parents: HashMap<SessionKey, String> = HashMap::new();
    let mut named: Vec<(usize, SessionKey)> = Vec::new();
    for row in tables.events.iter().filter(|row| row.event.kind == EventKind::Subagent) {
        let Some(SessionRow { session: parent, .. }) = tables.sessions.get(row.session) else { continue };
        if let Some(child_id) = &row.event.code {
            let child = (parent.runtime.clone().into_owned(), child_id.to_string());
            let child = renamed.get(&child).cloned().unwrap_or(child);
            // Some logs name an agent only by the call that started it.
            if row.event.call_id.as_deref() != Some(child_id) {
                named.push((row.session, child.clone()));
            }
            parents.entry(child).or_insert_with(|| parent.session_id.clone());
        }
    }
    count_missing(tables, named);
    for row in &mut tables.sessions {
        let session = &mut row.session;
        let key = key_of(session);
        if let Some(parent) = &mut session.parent_session_id
            && let Some((_, new_id)) = renamed.get(&(key.0.clone(), parent.clone()))
        {
            parent.clone_from(new_id);
        }
        if session.parent_session_id.is_none() {
            session.parent_session_id = parents.remove(&key).filter(|parent| *parent != key.1);
        }
    }
}

/// Counts the agents that logs name as started and whose responses no log contains. `named` are these agents, each with the index of
/// the session that names it.
fn count_missing(tables: &mut Tables, mut named: Vec<(usize, SessionKey)>) {
    let keys: HashSet<SessionKey> = named.iter().map(|(_, key)| key.clone()).collect();
    let is_named = |session: &SessionResult| keys.get(&key_of(session)).cloned();
    let with_logs: HashSet<SessionKey> = tables.sessions.iter().filter_map(|row| is_named(&row.session)).collect();
    named.retain(|(_, key)| !with_logs.contains(key));
    if named.is_empty() {
        return;
    }
    let parents: HashSet<usize> = named.iter().map(|(session, _)| *session).collect();
    let of_agents = tables.turns.iter().filter(|row| row.turn.is_subagent && parents.contains(&row.session));
    // The agents with responses in the log of their parent. A response without the name of its agent can be of any.
    let with_responses: HashSet<(usize, Option<&str>)> =
        of_agents.map(|row| (row.session, row.turn.agent_id.as_deref())).collect();
    let has_responses = |session: usize, id: &str| {
        with_responses.contains(&(session, None)) || with_responses.contains(&(session, Some(id)))
    };
    named.retain(|(session, (_, id))| !has_responses(*session, id));
    for (session, _) in named.into_iter().collect::<HashSet<_>>() {
        if let Some(row) = tables.sessions.get_mut(session) {
            row.tree.missing_children += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{Event, Turn};
    use crate::model::tables::{EventRow, Grain, TurnRow};

    #[test]
    fn a_parent_names_its_children_by_their_old_or_new_ids() {
        let session = |id: &str, parent: Option<&str>| SessionRow {
            session: SessionResult {
                session_id: id.to_owned(),
                parent_session_id: parent.map(str::to_owned),
                ..SessionResult::default()
            },
            ..SessionRow::default()
        };
        let starts = |child: &str| EventRow {
            session: 0,
            source: 0,
            turn: None,
            event: Event { kind: EventKind::Subagent, code: Some(child.into()), ..Event::default() },
        };
        let mut tables = Tables {
            sessions: vec![session("s1", None), session("s2", None), session("s3", None), session("s4", Some("old"))],
            events: vec![starts("s1"), starts("s2"), starts("old")],
            ..Tables::default()
        };
        let key = |id: &str| (String::new(), id.to_owned());
        link_children(&mut tables, &[(key("old"), key("s3"))].into_iter().collect());
        let parents: Vec<_> = tables.sessions.iter().map(|row| row.session.parent_session_id.as_deref()).collect();
        assert_eq!(parents, [None, Some("s1"), Some("s1"), Some("s3")]);
    }
    /// An agent has its own log, responses in the log of its parent, or no log: then it is missing. The id of a call is not that of an
    /// agent.
    #[test]
    fn agents_without_responses_are_missing() {
        let session = |id: &str| SessionRow {
            session: SessionResult { session_id: id.to_owned(), ..SessionResult::default() },
            ..SessionRow::default()
        };
        let starts = |session, child: &str, call_id: &str| EventRow {
            session,
            source: 0,
            turn: None,
            event: Event {
                kind: EventKind::Subagent,
                code: Some(child.into()),
                call_id: Some(call_id.into()),
                ..Event::default()
            },
        };
        let turn = |session, agent_id: Option<&str>| {
            let turn = Turn { is_subagent: true, agent_id: agent_id.map(Into::into), ..Turn::default() };
            TurnRow::new(session, 0, Grain::Turn, Box::new(turn))
        };
        let mut tables = Tables {
            sessions: vec![session("a"), session("b"), session("c")],
            turns: vec![turn(0, Some("inner")), turn(1, None)],
            events: vec![
                starts(0, "inner", "call-1"),
                starts(0, "c", "call-2"),
                starts(0, "call-3", "call-3"),
                starts(0, "gone", "call-4"),
                starts(0, "gone", "call-5"),
                starts(0, "lost", "call-6"),
                starts(1, "any", "call-7"),
                starts(2, "gone", "call-8"),
            ],
            ..Tables::default()
        };
        link_children(&mut tables, &HashMap::new());
        let missing: Vec<_> = tables.sessions.iter().map(|row| row.tree.missing_children).collect();
        assert_eq!(missing, [2, 0, 1]);
    }
}
