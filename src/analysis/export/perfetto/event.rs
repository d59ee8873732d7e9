//! An event of the Trace Event Format. Times are microseconds.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// An event.
#[derive(Debug, Serialize)]
pub(super) struct Event {
    pub name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub cat: String,
    /// Its kind.
    pub ph: Phase,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dur: Option<i64>,
    /// The process: the session.
    pub pid: usize,
    /// The thread: the track of an agent.
    pub tid: usize,
    /// Of an instant, what it belongs to: `t`, its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<&'static str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Phase {
    /// A slice with a duration.
    #[serde(rename = "X")]
    Complete,
    /// A slice whose duration is unknown.
    #[serde(rename = "i")]
    Instant,
    /// The value of a counter.
    #[serde(rename = "C")]
    Counter,
    /// The name of a process or a thread.
    #[serde(rename = "M")]
    Metadata,
}

impl Event {
    fn of(ph: Phase, name: &str, pid: usize, tid: usize) -> Self {
        Self { name: name.to_owned(), cat: String::new(), ph, ts: None, dur: None, pid, tid, s: None, args: Map::new() }
    }

    /// The name of a process or a thread, by the kind of the name.
    pub(super) fn metadata(kind: &str, pid: usize, tid: usize, value: Value) -> Self {
        let key = if kind.ends_with("sort_index") { "sort_index" } else { "name" };
        let args = Map::from_iter([(key.to_owned(), value)]);
        Self { args, ..Self::of(Phase::Metadata, kind, pid, tid) }
    }

    /// The value of a counter from a time on.
    pub(super) fn counter(name: &str, pid: usize, time: i64, value: Value) -> Self {
        let args = Map::from_iter([("value".to_owned(), value)]);
        Self { ts: Some(time), args, ..Self::of(Phase::Counter, name, pid, 0) }
    }

    /// A slice, or an instant if its duration is unknown.
    pub(super) fn slice(name: &str, category: &str, pid: usize, tid: usize, time: i64, duration: Option<i64>) -> Self {
        let ph = if duration.is_some() { Phase::Complete } else { Phase::Instant };
        let s = duration.is_none().then_some("t");
        Self { cat: category.to_owned(), ts: Some(time), dur: duration, s, ..Self::of(ph, name, pid, tid) }
    }
}

/// The pairs whose value is known.
pub(super) fn args<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    let known = pairs.into_iter().filter(|(_, value)| !value.is_null() && *value != json!(""));
    known.map(|(name, value)| (name.to_owned(), value)).collect()
}
