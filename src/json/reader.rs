//! The tokens of JSON, for a deserializer that tolerates what agents write.
//!
//! Logs contain lone surrogates (JavaScript cuts text inside an emoji), bytes that are not UTF-8, numbers like `1e400`, fields
//! of the wrong type and lines that are nested 100,000 deep. The usual libraries reject the whole record for each of these. Here
//! they affect at most one field:
//!
//! - a value of another type than the field has is skipped, and the field keeps its default;
//! - invalid Unicode is replaced with U+FFFD, and only where a field needs the text;
//! - values without a field are skipped without recursion, so that no input can exhaust the stack.
//!
//! Strings without escapes are borrowed from the input. The interface is [`from_slice`] and serde's `Deserialize`; what it saves
//! compared with other libraries is in `docs/performance.md`.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "positions are found in these bytes, and every byte of a log passes here"
    )
)]

use std::borrow::Cow;

use serde::Deserialize;

use crate::json::error::Error;
use crate::json::number::{self, Number};
use crate::json::scan;
use crate::json::short::{self, Inside};
use crate::json::simd::Level;
use crate::json::string::{text_of, unescape};

/// Parses one value that fills all of `bytes`, except for white space around it. Of a repeated key (Codex writes `id` twice in
/// its web searches) the first counts.
///
/// # Errors
/// When `bytes` is not exactly one JSON value.
pub fn from_slice<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    let mut reader = Reader::new(bytes);
    // Records are large: the result is built in place, without a copy.
    let mut value = T::deserialize(&mut reader);
    if matches!(value, Err(Error::Repeated)) {
        // Rare: only these records pay for remembering keys.
        reader = Reader { drops_repeated_keys: true, ..Reader::new(bytes) };
        value = T::deserialize(&mut reader);
    }
    if value.is_ok() {
        reader.space();
        if reader.at != bytes.len() {
            value = Err(Error::NotJson(reader.at));
        }
    }
    value
}

/// As [`from_slice`], into a default value: a large record is not copied.
///
/// # Errors
/// When `bytes` is not exactly one JSON value. The record is then undefined.
pub fn read_into<'a, T: Deserialize<'a> + Default>(bytes: &'a [u8], record: &mut T) -> Result<(), Error> {
    let mut reader = Reader::new(bytes);
    let mut result = T::deserialize_in_place(&mut reader, record);
    if matches!(result, Err(Error::Repeated)) {
        *record = T::default();
        reader = Reader { drops_repeated_keys: true, ..Reader::new(bytes) };
        result = T::deserialize_in_place(&mut reader, record);
    }
    result?;
    reader.space();
    if reader.at == bytes.len() { Ok(()) } else { Err(Error::NotJson(reader.at)) }
}

/// The end of the value that starts at `start`, or after white space at `start`.
///
/// # Errors
/// When there is no complete value.
pub fn value_end(bytes: &[u8], start: usize) -> Result<usize, Error> {
    let mut reader = Reader { at: start, ..Reader::new(bytes) };
    reader.skip()?;
    Ok(reader.at)
}

