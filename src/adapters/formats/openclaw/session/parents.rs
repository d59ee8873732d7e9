//! Which session started which, as the index names them.

use std::collections::BTreeMap;

use super::records::{Entry, Row};

/// Which sessions the index names as parents. Names are keys, of which each has a current session.
#[derive(Default)]
pub(super) struct Parents {
    sessions: BTreeMap<String, String>,
    nodes: Vec<Node>,
}

struct Node {
    session_id: String,
    line: i64,
    spawned_by: Option<String>,
    fork_source: Option<String>,
    parent_key: Option<String>,
}

impl Parents {
    pub fn add(&mut self, id: &str, row: &Row<'_>, entry: &Entry<'_>, line: i64) {
        if let (Some(key), false) = (row.session_key.owned(), id.is_empty()) {
            self.sessions.insert(key, id.to_owned());
        }
        let node = Node {
            session_id: id.to_owned(),
            line,
            spawned_by: row.spawned_by.owned().or_else(|| entry.spawned_by.owned()),
            fork_source: row.fork_source_session_id.owned(),
            parent_key: row.parent_session_key.owned(),
        };
        if node.spawned_by.is_some() || node.fork_source.is_some() || node.parent_key.is_some() {
            self.nodes.push(node);
        }
    }

    /// The parent of each session, with the line of its node.
    pub fn by_session(&self) -> BTreeMap<String, (i64, String)> {
        let session_of = |key: &Option<String>| self.sessions.get(key.as_ref()?).cloned();
        let parent = |node: &Node| {
            let parents = [session_of(&node.spawned_by), node.fork_source.clone(), session_of(&node.parent_key)];
            let parent = parents.into_iter().flatten().find(|parent| *parent != node.session_id)?;
            Some((node.session_id.clone(), (node.line, parent)))
        };
        self.nodes.iter().filter_map(parent).collect()
    }
}
