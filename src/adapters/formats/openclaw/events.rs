//! Events of openclaw's embedded agent: pi's event stream, written by its Pi and by its Claude SDK runtime
//! (docs/formats/openclaw.md#openclaw-events).
//!
//! The records are parsed as pi's. A log is openclaw's if it has usage under Anthropic's names or the pseudo provider
//! `openclaw`, or by `--runtime` or a sidecar.
//!
//! # `openclaw-events`
//!
//! pi's event stream from openclaw's embedded agent. Recognised as `pi-json`, with the provider `openclaw` or usage under
//! Anthropic's names; else by `--runtime openclaw` or a sidecar. Read as `pi-json`; tokens also under the names of providers that
//! openclaw's `normalizeUsage` accepts, such as `input_tokens`, `promptTokens`, `cache_creation_input_tokens`.
//! Under the names of OpenAI (`cached_tokens`, `input_tokens_details`, `prompt_tokens_details`) and of programs (`cached_input_tokens`,
//! `cached`) the input includes what was read from the cache and written to it, unless it is less than that (*source*, 2026.9.6).

use crate::adapters::engine::{Adapter, Probe, fold};
use crate::adapters::formats::pi::common::SHOWS;
use crate::adapters::formats::pi::json::{Events, is_event};
use crate::model::session::Capabilities;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "openclaw-events",
    runtime: "openclaw",
    about: "openclaw, events of its embedded agent",
    tested: None,
    capabilities: SHOWS.and(Capabilities::RETRIES),
    places: &[],
    claims,
    parse: fold::<Events>,
};

/// More than pi can claim over all records that decide.
const DECISIVE: u32 = 100;

fn claims(probe: &Probe<'_>) -> u32 {
    if !is_event(probe) {
        return 0;
    }
    let message = probe.object("message");
    let is_own = message.text("provider") == "openclaw" || message.object("usage").has("input_tokens");
    if is_own { DECISIVE } else { 1 }
}
