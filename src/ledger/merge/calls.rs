//! Which calls of a session are copies of calls that an earlier part contained.

use foldhash::HashMap;

use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::session::ToolCall;

/// The id of a call, with its message if it names one.
type Id = SharedStr;

/// Counts the calls of each id in one part: masked ids repeat, and some servers use an id in each response.
#[derive(Default)]
pub(super) struct CallIds {
    all: HashMap<Id, usize>,
    of_turn: HashMap<(Id, usize), usize>,
}

/// The calls of a session so far.
#[derive(Default)]
pub(super) struct KnownCalls {
    /// By their id, their turn, and their ordinal among the calls of the id in this turn.
    of_turn: HashMap<(Id, usize, usize), usize>,
    /// By their id, and their ordinal among the calls of the id in their part.
    in_part: HashMap<(Id, usize), Known>,
}

struct Known {
    index: usize,
    turn: Option<usize>,
    tool: Symbol,
    target: Option<SharedStr>,
    args_hash: Option<i64>,
    time: Option<Time>,
}

impl KnownCalls {
    /// The index of a call, which is `next` if the call is new. A copy has the id and the turn of the call; if one of them has no turn,
    /// the place among the calls of the id, unless both the arguments and the times differ.
    pub fn index(&mut self, ids: &mut CallIds, call: &ToolCall, next: usize) -> usize {
        let id: Id = match &call.message_id {
            Some(message) => [message, " ", &call.call_id].concat().into(),
            None => call.call_id.clone(),
        };
        let occurrence = increased(ids.all.entry(id.clone()).or_insert(0));
        let of_turn = call.turn.map(|turn| {
            let occurrence = increased(ids.of_turn.entry((id.clone(), turn)).or_insert(0));
            (id.clone(), turn, occurrence)
        });
        let known = of_turn.as_ref().and_then(|name| self.of_turn.get(name)).copied();
        let by_place = || self.in_part.get(&(id.clone(), occurrence)).filter(|it| it.has_copy(call)).map(|it| it.index);
        let index = known.or_else(by_place).unwrap_or(next);
        if let Some(name) = of_turn {
            self.of_turn.entry(name).or_insert(index);
        }
        self.in_part.entry((id, occurrence)).or_insert_with(|| Known {
            index,
            turn: call.turn,
            tool: call.tool.clone(),
            target: call.target.clone(),
            args_hash: call.args_hash.get(),
            time: call.occurred_at,
        });
        index
    }
}

impl Known {
    /// Whether a call at the same place may be a copy.
    fn has_copy(&self, call: &ToolCall) -> bool {
        let equal = |own: Option<i64>, other: Option<i64>| own.zip(other).map(|(own, other)| own == other);
        let arguments = equal(self.args_hash, call.args_hash.get());
        let times = equal(self.time.map(Time::micros), call.occurred_at.map(Time::micros));
        if self.turn.is_some() && call.turn.is_some() {
            // The turns differ. A copy of a response without an id may be another row.
            return arguments == Some(true) && times == Some(true);
        }
        // A document with indentation and a recording write equal arguments in different bytes.
        let has_same_target = self.tool == call.tool && self.target.is_some() && self.target == call.target;
        arguments != Some(false) || has_same_target || times != Some(false)
    }
}

fn increased(count: &mut usize) -> usize {
    *count += 1;
    *count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, turn: Option<usize>, arguments: Option<i64>, time: Option<i64>) -> ToolCall {
        let occurred_at = time.map(Time::from_micros);
        ToolCall { call_id: id.into(), turn, args_hash: arguments.into(), occurred_at, ..ToolCall::default() }
    }

    /// The indexes of the calls of two parts; new ones count from 0 and from 10.
    fn indexes(first: &[ToolCall], second: &[ToolCall]) -> [Vec<usize>; 2] {
        let mut known = KnownCalls::default();
        let mut part = |calls: &[ToolCall], start: usize| {
            let mut ids = CallIds::default();
            calls.iter().zip(start..).map(|(call, next)| known.index(&mut ids, call, next)).collect()
        };
        [part(first, 0), part(second, 10)]
    }

    #[test]
    fn masked_ids_are_distinguished_by_their_order() {
        let calls = |ids: &[&str]| ids.iter().map(|id| call(id, None, None, None)).collect::<Vec<_>>();
        let [first, second] = indexes(&calls(&["x", "x", "y"]), &calls(&["x", "y", "x", "x"]));
        assert_eq!((first, second), (vec![0, 1, 2], vec![0, 2, 1, 13]));
    }

    #[test]
    fn an_id_of_another_response_is_another_call() {
        let of_turn = |turn| call("x", Some(turn), None, None);
        // The second file begins with a copy of the second response, and goes on.
        let [first, second] = indexes(&[of_turn(0), of_turn(1)], &[of_turn(1), of_turn(2), of_turn(2), of_turn(0)]);
        assert_eq!((first, second), (vec![0, 1], vec![1, 11, 12, 0]));
    }

    #[test]
    fn a_copy_may_have_no_turn_or_another_one() {
        let cases = [
            (call("x", None, Some(1), Some(1)), true),
            (call("x", None, Some(2), Some(1)), true),
            (call("x", None, Some(2), Some(2)), false),
            (call("x", Some(7), Some(1), Some(1)), true),
            (call("x", Some(7), Some(1), Some(2)), false),
            (call("x", Some(7), None, None), false),
        ];
        for (copy, is_copy) in cases {
            let [_, second] = indexes(&[call("x", Some(3), Some(1), Some(1))], &[copy]);
            assert_eq!(second == [0], is_copy);
        }
    }
}
