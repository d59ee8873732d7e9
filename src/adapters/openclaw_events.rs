//! Events of openclaw's embedded agent: pi's event stream, emitted by its Pi and by its Claude SDK runtime.
//!
//! The records are read as pi's. What tells openclaw from pi: usage under Anthropic's names, the pseudo provider
//! `openclaw`, or the word of whoever recorded it (`--runtime`, a sidecar).

use super::pi::SHOWS;
use super::pi_json::{Events, is_event};
use super::{Adapter, Probe, fold};
use crate::model::session::Shows;

pub(super) const ADAPTER: Adapter = Adapter {
    id: "openclaw-events",
    runtime: "openclaw",
    about: "openclaw, events of its embedded agent",
    shows: SHOWS.and(Shows::RETRIES),
    claims,
    parse: fold::<Events>,
};

/// Stronger than a whole window of pi's claims.
const DECISIVE: u32 = 100;

fn claims(probe: &Probe<'_>) -> u32 {
    if !is_event(probe) {
        return 0;
    }
    let message = probe.object("message");
    let is_own = message.text("provider") == "openclaw" || message.object("usage").has("input_tokens");
    if is_own { DECISIVE } else { 1 }
}
