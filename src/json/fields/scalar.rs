//! Fields of a single value: text, numbers, flags, times, and objects that may be absent.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::base::time::Time;
use crate::json::items::OBJECT;

/// Larger counts are an error of the program that wrote them: no session has so many tokens, bytes or milliseconds.
const MAX_COUNT: i64 = 1_000_000_000_000;

/// More US dollars are an error of the program that wrote them.
const MAX_MONEY: f64 = 1e9;

/// A string, borrowed if it contains no escapes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// The text; `""` if it is absent, so that a `match` on it needs no `Option`.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// The text, unless it is absent or empty.
    pub fn some(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// [`Self::some`], owned.
    pub fn owned<T: for<'x> From<&'x str>>(&self) -> Option<T> {
        self.some().map(T::from)
    }

    /// Whether it is present, even if empty.
    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// The text, borrowed or owned.
    pub fn into_inner(self) -> Option<Cow<'a, str>> {
        self.0
    }
}

/// A number that counts something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Count {
    /// The member is absent, or neither a number nor the digits of one.
    #[default]
    Unknown,
    /// From 0 to a trillion.
    Known(i64),
    /// Not a count: negative, infinite, a fraction, or beyond a trillion.
    Impossible,
}

impl Count {
    /// The count, if it is known.
    pub const fn get(self) -> Option<i64> {
        match self {
            Self::Known(count) => Some(count),
            Self::Unknown | Self::Impossible => None,
        }
    }
}

/// Any number, such as money or milliseconds with a fraction. Infinite if it exceeds `f64`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Number(pub Option<f64>);

impl Number {
    /// The number, rounded, if it is not negative.
    pub fn rounded(self) -> Option<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
        self.0.filter(|it| (0.0..MAX_COUNT as f64).contains(it)).map(|it| it.round() as i64)
    }

    /// An amount of US dollars: not negative, and no more than a session can cost.
    pub fn money(self) -> Option<f64> {
        self.0.filter(|it| (0.0..=MAX_MONEY).contains(it))
    }

    /// Whether it is a number, but not an amount of money.
    pub fn is_no_money(self) -> bool {
        self.0.is_some() && self.money().is_none()
    }

    /// The number if it is whole, of any sign, such as an exit status.
    pub fn whole(self) -> Option<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
        self.0.filter(|it| it.abs() < MAX_COUNT as f64 && it.fract() == 0.0).map(|it| it as i64)
    }
}

/// `true` or `false`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flag(pub Option<bool>);

impl Flag {
    /// Whether it is present and true.
    pub fn is_true(self) -> bool {
        self.0 == Some(true)
    }
}

/// A point in time, as text or as a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct When(pub Option<Time>);

/// An object that may be absent or of the wrong type, which are distinguished: a lost `usage` is counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Maybe<T> {
    /// Absent or null.
    #[default]
    Absent,
    /// An object.
    Present(T),
    /// A value of another type.
    Wrong,
}

impl<T> Maybe<T> {
    /// The object, if it is present.
    pub const fn get(&self) -> Option<&T> {
        match self {
            Self::Present(part) => Some(part),
            Self::Absent | Self::Wrong => None,
        }
    }
}

/// The visits that return the default.
macro_rules! nothing {
    () => {
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

pub(super) use nothing;

/// The visits of objects and arrays that return the default.
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
    // Most fields are texts, and most texts are short: a call would take as long as reading one.
    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It;
        impl<'de> Visitor<'de> for It {
            type Value = Text<'de>;
            nothing!();
            #[inline]
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
    #[inline]
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
            /// Digits; programs that keep numbers of 64 bits apart from others write them so.
            fn visit_str<E: Error>(self, text: &str) -> Result<Count, E> {
                let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                Ok(if is_number { text.parse().map_or(Count::Impossible, i64::into) } else { Count::Unknown })
            }
        }
        deserializer.deserialize_i64(It)
    }
}

impl<'de> Deserialize<'de> for Number {
    #[inline]
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
    #[inline]
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
    #[inline]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::json::fields::{Pairs, TextOrBlocks};

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
        content: TextOrBlocks<'a, Part>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Part {
        n: Count,
    }

    /// Each field with each type of value: the record is always read.
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

    #[test]
    fn impossible_amounts_of_money_are_noticed() {
        for (json, expected) in [("0", Some(0.0)), ("0.25", Some(0.25)), ("-3", None), ("1e400", None), ("2e9", None)] {
            let number: Number = json::from_slice(json.as_bytes()).unwrap();
            assert_eq!((number.money(), number.is_no_money()), (expected, expected.is_none()), "{json}");
            assert!(number.rounded().is_none_or(|it| it >= 0), "{json}");
        }
        assert!(!Number(None).is_no_money());
    }

    #[test]
    fn impossible_counts_are_noticed() {
        for (json, expected) in [
            ("0", Count::Known(0)),
            ("3.0", Count::Known(3)),
            ("null", Count::Unknown),
            (r#""5""#, Count::Known(5)),
            (r#""99999999999999999999""#, Count::Impossible),
            (r#""5 tokens""#, Count::Unknown),
            (r#""""#, Count::Unknown),
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
