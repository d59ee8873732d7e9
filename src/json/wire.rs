//! Field types for what stands in logs: each takes any JSON value and keeps only what it can use.
//!
//! A record type is a plain struct of these with `#[serde(default)]`: no value of a foreign type, no missing field and no
//! new field makes a record unreadable. See [`crate::json`].

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::base::time::Time;
use crate::json::reader::OBJECT;
use crate::json::Raw;

/// Counts beyond this are no token counts, sizes or durations of one session but a broken writer.
const MAX_COUNT: i64 = 1_000_000_000_000;

/// More dollars than this are a broken writer's.
const MAX_MONEY: f64 = 1e9;

/// A string, borrowed where it can be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// The text; `""` where there is none, so that a `match` on it needs no `Option`.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// The text if it is there and not empty.
    pub fn some(&self) -> Option<&str> {
        self.0.as_deref().filter(|it| !it.is_empty())
    }

    /// [`Self::some`], owned.
    pub fn owned<T: for<'x> From<&'x str>>(&self) -> Option<T> {
        self.some().map(T::from)
    }

    /// Whether a string stands there, even an empty one.
    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// The text as the input holds it.
    pub fn into_inner(self) -> Option<Cow<'a, str>> {
        self.0
    }
}

/// A long string, taken out of the record when it is first asked for: of most, nothing is.
#[derive(Debug, Clone, Default)]
pub struct LateText<'a> {
    raw: Raw<'a>,
    /// The text, where it does not stand in the record as it is.
    unescaped: OnceCell<String>,
}

impl<'a> LateText<'a> {
    /// The text of a value: of a string what it says, of anything else as it stands.
    pub const fn of(raw: Raw<'a>) -> Self {
        Self { raw, unescaped: OnceCell::new() }
    }

    /// The text; `""` where there is none.
    pub fn as_str(&self) -> &str {
        if let Some(text) = self.unescaped.get() {
            return text;
        }
        match self.raw.text() {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => self.unescaped.get_or_init(|| text),
        }
    }

    /// The text if it is there and not empty.
    pub fn some(&self) -> Option<&str> {
        Some(self.as_str()).filter(|it| !it.is_empty())
    }

    /// Whether a string stands there, even an empty one.
    pub const fn is_some(&self) -> bool {
        !self.raw.0.is_empty()
    }

    /// The text as it stands there, with its escapes.
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

impl<'de: 'a, 'a> Deserialize<'de> for LateText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        Ok(Self::of(if raw.0.first() == Some(&b'"') { raw } else { Raw::default() }))
    }
}

/// A number that counts something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Count {
    /// No number stands there.
    #[default]
    Unknown,
    /// From 0 to a trillion.
    Known(i64),
    /// A number that can count nothing: negative, infinite, a fraction, or beyond a trillion.
    Impossible,
}

impl Count {
    /// The count, if it is one.
    pub const fn get(self) -> Option<i64> {
        match self {
            Self::Known(count) => Some(count),
            Self::Unknown | Self::Impossible => None,
        }
    }
}

/// Any number: money, milliseconds with a fraction. One too large for its type is infinite.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Number(pub Option<f64>);

impl Number {
    /// A number that is not negative, rounded.
    pub fn rounded(self) -> Option<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
        self.0.filter(|it| (0.0..MAX_COUNT as f64).contains(it)).map(|it| it.round() as i64)
    }

    /// An amount of money: not negative, and no more than a session can cost.
    pub fn money(self) -> Option<f64> {
        self.0.filter(|it| (0.0..=MAX_MONEY).contains(it))
    }

    /// Whether a number stands where money should and can be none.
    pub fn is_no_money(self) -> bool {
        self.0.is_some() && self.money().is_none()
    }

    /// A whole number of any sign, such as an exit status.
    pub fn whole(self) -> Option<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
        self.0.filter(|it| it.abs() < MAX_COUNT as f64 && it.fract() == 0.0).map(|it| it as i64)
    }
}

/// `true` or `false`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flag(pub Option<bool>);

impl Flag {
    /// Whether it stands there and is true.
    pub fn is_true(self) -> bool {
        self.0 == Some(true)
    }
}

/// An instant, as text or as a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct When(pub Option<Time>);

/// A part that is there, is not there, or is something else than it should be. A lost `usage` has to be noticed.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Maybe<T> {
    /// Absent or null.
    #[default]
    Absent,
    /// An object.
    Present(T),
    /// A value of another type stands in its place.
    Wrong,
}

impl<T> Maybe<T> {
    /// The part, if it is there.
    pub const fn get(&self) -> Option<&T> {
        match self {
            Self::Present(part) => Some(part),
            Self::Absent | Self::Wrong => None,
        }
    }
}

