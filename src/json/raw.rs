//! Values that are kept as bytes, parsed later or not at all.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "positions are found in these bytes, and every byte of a log passes here"
    )
)]

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::BorrowedBytesDeserializer;
use serde::de::{self, DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::json::error::Error;
use crate::json::reader::{Reader, from_slice};
use crate::json::string::{owned_text_of, text_of, unescape_head};

/// The bytes of one value, unparsed. Empty for a field that is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Raw<'a>(pub &'a [u8]);

/// The name under which the reader recognises a [`Raw`].
pub(super) const RAW: &str = "$agentlogs::Raw";

impl<'a> Raw<'a> {
    /// Length of the value in bytes; `None` if it is absent or null.
    pub fn len(self) -> Option<i64> {
        if self.is_empty() { None } else { i64::try_from(self.0.len()).ok() }
    }

    /// Whether the value is absent or null.
    pub fn is_empty(self) -> bool {
        self.0.is_empty() || self.0 == b"null"
    }

    /// Whether the value is a list.
    pub const fn is_list(self) -> bool {
        matches!(self.0, [b'[', ..])
    }

    /// Whether the value is an object.
    pub const fn is_object(self) -> bool {
        matches!(self.0, [b'{', ..])
    }

    /// Whether the value is a string.
    pub const fn is_string(self) -> bool {
        matches!(self.0, [b'"', ..])
    }

    /// Whether the bytes of the value contain `text`, whose escapes are those of JSON.
    pub fn contains(self, text: &str) -> bool {
        memchr::memmem::find(self.0, text.as_bytes()).is_some()
    }

    /// The value parsed as `T`; the default of `T` if it is absent or cannot be parsed.
    pub fn read<T: Deserialize<'a> + Default>(self) -> T {
        if self.0.is_empty() { T::default() } else { from_slice(self.0).unwrap_or_default() }
    }

    /// The text of a string without quotes and escapes, or the bytes of any other value.
    pub fn text(self) -> Cow<'a, str> {
        if self.is_string()
            && let Ok(text) = Reader::new(self.0).string()
        {
            return text;
        }
        text_of(self.0)
    }

    /// The beginning of [`Self::text`]: all of it, or at least `length` bytes. The rest is not read.
    pub fn head(self, length: usize) -> Cow<'a, str> {
        if self.0.len() <= length {
            return self.text();
        }
        let [b'"', inside @ .., b'"'] = self.0 else { return self.text() };
        let mut out = Vec::with_capacity(length + 64);
        unescape_head(inside, &mut out, length).map_or_else(|| self.text(), |()| Cow::Owned(owned_text_of(out)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Raw<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Raw<'de>, E> {
                Ok(Raw(bytes))
            }
        }
        deserializer.deserialize_newtype_struct(RAW, Bytes)
    }
}

/// A parsed value together with its bytes, from a single pass. If the value cannot be parsed, like `{"a":NaN}`, it is the default,
/// as with [`Raw::read`], and the record around it is not affected.
#[derive(Debug, Clone, Default)]
pub struct WithRaw<'a, T> {
    /// The bytes of the value.
    pub raw: Raw<'a>,
    /// The parsed value.
    pub value: T,
}

/// The name under which the reader recognises a [`WithRaw`].
pub(super) const BOTH: &str = "$agentlogs::Both";

impl<'de: 'a, 'a, T: Deserialize<'de> + Default> Deserialize<'de> for WithRaw<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for It<T> {
            type Value = WithRaw<'de, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let value = seq.next_element()?.unwrap_or_default();
                let raw = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                Ok(WithRaw { raw, value })
            }
        }
        deserializer.deserialize_tuple_struct(BOTH, 2, It(PhantomData))
    }
}

/// The elements of a [`WithRaw`]: the value, absent if it cannot be parsed, and its bytes.
pub(super) struct ReadAndRaw<'r, 'a> {
    reader: &'r mut Reader<'a>,
    start: usize,
    is_read: bool,
}

impl<'r, 'a> ReadAndRaw<'r, 'a> {
    /// The value at the reader's position.
    pub(super) const fn new(reader: &'r mut Reader<'a>) -> Self {
        Self { start: reader.at, reader, is_read: false }
    }
}

impl<'de> SeqAccess<'de> for ReadAndRaw<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if !std::mem::replace(&mut self.is_read, true) {
            return match seed.deserialize(&mut *self.reader) {
                // The caller parses the whole record again.
                Err(Error::Repeated) => Err(Error::Repeated),
                Err(_) => {
                    self.reader.at = self.start;
                    self.reader.skip().map(|()| None)
                }
                Ok(value) => Ok(Some(value)),
            };
        }
        let raw = &self.reader.bytes[self.start..self.reader.at];
        seed.deserialize(BorrowedBytesDeserializer::new(raw)).map(Some)
    }
}

