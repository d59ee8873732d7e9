//! Adds up rows of the ledger, by all that the overview distinguishes.

use std::cmp::Ordering;

use foldhash::{HashMap, HashMapExt as _};
use jiff::civil::Date;
use polars::prelude::*;

use super::periods::{Calendar, DAYS};
use crate::analysis::limits::TurnFacts;
use crate::analysis::rows::{Frames, hash_of, shown_project};
use crate::analysis::show::short_ids;
use crate::base::time::Time;
use crate::model::session::add;
use crate::store::frames::{TypedRows, for_each_batch, rows, sessions};

/// Sums over rows of the ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// Number of rows. Without rows nothing was spent; with rows, a sum that is `None` is unknown.
    pub rows: u64,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens.
    pub total_tokens: Option<i64>,
}

/// The last days, and the period of the same length before them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Period {
    /// Its length in days.
    pub days: i64,
    /// The sums of the last days.
    pub now: Sums,
    /// The sessions with a row in them.
    pub sessions: u64,
    /// The sums of the period before.
    pub before: Sums,
    /// The sessions with a row in that.
    pub sessions_before: u64,
}

/// A local day.
#[derive(Debug, Clone, PartialEq)]
pub struct Day {
    /// Its date.
    pub date: Date,
    /// Its sums.
    pub sums: Sums,
}

/// A model or a project.
#[derive(Debug, Clone, PartialEq)]
pub struct Top {
    /// Its name.
    pub name: Option<String>,
    /// Its sums.
    pub sums: Sums,
}

rows! {
    /// The columns of sessions.
    struct SessionColumns {
        runtime: sessions::RUNTIME,
        session: sessions::SESSION_ID,
        project: sessions::PROJECT,
        model: sessions::CANONICAL_MODEL,
    }

    /// The ids of sessions.
    struct Ids {
        id: sessions::SESSION_ID,
    }
}

/// A session and what it cost in the last days.
#[derive(Debug, Clone, PartialEq)]
pub struct TopSession {
    /// The runtime.
    pub runtime: Option<String>,
    /// The runtime's own id.
    pub id: String,
    /// The beginning of the id that names only this session.
    pub short_id: String,
    /// Its repository, or its project where no repository is known.
    pub project: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its sums.
    pub sums: Sums,
}

/// The sums over the rows of the ledger.
#[derive(Debug, Default)]
pub struct Turns {
    pub periods: Vec<Period>,
    pub days: Vec<Day>,
    /// The models of the last 7 days, and of the last 30.
    pub models: [Vec<Top>; 2],
    /// The same of projects.
    pub projects: [Vec<Top>; 2],
    /// The most expensive sessions.
    pub sessions: [Vec<TopSession>; 2],
    /// Tokens of the last 30 days without a cost.
    pub unpriced_tokens: i64,
    /// Rows without a time, in sessions without a start.
    pub undated: Sums,
    /// Rows with a time after today.
    pub after_today: u64,
}

impl Sums {
    /// The cost; 0 if there is nothing that costs.
    pub fn cost(&self) -> Option<f64> {
        if self.rows == 0 { Some(0.0) } else { self.cost_usd }
    }

    /// The tokens; 0 if there are no rows.
    pub fn tokens(&self) -> Option<i64> {
        if self.rows == 0 { Some(0) } else { self.total_tokens }
    }
}

/// Sums while rows are added. Dollars are whole numbers of picodollars (10⁻¹² dollars), so that the order of the rows does not
/// matter.
#[derive(Debug, Clone, Copy, Default)]
struct ExactSum {
    rows: u64,
    picodollars: Option<i128>,
    tokens: Option<i64>,
}

impl ExactSum {
    fn add(&mut self, row: &Row<'_>) {
        #[expect(clippy::cast_possible_truncation, reason = "a cost that does not fit is the largest")]
        let picodollars = row.cost_usd.map(|cost| (cost * 1e12).round() as i128);
        self.merge(&Self { rows: 1, picodollars, tokens: row.tokens });
    }

    fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.picodollars = match (self.picodollars, other.picodollars) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.tokens = add(self.tokens, other.tokens);
    }

    fn rounded(&self) -> Sums {
        let cost_usd = self.picodollars.map(|picodollars| picodollars as f64 / 1e12);
        Sums { rows: self.rows, cost_usd, total_tokens: self.tokens }
    }
}

