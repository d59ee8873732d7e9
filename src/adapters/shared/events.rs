//! The events of a session.

use super::at::At;
use super::builder::{Builder, brief};
use super::ids::hashed_id;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::retention::Retention;
use crate::model::session::{CallStatus, Event, EventKind};

impl Builder {
    /// Adds an event, whose details the caller sets.
    pub fn event(&mut self, kind: EventKind, at: At) -> &mut Event {
        let events = &mut self.session.events;
        events.push(Event { kind, line: at.line, occurred_at: at.time, ..Event::default() });
        let last = events.len() - 1;
        &mut events[last]
    }

    /// Sets the keys of the events of the record that was just read, so that events of copies of the record count once. The key
    /// is the record's id. Without an id, an event with a time needs no key; one without a time has a key of the record's bytes,
    /// the time before the record, and the number of equal records since that time.
    pub fn name_events(&mut self, id: Option<&str>, record: &[u8]) {
        let first = self.keyed_events;
        self.keyed_events = self.session.events.len();
        for index in first..self.keyed_events {
            let event = &self.session.events[index];
            if event.key.is_some() {
                continue;
            }
            let before = self.session.events.iter().take(index).skip(first).filter(|it| it.kind == event.kind);
            let key = match id {
                // Usually a record contains one event of a kind, which the runtime's other logs contain with the same id.
                Some(id) => match before.count() {
                    0 => Some(id.into()),
                    count => Some(format!("{id} {count}").into()),
                },
                None if event.occurred_at.is_some() => None,
                None => {
                    let hash = hashed_id(record);
                    let count = self.equal_records.entry(hash.clone()).or_insert(0);
                    *count += 1;
                    Some(format!("{hash} {:?} {count}", self.last_time.map(Time::micros)).into())
                }
            };
            self.session.events[index].key = key;
        }
    }

    /// Sets the status of a call that the user refused, and adds one event for it. Calls of one id have an event each.
    pub fn deny(&mut self, call: usize, at: At, message: Option<&str>) {
        // After the first sentence there may be what the user wrote instead.
        let is_short = self.content == Retention::None;
        let message = message.map(|text| brief(if is_short { first_sentence(text) } else { text }));
        let is_first = self.denied_calls.insert(call);
        let call = &mut self.session.tool_calls[call];
        let (code, call_id) = (call.tool.clone(), call.call_id.clone());
        let (agent, is_subagent) = (call.agent.clone(), call.is_subagent);
        call.status = CallStatus::Denied;
        if !is_first || self.early_denials.remove(call_id.as_str()) {
            return;
        }
        let event = self.event(EventKind::PermissionDenial, at);
        event.code = Some(code);
        event.call_id = Some(call_id);
        event.message = message;
        (event.agent, event.is_subagent) = (agent, is_subagent);
    }

    /// Adds one event for the refusal of a call that the log does not contain, or only later.
    pub fn deny_unknown_call(&mut self, call_id: Option<&str>, tool: Option<Symbol>, at: At) {
        if call_id.is_some_and(|id| !self.early_denials.insert(id.to_owned())) {
            return;
        }
        let event = self.event(EventKind::PermissionDenial, at);
        event.code = tool;
        event.call_id = call_id.map(SharedStr::from);
    }
}

fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence)
}

#[cfg(test)]
mod tests {
    use foldhash::HashSet;

    use super::*;
    use crate::adapters::shared::builder::tests::builder;
    use crate::json::Raw;

    /// Equal records of one log are different events. A copy of the log contains the same events.
    #[test]
    fn events_are_named_alike_in_copies() {
        let names = |records: &[(Option<i64>, &str)]| {
            let mut builder = builder();
            for (time, record) in records {
                builder.extend_to(time.map(Time::from_micros));
                builder.event(EventKind::Retry, At { line: 1, time: None });
                builder.name_events(None, record.as_bytes());
            }
            builder.session.events.into_iter().filter_map(|it| it.key).collect::<Vec<_>>()
        };
        let whole = names(&[(None, "x"), (None, "x"), (Some(1), "x"), (None, "y")]);
        assert_eq!(whole.iter().collect::<HashSet<_>>().len(), 4);
        assert_eq!(names(&[(None, "x"), (None, "x")]), whole[..2]);
        let twice = names(&[(Some(1), "x"), (Some(2), "x"), (Some(1), "x"), (Some(2), "x")]);
        assert_eq!(twice[..2], twice[2..]);
    }

    #[test]
    fn each_refused_call_has_one_event() {
        let at = At { line: 1, time: None };
        let mut builder = builder();
        let first = builder.another_call("c", "bash", at);
        let second = builder.another_call("c", "bash", at);
        let mut deny = |call| {
            builder.deny(call, at, None);
            builder.session.events.len()
        };
        assert_eq!([first, first, second, first, second].map(&mut deny), [1, 1, 2, 2, 2]);
        // A result after a refusal does not hide the refusal of another call.
        builder.result(first, Raw::default(), None, CallStatus::Ok);
        let third = builder.another_call("c", "bash", at);
        builder.deny(third, at, None);
        assert_eq!(builder.session.events.len(), 3);
        // The ids of another attempt are those of other calls.
        builder.forget_calls();
        let other = builder.call("c", "bash", at);
        builder.deny(other, at, None);
        assert_eq!(builder.session.events.len(), 4);
    }

    /// A list of refusals can precede the calls that it names.
    #[test]
    fn a_refusal_before_its_call_is_the_same_event() {
        let at = At { line: 1, time: None };
        let mut builder = builder();
        for _ in 0..2 {
            builder.deny_unknown_call(Some("c"), None, at);
        }
        let [first, second] = [(); 2].map(|()| builder.another_call("c", "bash", at));
        let mut deny = |call| {
            builder.deny(call, at, None);
            builder.session.events.len()
        };
        assert_eq!([first, first, second].map(&mut deny), [1, 1, 2]);
        // Without ids they cannot be compared.
        for _ in 0..2 {
            builder.deny_unknown_call(None, None, at);
        }
        assert_eq!(builder.session.events.len(), 4);
    }
}
