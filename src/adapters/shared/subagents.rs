//! Subagents that a session starts.

use super::at::At;
use super::builder::Builder;
use crate::base::text::SharedStr;
use crate::model::session::{Event, EventKind};

/// Adds the subagent `id` to the session. Returns its event if the log did not name the subagent before.
pub fn add<'b>(builder: &'b mut Builder, id: &str, call_id: Option<&str>, at: At) -> Option<&'b mut Event> {
    if !builder.session.subagents.insert(id.into()) {
        return None;
    }
    let event = builder.event(EventKind::Subagent, at);
    event.code = Some(id.into());
    event.call_id = call_id.map(SharedStr::from);
    Some(event)
}