/// A row of the ledger.
pub(super) struct Row<'a> {
    pub runtime: Option<&'a str>,
    pub session: Option<&'a str>,
    pub time: Option<Time>,
    pub model: Option<&'a str>,
    pub tokens: Option<i64>,
    pub cost_usd: Option<f64>,
    pub is_unpriced: bool,
    pub is_response: bool,
}

impl Row<'_> {
    /// The row for the windows of limits, if it has a time.
    pub(super) fn facts(&self) -> Option<TurnFacts> {
        let Self { tokens, cost_usd, is_response, .. } = *self;
        Some(TurnFacts { time: self.time?, session: None, tokens, cost_usd, is_response })
    }
}

/// The sums over the last 7 days, and over the last 30.
type Recent = [ExactSum; 2];

/// The rows of a session.
#[derive(Debug, Default)]
struct OfSession {
    recent: Recent,
    /// Whether it has rows in each period, and in the period before.
    is_in: [[bool; 2]; DAYS.len()],
}

/// All sums of the overview while rows are added.
pub(super) struct Summing<'c> {
    calendar: &'c Calendar,
    /// The sums of each period, and of the period before.
    periods: [[ExactSum; 2]; DAYS.len()],
    days: Vec<ExactSum>,
    models: HashMap<Option<String>, Recent>,
    /// By the hash of the runtime and the id.
    sessions: HashMap<u64, OfSession>,
    unpriced_tokens: i64,
    undated: ExactSum,
    after_today: u64,
}

impl<'c> Summing<'c> {
    pub(super) fn new(calendar: &'c Calendar) -> Self {
        Self {
            calendar,
            periods: Default::default(),
            days: vec![ExactSum::default(); calendar.days.len()],
            models: HashMap::new(),
            sessions: HashMap::new(),
            unpriced_tokens: 0,
            undated: ExactSum::default(),
            after_today: 0,
        }
    }

    pub(super) fn add(&mut self, row: &Row<'_>) {
        let Some(time) = row.time else { return self.undated.add(row) };
        if time >= self.calendar.end {
            self.after_today += 1;
        }
        if time < self.calendar.first || time >= self.calendar.end {
            return;
        }
        let session = self.sessions.entry(hash_of((row.runtime, row.session))).or_default();
        let of_periods = self.periods.iter_mut().zip(&mut session.is_in);
        for (([now, before], [is_in, is_before]), bounds) in of_periods.zip(&self.calendar.periods) {
            if bounds.contains(time) {
                now.add(row);
                *is_in = true;
            } else if bounds.before_contains(time) {
                before.add(row);
                *is_before = true;
            }
        }
        let Some(day) = self.calendar.day_of(time).and_then(|index| self.days.get_mut(index)) else { return };
        day.add(row);
        if row.is_unpriced {
            self.unpriced_tokens = self.unpriced_tokens.saturating_add(row.tokens.unwrap_or(0));
        }
        let is_of_week = self.calendar.periods.get(1).is_some_and(|bounds| bounds.contains(time));
        let model = self.models.entry(row.model.map(str::to_owned)).or_default();
        for [week, month] in [model, &mut session.recent] {
            month.add(row);
            if is_of_week {
                week.add(row);
            }
        }
    }