/// A position in bytes of JSON.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    level: Level,
    pub(super) drops_repeated_keys: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, level: Level::best(), drops_repeated_keys: false }
    }

    /// The bytes from the current position on.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Moves the current position by bytes that [`Self::rest`] or [`Self::peek`] returned.
    #[inline]
    pub(super) const fn advance(&mut self, length: usize) {
        self.at += length;
    }

    #[inline]
    pub(super) fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The first byte of the next token, which is not consumed.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<u8, Error> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte > b' ' => Ok(*byte),
            _ => self.peek_after_space(),
        }
    }

    /// Rare: programs that write logs put no white space between tokens.
    #[cold]
    fn peek_after_space(&mut self) -> Result<u8, Error> {
        self.space();
        self.bytes.get(self.at).copied().ok_or(Error::CutShort)
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(Error::NotJson(self.at))
        }
    }

    /// Consumes the string whose opening quote is at the current position. Returns the text between the quotes.
    #[inline]
    pub(super) fn string_bytes(&mut self) -> Result<Inside<'a>, Error> {
        let start = self.at + 1;
        let inside = match Inside::of_short(self.bytes, start) {
            Some(inside) => inside,
            None => Inside::find(self.level, self.bytes, start).ok_or(Error::CutShort)?,
        };
        self.at += inside.bytes().len() + 2;
        Ok(inside)
    }

    /// As [`Self::string`], if the next token is a short ASCII string without escapes.
    #[inline]
    pub(super) fn short_string(&mut self) -> Option<&'a str> {
        let text = Inside::of_short(self.bytes, self.at + 1)?.ascii()?;
        self.at += text.len() + 2;
        Some(text)
    }

    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.space();
        let start = self.at + 1;
        let inside = self.string_bytes()?;
        if inside.has_escapes {
            return unescape(inside.bytes()).map(Cow::Owned).ok_or(Error::NotJson(start));
        }
        Ok(inside.ascii().map_or_else(|| text_of(inside.bytes()), Cow::Borrowed))
    }

    /// A key, whose opening quote is the next token.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Cow<'a, [u8]>, Error> {
        if self.peek()? != b'"' {
            return Err(Error::NotJson(self.at));
        }
        let start = self.at + 1;
        if let Some(key) = short::short_key(self.bytes, start) {
            self.at = start + key.len() + 1;
            return Ok(Cow::Borrowed(key));
        }
        let inside = self.string_bytes()?;
        if inside.has_escapes {
            let key = unescape(inside.bytes()).ok_or(Error::NotJson(start))?;
            return Ok(Cow::Owned(key.into_bytes()));
        }
        Ok(Cow::Borrowed(inside.bytes()))
    }

    /// Skips one value.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        match self.peek()? {
            b'"' => {
                let start = self.at + 1;
                let end = match short::short_key(self.bytes, start) {
                    Some(inside) => start + inside.len(),
                    None => scan::closing_quote(self.level, self.bytes, start).ok_or(Error::CutShort)?,
                };
                self.at = end + 1;
                Ok(())
            }
            b'{' | b'[' => {
                self.at = scan::nested_end(self.level, self.bytes, self.at)?;
                Ok(())
            }
            _ => self.skip_scalar(),
        }
    }

    pub(super) fn skip_scalar(&mut self) -> Result<(), Error> {
        let start = self.at;
        while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.') = self.bytes.get(self.at) {
            self.at += 1;
        }
        let text = &self.bytes[start..self.at];
        match text {
            b"true" | b"false" | b"null" => Ok(()),
            [b'-' | b'0'..=b'9', ..] => Ok(()),
            _ if self.at == self.bytes.len()
                && [&b"true"[..], b"false", b"null"].iter().any(|it| it.starts_with(text)) =>
            {
                Err(Error::CutShort)
            }
            _ => Err(Error::NotJson(start)),
        }
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<Number, Error> {
        match number::usual_number(self.rest()) {
            Some((number, length)) => {
                self.at += length;
                Ok(number)
            }
            None => self.any_number(),
        }
    }

    fn any_number(&mut self) -> Result<Number, Error> {
        let start = self.at;
        self.skip_scalar()?;
        number::any_number(&self.bytes[start..self.at]).ok_or(Error::NotJson(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::error::MAX_DEPTH;

    #[test]
    fn skipping_checks_brackets_and_counts_depth() {
        let end = |json: &str| value_end(json.as_bytes(), 0);
        assert_eq!(end(r#" {"a":[1,{"b":"]}\""}]} x"#), Ok(23));
        assert_eq!(end(r#"{"a":[1}"#), Err(Error::NotJson(7)));
        assert_eq!(end(r#"{"a":"#), Err(Error::CutShort));
        assert_eq!(end(r#""abc\"#), Err(Error::CutShort));
        assert_eq!(end("tru"), Err(Error::CutShort));
        assert_eq!(end("trap"), Err(Error::NotJson(0)));
        assert_eq!(end(&"[".repeat(100_000)), Err(Error::TooDeep));
        assert!(end(&("[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH))).is_ok());
    }

    #[test]
    fn a_wrong_type_costs_the_field_only() {
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        struct Inner {
            list: Vec<Option<String>>,
        }
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        struct Outer {
            inner: Inner,
            last: Option<bool>,
        }
        let read = |json: &str| from_slice::<Outer>(json.as_bytes());
        let last = Some(true);
        assert_eq!(read(r#"{"inner":5,"last":true}"#), Ok(Outer { last, ..Outer::default() }));
        assert_eq!(read(r#"{"inner":{"list":"x"},"last":true}"#), Ok(Outer { last, ..Outer::default() }));
        assert_eq!(read(r#"{"inner":null,"last":true,"new":{"a":[1e400]}}"#), Ok(Outer { last, ..Outer::default() }));
        assert_eq!(read(r#"{"last":true} x"#), Err(Error::NotJson(14)));
        assert_eq!(read(r#"{"last":true"#), Err(Error::CutShort));
        assert_eq!(
            read(r#"{"last":true,"inner":{},"last":false,"inner":{"list":["x"]}}"#),
            Ok(Outer { last, ..Outer::default() })
        );
    }
}
