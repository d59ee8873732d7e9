//! Times of the day, for prices that are limited to some hours.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::time::Time;

/// A time of the day in UTC, written as `16:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Clock(pub u16);

impl Clock {
    fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let (hours, minutes) = (hours.parse::<u16>().ok()?, minutes.parse::<u16>().ok()?);
        (hours < 24 && minutes < 60).then_some(Self(hours * 60 + minutes))
    }

    /// The time of the day of an instant.
    pub(super) fn of(time: Time) -> Self {
        let minutes = time.micros().div_euclid(60_000_000).rem_euclid(24 * 60);
        Self(u16::try_from(minutes).unwrap_or_default())
    }

    /// Whether it is in `from..to`, which may include midnight.
    pub(super) fn is_in(self, [from, to]: [Self; 2]) -> bool {
        if from <= to { (from..to).contains(&self) } else { self >= from || self < to }
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl<'de> Deserialize<'de> for Clock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| D::Error::custom(format!("`{text}` is not a time of the day: write it as \"16:30\"")))
    }
}

impl Serialize for Clock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
