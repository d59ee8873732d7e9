//! Aider's three logs, none of which contains a session id (docs/formats.md#aider-chat):
//!
//! - [`chat`]: `.aider.chat.history.md`, Markdown, with rounded counts;
//! - [`analytics`]: the file of `--analytics-log`, with exact counts;
//! - [`llm_history`]: the file of `--llm-history-file`, with the times of requests, and without counts.
//!
//! Nothing connects the three: a chat that is in two of them is two sessions.

use super::{analytics, chat, llm_history};
use crate::adapters::engine::text_loop::fold_text;
use crate::adapters::engine::{Adapter, fold};
use crate::model::places::Place;
use crate::model::session::Capabilities;

/// The beginning of each chat in a history.
pub(crate) const CHAT_START: &str = "# aider chat started at ";

/// The beginning of each request in an LLM history.
pub(crate) const REQUEST: &str = "TO LLM ";

pub(crate) const CHAT: Adapter = Adapter {
    id: "aider-chat",
    runtime: "aider",
    about: "Aider, .aider.chat.history.md of a project",
    tested: Some("0.86.1"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::RETRIES)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    // Each repository has its own; this is that of the home directory.
    places: &[Place::home(".aider.chat.history.md")],
    // It is plain text: its first line decides.
    claims: |_| 0,
    parse: fold_text::<chat::History>,
};

pub(crate) const ANALYTICS: Adapter = Adapter {
    id: "aider-analytics",
    runtime: "aider",
    about: "Aider with --analytics-log",
    tested: None,
    capabilities: Capabilities::TURNS.and(Capabilities::KEPT_BY_RUNTIME),
    places: &[],
    claims: |probe| {
        let is_event = probe.has_all(&["event", "properties", "user_id", "time"]);
        4 * u32::from(is_event && analytics::is_event(&probe.text("event")))
    },
    parse: fold::<analytics::Log>,
};

pub(crate) const LLM_HISTORY: Adapter = Adapter {
    id: "aider-llm-history",
    runtime: "aider",
    about: "Aider with --llm-history-file",
    tested: None,
    capabilities: Capabilities::TURNS.and(Capabilities::KEPT_BY_RUNTIME),
    places: &[],
    // It is plain text: its first line decides.
    claims: |_| 0,
    parse: fold_text::<llm_history::History>,
};