/// An object with free keys, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs<'a, T>(pub Vec<(Cow<'a, str>, T)>);

impl<T> Default for Pairs<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// What many runtimes allow as content: one string, or blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Content<'a, T> {
    /// The one string.
    pub text: Option<Cow<'a, str>>,
    /// The blocks.
    pub blocks: Vec<T>,
}

impl<T> Default for Content<'_, T> {
    fn default() -> Self {
        Self { text: None, blocks: Vec::new() }
    }
}

/// Declares what an object can be, by the text of its `type`: a record of the kind's own fields, or a word for kinds of which
/// nothing is asked, and which are not read. `Absent` is null or not there, `Wrong` no object, `Other` an object of another
/// type or of none.
macro_rules! by_type {
    (
        $(#[$doc:meta])*
        enum $name:ident<$life:lifetime> {
            $($($kind:literal)|+ => $variant:ident $(($record:ty))?,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        enum $name<$life> {
            #[default]
            Absent,
            Wrong,
            Other($crate::json::Raw<$life>),
            $($variant $(($record))?,)+
        }

        impl<'de: $life, $life> serde::Deserialize<'de> for $name<$life> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct It;
                impl<'de> serde::de::Visitor<'de> for It {
                    type Value = $name<'de>;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_none<E>(self) -> Result<Self::Value, E> {
                        Ok($name::Absent)
                    }
                    fn visit_unit<E>(self) -> Result<Self::Value, E> {
                        Ok($name::Wrong)
                    }
                    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, access: A) -> Result<Self::Value, A::Error> {
                        use serde::de::VariantAccess as _;
                        let (kind, object) = access.variant::<$crate::json::wire::Text<'de>>()?;
                        match kind.as_str() {
                            $($($kind)|+ => $crate::json::wire::by_type!(@read $name $variant object $($record)?),)+
                            _ => object.newtype_variant().map($name::Other),
                        }
                    }
                }
                deserializer.deserialize_enum(stringify!($name), &[], It)
            }
        }
    };
    (@read $name:ident $variant:ident $object:ident $record:ty) => {
        $object.newtype_variant().map($name::$variant)
    };
    (@read $name:ident $variant:ident $object:ident) => {
        $object.unit_variant().map(|()| $name::$variant)
    };
}
pub(crate) use by_type;

/// The visits that end in nothing, for a type whose nothing is its default.
macro_rules! nothing {
    () => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    ($($visit:ident($type:ty)),+ $(,)?) => {$(
        fn $visit<E: Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    )+};
}

/// The visits of objects and arrays that hold nothing of use.
macro_rules! nothing_nested {
    () => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It;
        impl<'de> Visitor<'de> for It {
            type Value = Text<'de>;
            nothing!();
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                self.visit_string(text.to_owned())
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(text))))
            }
        }
        deserializer.deserialize_str(It)
    }
}

