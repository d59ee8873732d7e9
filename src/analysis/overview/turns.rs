//! Reads the rows of the ledger once: for the sums of periods, days, models and projects, and for the windows of limits.

use polars::prelude::*;

use super::periods::Calendar;
use super::sums::{Row, Summing, Turns};
use crate::analysis::limits::ActiveWindows;
use crate::analysis::reports::grouping::Grouping;
use crate::analysis::reports::spec::Rows;
use crate::analysis::reports::tables::{for_each_batch, physical};
use crate::analysis::reports::{Cost, Error, Frames, Scope};
use crate::base::time::Time;

/// Sums the rows of `turns`, and adds them to the windows of limits. Rows without a time have the time of the start of their
/// session.
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
