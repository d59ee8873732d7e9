//! A bound of time as people write it: a day, a week, a month, a point in time, or a span up to now. See docs/reports.md#time.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime, ISOWeekDate, Time, Weekday};
use jiff::fmt::temporal::Pieces;
use jiff::{Span, Timestamp, Zoned};

use super::week_start::WeekStart;
use crate::store::query::near;

/// A bound of time. A period is a bound, too: it begins or ends with it.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// A whole local day.
    Day(Date),
    /// The local days from the first to the last of these: a month, or a week of ISO.
    Days(Date, Date),
    /// A period with today in it or next to it.
    Current(Current),
    /// A local time. If it occurs twice, when clocks go back, the earlier one is used. If clocks skip it, it is moved forward
    /// by as much: 02:30 becomes 03:30.
    Local(DateTime),
    /// A point in time.
    Moment(Timestamp),
    /// A span before now. Of days, weeks, months and years: as many whole local days, of which today is the last.
    Ago(Span),
}

/// A period that is relative to today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Current {
    /// The local day.
    Today,
    /// The local day before.
    Yesterday,
    /// The local week, by the start of weeks in the configuration.
    Week,
    /// The local month.
    Month,
}

impl Current {
    const ALL: [(&'static str, Self); 4] =
        [("today", Self::Today), ("yesterday", Self::Yesterday), ("week", Self::Week), ("month", Self::Month)];

    /// Its word on the command line.
    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, current)| *current == self).map_or("", |(name, _)| name)
    }

    /// Its first and its last day.
    fn days(self, today: Date, week_start: WeekStart) -> Result<(Date, Date), jiff::Error> {
        Ok(match self {
            Self::Today => (today, today),
            Self::Yesterday => (today.yesterday()?, today.yesterday()?),
            Self::Week => {
                let first = week_start.first_day(today);
                (first, first.checked_add(Span::new().days(6))?)
            }
            Self::Month => (today.first_of_month(), today.last_of_month()),
        })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::Days(first, last) if first.day() == 1 => write!(f, "{}", last.strftime("%Y-%m")),
            Self::Days(first, _) => write!(f, "{}", first.strftime("%G-W%V")),
            Self::Current(current) => f.write_str(current.as_str()),
            Self::Local(time) => write!(f, "{time}"),
            Self::Moment(moment) => write!(f, "{moment}"),
            Self::Ago(span) => write!(f, "{span:#}"),
        }
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, current)) = Current::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            return Ok(Self::Current(*current));
        }
        if let Some((first, last)) = month(text).or_else(|| week(text)) {
            return Ok(Self::Days(first, last));
        }
        if let Ok(moment) = text.parse() {
            return Ok(Self::Moment(moment));
        }
        if let Ok(zoned) = text.parse::<Zoned>() {
            return Ok(Self::Moment(zoned.timestamp()));
        }
        // Parsing a `Date` accepts a date with a time, and drops the time.
        if let Ok(pieces) = Pieces::parse(text)
            && pieces.offset().is_none()
            && pieces.time_zone_annotation().is_none()
        {
            return Ok(pieces
                .time()
                .map_or(Self::Day(pieces.date()), |time| Self::Local(pieces.date().to_datetime(time))));
        }
        span(text).map(Self::Ago)
    }
}

/// The days of a month: `2026-11`.
fn month(text: &str) -> Option<(Date, Date)> {
    let (year, month) = text.split_once('-').filter(|_| text.len() == "2026-11".len())?;
    let first = Date::new(whole(year)?, whole(month)?, 1).ok()?;
    Some((first, first.last_of_month()))
}

/// The days of a week of ISO: `2026-W47`.
fn week(text: &str) -> Option<(Date, Date)> {
    let (year, week) = text.split_once("-W").or_else(|| text.split_once("-w"))?;
    let day = |weekday| Some(ISOWeekDate::new(whole(year)?, whole(week)?, weekday).ok()?.date());
    Some((day(Weekday::Monday)?, day(Weekday::Sunday)?))
}

/// A number without a sign.
fn whole<N: FromStr>(digits: &str) -> Option<N> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// A span before now: `7d`.
fn span(text: &str) -> Result<Span, String> {
    let number = text.trim_end().trim_end_matches(['m', 'M']).trim_end();
    if number.len() < text.trim_end().len() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("ambiguous; write {number}mo for months or {number}min for minutes"));
    }
    match text.parse::<Span>() {
        Ok(span) if span.is_zero() && !has_only_days(text) => {
            Err("no time at all; write 1h for the last hour, or 0d for today".to_owned())
        }
        Ok(span) if !span.is_negative() => Ok(span),
        _ => {
            let near = near(text, Current::ALL.iter().map(|(name, _)| *name));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            Err(format!(
                "not a time{near}; write a day (today, yesterday, 2026-10-05), a week (week, 2026-W41), a month (month, \
                 2026-10), a number of days with today (7d, 2w, 3mo), the last hours (12h) or a time (2026-10-05T08:00, \
                 2026-10-05T08:00:00Z)"
            ))
        }
    }
}

