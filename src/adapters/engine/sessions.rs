//! The sessions of one log, by id, while the log is read.

use std::ops::{Index, IndexMut};

use foldhash::{HashMap, HashMapExt as _, HashSet};

use crate::base::rows::Rows;
use crate::model::session::SessionResult;

/// Sessions in the order in which their first records were found, and by their ids.
#[derive(Debug)]
pub(crate) struct SessionsById<T> {
    sessions: Rows<T>,
    indexes: HashMap<String, usize>,
}

impl<T> Default for SessionsById<T> {
    fn default() -> Self {
        Self { sessions: Rows::default(), indexes: HashMap::new() }
    }
}

impl<T> SessionsById<T> {
    /// The number of sessions.
    pub const fn len(&self) -> usize {
        self.sessions.len()
    }

    /// The first session.
    pub fn first(&self) -> Option<&T> {
        self.sessions.first()
    }

    /// The index of the session of that id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.indexes.get(id).copied()
    }

    /// The last session that was added.
    pub fn last(&self) -> Option<&T> {
        self.sessions.last()
    }

    /// The index of the session of that id. Adds `new` if there is no such session.
    pub fn index_or_add(&mut self, id: &str, new: impl FnOnce() -> T) -> usize {
        self.find(id).unwrap_or_else(|| {
            self.indexes.insert(id.to_owned(), self.sessions.len());
            self.sessions.push(new());
            self.sessions.len() - 1
        })
    }

    /// The session of that id. Adds `new` if there is no such session.
    pub fn find_or_add(&mut self, id: &str, new: impl FnOnce() -> T) -> &mut T {
        let index = self.index_or_add(id, new);
        &mut self.sessions[index]
    }
}

impl<T> Index<usize> for SessionsById<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        &self.sessions[index]
    }
}

impl<T> IndexMut<usize> for SessionsById<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.sessions[index]
    }
}

impl<T> IntoIterator for SessionsById<T> {
    type Item = T;
    type IntoIter = <Rows<T> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.sessions.into_iter()
    }
}

/// The methods of [`Fold`](super::Fold) that are the same for each adapter that keeps its state in [`Sessions`]. `$finish`
/// ends one session.
macro_rules! streaming_sessions {
    ($finish:expr) => {
        fn close_idle(
            &mut self,
            line: i64,
            keep_open: &foldhash::HashSet<String>,
        ) -> Vec<$crate::model::session::SessionResult> {
            self.sessions.close_idle(line, keep_open, $finish)
        }

        fn closed_too_early(&self) -> foldhash::HashSet<String> {
            self.sessions.closed_too_early()
        }

        fn finish(self) -> Vec<$crate::model::session::SessionResult> {
            self.sessions.finish($finish)
        }
    };
}
pub(crate) use streaming_sessions;

/// The state of each session, for formats whose sessions do not depend on each other: while a large log is read, those without new
/// records are closed. `S` is an adapter's state of one session.
#[derive(Debug)]
pub(crate) struct Sessions<S> {
    all: SessionsById<Open<S>>,
    /// Index of the session of the last record.
    current: usize,
}

#[derive(Debug)]
struct Open<S> {
    id: String,
    /// `None` if the session was emitted.
    state: Option<S>,
    /// Line of its last record.
    last: i64,
    /// Whether it has a record after it was emitted.
    is_late: bool,
}

impl<S> Sessions<S> {
    pub(crate) fn new() -> Self {
        Self { all: SessionsById::default(), current: 0 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.all.sessions.is_empty()
    }

    /// Whether there is a session of that id, emitted or not.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.all.find(id).is_some()
    }

    /// The id of the session of the last record.
    pub(crate) fn current_id(&self) -> Option<&str> {
        self.all.sessions.iter().nth(self.current).map(|it| it.id.as_str())
    }

    /// The session of a record in `line`, by its id. `new` creates the state at the first record. `None` if the session was
    /// emitted before.
    pub(crate) fn get(&mut self, id: &str, line: i64, new: impl FnOnce() -> S) -> Option<&mut S> {
        let new = || Open { id: id.to_owned(), state: Some(new()), last: line, is_late: false };
        self.current = self.all.index_or_add(id, new);
        self.current(line)
    }

    /// The session of the last record, which has another record in `line`.
    pub(crate) fn current(&mut self, line: i64) -> Option<&mut S> {
        let session = self.all.sessions.get_mut(self.current)?;
        session.last = line;
        session.is_late |= session.state.is_none();
        session.state.as_mut()
    }

    /// Emits the sessions without a record after `line`, except those in `keep_open`, which are known to have later records.
    pub(crate) fn close_idle(
        &mut self,
        line: i64,
        keep_open: &HashSet<String>,
        finish: impl Fn(S) -> SessionResult,
    ) -> Vec<SessionResult> {
        let current = self.current;
        let others = self.all.sessions.iter_mut().enumerate().filter(|(place, _)| *place != current).map(|it| it.1);
        let idle = others.filter(|it| it.last <= line && !keep_open.contains(&it.id));
        idle.filter_map(|it| it.state.take()).map(finish).collect()
    }

    /// The ids of the sessions that have a record after they were emitted.
    pub(crate) fn closed_too_early(&self) -> HashSet<String> {
        self.all.sessions.iter().filter(|it| it.is_late).map(|it| it.id.clone()).collect()
    }

    /// Emits the remaining sessions.
    pub(crate) fn finish(self, finish: impl Fn(S) -> SessionResult) -> Vec<SessionResult> {
        self.all.into_iter().filter_map(|it| it.state).map(finish).collect()
    }
}
