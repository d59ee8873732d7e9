//! Records of OpenAI's Chat Completions, which many runtimes log as they are.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::Text;

/// A tool call of a message.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ToolCall<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub function: Function<'a>,
}

/// The function that a call names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Function<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    /// JSON, mostly as a string.
    #[serde(borrow)]
    pub arguments: Raw<'a>,
}
