//! The records of Inspect.

use serde::Deserialize;

use super::events::Message;
use crate::json::Raw;
use crate::json::fields::{Maybe, Number, Text, When};

/// A log, its header, or a sample.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Document<'a> {
    pub(super) status: Text<'a>,
    pub(super) eval: Maybe<Eval<'a>>,
    /// Parsed later, as the line of each is needed.
    pub(super) samples: Raw<'a>,
    /// Only in a sample.
    pub(super) events: Raw<'a>,
    pub(super) transcript: Maybe<Transcript<'a>>,
}

/// What the events of a sample refer to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct EventsData<'a> {
    /// The messages of all prompts, each once.
    pub(super) messages: Raw<'a>,
}

/// The events of a sample, in versions before 0.3.42.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Transcript<'a> {
    pub(super) events: Raw<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Eval<'a> {
    pub(super) task: Text<'a>,
    pub(super) task_id: Text<'a>,
    pub(super) created: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) packages: Packages<'a>,
    pub(super) revision: Maybe<Revision<'a>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Packages<'a> {
    pub(super) inspect_ai: Text<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Revision<'a> {
    pub(super) origin: Text<'a>,
}

/// A sample in an epoch.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct SampleRecord<'a> {
    /// A number or a string.
    pub(super) id: Raw<'a>,
    pub(super) epoch: Number,
    pub(super) uuid: Text<'a>,
    pub(super) input: Raw<'a>,
    pub(super) scores: Raw<'a>,
    events: Raw<'a>,
    transcript: Maybe<Transcript<'a>>,
    events_data: Maybe<EventsData<'a>>,
    pub(super) error: Maybe<SampleError<'a>>,
    /// Attempts that failed before the one whose events the sample has.
    error_retries: Raw<'a>,
    pub(super) limit: Maybe<Limit<'a>>,
    /// In seconds.
    pub(super) total_time: Number,
    pub(super) started_at: When,
    pub(super) completed_at: When,
}

impl<'a> SampleRecord<'a> {
    /// The events in their order.
    pub(super) fn events(&self) -> Vec<Raw<'a>> {
        let of_transcript = || self.transcript.get().map_or(Raw::default(), |transcript| transcript.events);
        if self.events.is_empty() { of_transcript().read() } else { self.events.read() }
    }

    /// The messages in ranges of those of all prompts: each is the first index, and the one after the last (`_expand_refs` in
    /// `event/_pool.py`).
    pub(super) fn messages_in(&self, ranges: Raw<'a>) -> Vec<Message<'a>> {
        let pool: Vec<Raw<'a>> = self.events_data.get().map(|data| data.messages.read()).unwrap_or_default();
        let ranges: Vec<(usize, usize)> = ranges.read();
        let range = |(start, end): (usize, usize)| pool.get(start..end.min(pool.len())).unwrap_or_default();
        ranges.into_iter().flat_map(range).map(|message| message.read()).collect()
    }

    /// The attempts that failed, in their order.
    pub(super) fn failed_attempts(&self) -> Vec<Raw<'a>> {
        self.error_retries.read()
    }
}

/// An attempt that failed, after which the sample ran again. Its events begin with its last request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct FailedAttempt<'a> {
    pub(super) message: Text<'a>,
    pub(super) events: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct SampleError<'a> {
    pub(super) message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Limit<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
}
