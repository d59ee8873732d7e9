//! Sums over the rows of the ledger, in one pass.

use foldhash::{HashMap, HashMapExt as _};
use jiff::civil::Date;
use polars::prelude::*;

use super::periods::{Calendar, DAYS};
use crate::analysis::reports::grouping::Grouping;
use crate::analysis::reports::spec::{Rows, known_sum};
use crate::analysis::reports::{Cost, Error, Frames, Scope};
use crate::base::time::Time;
use crate::model::session::{add, add_money};

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

/// The sums over the rows of the ledger.
#[derive(Debug, Default)]
pub struct Turns {
    pub periods: Vec<Period>,
    pub days: Vec<Day>,
    /// The models of the last 7 days, and of the last 30.
    pub models: [Vec<Top>; 2],
    /// The same of projects.
    pub projects: [Vec<Top>; 2],
    /// Tokens of the last 30 days without a cost.
    pub unpriced_tokens: i64,
    /// Rows without a time, in sessions without a start.
    pub undated: Sums,
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

    fn add(&mut self, row: &Row<'_>) {
        self.rows += row.rows;
        self.cost_usd = add_money(self.cost_usd, row.cost_usd);
        self.total_tokens = add(self.total_tokens, row.tokens);
    }
}

/// Rows of the ledger of one session and model, between the same two bounds of [`Calendar::bounds`].
struct Row<'a> {
    rows: u64,
    runtime: Option<&'a str>,
    session: Option<&'a str>,
    time: Option<Time>,
    model: Option<&'a str>,
    project: Option<&'a str>,
    tokens: Option<i64>,
    cost_usd: Option<f64>,
    is_unpriced: bool,
}

/// The sums by name, over the last 7 days and over the last 30.
type Named<'a> = HashMap<Option<&'a str>, [Sums; 2]>;

/// Sums the rows of `turns`. Those without a time have the time of the start of their session.
pub fn turns(tables: &Frames, calendar: &Calendar) -> Result<Turns, Error> {
    let frame = frame(tables, calendar)?;
    let mut turns = Turns {
        periods: DAYS.iter().map(|days| Period { days: *days, ..Period::default() }).collect(),
        days: calendar.days.iter().map(|(date, _)| Day { date: *date, sums: Sums::default() }).collect(),
        ..Turns::default()
    };
    let (mut models, mut projects) = (Named::new(), Named::new());
    // For each session the periods that it is in: two bits for each period.
    let mut sessions: HashMap<(Option<&str>, Option<&str>), u8> = HashMap::new();
    for row in rows(&frame)? {
        let Some(time) = row.time else {
            turns.undated.add(&row);
            continue;
        };
        if time < calendar.first || time >= calendar.end {
            continue;
        }
        let mut bits = 0;
        for (index, (period, bounds)) in turns.periods.iter_mut().zip(&calendar.periods).enumerate() {
            if bounds.contains(time) {
                period.now.add(&row);
                bits |= 1 << (2 * index);
            } else if bounds.before_contains(time) {
                period.before.add(&row);
                bits |= 2 << (2 * index);
            }
        }
        *sessions.entry((row.runtime, row.session)).or_default() |= bits;
        let Some(day) = calendar.day_of(time).and_then(|index| turns.days.get_mut(index)) else { continue };
        day.sums.add(&row);
        if row.is_unpriced {
            turns.unpriced_tokens = turns.unpriced_tokens.saturating_add(row.tokens.unwrap_or(0));
        }
        let is_of_week = calendar.periods.get(1).is_some_and(|bounds| bounds.contains(time));
        for (names, name) in [(&mut models, row.model), (&mut projects, row.project)] {
            let [week, month] = names.entry(name).or_default();
            month.add(&row);
            if is_of_week {
                week.add(&row);
            }
        }
    }
    for bits in sessions.values() {
        for (index, period) in turns.periods.iter_mut().enumerate() {
            period.sessions += u64::from(bits >> (2 * index) & 1);
            period.sessions_before += u64::from(bits >> (2 * index + 1) & 1);
        }
    }
    turns.models = [0, 1].map(|index| top(&models, index));
    turns.projects = [0, 1].map(|index| top(&projects, index));
    Ok(turns)
}

