//! The rows of tables by their sessions.

use std::collections::HashMap;

use polars::prelude::*;

use super::verdicts::with_verdicts;
use crate::analysis::rows::{Frames, Key};
use crate::store::frames::{TypedRows, sessions, tool_calls, turns};

/// The tables, with the rows of each session.
pub struct SessionTables<Sessions, Turns, Calls> {
    pub sessions: Sessions,
    pub turns: Turns,
    pub turns_of: BySession,
    pub calls: Calls,
    pub calls_of: BySession,
}

impl<Sessions: TypedRows, Turns: TypedRows, Calls: TypedRows> SessionTables<Sessions, Turns, Calls> {
    /// Reads the tables. `of_turn` and `of_call` return the runtime and the id of the session of a row.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn read_by(
        tables: &Frames,
        of_turn: impl Fn(&Turns, usize) -> (Option<&str>, Option<&str>),
        of_call: impl Fn(&Calls, usize) -> (Option<&str>, Option<&str>),
    ) -> PolarsResult<Self> {
        let sessions = Sessions::read(with_verdicts(tables.clone(), tables)?.table(sessions::TABLE))?;
        let turns = Turns::read(tables.table(turns::TABLE))?;
        let calls = Calls::read(tables.table(tool_calls::TABLE))?;
        let turns_of = BySession::new(turns.height(), |row| of_turn(&turns, row));
        let calls_of = BySession::new(calls.height(), |row| of_call(&calls, row));
        Ok(Self { sessions, turns, turns_of, calls, calls_of })
    }
}

/// The key of the session with this runtime and id.
pub fn key_of(runtime: Option<&str>, id: Option<&str>) -> Key {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    (text(runtime), text(id))
}

/// The indexes of the rows of each session.
pub struct BySession(HashMap<Key, Vec<usize>>);

impl BySession {
    /// The rows of a table with this number of rows. `key` returns the runtime and the id of the session of a row.
    pub fn new<'k>(height: usize, key: impl Fn(usize) -> (Option<&'k str>, Option<&'k str>)) -> Self {
        let mut rows: HashMap<Key, Vec<usize>> = HashMap::new();
        for row in 0..height {
            let (runtime, id) = key(row);
            rows.entry(key_of(runtime, id)).or_default().push(row);
        }
        Self(rows)
    }

    /// The rows of a session.
    pub fn of(&self, key: &Key) -> impl Iterator<Item = usize> {
        self.0.get(key).into_iter().flatten().copied()
    }
}
