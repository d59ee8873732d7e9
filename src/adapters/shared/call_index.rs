//! Which call an id means. Some servers and models use an id again: in each response, in each turn, or for all calls.

use foldhash::HashMap;

use super::row_index::RowIndex;
use crate::base::rows::Rows;
use crate::base::time::Time;
use crate::model::session::{CallStatus, ToolCall};

/// At most so many calls of an id are examined: copies of a record follow it within fewer.
const MOST: usize = 1000;

/// The calls of a session by their ids.
#[derive(Debug, Default)]
pub(super) struct CallIndex {
    /// The first call of each id.
    first: RowIndex,
    /// All calls of the ids that were used again, by their first calls.
    reused: HashMap<usize, Reused>,
}

/// The calls of an id that was used again.
#[derive(Debug)]
struct Reused {
    calls: Vec<usize>,
    /// The position of the call whose record was read last.
    last: usize,
    /// Whether that record was a copy, after the call's result. A copy of the result may follow.
    is_copy: bool,
}

/// What a record states of the call that it contains.
pub(super) struct Request<'a> {
    pub(super) turn: Option<usize>,
    pub(super) tool: &'a str,
    pub(super) args_hash: Option<i64>,
    pub(super) time: Option<Time>,
}

impl Request<'_> {
    /// Whether the record is another one of a known call: a later state of its message, or a copy. The message of an earlier response
    /// is another one, and so is one after the call's result, unless it has the time of the call, or there are no times to compare.
    fn is_of(&self, call: &ToolCall) -> bool {
        let is_same_tool = call.tool == self.tool || call.tool.is_empty() || self.tool.is_empty();
        let same_arguments = call.args_hash.get().zip(self.args_hash).map(|(known, own)| known == own);
        let is_of_response = match (call.turn, self.turn) {
            (Some(known), own) => own == Some(known),
            (None, _) => call.status == CallStatus::Incomplete,
        };
        let is_copy = match (self.time, call.occurred_at) {
            (Some(own), Some(known)) => own == known,
            // Only the arguments distinguish records without times of logs without responses.
            (None, None) => self.turn.is_none() && same_arguments.is_some(),
            _ => false,
        };
        is_same_tool && same_arguments != Some(false) && (is_of_response || is_copy)
    }
}

impl CallIndex {
    /// The first call of an id.
    pub(super) fn first(&self, call_id: &str, calls: &Rows<Box<ToolCall>>) -> Option<usize> {
        self.first.find(call_id, |call| calls[call].call_id == call_id)
    }

    /// All calls of an id that was used again.
    pub(super) fn all(&self, first: usize) -> &[usize] {
        self.reused.get(&first).map_or(&[], |reused| &reused.calls)
    }

    /// Of the calls of an id, the one to which a result belongs: the last open one. Parallel calls of one id get their results in
    /// their order.
    pub(super) fn open(&self, first: usize, calls: &Rows<Box<ToolCall>>) -> usize {
        let Some(Reused { calls: same, last, is_copy }) = self.reused.get(&first) else { return first };
        let read_last = same.get(*last).copied().unwrap_or(first);
        if *is_copy {
            return read_last;
        }
        let is_open = |call: &usize| calls[*call].status == CallStatus::Incomplete;
        let newest_first = || same.iter().take(*last + 1).rev().take(MOST).copied();
        let Some(newest) = newest_first().find(is_open) else { return read_last };
        let is_parallel = |call: &usize| is_open(call) && calls[*call].turn == calls[newest].turn;
        newest_first().skip_while(|call| *call != newest).take_while(is_parallel).last().unwrap_or(newest)
    }

    /// Finds the call of a record, and remembers that its record was read last.
    pub(super) fn find(&mut self, first: usize, request: &Request<'_>, calls: &Rows<Box<ToolCall>>) -> Option<usize> {
        let Some(Reused { calls: same, last, is_copy }) = self.reused.get_mut(&first) else {
            return request.is_of(&calls[first]).then_some(first);
        };
        let newest_first = same.iter().enumerate().rev().take(MOST);
        let (position, call) =
            newest_first.map(|(at, call)| (at, *call)).find(|(_, call)| request.is_of(&calls[*call]))?;
        (*last, *is_copy) = (position, calls[call].status != CallStatus::Incomplete);
        Some(call)
    }

    /// Adds the first call of an id.
    pub(super) fn add_first(&mut self, call_id: &str, new: usize) {
        self.first.find_or_add(call_id, new, |_| false);
    }

    /// Adds a further call of a known id.
    pub(super) fn add(&mut self, first: usize, new: usize) {
        let reused = self.reused.entry(first).or_insert_with(|| Reused { calls: vec![first], last: 0, is_copy: false });
        (reused.last, reused.is_copy) = (reused.calls.len(), false);
        reused.calls.push(new);
    }
}