impl From<i64> for Count {
    fn from(number: i64) -> Self {
        if (0..=MAX_COUNT).contains(&number) { Self::Known(number) } else { Self::Impossible }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It;
        impl Visitor<'_> for It {
            type Value = Count;
            nothing!();
            fn visit_i64<E: Error>(self, number: i64) -> Result<Count, E> {
                Ok(number.into())
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Count, E> {
                Ok(Number(Some(number)).whole().filter(|it| *it >= 0).map_or(Count::Impossible, Count::Known))
            }
        }
        deserializer.deserialize_i64(It)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It;
        impl Visitor<'_> for It {
            type Value = Number;
            nothing!();
            fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
                self.visit_f64(number as f64)
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
                Ok(Number(Some(number)))
            }
        }
        deserializer.deserialize_f64(It)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It;
        impl Visitor<'_> for It {
            type Value = Flag;
            nothing!();
            fn visit_bool<E: Error>(self, value: bool) -> Result<Flag, E> {
                Ok(Flag(Some(value)))
            }
        }
        deserializer.deserialize_bool(It)
    }
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It;
        impl<'de> Visitor<'de> for It {
            type Value = When;
            nothing!();
            nothing!(visit_bool(bool));
            nothing_nested!();
            fn visit_str<E: Error>(self, text: &str) -> Result<When, E> {
                Ok(When(Time::parse(text)))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<When, E> {
                self.visit_f64(number as f64)
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<When, E> {
                Ok(When(Time::from_number(number)))
            }
        }
        deserializer.deserialize_any(It)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for It<T> {
            type Value = Maybe<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_unit<E: Error>(self) -> Result<Maybe<T>, E> {
                Ok(Maybe::Absent)
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, object: D) -> Result<Maybe<T>, D::Error> {
                T::deserialize(object).map(Maybe::Present)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Maybe<T>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Maybe::Wrong)
            }
            fn visit_bool<E: Error>(self, _: bool) -> Result<Maybe<T>, E> {
                Ok(Maybe::Wrong)
            }
            fn visit_i64<E: Error>(self, _: i64) -> Result<Maybe<T>, E> {
                Ok(Maybe::Wrong)
            }
            fn visit_f64<E: Error>(self, _: f64) -> Result<Maybe<T>, E> {
                Ok(Maybe::Wrong)
            }
            fn visit_str<E: Error>(self, _: &str) -> Result<Maybe<T>, E> {
                Ok(Maybe::Wrong)
            }
        }
        deserializer.deserialize_newtype_struct(OBJECT, It(PhantomData))
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

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Content<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for It<T> {
            type Value = Content<'de, T>;
            nothing!();
            nothing!(visit_bool(bool), visit_i64(i64), visit_f64(f64));
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content { text: Some(Cow::Borrowed(text)), blocks: Vec::new() })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                self.visit_string(text.to_owned())
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Content { text: Some(Cow::Owned(text)), blocks: Vec::new() })
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, object: D) -> Result<Self::Value, D::Error> {
                Ok(Content { text: None, blocks: vec![T::deserialize(object)?] })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::with_capacity(seq.size_hint().unwrap_or(1));
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content { text: None, blocks })
            }
        }
        deserializer.deserialize_newtype_struct(OBJECT, It(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Record<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        count: Count,
        number: Number,
        flag: Flag,
        when: When,
        usage: Maybe<Part>,
        #[serde(borrow)]
        models: Pairs<'a, Part>,
        #[serde(borrow)]
        content: Content<'a, Part>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Part {
        n: Count,
    }

    /// Each field against each kind of value: the record is always read, the right kind is kept.
    #[test]
    fn every_field_takes_every_value() {
        for value in ["null", "true", "7", "-1.5", "1e400", r#""x""#, r#""\u0041""#, r#"[1,{"n":2}]"#, r#"{"n":3}"#] {
            for field in ["text", "count", "number", "flag", "when", "usage", "models", "content", "unknown"] {
                let line = format!(r#"{{"{field}":{value},"text":"still read"}}"#);
                let line = if field == "text" { format!(r#"{{"{field}":{value}}}"#) } else { line };
                let record: Record<'_> = json::from_slice(line.as_bytes()).unwrap_or_else(|it| panic!("{line}: {it}"));
                assert!(field == "text" || record.text.as_str() == "still read", "{line}");
            }
        }
    }

    #[test]
    fn the_right_kind_is_kept() {
        let record: Record<'_> = json::from_slice(
            br#"{"text":"a","count":7,"number":0.5,"flag":true,"when":1791194400000,"usage":{"n":1},"models":{"m":{"n":2}},"content":[{"n":3}]}"#,
        )
        .unwrap();
        assert_eq!((record.text.as_str(), record.count, record.number.0), ("a", Count::Known(7), Some(0.5)));
        assert!(record.flag.is_true() && record.when.0.is_some());
        assert_eq!(record.usage, Maybe::Present(Part { n: Count::Known(1) }));
        assert_eq!(record.models.0, [(Cow::Borrowed("m"), Part { n: Count::Known(2) })]);
        assert_eq!(record.content.blocks, [Part { n: Count::Known(3) }]);
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

    /// Wherever the type stands, whatever stands in the object's place, and what follows is read.
    #[test]
    fn an_object_is_read_as_what_its_type_says() {
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

    #[test]
    fn what_can_be_no_money_is_noticed() {
        for (json, expected) in [("0", Some(0.0)), ("0.25", Some(0.25)), ("-3", None), ("1e400", None), ("2e9", None)] {
            let number: Number = json::from_slice(json.as_bytes()).unwrap();
            assert_eq!((number.money(), number.is_no_money()), (expected, expected.is_none()), "{json}");
            assert!(number.rounded().is_none_or(|it| it >= 0), "{json}");
        }
        assert!(!Number(None).is_no_money());
    }

    #[test]
    fn what_can_count_nothing_is_impossible() {
        for (json, expected) in [
            ("0", Count::Known(0)),
            ("3.0", Count::Known(3)),
            ("null", Count::Unknown),
            (r#""5""#, Count::Unknown),
            ("-5", Count::Impossible),
            ("1.5", Count::Impossible),
            ("1e400", Count::Impossible),
            ("99999999999999999999", Count::Impossible),
            ("9223372036854775807", Count::Impossible),
        ] {
            assert_eq!(json::from_slice::<Count>(json.as_bytes()), Ok(expected), "{json}");
        }
    }
}