/// Whether the units in the text of a span are days and longer ones. A span of 0 has no units.
fn has_only_days(text: &str) -> bool {
    let mut units = text.split(|char: char| !char.is_ascii_alphabetic()).filter(|unit| !unit.is_empty());
    units.all(|unit| {
        let unit = unit.to_ascii_lowercase();
        unit.starts_with(['d', 'w', 'y']) || unit.starts_with("mo")
    })
}

impl Bound {
    /// Its first point in time; with `is_end`, the first one after it. Spans of days end where they begin: `--until 7d` includes all
    /// that `--since 7d` excludes. A time before or after the calendar is its first or last one.
    pub(crate) fn edge(self, now: &Zoned, week_start: WeekStart, is_end: bool) -> Timestamp {
        let in_zone = |time: DateTime| {
            let end_of_calendar = if time.year() > 0 { Timestamp::MAX } else { Timestamp::MIN };
            time.to_zoned(now.time_zone().clone()).map_or(end_of_calendar, |zoned| zoned.timestamp())
        };
        if let Self::Moment(moment) = self {
            return moment;
        }
        if let Self::Local(time) = self {
            return in_zone(time);
        }
        let Some((first, last)) = self.days(now, week_start) else {
            let Self::Ago(span) = self else { return now.timestamp() };
            return now.checked_sub(span).map_or(Timestamp::MIN, |then| then.timestamp());
        };
        if !is_end {
            return in_zone(first.to_datetime(Time::midnight()));
        }
        last.tomorrow().map_or(Timestamp::MAX, |end| in_zone(end.to_datetime(Time::midnight())))
    }

    /// Its first and its last local day; `None` for points in time and hours before now. The last day of a span is the one before its
    /// first, unless it is of no day.
    fn days(self, now: &Zoned, week_start: WeekStart) -> Option<(Date, Date)> {
        Some(match self {
            Self::Day(day) => (day, day),
            Self::Days(first, last) => (first, last),
            Self::Current(current) => current.days(now.date(), week_start).unwrap_or((now.date(), now.date())),
            Self::Ago(span) if is_of_days(span) => {
                let then = now.checked_sub(span).map_or(Date::MIN, |then| then.date());
                // `0d` begins with today, too.
                (then.tomorrow().unwrap_or(then).min(now.date()), then)
            }
            Self::Moment(_) | Self::Local(_) | Self::Ago(_) => return None,
        })
    }

    /// The day that it begins with, in the time zone of `now`; `None` for points in time and hours before now, and for the current week,
    /// whose first day depends on the settings.
    pub fn first_day(self, now: &Zoned) -> Option<Date> {
        match self {
            Self::Current(Current::Week) => None,
            _ => self.days(now, WeekStart::default()).map(|(first, _)| first),
        }
    }

    /// Whether it depends on the current time.
    pub(in crate::analysis) const fn is_relative(self) -> bool {
        matches!(self, Self::Ago(_) | Self::Current(_))
    }

    /// Whether it is a span before now.
    pub const fn is_span(self) -> bool {
        matches!(self, Self::Ago(_))
    }
}

