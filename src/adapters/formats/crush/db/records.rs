//! The records of Crush.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Flag, Number, Text, When};

/// A row of a session or of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Row<'a> {
    #[serde(borrow)]
    pub(super) table: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    pub(super) created_at: When,
    // sessions
    #[serde(borrow)]
    pub(super) parent_session_id: Text<'a>,
    pub(super) cost: Number,
    #[serde(borrow)]
    pub(super) summary_message_id: Text<'a>,
    // messages
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow)]
    pub(super) parts: Raw<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) provider: Text<'a>,
    pub(super) finished_at: When,
    pub(super) is_summary_message: Number,
}

/// A part of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) data: Data<'a>,
}

/// The content of a part, of any type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Data<'a> {
    // text
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    // tool_call: the input is JSON as a string
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    // tool_result
    #[serde(borrow)]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    /// JSON as a string.
    #[serde(borrow)]
    pub(super) metadata: Raw<'a>,
    pub(super) is_error: Flag,
    // finish
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    pub(super) time: When,
    #[serde(borrow)]
    pub(super) message: Text<'a>,
    #[serde(borrow)]
    pub(super) details: Text<'a>,
}

/// What a tool reports beside its result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata<'a> {
    pub(super) additions: Number,
    pub(super) removals: Number,
    /// Milliseconds.
    pub(super) start_time: Number,
    pub(super) end_time: Number,
    #[serde(borrow)]
    pub(super) working_directory: Text<'a>,
}
