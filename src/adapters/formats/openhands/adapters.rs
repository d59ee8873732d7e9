//! OpenHands: conversations of its SDK (since late 2025), events before it, evaluations, and logs of completions
//! (docs/formats.md#openhands-conversation).
//!
//! - Events contain no tokens, but running totals for each use of a model: `ConversationStateUpdateEvent` with the key `stats`,
//!   formerly `llm_metrics`. The difference of two of them is the response that comes next; the rest of the last one is a total.
//! - The prompt includes cached tokens, unless they are more than it.
//! - A conversation is a directory with a file for each event, which the ledger joins by the name of the directory.

use super::{completions, evaluation, events};
use crate::adapters::described;
use crate::adapters::engine::{Adapter, Probe, fold};
use crate::model::places::Place;
use crate::model::session::Capabilities;

const SHOWS: Capabilities = Capabilities::TURNS
    .and(Capabilities::TOOL_CALLS)
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::SUBAGENTS)
    .and(Capabilities::COMPACTIONS)
    .and(Capabilities::PERMISSION_DENIALS)
    .and(Capabilities::USER_TURNS)
    .and(Capabilities::KEPT_BY_RUNTIME);

pub(crate) const CONVERSATION: Adapter = Adapter {
    id: "openhands-conversation",
    runtime: "openhands",
    about: "OpenHands SDK and CLI since 1.0, ~/.openhands/conversations",
    tested: None,
    capabilities: SHOWS,
    places: &[Place::variable("OPENHANDS_PERSISTENCE_DIR", ".openhands", "conversations")],
    claims: |probe| {
        let kind = probe.text("kind");
        let is_event = probe.has_all(&["id", "timestamp", "source"])
            && (kind.ends_with("Event") || ["Condensation", "UserRejectObservation"].contains(&kind.as_ref()));
        let is_state = probe.has_all(&["id", "agent", "workspace"]) && probe.has("execution_status");
        let is_page = probe.has_all(&["items", "next_page_id"]) && is_list(probe, "items");
        6 * u32::from(is_event || is_state) + 4 * u32::from(is_page)
    },
    parse: fold::<events::Events>,
};

pub(crate) const EVENTS: Adapter = Adapter {
    id: "openhands-events",
    runtime: "openhands",
    about: "OpenHands before 1.0, ~/.openhands/sessions and saved trajectories",
    tested: None,
    capabilities: SHOWS,
    places: &[Place::home(".openhands/sessions")],
    claims: |probe| {
        let is_text = |key: &str| probe.raw(key).0.first() == Some(&b'"');
        let is_event = probe.has_all(&["id", "timestamp", "source"]) && !probe.has("kind") && !probe.has("type");
        let is_action = is_text("action") && (probe.has("args") || probe.has("message"));
        let is_observation = is_text("observation") && probe.has("content");
        5 * u32::from(is_event && (is_action || is_observation))
    },
    parse: fold::<events::Events>,
};

pub(crate) const EVALUATION: Adapter = Adapter {
    id: "openhands-evaluation",
    runtime: "openhands",
    about: "OpenHands, output.jsonl of evaluations and of the resolver",
    tested: None,
    capabilities: SHOWS,
    places: &[],
    claims: |probe| {
        let is_output = is_list(probe, "history") && probe.has("metrics");
        6 * u32::from(is_output && (probe.has("instance_id") || probe.has("issue") || probe.has("git_patch")))
    },
    parse: fold::<evaluation::Outputs>,
};

pub(crate) const COMPLETIONS: Adapter = Adapter {
    id: "openhands-completions",
    runtime: "openhands",
    about: "OpenHands with log_completions, a file for each request",
    tested: None,
    capabilities: completions::REQUEST.capabilities(),
    places: &[],
    claims: |probe| {
        let is_request = is_list(probe, "messages") && probe.has_all(&["response", "cost", "timestamp"]);
        5 * u32::from(is_request && probe.object("response").has("choices"))
    },
    parse: |context, input| described::start(context, input, &[completions::REQUEST]),
};

fn is_list(probe: &Probe<'_>, key: &str) -> bool {
    probe.raw(key).0.first() == Some(&b'[')
}
