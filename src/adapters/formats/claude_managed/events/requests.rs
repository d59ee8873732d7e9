//! The requests of each thread that are under way: which calls belong to which response, and how long it took.

use std::collections::BTreeMap;

use crate::base::text::Symbol;
use crate::base::time::Time;

/// A thread; `None` is the one whose events the log contains.
pub(super) type Thread = Option<Symbol>;

/// The requests of all threads.
#[derive(Default)]
pub(super) struct Requests {
    /// The one of each thread that began and has not ended.
    open: BTreeMap<Thread, Request>,
    /// Calls of responses that have not ended.
    calls: BTreeMap<Thread, Vec<usize>>,
    /// The last response of each thread.
    last: BTreeMap<Thread, usize>,
}

struct Request {
    /// The id of the event with which it began.
    id: String,
    began_at: Option<Time>,
}

impl Requests {
    /// A request began. Returns whether the thread has one that never ended.
    pub(super) fn begin(&mut self, thread: Thread, id: &str, began_at: Option<Time>) -> bool {
        self.open.insert(thread, Request { id: id.to_owned(), began_at }).is_some()
    }

    /// A call of a response that may be under way. Returns the response if it has ended: some servers log calls after it.
    pub(super) fn call(&mut self, thread: Option<&Symbol>, call: usize) -> Option<usize> {
        let thread = thread.cloned();
        let ended = self.last.get(&thread).copied().filter(|_| !self.open.contains_key(&thread));
        if ended.is_none() {
            self.calls.entry(thread).or_default().push(call);
        }
        ended
    }

    /// A request ended that began with the event `id`. Returns when it began.
    pub(super) fn end(&mut self, thread: Option<&Symbol>, id: &str) -> Option<Time> {
        let thread = thread.cloned();
        self.open.get(&thread).filter(|request| id.is_empty() || request.id == id)?;
        self.open.remove(&thread)?.began_at
    }

    /// The response of the request that just ended. Returns its calls.
    pub(super) fn answer(&mut self, thread: Option<&Symbol>, turn: usize) -> Vec<usize> {
        let thread = thread.cloned();
        let calls = self.calls.remove(&thread).unwrap_or_default();
        self.last.insert(thread, turn);
        calls
    }
}
