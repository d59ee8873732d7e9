//! What the formats of OpenHands share: a conversation, and its events.

use crate::model::session::Capabilities;

mod acp;
pub(super) mod conversation;
pub(super) mod records;
mod requests;
mod running;

/// What the formats with events can show.
pub(super) const SHOWS: Capabilities = Capabilities::TURNS
    .and(Capabilities::TOOL_CALLS)
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::SUBAGENTS)
    .and(Capabilities::COMPACTIONS)
    .and(Capabilities::PERMISSION_DENIALS)
    .and(Capabilities::USER_TURNS)
    .and(Capabilities::KEPT_BY_RUNTIME);
