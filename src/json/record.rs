//! `record!`: a struct for the records of one kind, read in the order in which its members are usually written.
//!
//! Programs write the members of a record in the same order each time. `record!` declares the fields in that order and
//! implements `Deserialize` accordingly: a key in its expected position costs two comparisons with constants, and an absent one costs
//! one. A key in another position is found by its name, and reading in order begins again after it. Members may be absent, unknown or
//! in any order, and of a repeated key the first counts: the result never depends on the order.
//!
//! A struct with `#[derive(Deserialize)]` and `#[serde(default)]` gives the same results, and both kinds can contain each other.
//! `record!` is for records of which a log contains thousands: with `derive` for all of them, parsing and reconciliation would
//! take an estimated 9 % (Codex) to 20 % (pi) more instructions.
//!
//! The macro calls the reader through serde's traits. `read_record` asks for a struct with the name `RECORD`; the reader then
//! provides `Members`, of which `peek_key`, `take_key`, `next_key`, `read` and `skip` are the operations.

#![expect(clippy::inline_always, reason = "a call would compare the key byte by byte, not with a constant")]

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::json::error::Error;
use crate::json::in_place::InPlace;
use crate::json::reader::Reader;

/// Declares a struct that is read from a JSON object: each field with the key of its member, in the usual order of the members.
///
/// ```ignore
/// record! {
///     struct Message<'a> {
///         "model" => model: Text<'a>,
///         "type" => _type: Skip,       // written between the others, but not used
///         "usage" => usage: Usage<'a>, // a record, or any other type that implements `Deserialize`
///     }
/// }
/// ```
///
/// A field whose member is absent, or whose record is not an object, has its default value.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? {
            $($(#[$field_meta:meta])* $key:literal => $field_vis:vis $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        $vis struct $name $(<$life>)? {
            $($(#[$field_meta])* $field_vis $field: $type,)+
        }

        impl<'de $(: $life, $life)?> $crate::json::record::Record<'de> for $name $(<$life>)? {
            #[inline]
            fn read_members<M: serde::de::MapAccess<'de>>(&mut self, members: &mut M) -> Result<(), M::Error> {
                use $crate::json::record::{first_bytes, next_key, peek_key, read, skip, take_key};

                const { assert!([$($key),+].len() <= 64, "a record has at most 64 members") };
                // One bit for each field that has been read.
                let mut seen = 0_u64;
                'members: loop {
                    'fields: {
                        let mut bit = 1_u64;
                        // Most fields are not the next member, which their first bytes show.
                        let mut first = peek_key(members)?;
                        $(
                            if first == const { first_bytes(concat!($key, "\":")) }
                                && seen & bit == 0
                                && take_key(members, concat!('"', $key, "\":"))?
                            {
                                read(members, &mut self.$field)?;
                                seen |= bit;
                                // Most records end before the last fields.
                                if members.size_hint() == Some(0) {
                                    break 'fields;
                                }
                                first = peek_key(members)?;
                            }
                            bit <<= 1;
                        )+
                        let _ = bit;
                    }
                    let Some(key) = next_key(members)? else { return Ok(()) };
                    let mut bit = 1_u64;
                    $(
                        if *key == *$key.as_bytes() && seen & bit == 0 {
                            read(members, &mut self.$field)?;
                            seen |= bit;
                            continue 'members;
                        }
                        bit <<= 1;
                    )+
                    let _ = bit;
                    skip(members)?;
                }
            }
        }

        impl<'de $(: $life, $life)?> serde::Deserialize<'de> for $name $(<$life>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut record = Self::default();
                $crate::json::record::read_record(deserializer, &mut record)?;
                Ok(record)
            }

            #[inline]
            fn deserialize_in_place<D: serde::Deserializer<'de>>(
                deserializer: D,
                record: &mut Self,
            ) -> Result<(), D::Error> {
                $crate::json::record::read_record(deserializer, record)
            }
        }
    };
}
pub(crate) use record;

/// What [`record!`] implements besides `Deserialize`.
pub(crate) trait Record<'de> {
    /// Reads the members of an object into the fields.
    fn read_members<M: MapAccess<'de>>(&mut self, members: &mut M) -> Result<(), M::Error>;
}

/// The name under which [`Reader`] recognises a record: it then offers [`Members`].
pub(super) const RECORD: &str = "$agentlogs::record";

/// Reads an object into a record. The record is unchanged if another value comes, which is skipped.
#[inline]
pub(crate) fn read_record<'de, D: Deserializer<'de>>(
    deserializer: D,
    record: &mut impl Record<'de>,
) -> Result<(), D::Error> {
    struct Into<'r, R>(&'r mut R);
    impl<'de, R: Record<'de>> Visitor<'de> for Into<'_, R> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object, offered as a record")
        }
        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }
        #[inline]
        fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
            self.0.read_members(&mut members)
        }
    }
    deserializer.deserialize_struct(RECORD, &[], Into(record))
}

/// The first four bytes of a key with its closing quote and colon, as a number. 0 for a shorter one, which is found by its name.
pub(crate) const fn first_bytes(key: &str) -> u32 {
    match key.as_bytes().first_chunk() {
        Some(first) => u32::from_le_bytes(*first),
        None => 0,
    }
}

/// [`first_bytes`] of the next key, if it is where [`take_key`] finds it, else 0.
#[inline(always)]
pub(crate) fn peek_key<'de, M: MapAccess<'de>>(members: &mut M) -> Result<u32, M::Error> {
    struct First;
    impl<'de> DeserializeSeed<'de> for First {
        type Value = u32;
        #[inline(always)]
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
            deserializer.deserialize_u32(self)
        }
    }
    impl Visitor<'_> for First {
        type Value = u32;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the first bytes of the next key")
        }
        #[inline(always)]
        fn visit_u32<E>(self, first: u32) -> Result<u32, E> {
            Ok(first)
        }
    }
    members.next_key_seed(First).map(Option::unwrap_or_default)
}

