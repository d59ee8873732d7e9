//! The events that runtimes export as log records, each under its own names.

pub(super) mod claude;
mod codex;
mod gemini;

use std::borrow::Cow;

use super::attributes::{Attributes, time_of};
use super::product::{Events, Product};
use super::records::LogRecord;
use super::session::Session;
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::Count;
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{EventKind, Identity};

/// An event and what is around it.
pub(super) struct Record<'r, 'a> {
    pub(super) record: &'r LogRecord<'a>,
    pub(super) attributes: Attributes<'r, 'a>,
    pub(super) line: Line<'r>,
}

impl Record<'_, '_> {
    fn time(&self) -> Option<Time> {
        let own = time_of(self.record.time_unix_nano);
        let stated = || self.attributes.text("event.timestamp").and_then(|text| Time::parse(&text));
        own.or_else(stated).or_else(|| time_of(self.record.observed_time_unix_nano))
    }
}

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

/// Whether a request has no usable counts, which is noted.
fn lost(counts: &[Count], damage: &mut RecordErrors) -> bool {
    damage.note_impossible(counts);
    let is_lost = counts.iter().all(|it| *it == Count::Unknown);
    if is_lost {
        damage.note(Reason::NoUsage);
    }
    is_lost
}

/// Adds the error of a request, if it has one under these keys.
fn failure(session: &mut Session, record: &Record<'_, '_>, messages: &[&str], codes: &[&str]) {
    let code = record.attributes.first_count(codes).get();
    let message = record.attributes.first_text(messages);
    if message.is_some() || code.is_some_and(|code| code >= 400) {
        let at = At { line: record.line.number, time: record.time() };
        session.failure(code, message.as_deref().unwrap_or_default(), at);
    }
}

/// Adds a prompt that a human typed, by the id under `key`, else by its time and length.
fn prompt(session: &mut Session, record: &Record<'_, '_>, key: &str) {
    let attributes = record.attributes;
    let name = attributes.text(key).map_or_else(
        || format!("{:?} {:?}", record.time().map(Time::micros), attributes.count("prompt_length").get()),
        Cow::into_owned,
    );
    let text = attributes.text("prompt").filter(|it| !matches!(it.as_ref(), "<REDACTED>" | "[REDACTED]"));
    session.builder.prompt_as(Identity::Session(name.as_str().into()), text.as_deref());
}

/// Adds a compaction, with the size of the context before and after it under these keys.
fn compaction(session: &mut Session, record: &Record<'_, '_>, keys: [&str; 2]) {
    let [before, after] = keys.map(|key| record.attributes.count(key).get());
    let trigger = record.attributes.text("trigger").map(|it| Symbol::new(&it));
    let event = session.builder.event(EventKind::Compaction, At { line: record.line.number, time: record.time() });
    (event.code, event.tokens_before, event.tokens_after) = (trigger, before, after);
}
