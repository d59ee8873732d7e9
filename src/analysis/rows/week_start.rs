//! The day on which weeks begin.

use jiff::Span;
use jiff::civil::Date;
use serde::Deserialize;

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
