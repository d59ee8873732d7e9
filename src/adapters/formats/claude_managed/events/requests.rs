//! The requests of each thread that are under way: which calls belong to which response, and how long it took.

use crate::base::text::Symbol;
use crate::base::time::Time;

/// A thread; `None` is the one whose events the log contains.
pub(super) type Thread = Option<Symbol>;

/// The requests of all threads.
#[derive(Default)]
pub(super) struct Requests {
    /// Those that began and have not ended.
    open: Vec<Request>,
    /// Calls of responses that have not ended.
    calls: Vec<(Thread, usize)>,
    /// The last response of each thread.
    last: Vec<(Thread, usize)>,
}

struct Request {
    thread: Thread,
    /// The id of the event with which it began.
    id: String,
    began_at: Option<Time>,
}

impl Requests {
    /// A request began. Returns whether the thread has one that never ended.
    pub(super) fn begin(&mut self, thread: Thread, id: &str, began_at: Option<Time>) -> bool {
        let before = self.open.len();
        self.open.retain(|request| request.thread != thread);
        let has_unended = self.open.len() < before;
        self.open.push(Request { thread, id: id.to_owned(), began_at });
        has_unended
    }

    /// A call of a response that may be under way. Returns the response if it has ended: some servers log calls after it.
    pub(super) fn call(&mut self, thread: Option<&Symbol>, call: usize) -> Option<usize> {
        let is_open = self.open.iter().any(|request| request.thread.as_ref() == thread);
        let last = self.last.iter().find(|(known, _)| known.as_ref() == thread).map(|(_, turn)| *turn);
        let ended = last.filter(|_| !is_open);
        if ended.is_none() {
            self.calls.push((thread.cloned(), call));
        }
        ended
    }

    /// A request ended that began with the event `id`. Returns when it began.
    pub(super) fn end(&mut self, thread: Option<&Symbol>, id: &str) -> Option<Time> {
        let is_it = |request: &Request| request.thread.as_ref() == thread && (id.is_empty() || request.id == id);
        let at = self.open.iter().position(is_it)?;
        self.open.remove(at).began_at
    }

    /// The response of the request that just ended. Returns its calls.
    pub(super) fn answer(&mut self, thread: Option<&Symbol>, turn: usize) -> Vec<usize> {
        self.last.retain(|(known, _)| known.as_ref() != thread);
        self.last.push((thread.cloned(), turn));
        let (own, others) =
            std::mem::take(&mut self.calls).into_iter().partition(|(known, _)| known.as_ref() == thread);
        self.calls = others;
        let own: Vec<(Thread, usize)> = own;
        own.into_iter().map(|(_, call)| call).collect()
    }
}
