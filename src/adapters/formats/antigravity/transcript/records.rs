//! The records of Antigravity.

use serde::Deserialize;

use crate::adapters::shared::at::At;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Number, Text, When};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    pub(super) step_index: Count,
    pub(super) source: Text<'a>,
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) created_at: When,
    pub(super) content: Raw<'a>,
    pub(super) tool_calls: Raw<'a>,
    pub(super) error: Text<'a>,
    pub(super) exit_code: Number,
}

/// A step, until all are known.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Its place among the steps: its index, or that of the record before it.
    pub(super) place: i64,
    /// Its name in identities: its index, or a hash of the record.
    pub(super) name: String,
    pub(super) line: i64,
    pub(super) source: String,
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) created_at: Option<Time>,
    pub(super) content: String,
    /// The length of the content in the log.
    pub(super) content_bytes: Option<i64>,
    /// JSON.
    pub(super) tool_calls: String,
    pub(super) error: String,
    pub(super) exit_code: Option<i64>,
}

impl Step {
    /// Where and when it was logged.
    pub(super) const fn at(&self) -> At {
        At { line: self.line, time: self.created_at }
    }
}
