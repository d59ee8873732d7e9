//! What an archive contains about today and the current windows.

use std::path::Path;

use jiff::{Span, Timestamp, Zoned};
use polars::prelude::*;

use super::cache::{Cached, CachedWindow, Key};
use super::line::{Spent, WindowLeft};
use crate::analysis::limits::windows_of;
use crate::analysis::reports::is_lower_bound;
use crate::analysis::rows::known_sum;
use crate::analysis::rows::{Bound, CostBasis, Frames, WeekStart};
use crate::analysis::selection::{self, Scope};
use crate::base::time::Time;
use crate::store::archive::{self, Archive};
use crate::store::frames::{limits, sessions, time_value, turns};

/// The runtime whose status line this is.
const RUNTIME: &str = "claude";
/// A window of five hours depends on the turns before it, back to a pause of five hours. Everyone makes one in so many days.
const DAYS_BEFORE: i64 = 8;

/// The reason why an archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// The time zone does not exist, or the tables cannot be read.
    #[error(transparent)]
    Report(#[from] selection::Error),
    /// The tables cannot be read.
    #[error(transparent)]
    Polars(#[from] PolarsError),
    /// The current time is not in the calendar.
    #[error(transparent)]
    Calendar(#[from] jiff::Error),
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The current time, in the time zone of the day.
    pub now: Zoned,
    /// The name of that time zone.
    pub timezone: &'a str,
    /// The session whose cost is needed.
    pub session: Option<&'a str>,
}

/// What an archive contains.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// The cost of the local day, of all runtimes: 0 without turns. `None` if it is unknown.
    pub today: Option<Spent>,
    /// The cost of the session that was asked for.
    pub session: Option<Spent>,
    /// The current window of five hours.
    pub five_hour: Option<WindowLeft>,
    /// The used part of the week's limit in percent, where a log contains it.
    pub week_percent: Option<f64>,
}

/// The answer of the cache if the archive is as it was then, else of the archive. Without an archive nothing is known.
///
/// # Errors
/// When the archive cannot be read.
pub fn usage(archive: &Archive, cache: Option<&Path>, question: &Question<'_>) -> Result<Usage, Error> {
    let Some(stamp) = archive.stamp()? else { return Ok(Usage::default()) };
    let key = Key::new(archive.directory(), stamp, question.now.date().to_string(), question.timezone);
    let found = cache.and_then(|directory| Cached::read(directory, &key));
    let mut is_new = found.is_none();
    let mut cached = match found {
        Some(cached) => cached,
        None => compute(archive, key, question)?,
    };
    if let Some(session) = question.session
        && !cached.sessions.contains_key(session)
    {
        let cost = cost_of(archive, session)?;
        cached.sessions.insert(session.to_owned(), cost);
        is_new = true;
    }
    if is_new && let Some(directory) = cache {
        // Without the file, the next call computes it again.
        let _ = cached.write(directory);
    }
    Ok(answer(&cached, question))
}

fn answer(cached: &Cached, question: &Question<'_>) -> Usage {
    let now = Time::from(question.now.timestamp());
    let current = |name: &str| {
        let mut windows = cached.windows.iter().filter(|window| window.name == name);
        windows.find(|window| window.starts_at <= now && now < window.ends_at)
    };
    Usage {
        today: cached.today,
        session: question.session.and_then(|session| cached.sessions.get(session).copied().flatten()),
        five_hour: current("five_hour").map(|window| WindowLeft {
            used_percent: window.used_percent,
            cost: window.cost,
            ends_at: Some(window.ends_at),
        }),
        week_percent: current("seven_day").and_then(|window| window.used_percent),
    }
}

fn compute(archive: &Archive, key: Key, question: &Question<'_>) -> Result<Cached, Error> {
    let snapshot = archive.snapshot()?;
    let [start, end] =
        [false, true].map(|is_end| Bound::Day(question.now.date()).edge(&question.now, WeekStart::Monday, is_end));
    let now = question.now.timestamp();
    let earliest = now.checked_sub(Span::new().hours(24 * DAYS_BEFORE))?;
    let names = [sessions::TABLE, turns::TABLE, limits::TABLE];
    let tables = snapshot.recent_tables(&names, Time::from(earliest.min(start)))?;
    let [sessions, turns, limits] = names.map(|name| tables.table(name));
    let columns = [
        turns::RUNTIME,
        turns::SESSION_ID,
        turns::OCCURRED_AT,
        turns::GRAIN,
        turns::TOTAL_TOKENS,
        turns::COST_USD,
        turns::COST_SOURCE,
    ]
    .map(col);
    // The files are read once, and only the groups of rows that may contain such times.
    let recent = turns.clone().filter(col(turns::OCCURRED_AT).gt_eq(literal(earliest.min(start)))).select(columns);
    let recent = recent.collect()?;
    let is_today = |time: &str| col(time).gt_eq(literal(start)).and(col(time).lt(literal(end)));
    let dated = recent.clone().lazy().filter(is_today(turns::OCCURRED_AT)).select([col(turns::COST_USD)]);
    let today = if tables.is_dated(turns::TABLE) {
        dated
    } else {
        // Turns without a time have that of their session's start.
        let keys = || [col(turns::RUNTIME), col(turns::SESSION_ID)];
        let begun = sessions.clone().filter(is_today(sessions::STARTED_AT));
        let undated = turns
            .filter(col(turns::OCCURRED_AT).is_null())
            .select([turns::RUNTIME, turns::SESSION_ID, turns::COST_USD].map(col));
        let undated = undated.join(begun, keys(), keys(), JoinType::Semi.into()).select([col(turns::COST_USD)]);
        concat([dated, undated], UnionArgs::default())?
    };
    let today = today.select([known_sum(turns::COST_USD).alias(turns::COST_USD), len().alias("rows")]).collect()?;
    // Nothing was spent on a day without rows; the cost of rows without a known cost is unknown.
    let today_usd = if today.column("rows")?.get(0)?.extract() == Some(0) { Some(0.0) } else { first_number(&today)? };
    let least = LowerBounds::since(earliest, &sessions)?;
    let limits = limits.filter(col(limits::RESETS_AT).gt_eq(literal(earliest))).collect()?.lazy();
    let frames = [("turns", recent.lazy()), ("limits", limits), ("sessions", sessions)];
    let frames: Frames = frames.into_iter().collect();
    let windows = windows(&frames, now, question.timezone, &least)?;
    let today = Spent::of(today_usd, least.between(start.into(), end.into(), None)?);
    Ok(Cached { key, today, windows, sessions: std::collections::BTreeMap::new() })
}

/// The windows of the runtime that have not ended.
fn windows(frames: &Frames, now: Timestamp, timezone: &str, least: &LowerBounds) -> Result<Vec<CachedWindow>, Error> {
    let only = vec![("runtime".to_owned(), RUNTIME.to_owned())];
    let scope = Scope { only, now, timezone: timezone.to_owned(), ..Scope::default() };
    let (windows, _) = windows_of(frames, &scope, CostBasis::Auto)?;
    let mut active = Vec::new();
    for window in windows.into_iter().filter(|window| window.active) {
        let (Some(starts_at), Some(ends_at)) = (window.starts_at, window.ends_at) else { continue };
        active.push(CachedWindow {
            starts_at,
            ends_at,
            used_percent: window.used_percent,
            cost: Spent::of(window.spent.cost_usd, least.between(starts_at, ends_at, Some(RUNTIME))?),
            name: window.window_name,
        });
    }
    Ok(active)
}

/// The sessions whose tokens are a lower bound.
struct LowerBounds(DataFrame);

impl LowerBounds {
    /// Those that did not end before a time.
    fn since(earliest: Timestamp, sessions: &LazyFrame) -> PolarsResult<Self> {
        let is_recent = col(sessions::ENDED_AT).gt_eq(literal(earliest));
        let rows = sessions.clone().filter(is_lower_bound().and(is_recent));
        Ok(Self(rows.select([sessions::RUNTIME, sessions::STARTED_AT, sessions::ENDED_AT].map(col)).collect()?))
    }

    /// Whether there is one with a record in a time, of any runtime or of this one.
    fn between(&self, start: Time, end: Time, runtime: Option<&str>) -> PolarsResult<bool> {
        let is_in_time =
            col(sessions::ENDED_AT).gt_eq(time_value(start)).and(col(sessions::STARTED_AT).lt(time_value(end)));
        let is_of_runtime =
            runtime.map_or_else(|| lit(true), |runtime| col(turns::RUNTIME).eq(lit(runtime.to_owned())));
        let rows = self.0.clone().lazy().filter(is_in_time.and(is_of_runtime)).select([len()]).collect()?;
        Ok(rows.column("len")?.get(0)?.extract::<u64>().is_some_and(|rows| rows > 0))
    }
}

/// The cost of a session.
fn cost_of(archive: &Archive, session: &str) -> Result<Option<Spent>, Error> {
    let snapshot = archive.snapshot()?;
    let sessions = snapshot.some_tables(&[sessions::TABLE])?.table(sessions::TABLE);
    let is_this = col(turns::SESSION_ID).eq(lit(session.to_owned())).and(col(turns::RUNTIME).eq(lit(RUNTIME)));
    let is_least = is_lower_bound().any(true).alias("is_least");
    let row =
        sessions.filter(is_this).select([known_sum(turns::COST_USD).alias(turns::COST_USD), is_least]).collect()?;
    Ok(Spent::of(first_number(&row)?, row.column("is_least")?.bool()?.get(0) == Some(true)))
}

fn literal(time: Timestamp) -> Expr {
    time_value(time.into())
}

fn first_number(frame: &DataFrame) -> Result<Option<f64>, Error> {
    Ok(frame.column(turns::COST_USD)?.cast(&DataType::Float64)?.f64()?.get(0))
}