/// Whether `quoted`, a key with its quotes and colon, comes next. If so, it is consumed.
#[inline(always)]
pub(crate) fn take_key<'de, M: MapAccess<'de>>(members: &mut M, quoted: &'static str) -> Result<bool, M::Error> {
    struct Expected(&'static str);
    impl<'de> DeserializeSeed<'de> for Expected {
        type Value = bool;
        #[inline(always)]
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
            deserializer.deserialize_unit_struct(self.0, self)
        }
    }
    impl Visitor<'_> for Expected {
        type Value = bool;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("whether the key comes next")
        }
        #[inline(always)]
        fn visit_bool<E>(self, comes_next: bool) -> Result<bool, E> {
            Ok(comes_next)
        }
    }
    members.next_key_seed(Expected(quoted)).map(|comes_next| comes_next == Some(true))
}

/// The next key, in any spelling and after any white space. `None` after the last member.
pub(crate) fn next_key<'de, M: MapAccess<'de>>(members: &mut M) -> Result<Option<Cow<'de, [u8]>>, M::Error> {
    struct AnyKey;
    impl<'de> DeserializeSeed<'de> for AnyKey {
        type Value = Option<Cow<'de, [u8]>>;
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_identifier(self)
        }
    }
    impl<'de> Visitor<'de> for AnyKey {
        type Value = Option<Cow<'de, [u8]>>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a key, or the end of the object")
        }
        fn visit_borrowed_bytes<E>(self, key: &'de [u8]) -> Result<Self::Value, E> {
            Ok(Some(Cow::Borrowed(key)))
        }
        fn visit_byte_buf<E>(self, key: Vec<u8>) -> Result<Self::Value, E> {
            Ok(Some(Cow::Owned(key)))
        }
        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    members.next_key_seed(AnyKey).map(Option::flatten)
}

/// Reads the value of the key before it into a field.
#[inline(always)]
pub(crate) fn read<'de, M: MapAccess<'de>, T: Deserialize<'de>>(
    members: &mut M,
    field: &mut T,
) -> Result<(), M::Error> {
    members.next_value_seed(InPlace(field))
}

/// Skips the value of the key before it.
pub(crate) fn skip<'de, M: MapAccess<'de>>(members: &mut M) -> Result<(), M::Error> {
    members.next_value::<IgnoredAny>().map(drop)
}

/// A member that is usually written, and not used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skip;

impl<'de> Deserialize<'de> for Skip {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// The members of an object as [`record!`] reads them. A key is asked for as a unit struct of its name ([`take_key`]), as any
/// identifier ([`next_key`]), or as the number of its first bytes ([`peek_key`]).
pub(super) struct Members<'r, 'de> {
    reader: &'r mut Reader<'de>,
    /// The byte before the next key: `{`, then `,`.
    separator: u8,
}

impl<'r, 'de> Members<'r, 'de> {
    /// The members of the object whose bracket is the next byte.
    pub(super) const fn new(reader: &'r mut Reader<'de>) -> Self {
        Self { reader, separator: b'{' }
    }

    #[inline(always)]
    fn peek(&self) -> u32 {
        match self.reader.rest() {
            [separator, b'"', first @ ..] if *separator == self.separator => {
                first.first_chunk().map_or(0, |first| u32::from_le_bytes(*first))
            }
            _ => 0,
        }
    }

    #[inline(always)]
    fn take(&mut self, quoted: &str) -> bool {
        let comes_next = match self.reader.rest() {
            [separator, rest @ ..] => *separator == self.separator && rest.starts_with(quoted.as_bytes()),
            [] => false,
        };
        if comes_next {
            self.reader.advance(1 + quoted.len());
            self.separator = b',';
        }
        comes_next
    }

    /// Whether the bracket that ends the object is the next byte.
    #[inline(always)]
    fn is_at_end(&self) -> bool {
        self.separator == b',' && self.reader.rest().first() == Some(&b'}')
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Cow<'de, [u8]>>, Error> {
        if self.is_at_end() {
            self.reader.advance(1);
            return Ok(None);
        }
        self.next_anywhere()
    }

    fn next_anywhere(&mut self) -> Result<Option<Cow<'de, [u8]>>, Error> {
        let mut byte = self.reader.peek()?;
        let is_first = self.separator == b'{';
        if is_first {
            self.reader.advance(1);
            byte = self.reader.peek()?;
        }
        if byte == b'}' {
            self.reader.advance(1);
            return Ok(None);
        }
        if !is_first {
            self.reader.expect(b',')?;
        }
        self.separator = b',';
        let key = self.reader.key()?;
        self.reader.expect(b':')?;
        Ok(Some(key))
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Error;

    /// `Some(0)` at the end, else unknown.
    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        self.is_at_end().then_some(0)
    }

    #[inline(always)]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        seed.deserialize(Keys(self)).map(Some)
    }

    #[inline(always)]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
}

/// The keys of [`Members`].
struct Keys<'m, 'r, 'de>(&'m mut Members<'r, 'de>);

impl<'de> Deserializer<'de> for Keys<'_, '_, 'de> {
    type Error = Error;

    #[inline(always)]
    fn deserialize_unit_struct<V: Visitor<'de>>(self, quoted: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.0.take(quoted))
    }

    #[inline(always)]
    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(self.0.peek())
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.next()? {
            Some(Cow::Borrowed(key)) => visitor.visit_borrowed_bytes(key),
            Some(Cow::Owned(key)) => visitor.visit_byte_buf(key),
            None => visitor.visit_none(),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u64 f32 f64 char str string bytes byte_buf option unit newtype_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
