//! Which records are events of Claude Managed Agents.

use memchr::memmem;

use crate::adapters::engine::Probe;
use crate::json::Raw;

/// The weight of a record that is surely of the format.
const SURE: u32 = 6;

/// The members under which programs keep an event with what they add to it.
const WRAPPERS: [&str; 4] = ["raw", "event", "data", "payload"];

/// The members of documents with several events.
const LISTS: [&str; 2] = ["data", "events"];

/// In so many bytes of a list is its first event.
const HEAD: usize = 1 << 12;

/// How the ids of events begin.
const EVENT_ID: &str = "sevt_";

/// The types of events that other formats do not have.
const OWN_PREFIXES: [&str; 6] = [
    "span.model_request_",
    "span.outcome_evaluation_",
    "session.status_",
    "session.thread_",
    "agent.",
    "workflow_run.",
];

/// The types of events that the adapter knows: those of Anthropic's SDK.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "agent.custom_tool_use"
            | "agent.mcp_tool_result"
            | "agent.mcp_tool_use"
            | "agent.message"
            | "agent.session_thread_message_received"
            | "agent.session_thread_message_sent"
            | "agent.thinking"
            | "agent.thread_context_compacted"
            | "agent.thread_message_received"
            | "agent.thread_message_sent"
            | "agent.tool_result"
            | "agent.tool_use"
            | "event_delta"
            | "event_start"
            | "session.deleted"
            | "session.error"
            | "session.status_idle"
            | "session.status_rescheduled"
            | "session.status_running"
            | "session.status_terminated"
            | "session.thread_created"
            | "session.thread_status_created"
            | "session.thread_status_idle"
            | "session.thread_status_rescheduled"
            | "session.thread_status_running"
            | "session.thread_status_terminated"
            | "session.updated"
            | "session.usage"
            | "span.model_request_end"
            | "span.model_request_start"
            | "span.outcome_evaluation_end"
            | "span.outcome_evaluation_ongoing"
            | "span.outcome_evaluation_start"
            | "system.message"
            | "user.custom_tool_result"
            | "user.define_outcome"
            | "user.interrupt"
            | "user.message"
            | "user.tool_confirmation"
            | "user.tool_result"
            | "workflow_run.created"
            | "workflow_run.error"
            | "workflow_run.phase_ended"
            | "workflow_run.phase_started"
            | "workflow_run.status_ended"
            | "workflow_run.status_idle"
            | "workflow_run.status_running"
    )
}

/// The weight of a record.
pub(super) fn claims(probe: &Probe<'_>) -> u32 {
    let is_own = match probe.kind() {
        "session" => probe.has_all(&["environment_id", "agent"]),
        "session_thread" => probe.has_all(&["session_id", "agent"]),
        "" => is_container(probe),
        _ => is_event(probe),
    };
    SURE * u32::from(is_own)
}

/// Some types are also those of other runtimes, whose records have no `processed_at`.
fn is_event(probe: &Probe<'_>) -> bool {
    let is_dated = || probe.has("processed_at") || probe.text("id").starts_with(EVENT_ID);
    is_known(probe.kind()) && (probe.kind().starts_with("span.model_request_") || is_dated())
}

fn is_container(probe: &Probe<'_>) -> bool {
    let is_wrapper = |name: &str| probe.raw(name).is_object() && is_event(&probe.object(name));
    WRAPPERS.iter().any(|name| is_wrapper(name)) || LISTS.iter().any(|name| begins_with_event(probe.raw(name)))
}

/// Whether a list begins with an event. It may be large, and of another format.
fn begins_with_event(list: Raw<'_>) -> bool {
    if !list.is_list() {
        return false;
    }
    let head = list.0.get(..HEAD).unwrap_or(list.0);
    let has = |word: &str| memmem::find(head, word.as_bytes()).is_some();
    let names_type = || {
        let mut quoted = OWN_PREFIXES.iter().chain(&["user."]).map(|prefix| format!("\"{prefix}"));
        quoted.any(|prefix| has(&prefix))
    };
    (has("\"sevt_") || has("\"processed_at\"")) && names_type()
}
