//! Finds calls by their ids, and adds those that a log contains for the first time.

use super::at::At;
use super::builder::{Builder, args_hash};
use super::call_index::{CallIndex, Request};
use crate::json::Raw;

impl Builder {
    /// The index of the call `call_id`. Adds a call if there is none, which is incomplete until its result is added.
    ///
    /// For ids that the runtime gives, and for further records of a call. [`Self::call_of`] is for what a model asks for.
    pub fn call(&mut self, call_id: &str, tool: &str, at: At) -> usize {
        if let Some(known) = self.call_index(call_id) {
            let call = &mut self.session.tool_calls[known];
            call.occurred_at = call.occurred_at.or(at.time);
            return known;
        }
        self.first_call(call_id, tool, at)
    }

    fn first_call(&mut self, call_id: &str, tool: &str, at: At) -> usize {
        let new = self.add_call(call_id, tool, at);
        self.calls.add_first(call_id, new);
        new
    }

    /// The index of the call that a message of the response `turn` contains. Adds a call, also if the id is that of a call of another
    /// response, or of one that has its result: some models and servers use ids again.
    pub fn call_of(&mut self, turn: Option<usize>, call_id: &str, tool: &str, arguments: Raw<'_>, at: At) -> usize {
        let calls = &self.session.tool_calls;
        let first = self.calls.first(call_id, calls);
        let request = || Request { turn, tool, args_hash: args_hash(arguments).get(), time: at.time };
        let known = first.and_then(|first| self.calls.find(first, &request(), calls));
        let call = match (known, first) {
            (Some(known), _) => {
                let call = &mut self.session.tool_calls[known];
                call.occurred_at = call.occurred_at.or(at.time);
                known
            }
            (None, Some(first)) => self.further_call(first, call_id, tool, at),
            (None, None) => self.first_call(call_id, tool, at),
        };
        let row = &mut self.session.tool_calls[call];
        row.turn = turn.or(row.turn);
        call
    }

    /// Adds a call, also if its id is that of a known one.
    pub fn another_call(&mut self, call_id: &str, tool: &str, at: At) -> usize {
        match self.calls.first(call_id, &self.session.tool_calls) {
            Some(first) => self.further_call(first, call_id, tool, at),
            None => self.first_call(call_id, tool, at),
        }
    }

    fn further_call(&mut self, first: usize, call_id: &str, tool: &str, at: At) -> usize {
        let new = self.add_call(call_id, tool, at);
        self.calls.add(first, new);
        new
    }

    /// The index of the call `call_id`, if there is one: of several calls, of the one that waits for its result.
    pub fn call_index(&self, call_id: &str) -> Option<usize> {
        let calls = &self.session.tool_calls;
        self.calls.first(call_id, calls).map(|first| self.calls.open(first, calls))
    }

    /// As [`Self::call_index`], for a record that is not the result: of several calls, the last one of the tool.
    pub fn call_of_tool(&self, call_id: &str, tool: &str) -> Option<usize> {
        let calls = &self.session.tool_calls;
        let first = self.calls.first(call_id, calls)?;
        let of_tool = self.calls.all(first).iter().rev().find(|call| calls[**call].tool == tool);
        of_tool.copied().or_else(|| self.call_index(call_id))
    }

