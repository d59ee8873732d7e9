//! Points in time and their calendar days, in UTC. Only reports use local time.

use std::fmt;
use std::num::NonZero;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Lengths of time in microseconds, as [`Time::micros`] counts.
pub const SECOND_MICROS: i64 = 1_000_000;
/// See [`SECOND_MICROS`].
pub const MINUTE_MICROS: i64 = 60 * SECOND_MICROS;
/// See [`SECOND_MICROS`].
pub const HOUR_MICROS: i64 = 60 * MINUTE_MICROS;
/// See [`SECOND_MICROS`].
pub const DAY_MICROS: i64 = 24 * HOUR_MICROS;

/// Lengths of time in milliseconds, as [`Time::since`] and durations count.
pub const MINUTE_MS: i64 = 60_000;
/// See [`MINUTE_MS`].
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
/// See [`MINUTE_MS`].
pub const DAY_MS: i64 = 24 * HOUR_MS;

/// Microseconds since 1970-01-01T00:00:00Z. An `Option` of it has the same size: there is one in each row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(NonZero<u64>);

impl fmt::Debug for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Time").field(&self.micros()).finish()
    }
}

/// Serialized as a number, and in human-readable formats as text.
impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_i64(self.micros())
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            return Self::parse(&text).ok_or_else(|| serde::de::Error::custom("no time"));
        }
        i64::deserialize(deserializer).map(Self::from_micros)
    }
}

/// Times outside of this range come from a wrong clock, or are other numbers.
const EARLIEST: i64 = 946_684_800_000_000; // 2000-01-01
const LATEST: i64 = 7_258_118_400_000_000; // 2200-01-01

/// Maps an `i64` to an unsigned number, in the same order.
const SIGN: u64 = 1 << 63;

impl Time {
    /// So many microseconds after 1970-01-01T00:00:00Z. `i64::MIN` becomes the next number.
    pub const fn from_micros(micros: i64) -> Self {
        match NonZero::new(micros.cast_unsigned() ^ SIGN) {
            Some(it) => Self(it),
            None => Self(NonZero::<u64>::MIN),
        }
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub const fn micros(self) -> i64 {
        (self.0.get() ^ SIGN).cast_signed()
    }

    /// A time from a number of seconds, milliseconds or microseconds, distinguished by size. `None` if no unit gives a year from
    /// 2000 to 2199.
    pub fn from_number(number: f64) -> Option<Self> {
        [1.0, 1e3, 1e6].into_iter().map(|scale| number * scale).find_map(|micros| {
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
            (EARLIEST as f64..LATEST as f64).contains(&micros).then_some(Self::from_micros(micros as i64))
        })
    }

    /// A time from text: RFC 3339 with any offset, a date and time without an offset (UTC), or digits. `None` if it cannot be
    /// parsed: the current time is never used in its place.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(time) = parse_utc(text.as_bytes()) {
            return Some(time);
        }
        let text = text.trim();
        let micros = match text.parse::<Timestamp>() {
            Ok(timestamp) => timestamp.as_microsecond(),
            Err(_) => match text.parse::<DateTime>() {
                Ok(civil) => TimeZone::UTC.to_timestamp(civil).ok()?.as_microsecond(),
                Err(_) => return Self::from_number(text.parse().ok()?),
            },
        };
        (EARLIEST..LATEST).contains(&micros).then_some(Self::from_micros(micros))
    }

    /// The beginning of a day in UTC.
    pub fn start_of(date: Date) -> Self {
        Self::from_micros(i64::from(days(date)) * DAY_MICROS)
    }

    /// Whether its text is one that [`Self::parse`] accepts.
    pub fn can_be_parsed(self) -> bool {
        (EARLIEST..LATEST).contains(&self.micros())
    }

    /// The day in UTC, as days since 1970-01-01.
    pub const fn day(self) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "an i64 of microseconds has fewer days than an i32 holds")]
        {
            self.micros().div_euclid(DAY_MICROS) as i32
        }
    }

    /// The Monday of the week in UTC, as days since 1970-01-01 (a Thursday).
    pub const fn week(self) -> i32 {
        monday(self.day())
    }

    /// Milliseconds from `earlier` to this time; negative if it is before that one.
    pub const fn since(self, earlier: Self) -> i64 {
        (self.micros() - earlier.micros()) / 1000
    }

    /// How long something took that began at `start` and ended at this time, in milliseconds. `None` if it ends before it begins:
    /// then one of the times is wrong, as when a clock is set back.
    pub fn duration_since(self, start: Self) -> Option<i64> {
        (self >= start).then(|| self.since(start))
    }
}

