//! Instants and their calendar days, in UTC. Local time begins in `reports`.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// A number for programs, text for people.
impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { serializer.serialize_i64(self.0) }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            return Self::parse(&text).ok_or_else(|| serde::de::Error::custom("no time"));
        }
        i64::deserialize(deserializer).map(Self)
    }
}

/// Logs begin with the first agents; what claims to be older or far ahead is a broken clock or another number.
const EARLIEST: i64 = 946_684_800_000_000; // 2000-01-01
const LATEST: i64 = 4_102_444_800_000_000; // 2100-01-01

impl Time {
    /// An instant from a number: seconds, milliseconds or microseconds, told apart by size. `None` if no unit gives a
    /// year from 2000 to 2099.
    pub fn from_number(number: f64) -> Option<Self> {
        [1.0, 1e3, 1e6].into_iter().map(|scale| number * scale).find_map(|micros| {
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
            (EARLIEST as f64..LATEST as f64).contains(&micros).then_some(Self(micros as i64))
        })
    }

    /// An instant from text: RFC 3339 with any offset, a date and time without one (UTC), or digits. `None` if it
    /// cannot be read: it must never become now.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(time) = parse_utc(text.as_bytes()) {
            return Some(time);
        }
        let micros = match text.parse::<jiff::Timestamp>() {
            Ok(timestamp) => timestamp.as_microsecond(),
            Err(_) => match text.parse::<DateTime>() {
                Ok(civil) => TimeZone::UTC.to_timestamp(civil).ok()?.as_microsecond(),
                Err(_) => return Self::from_number(text.parse().ok()?),
            },
        };
        (EARLIEST..LATEST).contains(&micros).then_some(Self(micros))
    }

    /// The day in UTC, as days since 1970-01-01.
    pub const fn day(self) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "an i64 of microseconds has fewer days than an i32 holds")]
        {
            self.0.div_euclid(86_400_000_000) as i32
        }
    }

    /// The Monday of the week in UTC, as days since 1970-01-01 (a Thursday).
    pub const fn week(self) -> i32 {
        monday(self.day())
    }

    /// Milliseconds from `earlier` to this instant.
    pub const fn since(self, earlier: Self) -> i64 {
        (self.0 - earlier.0) / 1000
    }
}

/// The Monday on or before `day`, both as days since 1970-01-01.
pub const fn monday(day: i32) -> i32 {
    day - (day + 3).rem_euclid(7)
}

/// `2026-10-05T10:00:00.123Z`, which nearly every log writes, without a general parser.
fn parse_utc(text: &[u8]) -> Option<Time> {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range)?.iter().try_fold(0_i64, |sum, it| it.is_ascii_digit().then(|| sum * 10 + i64::from(it - b'0')))
    };
    let (head, fraction) = (text.get(..19)?, text.get(19..)?);
    let [_, _, _, _, b'-', _, _, b'-', _, _, b'T', _, _, b':', _, _, b':', ..] = head else {
        return None;
    };
    let date = Date::new(
        i16::try_from(digits(0..4)?).ok()?,
        i8::try_from(digits(5..7)?).ok()?,
        i8::try_from(digits(8..10)?).ok()?,
    );
    let days = i64::from(days(date.ok()?));
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let micros = match fraction {
        b"Z" => 0,
        [b'.', .., b'Z'] if text.len() <= 27 => {
            digits(20..text.len() - 1)? * 10_i64.pow(u32::try_from(27 - text.len()).ok()?)
        }
        _ => return None,
    };
    let micros = ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + micros;
    (EARLIEST..LATEST).contains(&micros).then_some(Time(micros))
}

/// A date as days since 1970-01-01.
pub fn days(date: Date) -> i32 {
    date.since(Date::constant(1970, 1, 1)).map_or(0, |it| it.get_days())
}

/// RFC 3339 in UTC, with as many digits of a second as are needed.
impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => self.0.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_time_is_the_same_instant() {
        let expected = Some(Time(1_791_194_400_123_000));
        for text in [
            "2026-10-05T10:00:00.123Z",
            "2026-10-05T10:00:00.123000Z",
            "2026-10-05T12:00:00.123+02:00",
            "2026-10-05T10:00:00.123",
            "2026-10-05 10:00:00.123Z",
            "1791194400123",
        ] {
            assert_eq!(Time::parse(text), expected, "{text}");
        }
        assert_eq!(Time::from_number(1_791_194_400_123.0), expected);
        assert_eq!(Time::from_number(1_791_194_400.0), Some(Time(1_791_194_400_000_000)));
    }

    #[test]
    fn what_is_no_time_is_unknown() {
        for text in ["", "yesterday", "12", "2026-13-05T10:00:00Z", "2026-10-05T25:00:00Z", "0001-01-01T00:00:00Z"] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
        assert_eq!(Time::from_number(12.0), None);
        assert_eq!(Time::from_number(f64::INFINITY), None);
    }

    #[test]
    fn weeks_begin_on_monday() {
        let time = Time::parse("2026-10-05T00:00:00Z").unwrap(); // a Monday
        assert_eq!(time.week(), time.day());
        assert_eq!(Time(time.0 - 1).week(), time.week() - 7);
        assert_eq!(time.to_string(), "2026-10-05T00:00:00Z");
    }
}
