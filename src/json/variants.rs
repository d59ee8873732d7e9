//! `by_type!`: records that are one of several kinds, selected by their `type`.

use std::borrow::Cow;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer as _, EnumAccess, IntoDeserializer, VariantAccess, Visitor};

use crate::json::error::Error;
use crate::json::items::Items;
use crate::json::reader::Reader;
use crate::json::short::Inside;

/// Declares an enum of records, selected by the text of their `type`. A variant without a record is skipped. `Absent` is null or
/// missing, `Wrong` is not an object, `Other` is an object of another type or without one.
macro_rules! by_type {
    (
        $(#[$doc:meta])*
        $vis:vis enum $name:ident<$life:lifetime> {
            $($($kind:literal)|+ => $variant:ident $(($record:ty))?,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        $vis enum $name<$life> {
            #[default]
            Absent,
            Wrong,
            Other($crate::json::Raw<$life>),
            $($variant $(($record))?,)+
        }

        impl<'de: $life, $life> serde::Deserialize<'de> for $name<$life> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut value = Self::default();
                Self::deserialize_in_place(deserializer, &mut value)?;
                Ok(value)
            }

            fn deserialize_in_place<D: serde::Deserializer<'de>>(deserializer: D, place: &mut Self) -> Result<(), D::Error> {
                struct It<'p, $life>(&'p mut $name<$life>);
                impl<'de: $life, $life> serde::de::Visitor<'de> for It<'_, $life> {
                    type Value = ();
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_none<E>(self) -> Result<(), E> {
                        *self.0 = $name::Absent;
                        Ok(())
                    }
                    fn visit_unit<E>(self) -> Result<(), E> {
                        *self.0 = $name::Wrong;
                        Ok(())
                    }
                    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, access: A) -> Result<(), A::Error> {
                        use serde::de::VariantAccess as _;
                        let (kind, object) = access.variant::<$crate::json::fields::Text<'de>>()?;
                        match kind.as_str() {
                            $($($kind)|+ => $crate::json::fields::by_type!(@read self $name $variant object $($record)?),)+
                            _ => object.newtype_variant().map(|object| *self.0 = $name::Other(object)),
                        }
                    }
                }
                deserializer.deserialize_enum(stringify!($name), &[], It(place))
            }
        }
    };
    // Records are large: they are read in place, without a copy.
    (@read $visitor:ident $name:ident $variant:ident $object:ident $record:ty) => {{
        *$visitor.0 = $name::$variant(Default::default());
        match $visitor.0 {
            $name::$variant(record) => $object.newtype_variant_seed($crate::json::in_place::InPlace(record)),
            _ => Ok(()),
        }
    }};
    (@read $visitor:ident $name:ident $variant:ident $object:ident) => {
        $object.unit_variant().map(|()| *$visitor.0 = $name::$variant)
    };
}
pub(crate) use by_type;

/// An object that contains a `type`.
pub(super) struct Typed<'r, 'a>(pub(super) &'r mut Reader<'a>);

impl<'a> Typed<'_, 'a> {
    /// The text of the object's `type`. The position of the reader does not change.
    fn kind(&mut self) -> Result<Option<Cow<'a, str>>, Error> {
        const USUAL: &[u8] = br#"{"type":""#;
        let start = self.0.at;
        if self.0.bytes.get(start..).is_some_and(|it| it.starts_with(USUAL))
            && let Some(kind) = Inside::of_short(self.0.bytes, start + USUAL.len()).and_then(Inside::ascii)
        {
            return Ok(Some(Cow::Borrowed(kind)));
        }
        self.0.at += 1;
        let mut items = Items::new(self.0, b'}');
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

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use crate::json;
    use crate::json::fields::{Count, Text};

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Part {
        n: Count,
    }

    by_type! {
        enum Shape<'a> {
            "circle" | "disc" => Circle(Part),
            "point" => Point,
            "named" => Named(Named<'a>),
        }
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Text<'a>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Drawing<'a> {
        #[serde(borrow)]
        shape: Shape<'a>,
        n: Count,
    }

    /// The position of the type does not matter, nor does a value of another type; the rest of the record is read.
    #[test]
    fn the_type_selects_the_record() {
        for (json, expected) in [
            (r#"{"type":"circle","n":2}"#, "circle Known(2)"),
            (r#"{"n":2,"x":{"type":"point"},"type" : "disc"}"#, "circle Known(2)"),
            (r#"{"n":2,"type":"c\u0069rcle","type":"point"}"#, "circle Known(2)"),
            (r#"{"type":7,"n":2,"type":"point"}"#, "Point"),
            (r#"{"ty\u0070e":"point"}"#, "Point"),
            (r#"{"type":"point","n":[{"n":"}"}]}"#, "Point"),
            (r#"{"type":"named","name":"a"}"#, "named a"),
            (r#"{"type":"square"}"#, "Other"),
            (r#"{"n":2}"#, "Other"),
            ("{}", "Other"),
            ("null", "Absent"),
            (r#""circle""#, "Wrong"),
            ("[{}]", "Wrong"),
            ("7", "Wrong"),
        ] {
            let line = format!(r#"{{"shape":{json},"n":1}}"#);
            let drawing: Drawing<'_> = json::from_slice(line.as_bytes()).unwrap_or_else(|it| panic!("{line}: {it}"));
            let shape = match drawing.shape {
                Shape::Other(raw) => {
                    assert_eq!(raw.0, json.as_bytes());
                    "Other".to_owned()
                }
                Shape::Circle(it) => format!("circle {:?}", it.n),
                Shape::Named(it) => format!("named {}", it.name.as_str()),
                shape => format!("{shape:?}"),
            };
            assert_eq!((shape.as_str(), drawing.n), (expected, Count::Known(1)), "{line}");
        }
        assert!(json::from_slice::<Drawing<'_>>(br#"{"shape":{"type":"point""#).is_err());
        assert!(json::from_slice::<Drawing<'_>>(br#"{"n":1}"#).is_ok_and(|it| matches!(it.shape, Shape::Absent)));
    }
}