/// The Monday on or before `day`, both as days since 1970-01-01.
pub const fn monday(day: i32) -> i32 {
    day - (day + 3).rem_euclid(7)
}

/// Parses `2026-10-05T10:00:00.123Z`, the form in nearly all logs, without the general parser.
fn parse_utc(text: &[u8]) -> Option<Time> {
    let (date, rest) = text.split_first_chunk()?;
    let (time, rest) = rest.split_first_chunk()?;
    let [c0, c1, y0, y1, _, m0, m1, _] = digits_of(*date, *b"0000-00-")?;
    let [d0, d1, _, h0, h1, _, n0, n1] = digits_of(*time, *b"00T00:00")?;
    let usual = rest.try_into().ok().and_then(|it| digits_of(it, *b":00.000Z"));
    let (s0, s1, micros) = if let Some([_, s0, s1, _, f0, f1, f2, _]) = usual {
        (s0, s1, (i64::from(f0) * 100 + i64::from(f1) * 10 + i64::from(f2)) * 1_000)
    } else {
        let ([colon, s0, s1], fraction) = rest.split_first_chunk()?;
        let [_, s0, s1, ..] = digits_of([*colon, *s0, *s1, 0, 0, 0, 0, 0], *b":00\0\0\0\0\0")?;
        (s0, s1, micros_of(fraction)?)
    };
    let pairs = [(c0, c1), (y0, y1), (m0, m1), (d0, d1), (h0, h1), (n0, n1), (s0, s1)];
    let [century, year, month, day, hour, minute, second] = pairs.map(|(a, b)| i64::from(a) * 10 + i64::from(b));
    if century != 20 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_in_century(year, month, day)?;
    Some(Time::from_micros((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros))
}

/// The microseconds after the seconds.
fn micros_of(fraction: &[u8]) -> Option<i64> {
    const EACH: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    match fraction {
        [b'Z'] => Some(0),
        [b'.', digits @ .., b'Z'] => {
            let each = EACH.get(digits.len())?;
            let add = |sum, it: &u8| it.is_ascii_digit().then(|| sum * 10 + i64::from(it - b'0'));
            Some(digits.iter().try_fold(0, add)? * each)
        }
        _ => None,
    }
}

/// The values of the digits of a text that has digits where the pattern has zeros, and is equal elsewhere.
#[inline]
fn digits_of(text: [u8; 8], pattern: [u8; 8]) -> Option<[u8; 8]> {
    let values = u64::from_le_bytes(text) ^ u64::from_le_bytes(pattern);
    let most = u64::from_le_bytes(pattern.map(|it| if it == b'0' { 9 } else { 0 }));
    // A byte beyond its range has a high bit, before or after the addition. Only such a byte causes a carry.
    let is_more = (values | values.wrapping_add(u64::from_le_bytes([0x7F; 8]) - most)) & u64::from_le_bytes([0x80; 8]);
    (is_more == 0).then(|| values.to_le_bytes())
}

/// A date of the years 2000 to 2099 as days since 1970-01-01. Every fourth of these years is a leap year.
fn days_in_century(year: i64, month: i64, day: i64) -> Option<i64> {
    const DAYS_TO_2000: i64 = 10_957;
    /// Before each month, and before the next year.
    const BEFORE: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];
    let index = usize::try_from(month - 1).ok()?;
    let (before, after) = (*BEFORE.get(index)?, *BEFORE.get(index + 1)?);
    let is_leap = year % 4 == 0;
    let length = after - before + i64::from(is_leap && month == 2);
    let in_year = before + i64::from(is_leap && month > 2) + day - 1;
    (1..=length).contains(&day).then_some(DAYS_TO_2000 + year * 365 + (year + 3) / 4 + in_year)
}

/// A date as days since 1970-01-01.
pub fn days(date: Date) -> i32 {
    date.since(Date::constant(1970, 1, 1)).map_or(0, |it| it.get_days())
}

impl From<Timestamp> for Time {
    fn from(moment: Timestamp) -> Self {
        Self::from_micros(moment.as_microsecond())
    }
}

/// RFC 3339 in UTC, with as many digits of the second as necessary.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.micros()) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => self.micros().fmt(f),
        }
    }
}

/// A day in UTC, written as `2026-03-13`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

impl Day {
    /// The Monday of its week.
    #[must_use]
    pub const fn week(self) -> Self {
        Self(monday(self.0))
    }

