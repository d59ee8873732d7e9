//! Bytes to typed records: a serde deserializer for JSON as agents really write it.
//!
//! This is the only place that knows how JSON is read. Agents' logs hold lone surrogates (JavaScript cuts text inside an
//! emoji), bytes that are not UTF-8, numbers like `1e400`, fields of the wrong type and lines nested 100,000 deep. The usual
//! libraries reject the whole record for each of these; here they cost at most the one field:
//!
//! - a value of another type than the field asked for is skipped, and the field sees [`Visitor::visit_unit`] or stays empty;
//! - text that is no valid Unicode is replaced with U+FFFD, and only where a field asks for it;
//! - values that no field asks for are hopped over without recursion, so no input can exhaust the stack.
//!
//! Strings are borrowed from the input where they hold no escape.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "positions are found in these bytes, and every byte of a log passes here"
    )
)]

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{BorrowedBytesDeserializer, BorrowedStrDeserializer};
use serde::de::{self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::base::simd::Level;
use crate::json::error::Error;
use crate::json::record::{Members, RECORD};
use crate::json::scan::{self, Inside};

/// Reads one value that fills the whole of `bytes`, white space aside. Of a key that stands twice (Codex writes `id` twice
/// in its web searches) the first counts.
///
/// # Errors
/// When `bytes` is not exactly one JSON value.
pub fn from_slice<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    let mut reader = Reader::new(bytes);
    // Records are large: the one result is made where it is wanted, and moved nowhere.
    let mut value = T::deserialize(&mut reader);
    if matches!(value, Err(Error::Repeated)) {
        // Rare enough that only these records pay for remembering keys.
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

/// As [`from_slice`], into a default value, which is large: it is not moved.
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

/// Reads the value that starts at `at`, as [`value_end`] has it, and moves `at` to its end.
///
/// # Errors
/// When no complete value stands there, or a key stands twice in it.
pub fn value_at<'a, T: Deserialize<'a>>(bytes: &'a [u8], at: &mut usize) -> Result<T, Error> {
    let mut reader = Reader { at: *at, ..Reader::new(bytes) };
    // Values are large: they are moved nowhere, not even out of a result.
    let value = T::deserialize(&mut reader);
    *at = reader.at;
    value
}

/// Reads the number that starts at `at`, and moves `at` to its end. `None` if no number stands there.
#[inline]
pub fn number_at(bytes: &[u8], at: &mut usize) -> Option<Number> {
    let mut reader = Reader { at: *at, ..Reader::new(bytes) };
    let number = reader.number().ok();
    *at = reader.at;
    number
}

/// The end of the value that starts at `start`, which has to be its first byte or white space before it.
///
/// # Errors
/// When no complete value stands there.
pub fn value_end(bytes: &[u8], start: usize) -> Result<usize, Error> {
    let mut reader = Reader { at: start, ..Reader::new(bytes) };
    reader.skip()?;
    Ok(reader.at)
}

/// One value as it stands in the log, unparsed. Empty for a field that is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Raw<'a>(pub &'a [u8]);

/// The name under which [`Reader`] recognises a [`Raw`].
const RAW: &str = "$agentlogs::Raw";

impl<'a> Raw<'a> {
    /// Length of the value in bytes, as it stands in the log; `None` if it is absent or null.
    pub fn len(self) -> Option<i64> {
        if self.is_empty() { None } else { i64::try_from(self.0.len()).ok() }
    }

    /// Whether the value is absent or null.
    pub fn is_empty(self) -> bool {
        self.0.is_empty() || self.0 == b"null"
    }

    /// The value read as `T`; its default if it is absent or something else.
    pub fn read<T: Deserialize<'a> + Default>(self) -> T {
        if self.0.is_empty() { T::default() } else { from_slice(self.0).unwrap_or_default() }
    }

    /// A string's text without quotes and escapes, any other value as it stands.
    pub fn text(self) -> Cow<'a, str> {
        if self.0.first() == Some(&b'"')
            && let Ok(text) = Reader::new(self.0).string()
        {
            return text;
        }
        text_of(self.0)
    }

    /// The beginning of [`Self::text`]: all of it, or at least `length` bytes. What follows is not looked at.
    pub fn head(self, length: usize) -> Cow<'a, str> {
        if self.0.len() <= length {
            return self.text();
        }
        let [b'"', inside @ .., b'"'] = self.0 else { return self.text() };
        let mut out = Vec::with_capacity(length + 64);
        unescape_into(inside, &mut out, length).map_or_else(|| self.text(), |()| Cow::Owned(owned_text_of(out)))
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

/// A value as it reads, and as it stands in the log: what has to go over it anyway reads it on the way. If it cannot be read, as
/// `{"a":NaN}`, it is the default, and what it stands in loses nothing: as with [`Raw::read`].
#[derive(Debug, Clone, Default)]
pub struct Both<'a, T> {
    /// As it stands in the log.
    pub raw: Raw<'a>,
    /// As it reads.
    pub value: T,
}

