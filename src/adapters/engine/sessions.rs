//! The sessions of one log, by id, while the log is read.

use foldhash::{HashMap, HashMapExt as _, HashSet};

use crate::base::rows::Rows;
use crate::model::session::SessionResult;

/// The methods of [`Fold`](super::Fold) that are the same for each adapter that keeps its state in [`Sessions`]. `$finish`
/// ends one session.
macro_rules! hand_on_sessions {
    ($finish:expr) => {
        fn idle(&mut self, line: i64, go_on: &foldhash::HashSet<String>) -> Vec<$crate::model::session::SessionResult> {
            self.sessions.idle(line, go_on, $finish)
        }

        fn late(&self) -> foldhash::HashSet<String> {
            self.sessions.late()
        }

        fn finish(self) -> Vec<$crate::model::session::SessionResult> {
            self.sessions.finish($finish)
        }
    };
}
pub(crate) use hand_on_sessions;

/// The state of each session. `S` is an adapter's state of one session.
#[derive(Debug)]
pub(crate) struct Sessions<S> {
    /// In the order of their first records.
    all: Rows<Session<S>>,
    by_id: HashMap<String, usize>,
    /// Index of the session of the last record.
    current: usize,
}

#[derive(Debug)]
struct Session<S> {
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
        Self { all: Rows::default(), by_id: HashMap::new(), current: 0 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The session of a record in `line`, by its id. `new` creates the state at the first record. `None` if the session was
    /// emitted before.
    pub(crate) fn get(&mut self, id: &str, line: i64, new: impl FnOnce() -> S) -> Option<&mut S> {
        self.current = self.by_id.get(id).copied().unwrap_or_else(|| {
            let place = self.all.len();
            self.all.push(Session { id: id.to_owned(), state: Some(new()), last: line, is_late: false });
            self.by_id.insert(id.to_owned(), place);
            place
        });
        self.current(line)
    }

    /// The session of the last record, which has another record in `line`.
    pub(crate) fn current(&mut self, line: i64) -> Option<&mut S> {
        let session = self.all.get_mut(self.current)?;
        session.last = line;
        session.is_late |= session.state.is_none();
        session.state.as_mut()
    }

    /// Emits the sessions without a record after `line`, except those in `go_on`, which are known to have later records.
    pub(crate) fn idle(
        &mut self,
        line: i64,
        go_on: &HashSet<String>,
        finish: impl Fn(S) -> SessionResult,
    ) -> Vec<SessionResult> {
        let current = self.current;
        let others = self.all.iter_mut().enumerate().filter(|(place, _)| *place != current).map(|it| it.1);
        let idle = others.filter(|it| it.last <= line && !go_on.contains(&it.id));
        idle.filter_map(|it| it.state.take()).map(finish).collect()
    }

    /// The ids of the sessions that have a record after they were emitted.
    pub(crate) fn late(&self) -> HashSet<String> {
        self.all.iter().filter(|it| it.is_late).map(|it| it.id.clone()).collect()
    }

    /// Emits the remaining sessions.
    pub(crate) fn finish(self, finish: impl Fn(S) -> SessionResult) -> Vec<SessionResult> {
        self.all.into_iter().filter_map(|it| it.state).map(finish).collect()
    }
}
