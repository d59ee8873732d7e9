//! The events that runtimes export as log records, each under its own names.

pub(super) mod claude;
mod codex;
mod gemini;

use std::borrow::Cow;

use super::attributes::Attributes;
use super::event_record::Record;
use super::product::{Events, Product};
use super::records::LogRecord;
use super::session::Session;
use crate::adapters::engine::RecordErrors;

/// The product that wrote an event, and the event's name without the product's. The full name is the event's own name or its
/// body.
pub(super) fn name_of<'a>(
    record: &LogRecord<'a>,
    attributes: Attributes<'_, 'a>,
) -> Option<(&'static Product, Cow<'a, str>)> {
    let names =
        [attributes.text("event.name"), record.event_name.owned::<String>().map(Cow::Owned), record.body.text()];
    names.into_iter().flatten().find_map(|name| {
        let (product, rest) = Product::of(&name)?;
        Some((product, Cow::Owned(rest.to_owned())))
    })
}

/// Whether an event has the conventions' name for a request.
pub(super) fn is_request(attributes: Attributes<'_, '_>) -> bool {
    attributes.text("event.name").as_deref() == Some("gen_ai.client.inference.operation.details")
}

/// Whether an event repeats a request: Gemini CLI writes it beside `gemini_cli.api_response`.
pub(super) fn repeats_request(attributes: Attributes<'_, '_>) -> bool {
    is_request(attributes) && attributes.shared_text("service.name").as_deref() == Some("gemini-cli")
}

/// Adds one event to its session.
pub(super) fn add(
    session: &mut Session,
    product: &Product,
    name: &str,
    record: &Record<'_, '_>,
    damage: &mut RecordErrors,
) {
    session.builder.extend_to(record.time());
    session.facts(record.attributes);
    match product.events {
        Events::Claude => claude::add(session, name, record, damage),
        Events::Codex => codex::add(session, name, record, damage),
        Events::Gemini => gemini::add(session, name, record, damage),
    }
    session.builder.name_events(None, record.line.bytes);
}