/// The names with rows, by cost, then by tokens.
fn top(names: &Named<'_>, index: usize) -> Vec<Top> {
    let sums = names.iter().filter_map(|(name, sums)| Some((name, sums.get(index)?)));
    let mut top: Vec<Top> = sums
        .filter(|(_, sums)| sums.rows > 0)
        .map(|(name, sums)| Top { name: name.map(str::to_owned), sums: *sums })
        .collect();
    top.sort_by(|a, b| {
        let cost = |top: &Top| top.sums.cost_usd.unwrap_or(-1.0);
        let by_cost = cost(b).total_cmp(&cost(a)).then_with(|| b.sums.total_tokens.cmp(&a.sums.total_tokens));
        by_cost.then_with(|| a.name.cmp(&b.name))
    });
    top
}

/// The sums of the ledger, by all that the overview distinguishes.
fn frame(tables: &Frames, calendar: &Calendar) -> Result<DataFrame, Error> {
    let mut turns = Grouping::new("overview", &Rows::Table("turns"), tables, &Scope::default(), Cost::Auto)?;
    turns.date_rows()?;
    let bounds = calendar.bounds();
    let bound_before = move |time: i64| {
        let next = bounds.partition_point(|bound| bound.micros() <= time);
        next.checked_sub(1).and_then(|index| bounds.get(index)).map_or(i64::MIN, |bound| bound.micros())
    };
    let bound = col("occurred_at")
        .to_physical()
        .map(move |times| Ok(times.i64()?.apply_values(&bound_before).into_column()), |_, field| Ok(field.clone()));
    let session = || [col("runtime"), col("session_id")];
    let [runtime, session_id] = session();
    let keys = [runtime, session_id, col("canonical_model"), col("is_unpriced"), bound.alias("bound")];
    let sums = turns.rows.group_by(keys).agg([
        len().cast(DataType::Int64).alias("rows"),
        col("occurred_at").to_physical().min(),
        known_sum("total_tokens").alias("total_tokens"),
        known_sum("cost_usd").alias("cost_usd"),
    ]);
    let [runtime, session_id] = session();
    let project = coalesce(&[col("repository"), col("project")]).alias("project");
    let sessions = tables.table("sessions").select([runtime, session_id, project]);
    let frame = sums.join(sessions, session(), session(), JoinType::Left.into());
    // Sums of floats need an order.
    let frame = frame.sort(["runtime", "session_id", "canonical_model", "bound"], SortMultipleOptions::default());
    Ok(frame.collect_with_engine(Engine::Streaming)?.unwrap_single())
}

fn rows(frame: &DataFrame) -> PolarsResult<impl Iterator<Item = Row<'_>>> {
    let text = |name: &str| frame.column(name)?.str();
    let (runtime, session) = (text("runtime")?.iter(), text("session_id")?.iter());
    let (model, project) = (text("canonical_model")?.iter(), text("project")?.iter());
    let (time, tokens) = (frame.column("occurred_at")?.i64()?.iter(), frame.column("total_tokens")?.i64()?.iter());
    let rows = frame.column("rows")?.i64()?.iter();
    let (cost, is_unpriced) = (frame.column("cost_usd")?.f64()?.iter(), frame.column("is_unpriced")?.bool()?.iter());
    let texts = runtime.zip(session).zip(model).zip(project);
    let numbers = time.zip(tokens).zip(cost).zip(is_unpriced).zip(rows);
    Ok(texts.zip(numbers).map(|(texts, numbers)| {
        let (((runtime, session), model), project) = texts;
        let ((((time, tokens), cost_usd), is_unpriced), rows) = numbers;
        Row {
            rows: rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or_default(),
            runtime,
            session,
            time: time.map(Time::from_micros),
            model,
            project,
            tokens,
            cost_usd,
            is_unpriced: is_unpriced == Some(true),
        }
    }))
}
