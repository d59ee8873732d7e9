//! The last days in local time, and the periods that they are compared with.

use jiff::civil::Date;
use jiff::{Span, Zoned};

use crate::base::time::Time;

/// The lengths of the periods in local days, today included.
pub const DAYS: [i64; 3] = [1, 7, 30];

/// The number of days that are drawn.
pub const DRAWN: i64 = 30;

/// A period that ends today, and the one before it.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Its first moment. It ends with today.
    pub start: Time,
    /// The first moment of the period before.
    pub before_start: Time,
    /// The first moment after the period before: now, as many days earlier. So both have the same length.
    pub before_end: Time,
}

/// The periods and days of an overview.
#[derive(Debug, Clone)]
pub struct Calendar {
    /// One for each of [`DAYS`].
    pub periods: [Bounds; 3],
    /// The dates that are drawn with their first moments, the oldest first.
    pub days: Vec<(Date, Time)>,
    /// The first moment after today.
    pub end: Time,
    /// The first moment of all of these.
    pub first: Time,
}

impl Calendar {
    /// The calendar at a time.
    ///
    /// # Errors
    /// When the time is at the ends of the calendar.
    pub fn at(now: &Zoned) -> Result<Self, jiff::Error> {
        let today = now.date();
        let ago = |days: i64| today.checked_sub(Span::new().try_days(days)?);
        let start = |date: Date| date.to_zoned(now.time_zone().clone()).map(|start| Time::from(start.timestamp()));
        let bounds = |days: i64| -> Result<Bounds, jiff::Error> {
            Ok(Bounds {
                start: start(ago(days - 1)?)?,
                before_start: start(ago(2 * days - 1)?)?,
                before_end: now.checked_sub(Span::new().try_days(days)?)?.timestamp().into(),
            })
        };
        let [day, week, month] = DAYS;
        let periods = [bounds(day)?, bounds(week)?, bounds(month)?];
        let days = (0..DRAWN).rev().map(|days| ago(days).and_then(|date| Ok((date, start(date)?))));
        let end = start(today.tomorrow()?)?;
        let first = periods.iter().map(|bounds| bounds.before_start).min().unwrap_or(end);
        Ok(Self { days: days.collect::<Result<_, _>>()?, periods, end, first })
    }

    /// The position in [`Self::days`] of the day of a time.
    pub fn day_of(&self, time: Time) -> Option<usize> {
        let begun = self.days.partition_point(|(_, start)| *start <= time);
        begun.checked_sub(1).filter(|_| time < self.end)
    }
}

impl Bounds {
    /// Whether a time before the end of today is in the period.
    pub fn contains(&self, time: Time) -> bool {
        self.start <= time
    }

    /// Whether a time is in the period before.
    pub fn before_contains(&self, time: Time) -> bool {
        self.before_start <= time && time < self.before_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(now: &str) -> Calendar {
        Calendar::at(&now.parse().unwrap()).unwrap()
    }

    #[test]
    fn periods_of_equal_length_end_now_and_earlier() {
        let calendar = calendar("2026-10-05T14:30:00[UTC]");
        let texts: Vec<[String; 3]> = calendar
            .periods
            .iter()
            .map(|bounds| [bounds.before_start, bounds.before_end, bounds.start].map(|time| time.to_string()))
            .collect();
        assert_eq!(texts[0], ["2026-10-04T00:00:00Z", "2026-10-04T14:30:00Z", "2026-10-05T00:00:00Z"]);
        assert_eq!(texts[1], ["2026-09-22T00:00:00Z", "2026-09-28T14:30:00Z", "2026-09-29T00:00:00Z"]);
        assert_eq!(texts[2], ["2026-08-07T00:00:00Z", "2026-09-05T14:30:00Z", "2026-09-06T00:00:00Z"]);
        assert_eq!((calendar.days.len(), calendar.days[0].0.to_string().as_str()), (30, "2026-09-06"));
        assert_eq!(calendar.first.to_string(), "2026-08-07T00:00:00Z");
    }

    #[test]
    fn days_are_local() {
        // Clocks went back on this day, which had 25 hours.
        let calendar = calendar("2026-10-25T23:30:00+01:00[Europe/Berlin]");
        let day = |text: &str| calendar.day_of(Time::parse(text).unwrap());
        assert_eq!(day("2026-10-24T21:59:59Z"), Some(28));
        assert_eq!(day("2026-10-24T22:00:00Z"), Some(29));
        assert_eq!(day("2026-10-25T22:59:59Z"), Some(29));
        assert_eq!(day("2026-10-25T23:00:00Z"), None);
        assert_eq!(day("2026-01-01T00:00:00Z"), None);
    }
}
