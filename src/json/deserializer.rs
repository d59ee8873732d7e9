//! The serde deserializer: from tokens of [`Reader`] to the types that records declare.

#![cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "the range of a value was found in these bytes"))]

use std::borrow::Cow;

use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use crate::json::error::Error;
use crate::json::items::{Items, OBJECT};
use crate::json::number::Number;
use crate::json::raw::{BOTH, RAW, ReadAndRaw};
use crate::json::reader::Reader;
use crate::json::record::{Members, RECORD};
use crate::json::variants::Typed;

/// The requested type is a filter: a value of another type is skipped, and the visitor gets a unit.
macro_rules! only {
    ($($method:ident: $first:pat => $read:ident),* $(,)?) => {$(
        #[inline]
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
    #[inline]
    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.short_string() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => self.visit_any_string(visitor),
        }
    }

    fn visit_any_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
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

    #[inline]
    fn visit_bool<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let (value, length) = match self.rest() {
            [b't', b'r', b'u', b'e', b',' | b'}', ..] => (true, 4),
            [b'f', b'a', b'l', b's', b'e', b',' | b'}', ..] => (false, 5),
            rest => (rest.first() == Some(&b't'), 0),
        };
        match length {
            0 => self.skip_scalar()?,
            length => self.advance(length),
        }
        visitor.visit_bool(value)
    }

    fn visit_object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.at += 1;
        let mut items = Items::new(self, b'}');
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
        let mut items = Items::new(self, b']');
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

    /// Some programs write whole numbers as texts.
    #[inline]
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => self.visit_number(visitor),
            b'"' => self.visit_any_string(visitor),
            _ => {
                self.skip()?;
                visitor.visit_unit()
            }
        }
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

    // Inlined, because the names are constants of the caller.
    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == OBJECT {
            return if self.peek()? == b'{' {
                visitor.visit_newtype_struct(self)
            } else {
                self.deserialize_any(visitor)
            };
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

    #[inline]
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
        visitor.visit_seq(ReadAndRaw::new(self))
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

    /// An object that contains a `type`: see [`by_type!`](crate::json::variants::by_type).
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

/// An empty object or array, in place of a value of another type.
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
