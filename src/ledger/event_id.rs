//! Which events are copies of each other.

use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::session::{Event, EventKind};

/// Events of equal identity are copies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum EventId {
    /// The log's own id of the record.
    Key(EventKind, SharedStr),
    /// The time, the code, the call and the message.
    Content(EventKind, Time, Option<Symbol>, Option<SharedStr>, Option<SharedStr>),
}

impl EventId {
    /// The identity of an event. An event without an id and a time has none, and is never a copy.
    pub fn of(event: &Event) -> Option<Self> {
        if let Some(key) = &event.key {
            return Some(Self::Key(event.kind, key.clone()));
        }
        let (code, call_id, message) = (event.code.clone(), event.call_id.clone(), event.message.clone());
        event.occurred_at.map(|time| Self::Content(event.kind, time, code, call_id, message))
    }
}
