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
