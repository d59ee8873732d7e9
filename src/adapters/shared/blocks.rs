//! Content blocks of messages, which many runtimes log as they are.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Flag, Text, TextOrBlocks};

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

/// The text of a content that is a string, or the texts of its blocks. Empty for any other value.
pub fn text_of(content: Raw<'_>) -> String {
    let content: TextOrBlocks<'_, TextBlock<'_>> = content.read();
    content.joined(|block| block.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_content_is_a_string_or_that_of_blocks() {
        for (content, text) in [
            (r#""a\nb""#, "a\nb"),
            (r#"[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]"#, "ab"),
            (r#"{"text":"a"}"#, "a"),
            (r#"{"other":"a"}"#, ""),
            ("7", ""),
            ("null", ""),
            ("", ""),
            // JSON has no such escape.
            (r#""\q""#, ""),
        ] {
            assert_eq!(text_of(Raw(content.as_bytes())), text, "{content}");
        }
    }
}
