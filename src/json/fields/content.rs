//! Objects with arbitrary keys, and content that is a string or a list.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::json::fields::scalar::{Text, nothing};
use crate::json::items::OBJECT;

/// An object with arbitrary keys, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs<'a, T>(pub Vec<(Cow<'a, str>, T)>);

impl<T> Default for Pairs<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// The content of a message: one string, or blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOrBlocks<'a, T> {
    /// The one string.
    pub text: Option<Cow<'a, str>>,
    /// The blocks.
    pub blocks: Vec<T>,
}

impl<T> TextOrBlocks<'_, T> {
    /// The one string, or the texts of the blocks.
    pub fn joined<'t>(&'t self, text: impl Fn(&'t T) -> &'t str) -> String {
        self.text.as_deref().into_iter().chain(self.blocks.iter().map(text)).collect()
    }
}

impl<T> Default for TextOrBlocks<'_, T> {
    fn default() -> Self {
        Self { text: None, blocks: Vec::new() }
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Pairs<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for It<T> {
            type Value = Pairs<'de, T>;
            nothing!();
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de, T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<Text<'de>, T>()? {
                    pairs.push((key.0.unwrap_or_default(), value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(It(PhantomData))
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for TextOrBlocks<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for It<T> {
            type Value = TextOrBlocks<'de, T>;
            nothing!();
            nothing!(visit_bool(bool), visit_i64(i64), visit_f64(f64));
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(TextOrBlocks { text: Some(Cow::Borrowed(text)), blocks: Vec::new() })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                self.visit_string(text.to_owned())
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(TextOrBlocks { text: Some(Cow::Owned(text)), blocks: Vec::new() })
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, object: D) -> Result<Self::Value, D::Error> {
                Ok(TextOrBlocks { text: None, blocks: vec![T::deserialize(object)?] })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::with_capacity(seq.size_hint().unwrap_or(1));
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(TextOrBlocks { text: None, blocks })
            }
        }
        deserializer.deserialize_newtype_struct(OBJECT, It(PhantomData))
    }
}