    /// The first day of its month.
    #[must_use]
    pub fn month(self) -> Self {
        let first = Date::constant(1970, 1, 1).checked_add(Span::new().days(self.0)).map(Date::first_of_month);
        first.map_or(self, |first| Self(days(first)))
    }

    fn parse(text: &str) -> Option<Self> {
        let midnight = text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
        Some(Self(Time::from(midnight.timestamp()).day()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Time::from_micros(i64::from(self.0) * DAY_MICROS).to_string();
        formatter.write_str(text.get(..10).unwrap_or(&text))
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// TOML has a type for dates.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Date(toml::value::Datetime),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Text(text) => text,
            Written::Date(date) => date.to_string(),
        };
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a day: write it as \"2026-03-13\"")))
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_an_end_after_its_start() {
        let [early, late] = [1_000_000, 3_500_000].map(Time::from_micros);
        assert_eq!(late.duration_since(early), Some(2500));
        assert_eq!(late.duration_since(late), Some(0));
        assert_eq!(early.duration_since(late), None);
    }

    #[test]
    fn times_are_ordered_as_their_numbers() {
        let numbers = [i64::MIN + 1, -1, 0, 1, i64::MAX];
        let times = numbers.map(Time::from_micros);
        assert!(times.is_sorted());
        assert_eq!(times.map(Time::micros), numbers);
        assert_eq!(Time::from_micros(i64::MIN), Time::from_micros(i64::MIN + 1));
        assert_eq!(format!("{:?}", times[1]), "Time(-1)");
        assert_eq!(size_of::<Option<Time>>(), size_of::<Time>());
    }

    #[test]
    fn every_way_to_write_a_time_is_the_same_instant() {
        let expected = Some(Time::from_micros(1_791_194_400_123_000));
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
        assert_eq!(Time::from_number(1_791_194_400.0), Some(Time::from_micros(1_791_194_400_000_000)));
    }

    /// Every day that the fast path accepts, some that only the general parser accepts, and some invalid ones.
    #[test]
    fn days_are_those_of_the_calendar() {
        for year in (1999..=2100).chain([2199, 2200]) {
            for (month, day) in (0..=13).flat_map(|month| (0..=32).map(move |day| (month, day))) {
                let text = format!("{year}-{month:02}-{day:02}T23:59:58.5Z");
                let date = Date::new(year, i8::try_from(month).unwrap(), i8::try_from(day).unwrap());
                let expected = date.ok().filter(|_| (2000..2200).contains(&year)).map(days);
                let found = Time::parse(&text);
                assert_eq!(found.map(Time::day), expected, "{text}");
                assert!(found.is_none_or(|it| it.micros().rem_euclid(86_400_000_000) == 86_398_500_000), "{text}");
            }
        }
    }

    /// With any byte changed, a time is parsed as by the general parser.
    #[test]
    fn a_time_is_read_without_a_parser_only_in_its_form() {
        const USUAL: &str = "2026-10-05T10:00:00.123Z";
        for place in 0..USUAL.len() {
            for byte in 0..0x80 {
                let mut text = USUAL.as_bytes().to_owned();
                text[place] = byte;
                let text = String::from_utf8(text).unwrap();
                let read = parse_utc(text.as_bytes());
                let known = text.parse::<Timestamp>().ok().map(Time::from);
                if read.is_some() {
                    assert_eq!(read, known, "{text}");
                }
                let usual = USUAL.as_bytes()[place];
                let has_form =
                    byte == usual || byte.is_ascii_digit() && usual.is_ascii_digit() && text.starts_with("20");
                // Only the general parser accepts a leap second.
                assert_eq!(read.is_some(), has_form && known.is_some() && &text[17..19] != "60", "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_time_is_unknown() {
        for text in [
            "",
            "yesterday",
            "12",
            "2026-13-05T10:00:00Z",
            "2026-10-05T25:00:00Z",
            "2026-10-0:T10:00:00Z",
            "2026-10-05T10:00:00.Zz",
            "2026-10-05T10:00:00.12345678901234567890123456Z",
            "0001-01-01T00:00:00Z",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
        assert_eq!(Time::from_number(12.0), None);
        assert_eq!(Time::from_number(f64::INFINITY), None);
    }

    #[test]
    fn weeks_begin_on_monday() {
        let time = Time::parse("2026-10-05T00:00:00Z").unwrap(); // a Monday
        assert_eq!(time.week(), time.day());
        assert_eq!(Time::from_micros(time.micros() - 1).week(), time.week() - 7);
        assert_eq!(time.to_string(), "2026-10-05T00:00:00Z");
    }
}