/// A long string, unescaped when it is first used. Most are never used.
#[derive(Debug, Clone, Default)]
pub struct LazyText<'a> {
    raw: Raw<'a>,
    /// The text, if it differs from the bytes in the record.
    unescaped: OnceCell<String>,
}

impl<'a> LazyText<'a> {
    /// The text of a string, or the bytes of any other value.
    pub const fn of(raw: Raw<'a>) -> Self {
        Self { raw, unescaped: OnceCell::new() }
    }

    /// The text; `""` if it is absent.
    pub fn as_str(&self) -> &str {
        if let Some(text) = self.unescaped.get() {
            return text;
        }
        match self.raw.text() {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => self.unescaped.get_or_init(|| text),
        }
    }

    /// The text, unless it is absent or empty.
    pub fn some(&self) -> Option<&str> {
        Some(self.as_str()).filter(|text| !text.is_empty())
    }

    /// Whether it is present, even if empty.
    pub const fn is_some(&self) -> bool {
        !self.raw.0.is_empty()
    }

    /// The text with its escapes.
    pub fn escaped(&self) -> &'a [u8] {
        match self.raw.0 {
            [b'"', inside @ .., b'"'] => inside,
            other => other,
        }
    }

    /// The beginning of the text: all of it, or at least `length` bytes.
    pub fn head(&self, length: usize) -> Cow<'a, str> {
        self.raw.head(length)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LazyText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        Ok(Self::of(if raw.is_string() { raw } else { Raw::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        Raw(json.as_bytes()).text().into_owned()
    }

    #[test]
    fn strings_are_unescaped() {
        assert_eq!(text(r#""a\"b\\c\/\n\té""#), "a\"b\\c/\n\té");
        assert_eq!(text(r#""\ud83d\ude80 \ud83d x \udc00\ud800""#), "🚀 \u{fffd} x \u{fffd}\u{fffd}");
        assert!(matches!(Raw(br#""plain""#).text(), Cow::Borrowed("plain")));
        assert_eq!(Raw(b"\"caf\xe9\"").text(), "caf\u{fffd}");
    }

    #[test]
    fn a_head_is_how_the_text_begins() {
        for json in [r#""é\n\u00e9🚀\ud83d\ude80 \"x\\""#, r#""plain""#, r#"{"a":1}"#, "null", r#""""#, ""] {
            let (raw, whole) = (Raw(json.as_bytes()), text(json));
            for length in 0..40 {
                let head = raw.head(length);
                assert!(
                    whole.starts_with(&*head) && head.len() >= length.min(whole.len()),
                    "{length}: {head} of {whole}"
                );
            }
        }
        assert_eq!(Raw(br#""abcdef\q""#).head(3), "abc");
    }

    #[test]
    fn a_raw_value_keeps_its_bytes() {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Record<'a> {
            #[serde(borrow)]
            input: Raw<'a>,
            none: Raw<'a>,
        }
        let record: Record<'_> = from_slice(br#"{"input": {"a": 1} ,"none":null}"#).unwrap();
        assert_eq!(record.input.0, br#"{"a": 1}"#);
        assert_eq!((record.input.len(), record.none.len()), (Some(8), None));
    }

    #[test]
    fn a_value_is_read_and_keeps_its_bytes() {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Record<'a> {
            #[serde(borrow)]
            input: WithRaw<'a, Option<Vec<i64>>>,
            last: bool,
        }
        let read = |json: &'static str| {
            let Record { input, last } = from_slice(json.as_bytes()).unwrap();
            assert!(last);
            (std::str::from_utf8(input.raw.0).unwrap(), input.value)
        };
        assert_eq!(read(r#"{"input": [1, 2] ,"last":true}"#), ("[1, 2]", Some(vec![1, 2])));
        assert_eq!(read(r#"{"input":null,"last":true}"#), ("null", None));
        assert_eq!(read(r#"{"input":{"a":"]}"},"last":true}"#), (r#"{"a":"]}"}"#, Some(vec![])));
        assert_eq!(read(r#"{"last":true}"#), ("", None));
        assert_eq!(read(r#"{"input":[1,2,NaN],"last":true}"#), ("[1,2,NaN]", None));
        assert_eq!(read(r#"{"input":[1,],"last":true}"#), ("[1,]", None));
        assert_eq!(read(r#"{"input":[1 2],"last":true}"#), ("[1 2]", None));
        for cut in [r#"{"input":[1,2"#, r#"{"input":[1}"#, r#"{"input":NaN,"last":true}"#] {
            assert!(from_slice::<Record<'_>>(cut.as_bytes()).is_err());
        }
    }
}