    /// The sums; those of projects are the sums of their sessions.
    pub(super) fn finished(mut self, tables: &Frames) -> PolarsResult<Turns> {
        let periods = DAYS.iter().zip(&self.periods).enumerate().map(|(index, (days, [now, before]))| {
            let (mut sessions, mut sessions_before) = (0, 0);
            for [is_in, is_before] in self.sessions.values().filter_map(|session| session.is_in.get(index)) {
                sessions += u64::from(*is_in);
                sessions_before += u64::from(*is_before);
            }
            Period { days: *days, now: now.rounded(), sessions, before: before.rounded(), sessions_before }
        });
        let periods = periods.collect();
        let mut projects: HashMap<Option<String>, Recent> = HashMap::new();
        let mut top_sessions = TopSessions::default();
        let project = shown_project(tables);
        for_each_batch(tables.table(sessions::TABLE).with_column(project), |sessions: &SessionColumns| {
            for row in 0..sessions.height() {
                let (runtime, id) = (sessions.runtime(row), sessions.session(row));
                if let Some(session) = self.sessions.remove(&hash_of((runtime, id))) {
                    let project = sessions.project(row);
                    merge(projects.entry(project.map(str::to_owned)).or_default(), &session.recent);
                    top_sessions.add(&session.recent, [runtime, id, project, sessions.model(row)]);
                }
            }
            Ok(())
        })?;
        for session in self.sessions.values() {
            merge(projects.entry(None).or_default(), &session.recent);
        }
        let days = self.calendar.days.iter().zip(&self.days);
        Ok(Turns {
            periods,
            days: days.map(|((date, _), sum)| Day { date: *date, sums: sum.rounded() }).collect(),
            models: [0, 1].map(|index| top(&self.models, index)),
            projects: [0, 1].map(|index| top(&projects, index)),
            sessions: top_sessions.finished(tables)?,
            unpriced_tokens: self.unpriced_tokens,
            undated: self.undated.rounded(),
            after_today: self.after_today,
        })
    }
}

fn merge(to: &mut Recent, from: &Recent) {
    for (to, from) in to.iter_mut().zip(from) {
        to.merge(from);
    }
}

/// The most expensive sessions while sessions are added.
#[derive(Debug, Default)]
struct TopSessions([Vec<TopSession>; 2]);

impl TopSessions {
    /// The number of sessions that are kept.
    const KEPT: usize = 20;

    /// Adds a session by its runtime, id, project and model.
    fn add(&mut self, recent: &Recent, texts: [Option<&str>; 4]) {
        let [runtime, id, project, model] = texts;
        for (kept, sum) in self.0.iter_mut().zip(recent).filter(|(_, sum)| sum.picodollars.is_some_and(|it| it > 0)) {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            kept.push(TopSession {
                runtime: owned(runtime),
                id: owned(id).unwrap_or_default(),
                short_id: String::new(),
                project: owned(project),
                model: owned(model),
                sums: sum.rounded(),
            });
            if kept.len() >= 8 * Self::KEPT {
                Self::limit(kept);
            }
        }
    }

    fn limit(sessions: &mut Vec<TopSession>) {
        sessions.sort_by(|a, b| by_cost(a.sums, b.sums).then_with(|| (&a.id, &a.runtime).cmp(&(&b.id, &b.runtime))));
        sessions.truncate(Self::KEPT);
    }

    /// The sessions by cost, with their short ids.
    fn finished(mut self, tables: &Frames) -> PolarsResult<[Vec<TopSession>; 2]> {
        self.0.iter_mut().for_each(Self::limit);
        let ids: Vec<&str> = self.0.iter().flatten().map(|session| session.id.as_str()).collect();
        let mut all: Vec<String> = Vec::new();
        if !ids.is_empty() {
            for_each_batch(tables.table(sessions::TABLE), |ids: &Ids| {
                all.extend((0..ids.height()).filter_map(|row| ids.id(row)).map(str::to_owned));
                Ok(())
            })?;
        }
        let short: Vec<String> = short_ids(&ids, all).into_iter().map(str::to_owned).collect();
        for (session, short) in self.0.iter_mut().flatten().zip(short) {
            session.short_id = short;
        }
        Ok(self.0)
    }
}

/// The order by cost, then by tokens, the highest first.
fn by_cost(a: Sums, b: Sums) -> Ordering {
    let cost = |sums: Sums| sums.cost_usd.unwrap_or(-1.0);
    cost(b).total_cmp(&cost(a)).then_with(|| b.total_tokens.cmp(&a.total_tokens))
}

/// The names with rows, by cost, then by tokens.
fn top(names: &HashMap<Option<String>, Recent>, index: usize) -> Vec<Top> {
    let sums = names.iter().filter_map(|(name, sums)| Some((name, sums.get(index)?)));
    let mut top: Vec<Top> = sums
        .filter(|(_, sum)| sum.rows > 0)
        .map(|(name, sum)| Top { name: name.clone(), sums: sum.rounded() })
        .collect();
    top.sort_by(|a, b| by_cost(a.sums, b.sums).then_with(|| a.name.cmp(&b.name)));
    top
}
