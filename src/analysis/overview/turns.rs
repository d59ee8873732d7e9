//! Reads the rows of the ledger once: for the sums of periods, days, models and projects, and for the windows of limits.

use jiff::civil::Date;
use polars::prelude::*;

use super::periods::Calendar;
use super::sums::{Row, Summing};
use crate::analysis::limits::ActiveWindows;
use crate::analysis::reports::grouping::Grouping;
use crate::analysis::reports::spec::Rows;
use crate::analysis::reports::tables::{for_each_batch, physical};
use crate::analysis::reports::{Cost, Error, Frames, Scope};
use crate::base::time::Time;

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
}

/// Sums the rows of `turns`, and adds them to the windows of limits. Rows without a time have the time of the start of their session.
pub fn turns(tables: &Frames, calendar: &Calendar, windows: &mut ActiveWindows) -> Result<Turns, Error> {
    const TEXTS: [&str; 3] = ["runtime", "session_id", "canonical_model"];
    const WHOLES: [&str; 2] = ["occurred_at", "total_tokens"];
    let mut turns = Grouping::new("overview", &Rows::Table("turns"), tables, &Scope::default(), Cost::Auto)?;
    turns.date_rows()?;
    let is_response = col("grain").eq(lit("turn")).alias("is_response");
    let rows = turns.rows.with_column(is_response);
    let rows = physical(rows, &[&TEXTS[..], &WHOLES, &["cost_usd", "is_unpriced", "is_response"]].concat());
    let mut sums = Summing::new(calendar);
    for_each_batch(rows, |batch| {
        let [runtime, session, model] = batch.texts(TEXTS)?;
        let [time, tokens] = batch.wholes(WHOLES)?;
        let [cost] = batch.floats(["cost_usd"])?;
        let (is_unpriced, is_response) = (batch.flag("is_unpriced")?, batch.flag("is_response")?);
        for index in 0..batch.height() {
            let row = Row {
                runtime: runtime.get(index),
                session: session.get(index),
                time: time.get(index).map(Time::from_micros),
                model: model.get(index),
                tokens: tokens.get(index),
                cost_usd: cost.get(index),
                is_unpriced: is_unpriced.get(index) == Some(true),
                is_response: is_response.get(index) == Some(true),
            };
            sums.add(&row);
            if let (Some(runtime), Some(facts)) = (row.runtime, row.facts()) {
                windows.add(runtime, row.session, facts);
            }
        }
        Ok(())
    })?;
    Ok(sums.finished(tables)?)
}
