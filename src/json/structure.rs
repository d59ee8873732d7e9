//! Where a text stops being JSON.

#![cfg_attr(
    not(test),
    expect(clippy::indexing_slicing, reason = "positions are found in these bytes, and damaged lines can be long")
)]

use crate::json::error::MAX_DEPTH;
use crate::json::scan::closing_quote;
use crate::json::simd::Level;

/// What may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of an array.
    FirstElement,
    Key,
    /// A key, or the end of an object.
    FirstKey,
    Colon,
    /// A comma, or the end of the object or array.
    Comma,
}

/// The end of the value that begins at `start`; else the position of the first byte that cannot follow the bytes before it, which is the
/// length of `bytes` if the value has no end.
///
/// [`value_end`](crate::json::value_end) only compares brackets, so that it may find the end of a damaged value in the middle of another
/// one. The contents of strings and of other values without brackets are not checked here either.
pub(super) fn structure_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
    let level = Level::best();
    let (mut open, mut next, mut at) = (Vec::new(), Next::Value, start);
    while let Some(byte) = bytes.get(at) {
        next = match (next, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => next,
            (Next::Value | Next::FirstElement, b'{' | b'[') if open.len() < MAX_DEPTH => {
                open.push(*byte);
                if *byte == b'{' { Next::FirstKey } else { Next::FirstElement }
            }
            (Next::Value | Next::FirstElement, b'"') => {
                at = closing_quote(level, bytes, at + 1).ok_or(bytes.len())?;
                Next::Comma
            }
            (Next::Key | Next::FirstKey, b'"') => {
                at = closing_quote(level, bytes, at + 1).ok_or(bytes.len())?;
                Next::Colon
            }
            (Next::Value | Next::FirstElement, byte) if is_in_word(*byte) => {
                at += bytes[at..].iter().take_while(|byte| is_in_word(**byte)).count() - 1;
                Next::Comma
            }
            (Next::Colon, b':') => Next::Value,
            (Next::Comma, b',') => {
                if open.last() == Some(&b'{') {
                    Next::Key
                } else {
                    Next::Value
                }
            }
            (Next::FirstKey | Next::Comma, b'}') if open.last() == Some(&b'{') => {
                open.pop();
                Next::Comma
            }
            (Next::FirstElement | Next::Comma, b']') if open.last() == Some(&b'[') => {
                open.pop();
                Next::Comma
            }
            _ => return Err(at),
        };
        at += 1;
        if next == Next::Comma && open.is_empty() {
            return Ok(at);
        }
    }
    Err(bytes.len())
}

/// Whether a byte is of a number, `true`, `false`, `null`, or of the words that some programs write instead.
const fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_byte_is_found() {
        for (text, expected) in [
            ("{}", Ok(2)),
            (r#" {"a":[1,{"b":"}"},null,-1.5e3,[]],"c":NaN} x"#, Ok(43)),
            ("[]]", Ok(2)),
            (r#"{"a":1"#, Err(6)),
            (r#"{"a":"x"#, Err(7)),
            (r#"{"a":1{"b":2}"#, Err(6)),
            (r#"{"a":"x{"b":2}"#, Err(9)),
            (r#"{"a":1,{"b":2}"#, Err(7)),
            (r#"{"a":{"b":1}{"c":2}"#, Err(12)),
            (r#"{"a":1]"#, Err(6)),
            (r#"{"a" 1}"#, Err(5)),
            (r#"{"a":1,}"#, Err(7)),
            ("{a:1}", Err(1)),
            ("x{", Ok(1)),
        ] {
            assert_eq!(structure_end(text.as_bytes(), 0), expected, "{text}");
        }
        let deep = "[".repeat(MAX_DEPTH + 1);
        assert_eq!(structure_end(deep.as_bytes(), 0), Err(MAX_DEPTH));
    }
}
