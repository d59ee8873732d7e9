//! A log record of an event, and what the events of all runtimes have.

use std::borrow::Cow;

use super::attributes::{Attributes, time_of};
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
    pub(super) fn time(&self) -> Option<Time> {
        let own = time_of(self.record.time_unix_nano);
        let stated = || self.attributes.text("event.timestamp").and_then(|text| Time::parse(&text));
        own.or_else(stated).or_else(|| time_of(self.record.observed_time_unix_nano))
    }
}

/// Whether a request has no usable counts, which is noted.
pub(super) fn lost(counts: &[Count], damage: &mut RecordErrors) -> bool {
    damage.note_impossible(counts);
    let is_lost = counts.iter().all(|it| *it == Count::Unknown);
    if is_lost {
        damage.note(Reason::NoUsage);
    }
    is_lost
}

/// Adds the error of a request, if it has one under these keys.
pub(super) fn failure(session: &mut Session, record: &Record<'_, '_>, messages: &[&str], codes: &[&str]) {
    let code = record.attributes.first_count(codes).get();
    let message = record.attributes.first_text(messages);
    if message.is_some() || code.is_some_and(|code| code >= 400) {
        let at = At { line: record.line.number, time: record.time() };
        session.failure(code, message.as_deref().unwrap_or_default(), at);
    }
}

/// Adds a prompt that a human typed, by the id under `key`, else by its time and length.
pub(super) fn prompt(session: &mut Session, record: &Record<'_, '_>, key: &str) {
    let attributes = record.attributes;
    let name = attributes.text(key).map_or_else(
        || format!("{:?} {:?}", record.time().map(Time::micros), attributes.count("prompt_length").get()),
        Cow::into_owned,
    );
    let text = attributes.text("prompt").filter(|it| !matches!(it.as_ref(), "<REDACTED>" | "[REDACTED]"));
    session.builder.prompt_as(Identity::Session(name.as_str().into()), text.as_deref());
}

/// Adds a compaction, unless it failed, with the size of the context before and after it under these keys.
pub(super) fn compaction(session: &mut Session, record: &Record<'_, '_>, keys: [&str; 2]) {
    if record.attributes.flag("success") == Some(false) {
        return;
    }
    let [before, after] = keys.map(|key| record.attributes.count(key).get());
    let trigger = record.attributes.text("trigger").map(|it| Symbol::new(&it));
    let event = session.builder.event(EventKind::Compaction, At { line: record.line.number, time: record.time() });
    (event.code, event.tokens_before, event.tokens_after) = (trigger, before, after);
}
