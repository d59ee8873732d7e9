//! An `Option` of a number, in the memory of the number. Rows contain millions of them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number with one value that means `None`.
pub trait Number: Copy + Eq {
    /// That value. It is not a count, size, duration or exit status.
    const NONE: Self;
    /// The value that replaces it if a log contains it.
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

/// An `Option` of a number, half as large.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CompactOption<T>(T);

impl<T: Number> CompactOption<T> {
    /// `None`.
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

impl<T: Number> Default for CompactOption<T> {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl<T: Number> From<T> for CompactOption<T> {
    #[inline]
    fn from(number: T) -> Self {
        Self(if number == T::NONE { T::NEAREST } else { number })
    }
}

impl<T: Number> From<Option<T>> for CompactOption<T> {
    #[inline]
    fn from(number: Option<T>) -> Self {
        number.map_or(Self::NOTHING, Self::from)
    }
}

impl<T: Number + fmt::Debug> fmt::Debug for CompactOption<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(formatter)
    }
}

impl<T: Number + Serialize> Serialize for CompactOption<T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de, T: Number + Deserialize<'de>> Deserialize<'de> for CompactOption<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_but_one_are_kept() {
        for number in [0, 1, -1, i64::MAX, i64::MIN + 1] {
            assert_eq!(CompactOption::from(number).get(), Some(number));
        }
        assert_eq!(CompactOption::from(i64::MIN).get(), Some(i64::MIN + 1));
        assert_eq!(CompactOption::from(Some(usize::MAX)).get(), Some(usize::MAX - 1));
        assert_eq!(CompactOption::<usize>::from(None).get(), None);
        assert_eq!(CompactOption::<i64>::default(), CompactOption::NOTHING);
    }

    #[test]
    fn it_is_written_and_read_as_an_option() {
        for number in [None, Some(0), Some(-7), Some(i64::MAX)] {
            let json = serde_json::to_string(&number).unwrap();
            assert_eq!(serde_json::to_string(&CompactOption::from(number)).unwrap(), json);
            assert_eq!(serde_json::from_str::<CompactOption<i64>>(&json).unwrap().get(), number);
        }
    }
}
