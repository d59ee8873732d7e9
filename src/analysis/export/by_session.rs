//! The rows of a table by their sessions.

use std::collections::HashMap;

use crate::analysis::rows::Key;

/// The indexes of the rows of each session.
pub struct BySession(HashMap<Key, Vec<usize>>);

impl BySession {
    /// The rows of a table with this number of rows. `key` returns the runtime and the id of the session of a row.
    pub fn new<'k>(height: usize, key: impl Fn(usize) -> (Option<&'k str>, Option<&'k str>)) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let mut rows: HashMap<Key, Vec<usize>> = HashMap::new();
        for row in 0..height {
            let (runtime, session) = key(row);
            rows.entry((text(runtime), text(session))).or_default().push(row);
        }
        Self(rows)
    }

    /// The rows of a session.
    pub fn of(&self, key: &Key) -> impl Iterator<Item = usize> {
        self.0.get(key).into_iter().flatten().copied()
    }
}
