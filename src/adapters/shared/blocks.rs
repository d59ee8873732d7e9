//! Content blocks of messages, which many runtimes log as they are.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Flag, Text};

/// A content block of Anthropic's API: a text, the call of a tool, or its result.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct Block<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub text: Text<'a>,
    // tool_use
    pub id: Text<'a>,
    pub name: Text<'a>,
    pub input: Raw<'a>,
    // tool_result
    pub tool_use_id: Text<'a>,
    pub content: Raw<'a>,
    pub is_error: Flag,
}

/// A content block of which only the text is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct TextBlock<'a> {
    pub text: Text<'a>,
}
