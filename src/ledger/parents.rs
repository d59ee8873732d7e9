//! Which session started which: see docs/accounting.md#subagents.

use foldhash::{HashMap, HashMapExt as _};

use super::part::SessionKey;
use crate::model::session::EventKind;
use crate::model::tables::{SessionRow, Tables};

/// Sets the parents of sessions. A child's log may not name its parent, but the parent's log names its children. `renamed`
/// contains the new key of each session that was joined with another one.
pub(super) fn link_children(tables: &mut Tables, renamed: &HashMap<SessionKey, SessionKey>) {
    let mut parents: HashMap<SessionKey, String> = HashMap::new();
    for row in tables.events.iter().filter(|row| row.event.kind == EventKind::Subagent) {
        let Some(SessionRow { session: parent, .. }) = tables.sessions.get(row.session) else { continue };
        if let Some(child_id) = &row.event.code {
            let child = (parent.runtime.clone().into_owned(), child_id.to_string());
            let child = renamed.get(&child).cloned().unwrap_or(child);
            parents.entry(child).or_insert_with(|| parent.session_id.clone());
        }
    }
    for row in &mut tables.sessions {
        let session = &mut row.session;
        let key = (session.runtime.clone().into_owned(), session.session_id.clone());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{Event, SessionResult};
    use crate::model::tables::EventRow;

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
}
