//! Which rows a report includes: bounds of time, and filters by dimension.

use jiff::{Timestamp, Zoned};

use super::dimension::tables_of_filter;
use crate::analysis::rows::{Bound, WeekStart};
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
    /// The current time, to which some bounds are relative.
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

    /// The tables that its filters need besides the rows and their sessions.
    pub fn tables(&self) -> impl Iterator<Item = &'static str> {
        self.only.iter().flat_map(|(name, _)| tables_of_filter(name))
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
        Ok(self.zoned()?.time_zone().clone())
    }

    /// The current time in [`Self::timezone`].
    ///
    /// # Errors
    /// When the time zone does not exist.
    pub fn zoned(&self) -> Result<Zoned, UnknownTimezone> {
        in_zone(self.now, &self.timezone).ok_or_else(|| UnknownTimezone(self.timezone.clone()))
    }
}

/// A time zone that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("no time zone {0:?}; names are those of IANA, such as Europe/Berlin")]
pub struct UnknownTimezone(String);