    /// Forgets the ids of calls: the next call with the same id is another call.
    pub fn forget_calls(&mut self) {
        self.calls = CallIndex::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::shared::builder::tests::builder;
    use crate::base::time::Time;
    use crate::model::session::CallStatus;

    const ID: &str = "functions.bash:0";

    fn at(line: i64, time: Option<i64>) -> At {
        At { line, time: time.map(Time::from_micros) }
    }

    /// Adds the call of a message, with its arguments.
    fn call(builder: &mut Builder, turn: Option<usize>, tool: &str, arguments: &str, at: At) -> usize {
        let raw = Raw(arguments.as_bytes());
        let call = builder.call_of(turn, ID, tool, raw, at);
        builder.arguments(call, raw);
        call
    }

    fn end(builder: &mut Builder, status: CallStatus) -> usize {
        let call = builder.call_index(ID).unwrap();
        builder.result(call, Raw::default(), None, status);
        call
    }

    #[test]
    fn an_id_of_another_response_is_another_call() {
        let mut builder = builder();
        for turn in 0..3 {
            let same = r#"{"command":"ls"}"#;
            assert_eq!(call(&mut builder, Some(turn), "bash", same, at(1, None)), turn);
            // The message again, and its copy after the result.
            assert_eq!(call(&mut builder, Some(turn), "bash", same, at(2, None)), turn);
            // The second call has no result.
            if turn != 1 {
                assert_eq!(end(&mut builder, CallStatus::Ok), turn);
                assert_eq!(call(&mut builder, Some(turn), "bash", same, at(3, None)), turn);
            }
        }
        let statuses: Vec<_> = builder.session.tool_calls.iter().map(|call| call.status).collect();
        assert_eq!(statuses, [CallStatus::Ok, CallStatus::Incomplete, CallStatus::Ok]);
        // A copy of the history.
        for turn in 0..3 {
            assert_eq!(call(&mut builder, Some(turn), "bash", r#"{"command":"ls"}"#, at(9, None)), turn);
            assert_eq!(builder.call_index(ID), Some(turn));
        }
    }

    #[test]
    fn without_responses_a_result_ends_the_use_of_an_id() {
        let mut builder = builder();
        assert_eq!(call(&mut builder, None, "bash", r#"{"command":"ls"}"#, at(1, Some(1))), 0);
        assert_eq!(call(&mut builder, None, "bash", r#"{"command":"ls"}"#, at(1, Some(2))), 0);
        end(&mut builder, CallStatus::Ok);
        // A copy of the record, and the same command again.
        assert_eq!(call(&mut builder, None, "bash", r#"{"command":"ls"}"#, at(1, Some(1))), 0);
        assert_eq!(call(&mut builder, None, "bash", r#"{"command":"ls"}"#, at(1, Some(3))), 1);
    }

    #[test]
    fn without_responses_and_times_other_arguments_are_another_call() {
        let mut builder = builder();
        assert_eq!(call(&mut builder, None, "bash", r#"{"command":"ls"}"#, at(1, None)), 0);
        end(&mut builder, CallStatus::Ok);
        assert_eq!(call(&mut builder, None, "bash", r#"{"command":"make"}"#, at(2, None)), 1);
        end(&mut builder, CallStatus::Error);
        // The log again.
        assert_eq!(call(&mut builder, None, "bash", r#"{"command":"ls"}"#, at(3, None)), 0);
    }

    #[test]
    fn parallel_calls_of_one_id_get_their_results_in_their_order() {
        let mut builder = builder();
        assert_eq!(call(&mut builder, Some(0), "bash", r#"{"command":"ls"}"#, at(1, None)), 0);
        assert_eq!(call(&mut builder, Some(0), "bash", r#"{"command":"make"}"#, at(1, None)), 1);
        assert_eq!(call(&mut builder, Some(0), "read", r#"{"path":"/x"}"#, at(1, None)), 2);
        assert_eq!([(); 4].map(|()| end(&mut builder, CallStatus::Ok)), [0, 1, 2, 2]);
        // A subagent uses the id of the call that started it.
        assert_eq!(call(&mut builder, Some(1), "task", "{}", at(2, None)), 3);
        assert_eq!(call(&mut builder, Some(2), "read", "{}", at(3, None)), 4);
        assert_eq!([(); 3].map(|()| end(&mut builder, CallStatus::Ok)), [4, 3, 4]);
    }

    #[test]
    fn further_records_of_a_call_add_none() {
        let mut builder = builder();
        assert_eq!(call(&mut builder, Some(0), "bash", "{}", at(1, None)), 0);
        assert_eq!(builder.call(ID, "bash", at(2, Some(5))), 0);
        end(&mut builder, CallStatus::Ok);
        assert_eq!(builder.call(ID, "bash", at(3, Some(6))), 0);
        assert_eq!(builder.session.tool_calls[0].occurred_at, Some(Time::from_micros(5)));
        builder.forget_calls();
        assert_eq!((builder.call_index(ID), builder.call(ID, "bash", at(4, None))), (None, 1));
    }
}
