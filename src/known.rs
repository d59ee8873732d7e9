//! Numbers of rows that may be unknown. There are millions of them: one takes no more memory than a number that is known.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of which one value stands for none.
pub trait Number: Copy + Eq {
    /// That value. No log tells it.
    const NONE: Self;
    /// What is kept in its place if one does.
    const NEAREST: Self;
}

impl Number for i64 {
    const NONE: Self = Self::MIN;
    const NEAREST: Self = Self::MIN + 1;
}

impl Number for usize {
    const NONE: Self = Self::MAX;
    const NEAREST: Self = Self::MAX - 1;
}

/// What is known of a number: an `Option` of it, half as large.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Known<T>(T);

impl<T: Number> Known<T> {
    /// Nothing.
    pub const NOTHING: Self = Self(T::NONE);

    /// The number; `None` if it is unknown.
    #[inline]
    pub fn get(self) -> Option<T> {
        (self.0 != T::NONE).then_some(self.0)
    }

    /// Whether it is unknown.
    pub fn is_none(self) -> bool {
        self.0 == T::NONE
    }
}

impl<T: Number> Default for Known<T> {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl<T: Number> From<T> for Known<T> {
    #[inline]
    fn from(number: T) -> Self {
        Self(if number == T::NONE { T::NEAREST } else { number })
    }
}

impl<T: Number> From<Option<T>> for Known<T> {
    #[inline]
    fn from(number: Option<T>) -> Self {
        number.map_or(Self::NOTHING, Self::from)
    }
}

impl<T: Number + fmt::Debug> fmt::Debug for Known<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(formatter)
    }
}

impl<T: Number + Serialize> Serialize for Known<T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de, T: Number + Deserialize<'de>> Deserialize<'de> for Known<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::from)
    }
}
