//! The points in time between which a scope is.

use jiff::Timestamp;

use super::error::Error;
use super::scope::Scope;
use crate::analysis::rows::Bound;
use crate::base::time::Time;

impl Scope {
    /// The first point in time, and the first one after the last, where the scope has these bounds. A period that begins at a bound
    /// relative to now ends with today, as those of the overview do: times in the future are in none.
    ///
    /// # Errors
    /// When the first is not before the last, or the time zone does not exist.
    pub(in crate::analysis) fn edges(&self) -> Result<(Option<Time>, Option<Time>), Error> {
        let now = self.zoned()?;
        let edge = |bound: Option<Bound>, is_end| bound.map(|it| it.edge(&now, self.week_start, is_end));
        let (since, until) = (edge(self.since, false), edge(self.until, true));
        if let (Some(first), Some(end)) = (since, until)
            && first >= end
        {
            let [since_text, until_text] =
                [self.since, self.until].map(|it| it.map(|it| it.to_string()).unwrap_or_default());
            let local =
                |moment: Timestamp| moment.to_zoned(now.time_zone().clone()).strftime("%Y-%m-%d %H:%M").to_string();
            return Err(Error::EmptyPeriod {
                since: since_text,
                first: local(first),
                until: until_text,
                end: local(end),
            });
        }
        let is_relative = self.since.is_some_and(Bound::is_relative);
        let today = is_relative.then(|| Bound::Day(now.date()).edge(&now, self.week_start, true));
        Ok((since.map(Time::from), until.or(today).map(Time::from)))
    }
}
