//! Session format 4 of pi: the records between the entries, and the ledger of costs in them.
//!
//! The ledger has a record `usage` of each request that ended, including attempts without an entry. The entry of a request repeats the
//! usage of its last attempt, before or after the record (`UsageRecord` in `packages/agent/src/harness/session/types.ts` of
//! earendil-works/pi). Attempts of a summary share the id of their entry, and one attempt may be two requests.

use foldhash::{HashMap, HashSet};

use crate::adapters::engine::Probe;
use crate::adapters::shared::at::At;
use crate::base::text::Symbol;
use crate::model::session::{Cost, Tokens};

/// Whether a line is a header, a record or a fact of format 4. Its entries have the types of format 3.
pub(super) fn is_of_format_4(probe: &Probe<'_>) -> bool {
    match probe.text("kind").as_ref() {
        "header" => probe.has_all(&["version", "id", "createdAt", "cwd"]),
        "record" => probe.has_all(&["type", "lane", "seq", "timestamp"]),
        "lane" => probe.has_all(&["lane", "leafId", "seq"]),
        "fact" => probe.has_all(&["fact", "seq"]),
        _ => false,
    }
}

/// Whether records of this type are known, besides `usage`.
pub(super) fn is_known_record(kind: &str) -> bool {
    const KINDS: [&str; 8] = [
        "operation_started",
        "operation_finished",
        "abort_requested",
        "step_attempt",
        "tool_started",
        "queue_enqueued",
        "queue_cancelled",
        "write_deferred",
    ];
    KINDS.contains(&kind)
}

/// A request in the ledger.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) at: At,
    /// The entry with the result of the request, which may not exist.
    pub(super) entry: Option<Symbol>,
    pub(super) attempt: Option<i64>,
    pub(super) tokens: Tokens,
    pub(super) cost: Option<Box<Cost>>,
    pub(super) provider: Option<Symbol>,
    pub(super) model: Option<Symbol>,
}

/// The ledger of a session while it is read.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    requests: Vec<Request>,
    /// The ids of the entries with a usage.
    entries: HashSet<Symbol>,
}

impl Ledger {
    /// Notes the id of an entry that states its own usage.
    pub(super) fn add_entry(&mut self, id: Symbol) {
        self.entries.insert(id);
    }

    pub(super) fn add_request(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// The requests that no entry repeats.
    pub(super) fn without_entries(self) -> Vec<Request> {
        let last: HashMap<Symbol, (usize, Option<i64>)> = (self.requests.iter().enumerate())
            .filter_map(|(index, request)| Some((request.entry.clone()?, (index, request.attempt))))
            .collect();
        let is_repeated = |index: usize, request: &Request| {
            let Some(entry) = request.entry.as_ref().filter(|entry| self.entries.contains(*entry)) else {
                return false;
            };
            let Some((last_index, last_attempt)) = last.get(entry) else { return false };
            // Records of tools have no attempts: a call that ran twice has two.
            index == *last_index || (request.attempt.is_some() && request.attempt == *last_attempt)
        };
        let requests = self.requests.into_iter().enumerate();
        requests.filter(|(index, request)| !is_repeated(*index, request)).map(|(_, request)| request).collect()
    }
}