/// Whether a span consists of days and longer units.
fn is_of_days(span: Span) -> bool {
    let smaller = [
        i64::from(span.get_hours()),
        span.get_minutes(),
        span.get_seconds(),
        span.get_milliseconds(),
        span.get_microseconds(),
        span.get_nanoseconds(),
    ];
    smaller == [0; 6]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first point in time of a bound, and the first one after it, on a Tuesday in Berlin.
    fn edges(text: &str) -> [String; 2] {
        let now = "2026-11-24T12:00:00Z".parse::<Timestamp>().unwrap().in_tz("Europe/Berlin").unwrap();
        let bound: Bound = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        [false, true].map(|is_end| bound.edge(&now, WeekStart::Sunday, is_end).to_string())
    }

    /// A time without a zone is local and keeps its time. Clocks in Berlin skip 02:00 to 03:00 on 2026-03-29 and show it
    /// twice on 2026-10-25.
    #[test]
    fn bounds_without_a_zone_are_local_times() {
        for (text, expected) in [
            ("2026-10-05T08:00", "2026-10-05T06:00:00Z"),
            ("2026-10-05 08:00:30.5", "2026-10-05T06:00:30.5Z"),
            ("2026-10-05T08:00[Asia/Kolkata]", "2026-10-05T02:30:00Z"),
            ("2026-10-05T08:00Z", "2026-10-05T08:00:00Z"),
            ("2026-10-05T08:00+05:30", "2026-10-05T02:30:00Z"),
            ("2026-03-29T02:30", "2026-03-29T01:30:00Z"),
            ("2026-10-25T02:30", "2026-10-25T00:30:00Z"),
            ("2026-10-25T02:30+01:00", "2026-10-25T01:30:00Z"),
            ("12h", "2026-11-24T00:00:00Z"),
            ("90min", "2026-11-24T10:30:00Z"),
        ] {
            assert_eq!(edges(text), [expected, expected], "{text}");
        }
    }

    /// A period begins and ends with its local days; a span of days has today as its last one, and ends where it begins.
    #[test]
    fn periods_are_whole_local_days() {
        for (text, first, end) in [
            ("2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            ("today", "2026-11-23T23:00:00Z", "2026-11-24T23:00:00Z"),
            ("Yesterday", "2026-11-22T23:00:00Z", "2026-11-23T23:00:00Z"),
            ("week", "2026-11-21T23:00:00Z", "2026-11-28T23:00:00Z"),
            ("month", "2026-10-31T23:00:00Z", "2026-11-30T23:00:00Z"),
            ("2026-02", "2026-01-31T23:00:00Z", "2026-02-28T23:00:00Z"),
            ("2026-W47", "2026-11-15T23:00:00Z", "2026-11-22T23:00:00Z"),
            ("2026-W01", "2025-12-28T23:00:00Z", "2026-01-04T23:00:00Z"),
            ("0d", "2026-11-23T23:00:00Z", "2026-11-24T23:00:00Z"),
            ("0 months", "2026-11-23T23:00:00Z", "2026-11-24T23:00:00Z"),
            ("1d", "2026-11-23T23:00:00Z", "2026-11-23T23:00:00Z"),
            ("7d", "2026-11-17T23:00:00Z", "2026-11-17T23:00:00Z"),
            ("2w", "2026-11-10T23:00:00Z", "2026-11-10T23:00:00Z"),
            ("1mo", "2026-10-24T22:00:00Z", "2026-10-24T22:00:00Z"),
        ] {
            assert_eq!(edges(text), [first, end], "{text}");
        }
    }

    /// The last time of the calendar is that of the most western zone.
    #[test]
    fn the_calendar_has_ends() {
        let [first, last] = [Timestamp::MIN, Timestamp::MAX].map(|time| time.to_string());
        assert_eq!(edges("9999-12-31")[1], last);
        assert_eq!(edges("9999-12-31T23:59"), [last.as_str(), &last]);
        assert_eq!(edges("9999-12")[1], last);
        assert_eq!(edges("-009999-01-01")[0], first);
        assert_eq!(edges("15000y"), [first.as_str(), &first]);
        assert_eq!(edges("150000000h"), [first.as_str(), &first]);
    }

    #[test]
    fn a_period_has_a_first_day() {
        let now = "2026-11-24T12:00:00Z".parse::<Timestamp>().unwrap().in_tz("UTC").unwrap();
        let day = |text: &str| text.parse::<Bound>().unwrap().first_day(&now).map(|day| day.to_string());
        for (text, expected) in [
            ("2026-01-01", "2026-01-01"),
            ("today", "2026-11-24"),
            ("yesterday", "2026-11-23"),
            ("7d", "2026-11-18"),
            ("month", "2026-11-01"),
            ("2026-10", "2026-10-01"),
            ("2026-W47", "2026-11-16"),
        ] {
            assert_eq!(day(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["week", "12h", "2026-10-05T08:00", "2026-10-05T08:00Z"] {
            assert_eq!(day(text), None, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for wrong in [
            "2026-10-05T25:00",
            "2026-02-30",
            "2026-13",
            "2026-W54",
            "08:00",
            "soon",
            "-3d",
            "",
            "d",
            "m",
            "99999999999d",
            "0h",
            "0min",
            "0d 0h",
        ] {
            assert!(wrong.parse::<Bound>().is_err(), "{wrong}");
        }
        let error = |text: &str| text.parse::<Bound>().unwrap_err();
        assert_eq!(error("3m"), "ambiguous; write 3mo for months or 3min for minutes");
        assert_eq!(error("0h"), "no time at all; write 1h for the last hour, or 0d for today");
        assert!(error("yesteday").starts_with("not a time; did you mean yesterday?"), "{}", error("yesteday"));
    }

    #[test]
    fn bounds_are_shown_as_they_are_written() {
        for text in ["today", "2026-11", "2026-W47", "2026-11-24", "7d", "2026-10-05T08:00:00"] {
            assert_eq!(text.parse::<Bound>().unwrap().to_string(), text);
        }
    }
}
