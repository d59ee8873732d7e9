//! The events in a record: itself, the one that it wraps, or those of a list.

use super::claims::is_known;
use super::records::Record;
use crate::adapters::engine::RecordErrors;
use crate::adapters::engine::document::LineNumbers;
use crate::json::Raw;
use crate::json::lines::Line;

/// The levels of containers that are read: a document, a list, a wrapper. A log may contain any number of them.
const LEVELS: usize = 4;

/// An event, or an object, with its line.
pub(super) struct Item<'a> {
    pub(super) event: Record<'a>,
    pub(super) line: Line<'a>,
    /// The session that a container names.
    session_id: Option<String>,
}

impl Item<'_> {
    /// The session that is stated for it.
    pub(super) fn session_id(&self) -> Option<String> {
        match self.event.kind.as_str() {
            "session" => self.event.id.owned(),
            _ => self.event.session_id.owned().or_else(|| self.session_id.clone()),
        }
    }
}

/// The events of a record, in their order. An unknown one among known ones is noted in `damage`.
pub(super) fn items_of<'a>(record: Record<'a>, line: Line<'a>, damage: &mut RecordErrors) -> Vec<Item<'a>> {
    let mut found = Found { items: Vec::new(), unknown: Vec::new(), line_numbers: LineNumbers::new(line) };
    found.add(record, line, None, LEVELS);
    if !found.items.is_empty() {
        for raw in found.unknown {
            damage.unknown_part("event", raw);
        }
    }
    found.items
}

struct Found<'a> {
    items: Vec<Item<'a>>,
    /// Members of lists that are not events that are known.
    unknown: Vec<Raw<'a>>,
    line_numbers: LineNumbers<'a>,
}

impl<'a> Found<'a> {
    /// Adds what a record is or contains. Returns whether that is anything known.
    fn add(&mut self, record: Record<'a>, line: Line<'a>, session_id: Option<&str>, levels: usize) -> bool {
        let kind = record.kind.as_str();
        let is_object = match kind {
            "session" => !record.environment_id.as_str().is_empty() || !record.agent.is_empty(),
            "session_thread" => true,
            _ => is_known(kind),
        };
        if is_object {
            let session_id = session_id.map(str::to_owned);
            self.items.push(Item { event: record, line, session_id });
            return true;
        }
        let Some(below) = levels.checked_sub(1).filter(|_| kind.is_empty() || has_wrapped(&record)) else {
            return false;
        };
        let before = self.items.len();
        let own = record.session_id.owned::<String>();
        let session_id = own.as_deref().or(session_id);
        // The session names its events, wherever it is in the document.
        let named = record.session.read::<Record<'_>>().id.into_inner();
        let session_id = named.as_deref().or(session_id);
        let Record { session, threads, events, data, raw, event, payload, .. } = record;
        let mut values = [session, threads, events, data, raw, event, payload];
        values.sort_by_key(|value| value.0.as_ptr().addr());
        for value in values {
            self.add_value(value, session_id, below);
        }
        self.items.len() > before
    }

    /// Adds an object, or the objects of a list.
    fn add_value(&mut self, value: Raw<'a>, session_id: Option<&str>, levels: usize) {
        let is_list = value.is_list();
        let before = self.items.len();
        let members: Vec<Raw<'a>> = if is_list { value.read() } else { vec![value] };
        for raw in members.into_iter().filter(|raw| raw.is_object()) {
            let line = Line { number: self.line_numbers.line_of(raw), bytes: raw.0 };
            if !self.add(raw.read(), line, session_id, levels) && is_list {
                self.unknown.push(raw);
            }
        }
        self.reverse_if_descending(before);
    }

    /// A list can be in descending order.
    fn reverse_if_descending(&mut self, before: usize) {
        let Some(added) = self.items.get_mut(before..) else { return };
        let mut times = added.iter().filter_map(|item| item.event.processed_at.0);
        let first = times.next();
        if times.next_back().is_some_and(|last| Some(last) < first) {
            added.reverse();
        }
    }
}

/// Whether a record of another type contains an event: the type may be that of the program that saved it.
fn has_wrapped(record: &Record<'_>) -> bool {
    [record.raw, record.event, record.data, record.payload].iter().any(|raw| raw.is_object())
}
