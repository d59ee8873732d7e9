//! Records of OpenAI's Chat Completions, which many runtimes log as they are.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::Text;

/// A tool call of a message.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct ToolCall<'a> {
    pub id: Text<'a>,
    pub function: Function<'a>,
}

/// The function that a call names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct Function<'a> {
    pub name: Text<'a>,
    /// JSON, mostly as a string.
    pub arguments: Raw<'a>,
}
