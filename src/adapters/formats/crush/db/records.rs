//! The records of Crush.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Flag, Number, Text, When};

/// A row of a session or of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Row<'a> {
    pub(super) table: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) created_at: When,
    // sessions
    pub(super) parent_session_id: Text<'a>,
    pub(super) cost: Number,
    pub(super) summary_message_id: Text<'a>,
    // messages
    pub(super) session_id: Text<'a>,
    pub(super) role: Text<'a>,
    pub(super) parts: Raw<'a>,
    pub(super) model: Text<'a>,
    pub(super) provider: Text<'a>,
    pub(super) finished_at: When,
    pub(super) is_summary_message: Number,
}

/// A part of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) data: Data<'a>,
}

/// The content of a part, of any type.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Data<'a> {
    // text
    pub(super) text: Text<'a>,
    // tool_call: the input is JSON as a string
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) input: Raw<'a>,
    // tool_result
    pub(super) tool_call_id: Text<'a>,
    pub(super) content: Raw<'a>,
    /// JSON as a string.
    pub(super) metadata: Raw<'a>,
    pub(super) is_error: Flag,
    // finish
    pub(super) reason: Text<'a>,
    pub(super) time: When,
    pub(super) message: Text<'a>,
    pub(super) details: Text<'a>,
}

/// What a tool reports beside its result.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Metadata<'a> {
    pub(super) additions: Number,
    pub(super) removals: Number,
    /// Milliseconds.
    pub(super) start_time: Number,
    pub(super) end_time: Number,
    pub(super) working_directory: Text<'a>,
}
