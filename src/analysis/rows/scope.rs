//! Which rows a report includes: bounds of time, and filters by dimension.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::Pieces;
use jiff::{Span, Timestamp, Zoned};
use serde::Deserialize;

use crate::base::zone::in_zone;

/// The filters of a report. A row is included if it passes all of them.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The earliest time.
    pub since: Option<Bound>,
    /// The latest time.
    pub until: Option<Bound>,
    /// Whether rows without a time are included. By default `since` and `until` exclude them, and without bounds they
    /// are included.
    pub undated: Option<Undated>,
    /// The name of the time zone of days, weeks and hours.
    pub timezone: String,
    /// The day on which weeks begin.
    pub week_start: WeekStart,
    /// Pairs of a dimension and a pattern, in which `*` matches any text.
    pub only: Vec<(String, String)>,
    /// The current time, from which [`Bound::Ago`] counts back.
    pub now: Timestamp,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            since: None,
            until: None,
            undated: None,
            timezone: "UTC".to_owned(),
            week_start: WeekStart::default(),
            only: Vec::new(),
            now: Timestamp::UNIX_EPOCH,
        }
    }
}

/// The day on which the weeks of reports begin. The columns `week` of the tables are those of ISO, which begin on Monday.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WeekStart {
    /// As in ISO weeks.
    #[default]
    Monday,
    /// Sunday.
    Sunday,
    /// Saturday.
    Saturday,
}

impl WeekStart {
    /// Its name in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Monday => "monday",
            Self::Sunday => "sunday",
            Self::Saturday => "saturday",
        }
    }

    /// The first day of the week of a date.
    pub fn first_day(self, date: Date) -> Date {
        let weekday = i64::from(date.weekday().to_monday_zero_offset());
        let days = (weekday + self.days_before_monday()) % 7;
        // The calendar of jiff ends at the year -9999.
        date.checked_sub(Span::new().days(days)).unwrap_or(date)
    }

    /// The number of days from the start of the week to the Monday in it.
    pub(in crate::analysis) const fn days_before_monday(self) -> i64 {
        match self {
            Self::Monday => 0,
            Self::Sunday => 1,
            Self::Saturday => 2,
        }
    }
}

/// Whether undated rows are included: rows without a time, in sessions without a start. See
/// docs/reports.md#rows-without-a-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undated {
    /// They are included, whatever the bounds of time.
    Include,
    /// They are excluded.
    Exclude,
    /// They are included, and all others are excluded.
    Only,
}

impl Scope {
    /// Whether it includes all rows.
    pub fn is_everything(&self) -> bool {
        !self.is_bounded() && self.undated() == Undated::Include && self.only.is_empty()
    }

    /// Whether it has a bound of time.
    pub(in crate::analysis) fn is_bounded(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// The latest time. A period that begins a span before now ends with today, as those of the overview do: times in the future
    /// are in none.
    pub(in crate::analysis) fn end(&self) -> Option<Bound> {
        let today = matches!(self.since, Some(Bound::Ago(_))).then(|| Bound::Ago(Span::new()));
        self.until.or(today)
    }

    /// Whether undated rows are included, with the default applied.
    pub(in crate::analysis) fn undated(&self) -> Undated {
        self.undated.unwrap_or(if self.is_bounded() { Undated::Exclude } else { Undated::Include })
    }

    /// The time zone of [`Self::timezone`].
    ///
    /// # Errors
    /// When the time zone does not exist.
    pub fn zone(&self) -> Result<jiff::tz::TimeZone, UnknownTimezone> {
        Ok(self.now()?.time_zone().clone())
    }

    /// The current time in [`Self::timezone`].
    ///
    /// # Errors
    /// When the time zone does not exist.
    pub(in crate::analysis) fn now(&self) -> Result<Zoned, UnknownTimezone> {
        in_zone(self.now, &self.timezone).ok_or_else(|| UnknownTimezone(self.timezone.clone()))
    }
}

/// A time zone that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("no time zone {0:?}; names are those of IANA, such as Europe/Berlin")]
pub struct UnknownTimezone(String);

/// A bound of time. See docs/reports.md#time.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// A whole local day.
    Day(Date),
    /// A local time. If it occurs twice, when clocks go back, the earlier one is used. If clocks skip it, it is moved forward
    /// by as much: 02:30 becomes 03:30.
    Local(DateTime),
    /// A point in time.
    Moment(Timestamp),
    /// A span before now; whole local days for days, weeks, months and years.
    Ago(Span),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::Local(time) => write!(f, "{time}"),
            Self::Moment(moment) => write!(f, "{moment}"),
            Self::Ago(span) => write!(f, "{span:#} ago"),
        }
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
        match text.parse::<Span>() {
            Ok(span) if !span.is_negative() => Ok(Self::Ago(span)),
            _ => Err(
                "not a time; write a day (2026-10-05), a time (2026-10-05T08:00, 2026-10-05T08:00:00Z) or a span before \
                 now (30d, 2w, 12h)"
                    .into(),
            ),
        }
    }
}

impl Bound {
    /// Its first point in time; with `is_end`, the first one after it.
    pub(crate) fn edge(self, now: &Zoned, is_end: bool) -> Result<Timestamp, jiff::Error> {
        let day = match self {
            Self::Moment(moment) => return Ok(moment),
            Self::Local(time) => return Ok(time.to_zoned(now.time_zone().clone())?.timestamp()),
            Self::Day(day) => day,
            Self::Ago(span) => {
                let then = now.checked_sub(span)?;
                let is_of_days = [span.get_hours().into(), span.get_minutes(), span.get_seconds()] == [0, 0, 0];
                if !is_of_days {
                    return Ok(then.timestamp());
                }
                then.date()
            }
        };
        let day = if is_end { day.tomorrow()? } else { day };
        Ok(day.to_zoned(now.time_zone().clone())?.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time without a zone is local and keeps its time. Clocks in Berlin skip 02:00 to 03:00 on 2026-03-29 and show it
    /// twice on 2026-10-25.
    #[test]
    fn bounds_without_a_zone_are_local_times() {
        let now = "2026-11-24T12:00:00Z".parse::<Timestamp>().unwrap().in_tz("Europe/Berlin").unwrap();
        let edge = |text: &str, is_end| text.parse::<Bound>().unwrap().edge(&now, is_end).unwrap().to_string();
        for (text, expected) in [
            ("2026-10-05T08:00", "2026-10-05T06:00:00Z"),
            ("2026-10-05 08:00:30.5", "2026-10-05T06:00:30.5Z"),
            ("2026-10-05T08:00[Asia/Kolkata]", "2026-10-05T02:30:00Z"),
            ("2026-10-05T08:00Z", "2026-10-05T08:00:00Z"),
            ("2026-10-05T08:00+05:30", "2026-10-05T02:30:00Z"),
            ("2026-03-29T02:30", "2026-03-29T01:30:00Z"),
            ("2026-10-25T02:30", "2026-10-25T00:30:00Z"),
            ("2026-10-25T02:30+01:00", "2026-10-25T01:30:00Z"),
        ] {
            assert_eq!([edge(text, false), edge(text, true)], [expected, expected], "{text}");
        }
        let day = [edge("2026-10-25", false), edge("2026-10-25", true)];
        assert_eq!(day, ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"]);
        for wrong in ["2026-10-05T25:00", "2026-02-30", "08:00", "soon", "-3d"] {
            assert!(wrong.parse::<Bound>().is_err(), "{wrong}");
        }
    }
}