/// The name under which [`Reader`] offers itself to read an object, and anything else as [`Deserializer::deserialize_any`] does.
pub(super) const OBJECT: &str = "$agentlogs::object";

/// The name under which [`Reader`] recognises a [`Both`].
const BOTH: &str = "$agentlogs::Both";

impl<'de: 'a, 'a, T: Deserialize<'de> + Default> Deserialize<'de> for Both<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for It<T> {
            type Value = Both<'de, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let value = seq.next_element()?.unwrap_or_default();
                let raw = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                Ok(Both { raw, value })
            }
        }
        deserializer.deserialize_tuple_struct(BOTH, 2, It(PhantomData))
    }
}

/// A position in a buffer that holds JSON.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    level: Level,
    drops_repeated_keys: bool,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
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
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The first byte of the next token, which stays unread.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<u8, Error> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte > b' ' => Ok(*byte),
            _ => self.peek_behind_space(),
        }
    }

    /// Programs that write logs put no white space between tokens.
    #[cold]
    fn peek_behind_space(&mut self) -> Result<u8, Error> {
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

    /// Goes behind the closing quote of the string whose opening quote is at the current position. Gives what stands
    /// between them.
    #[inline]
    fn string_bytes(&mut self) -> Result<Inside<'a>, Error> {
        let start = self.at + 1;
        let inside = match Inside::of_short(self.bytes, start) {
            Some(inside) => inside,
            None => Inside::find(self.level, self.bytes, start).ok_or(Error::CutShort)?,
        };
        self.at += inside.bytes().len() + 2;
        Ok(inside)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Error> {
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
        if let Some(key) = scan::short_key(self.bytes, start) {
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

    /// Hops over one value.
    fn skip(&mut self) -> Result<(), Error> {
        match self.peek()? {
            b'"' => {
                let start = self.at + 1;
                let end = match scan::short_key(self.bytes, start) {
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

    fn skip_scalar(&mut self) -> Result<(), Error> {
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
    fn number(&mut self) -> Result<Number, Error> {
        let rest = &self.bytes[self.at..];
        let Some((number, length)) = usual_number(rest).or_else(|| short_number(rest)) else {
            return self.long_number();
        };
        self.at += length;
        Ok(number)
    }

    fn long_number(&mut self) -> Result<Number, Error> {
        let start = self.at;
        self.skip_scalar()?;
        let text = &self.bytes[start..self.at];
        if !text.iter().any(|it| matches!(it, b'.' | b'e' | b'E'))
            && let Some(number) = std::str::from_utf8(text).ok().and_then(|it| it.parse().ok())
        {
            return Ok(Number::Integer(number));
        }
        // Past 64 bits, a fraction or an exponent; `1e400` becomes infinity, which no field takes.
        fast_float2::parse(text).map(Number::Float).map_err(|_| Error::NotJson(start))
    }
}

/// A number as nearly all are, without a sign, and how many bytes it has: of at most 15 digits what [`short_number`] gives, eight
/// digits at a step; a fraction of more, as sums of money are.
#[inline]
fn usual_number(text: &[u8]) -> Option<(Number, usize)> {
    const MOST: usize = 15;
    let is_end = |at: usize| matches!(text.get(at), Some(b',' | b'}' | b']'));
    let (whole, length) = digits(text)?;
    if length == 0 || length > MOST {
        return None;
    }
    if is_end(length) {
        return Some((Number::Integer(whole), length));
    }
    let [b'.', rest @ ..] = text.get(length..)? else { return None };
    let (number, end) = match digits(rest) {
        Some((fraction, places)) if length + places <= MOST => {
            let power = POWERS.get(places)?;
            // Exact: none of them has more digits than a floating point number.
            ((whole as f64 * power + fraction as f64) / power, length + 1 + places)
        }
        _ => fast_float2::parse_partial(text).ok()?,
    };
    is_end(end).then_some((Number::Float(number), end))
}

/// The value of the digits that a text begins with, and how many they are, if that are less than 16 and eight bytes can be read
/// at each step.
#[inline]
fn digits(text: &[u8]) -> Option<(i64, usize)> {
    const TENS: [i64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let (first, count) = eight_digits(*text.first_chunk()?);
    if count < 8 {
        return Some((first, count));
    }
    let (second, more) = eight_digits(*text.get(8..)?.first_chunk()?);
    Some((first * TENS.get(more)? + second, 8 + more))
}

/// The value of the digits that eight bytes begin with, and how many they are.
#[inline]
fn eight_digits(bytes: [u8; 8]) -> (i64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let values = u64::from_le_bytes(bytes) ^ (EACH * 0x30);
    // What is no digit has a high bit, as it is or when 6 are added. A carry goes to bytes behind it.
    let others = (values | values.wrapping_add(EACH * 6)) & (EACH * 0xF0);
    let count = others.trailing_zeros() / 8;
    if count == 0 {
        return (0, 0);
    }
    // The first digit is in the lowest byte: zeros come before it, and what stands behind the digits leaves.
    let values = values << (64 - 8 * count);
    // Neighbours together: numbers of two digits, of four, of eight.
    let values = (values.wrapping_mul(10) + (values >> 8)) & 0x00FF_00FF_00FF_00FF;
    let values = (values.wrapping_mul(100) + (values >> 16)) & 0x0000_FFFF_0000_FFFF;
    let value = (values.wrapping_mul(10_000) + (values >> 32)) & 0xFFFF_FFFF;
    (value.cast_signed(), count as usize)
}

/// These, and whole numbers below 2^53, are floating point numbers: their quotient is rounded once.
const POWERS: [f64; 15] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// A number as nearly all of logs are, and how many bytes it has: digits that fit 64 bits whatever they are, or a decimal
/// fraction of so few that a division gives it exactly.
#[inline]
fn short_number(text: &[u8]) -> Option<(Number, usize)> {
    const MOST: usize = 18;
    let mut digits = 0;
    let mut length = 0;
    let mut point = None;
    for byte in text {
        match byte {
            b'0'..=b'9' if length < MOST => digits = digits * 10 + i64::from(byte - b'0'),
            b'.' if length > 0 && point.is_none() => point = Some(length),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.' => return None,
            _ => break,
        }
        length += 1;
    }
    let number = match point {
        None if length == 0 => return None,
        None => Number::Integer(digits),
        Some(_) if length > POWERS.len() + 1 => return None,
        Some(point) => Number::Float(digits as f64 / POWERS.get(length - point - 1)?),
    };
    Some((number, length))
}

/// A number as it stands in a log.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// A whole one.
    Integer(i64),
    /// Past 64 bits, a fraction or an exponent.
    Float(f64),
}

impl Number {
    /// As a floating point number.
    pub const fn as_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

/// The text of these bytes; what is no valid Unicode becomes U+FFFD.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    // Validating is several times faster than replacing.
    simdutf8::basic::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// [`text_of`] of bytes that are to be kept.
fn owned_text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|it| String::from_utf8_lossy(it.as_bytes()).into_owned())
}

/// So many bytes are copied without a call; most stretches between escapes have fewer.
const STRETCH: usize = 32;

/// The text behind escapes; a lone surrogate becomes U+FFFD. `None` for an escape that JSON does not know.
pub fn unescape(bytes: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(bytes.len() + STRETCH);
    unescape_into(bytes, &mut out, usize::MAX)?;
    Some(owned_text_of(out))
}

/// Stops behind `length` bytes, at the end of a character or an escape.
fn unescape_into(bytes: &[u8], out: &mut Vec<u8>, length: usize) -> Option<()> {
    let mut at = 0;
    while at < bytes.len() && out.len() < length {
        let rest = &bytes[at..];
        // A stretch beyond the length ends where a character does.
        let mut most = rest.len().min(length - out.len());
        while rest.get(most).is_some_and(|it| it & 0xC0 == 0x80) {
            most += 1;
        }
        let Some(plain) = scan::backslash(&rest[..most]) else {
            out.extend_from_slice(&rest[..most]);
            at += most;
            continue;
        };
        match rest.first_chunk::<STRETCH>().filter(|_| plain <= STRETCH) {
            Some(some) => {
                let end = out.len() + plain;
                out.extend_from_slice(some);
                out.truncate(end);
            }
            None => out.extend_from_slice(&rest[..plain]),
        }
        at += plain + 1;
        let escape = *bytes.get(at)?;
        at += 1;
        let plain = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let first = hex4(bytes.get(at..at + 4)?)?;
                at += 4;
                let mut code = u32::from(first);
                if (0xD800..0xDC00).contains(&first)
                    && bytes.get(at..at + 2) == Some(b"\\u")
                    && let Some(second) = bytes.get(at + 2..at + 6).and_then(hex4)
                    && (0xDC00..0xE000).contains(&second)
                {
                    code = 0x10000 + ((u32::from(first) - 0xD800) << 10) + (u32::from(second) - 0xDC00);
                    at += 6;
                }
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return None,
        };
        out.push(plain);
    }
    Some(())
}

fn hex4(digits: &[u8]) -> Option<u16> {
    let mut value = 0;
    for &digit in digits {
        value = value << 4 | u16::try_from(char::from(digit).to_digit(16)?).ok()?;
    }
    Some(value)
}

/// Hints are filters: a value of another type is skipped and seen as nothing.
macro_rules! only {
    ($($method:ident: $first:pat => $read:ident),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.peek()? {
                $first => self.$read(visitor),
                _ => {
                    self.skip()?;
                    visitor.visit_unit()
                }
            }
        }
    )*};
}

impl<'de> Reader<'de> {
    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn visit_number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.number()? {
            Number::Integer(number) => visitor.visit_i64(number),
            Number::Float(number) => visitor.visit_f64(number),
        }
    }

    fn visit_bool<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let value = self.peek()? == b't';
        self.skip_scalar()?;
        visitor.visit_bool(value)
    }

    fn visit_object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.at += 1;
        let mut items = Items { reader: self, keys: None, close: b'}', first: true, done: false };
        let mut value = visitor.visit_map(&mut items);
        if value.is_ok()
            && let Err(error) = items.finish()
        {
            value = Err(error);
        }
        value
    }

    fn visit_array<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.at += 1;
        let mut items = Items { reader: self, keys: None, close: b']', first: true, done: false };
        let value = visitor.visit_seq(&mut items)?;
        items.finish()?;
        Ok(value)
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek()? {
            b'"' => self.visit_string(visitor),
            b'{' => self.visit_object(visitor),
            b'[' => self.visit_array(visitor),
            b't' | b'f' => self.visit_bool(visitor),
            b'-' | b'0'..=b'9' => self.visit_number(visitor),
            _ => {
                self.skip_scalar()?;
                visitor.visit_unit()
            }
        }
    }

    only! {
        deserialize_bool: b't' | b'f' => visit_bool,
        deserialize_i8: b'-' | b'0'..=b'9' => visit_number,
        deserialize_i16: b'-' | b'0'..=b'9' => visit_number,
        deserialize_i32: b'-' | b'0'..=b'9' => visit_number,
        deserialize_i64: b'-' | b'0'..=b'9' => visit_number,
        deserialize_u8: b'-' | b'0'..=b'9' => visit_number,
        deserialize_u16: b'-' | b'0'..=b'9' => visit_number,
        deserialize_u32: b'-' | b'0'..=b'9' => visit_number,
        deserialize_u64: b'-' | b'0'..=b'9' => visit_number,
        deserialize_f32: b'-' | b'0'..=b'9' => visit_number,
        deserialize_f64: b'-' | b'0'..=b'9' => visit_number,
        deserialize_char: b'"' => visit_string,
        deserialize_str: b'"' => visit_string,
        deserialize_string: b'"' => visit_string,
        deserialize_bytes: b'"' => visit_string,
        deserialize_byte_buf: b'"' => visit_string,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek()? == b'n' {
            self.skip_scalar()?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == OBJECT {
            return if self.peek()? == b'{' { visitor.visit_newtype_struct(self) } else { self.deserialize_any(visitor) };
        }
        if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        self.space();
        let start = self.at;
        self.skip()?;
        visitor.visit_borrowed_bytes(&self.bytes[start..self.at])
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek()? == b'[' {
            self.visit_array(visitor)
        } else {
            self.skip()?;
            visitor.visit_seq(Nothing)
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name != BOTH {
            return self.deserialize_seq(visitor);
        }
        self.space();
        visitor.visit_seq(ReadAndRaw { start: self.at, reader: self, is_read: false })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek()? == b'{' {
            self.visit_object(visitor)
        } else {
            self.skip()?;
            visitor.visit_map(Nothing)
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name != RECORD {
            return self.deserialize_map(visitor);
        }
        if self.peek()? == b'{' {
            visitor.visit_map(Members::new(self))
        } else {
            self.skip()?;
            visitor.visit_unit()
        }
    }

    /// An object whose `type` says what it is, wherever in it that stands; see [`by_type!`](crate::json::wire::by_type).
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.peek()? {
            b'{' => visitor.visit_enum(Typed(self)),
            b'n' => {
                self.skip_scalar()?;
                visitor.visit_none()
            }
            _ => {
                self.skip()?;
                visitor.visit_unit()
            }
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.key()? {
            Cow::Borrowed(key) => visitor.visit_borrowed_bytes(key),
            Cow::Owned(key) => visitor.visit_byte_buf(key),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// The items between two brackets.
struct Items<'r, 'a> {
    reader: &'r mut Reader<'a>,
    /// The keys so far, kept only where repeated ones are dropped.
    keys: Option<HashSet<&'a [u8]>>,
    close: u8,
    first: bool,
    done: bool,
}

impl Items<'_, '_> {
    /// Whether another key follows that did not stand before.
    #[inline]
    fn more_keys(&mut self) -> Result<bool, Error> {
        if self.reader.drops_repeated_keys { self.more_new_keys() } else { self.more() }
    }

    #[cold]
    fn more_new_keys(&mut self) -> Result<bool, Error> {
        while self.more()? {
            if self.reader.peek()? != b'"' {
                return Ok(true);
            }
            let start = self.reader.at;
            let key = self.reader.string_bytes()?.bytes();
            if self.keys.get_or_insert_default().insert(key) {
                self.reader.at = start;
                return Ok(true);
            }
            self.reader.expect(b':')?;
            self.reader.skip()?;
        }
        Ok(false)
    }

    /// Whether another item follows; its comma and the closing bracket are read.
    #[inline]
    fn more(&mut self) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        let byte = self.reader.peek()?;
        if byte == self.close {
            self.reader.at += 1;
            self.done = true;
            return Ok(false);
        }
        if self.first {
            self.first = false;
        } else if byte == b',' {
            self.reader.at += 1;
        } else {
            return Err(Error::NotJson(self.reader.at));
        }
        Ok(true)
    }

    /// Hops over what the visitor left unread.
    fn finish(&mut self) -> Result<(), Error> {
        while self.more()? {
            if self.close == b'}' {
                self.reader.skip()?;
                self.reader.expect(b':')?;
            }
            self.reader.skip()?;
        }
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.more()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for &mut Items<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if self.more_keys()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

/// The parts of a [`Both`]: a value, or none if it cannot be read, and behind it as it stands there.
struct ReadAndRaw<'r, 'a> {
    reader: &'r mut Reader<'a>,
    start: usize,
    is_read: bool,
}

impl<'de> SeqAccess<'de> for ReadAndRaw<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if !std::mem::replace(&mut self.is_read, true) {
            return match seed.deserialize(&mut *self.reader) {
                // All of it is read once more.
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

/// An object whose `type` says what it is.
struct Typed<'r, 'a>(&'r mut Reader<'a>);

impl<'a> Typed<'_, 'a> {
    /// The text of the object's `type`. The object stays unread.
    fn kind(&mut self) -> Result<Option<Cow<'a, str>>, Error> {
        const USUAL: &[u8] = br#"{"type":""#;
        let start = self.0.at;
        if self.0.bytes.get(start..).is_some_and(|it| it.starts_with(USUAL))
            && let Some(kind) = Inside::of_short(self.0.bytes, start + USUAL.len()).and_then(Inside::ascii)
        {
            return Ok(Some(Cow::Borrowed(kind)));
        }
        self.0.at += 1;
        let mut items = Items { reader: self.0, keys: None, close: b'}', first: true, done: false };
        let mut kind = None;
        while kind.is_none() && items.more()? {
            let is_kind = *items.reader.key()? == *b"type";
            items.reader.expect(b':')?;
            if is_kind && items.reader.peek()? == b'"' {
                kind = Some(items.reader.string()?);
            } else {
                items.reader.skip()?;
            }
        }
        self.0.at = start;
        Ok(kind)
    }
}

impl<'de> EnumAccess<'de> for Typed<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Self), Error> {
        let kind = match self.kind()? {
            Some(Cow::Borrowed(kind)) => seed.deserialize(BorrowedStrDeserializer::new(kind)),
            Some(Cow::Owned(kind)) => seed.deserialize(kind.into_deserializer()),
            None => seed.deserialize(().into_deserializer()),
        };
        Ok((kind?, self))
    }
}

impl<'de> VariantAccess<'de> for Typed<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.0.skip()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_map(visitor)
    }
}

/// An object or an array without items, in place of a value of another type.
struct Nothing;

impl<'de> SeqAccess<'de> for Nothing {
    type Error = Error;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, _: T) -> Result<Option<T::Value>, Error> {
        Ok(None)
    }
}

impl<'de> MapAccess<'de> for Nothing {
    type Error = Error;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, _: K) -> Result<Option<K::Value>, Error> {
        Ok(None)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, _: V) -> Result<V::Value, Error> {
        Err(Error::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::error::MAX_DEPTH;

    fn text(json: &str) -> String {
        Raw(json.as_bytes()).text().into_owned()
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for whole in ["0", "-0", "7", "-31", "9007199254740993", "18446744073709551616"] {
            for fraction in ["", ".0", ".5", ".0000000000000000000000001"] {
                for exponent in ["", "e0", "E+5", "e-7", "e308", "e400", "e-400"] {
                    let text = format!("{whole}{fraction}{exponent}");
                    let (read, known): (Option<f64>, Option<f64>) =
                        (from_slice(text.as_bytes()).ok(), text.parse().ok());
                    assert_eq!(read, known, "{text}");
                    // A whole number has no `-0`.
                    let is_whole = fraction.is_empty() && exponent.is_empty();
                    assert!(is_whole || read.map(f64::to_bits) == known.map(f64::to_bits), "{text}");
                }
            }
        }
    }

    #[test]
    fn decimal_fractions_are_those_of_the_standard_library() {
        let mut digits = 1_u64;
        for _ in 0..20_000 {
            digits = digits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let text = digits.to_string();
            for length in 1..=text.len() {
                let point = (digits >> 60) as usize % length;
                let text = format!("{}.{}", &text[..point.max(1)], &text[point..length]);
                assert_eq!(
                    from_slice::<f64>(text.as_bytes()).ok().map(f64::to_bits),
                    text.parse().ok().map(f64::to_bits),
                    "{text}"
                );
            }
        }
    }

    /// Whatever stands behind it.
    #[test]
    fn a_number_in_its_place_is_the_number_by_itself() {
        let mut digits = 1_u64;
        for round in 0..20_000_usize {
            digits = digits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut text = format!("{digits:020}").split_off(round % 20);
            if round % 3 > 0 {
                text.insert(round / 5 % text.len(), ['.', 'x', '-', 'e', ' ', '/', ':', '\u{1}'][round / 3 % 8]);
            }
            for behind in [",\"text\"", "}}}}}}}}}}", "]", "", " ", "7", "e", "\u{fa}", "0.1,0.1,0.1"] {
                let whole = format!("{text}{behind}");
                if let Some(usual) = usual_number(whole.as_bytes()) {
                    let mut reader = Reader::new(whole.as_bytes());
                    let slowly = || reader.long_number().ok().map(|it| (it, reader.at));
                    let expected = short_number(whole.as_bytes()).or_else(slowly);
                    assert_eq!(told_of(Some(usual)), told_of(expected), "{whole}");
                }
            }
            let is_usual = usual_number(format!("{text},\"behind\"").as_bytes()).is_some();
            assert!(is_usual || round % 3 > 0 || text.len() > 15, "{text}");
        }
        let usual = |it: &str| told_of(usual_number(it.as_bytes()));
        assert_eq!(usual("0.000123,      "), Some(("Float(0.000123)".to_owned(), 8)));
        assert_eq!(usual("1234567890.12345,        "), Some(("Float(1234567890.12345)".to_owned(), 16)));
        assert_eq!(usual("200000}}}}"), Some(("Integer(200000)".to_owned(), 6)));
        assert_eq!(usual("0.0051329999999999995,"), Some(("Float(0.0051329999999999995)".to_owned(), 21)));
    }

    fn told_of(number: Option<(Number, usize)>) -> Option<(String, usize)> {
        number.map(|(number, length)| (format!("{number:?}"), length))
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
            input: Both<'a, Option<Vec<i64>>>,
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
