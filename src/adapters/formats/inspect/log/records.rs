//! The records of Inspect.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Maybe, Number, Text, When};

/// A log, its header, or a sample.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Document<'a> {
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) eval: Maybe<Eval<'a>>,
    /// Parsed later, as the line of each is needed.
    #[serde(borrow)]
    pub(super) samples: Raw<'a>,
    /// Only in a sample.
    #[serde(borrow)]
    pub(super) events: Raw<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Eval<'a> {
    #[serde(borrow)]
    pub(super) task: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) packages: Packages<'a>,
    #[serde(borrow)]
    pub(super) revision: Maybe<Revision<'a>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Packages<'a> {
    #[serde(borrow)]
    pub(super) inspect_ai: Text<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Revision<'a> {
    #[serde(borrow)]
    pub(super) origin: Text<'a>,
}

/// A sample in an epoch.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SampleRecord<'a> {
    /// A number or a string.
    #[serde(borrow)]
    pub(super) id: Raw<'a>,
    pub(super) epoch: Number,
    #[serde(borrow)]
    pub(super) uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    #[serde(borrow)]
    pub(super) scores: Raw<'a>,
    #[serde(borrow)]
    pub(super) events: Raw<'a>,
    #[serde(borrow)]
    pub(super) error: Maybe<SampleError<'a>>,
    #[serde(borrow)]
    pub(super) limit: Maybe<Limit<'a>>,
    /// In seconds.
    pub(super) total_time: Number,
    pub(super) started_at: When,
    pub(super) completed_at: When,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SampleError<'a> {
    #[serde(borrow)]
    pub(super) message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limit<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
}
