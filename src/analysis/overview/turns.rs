//! Reads the rows of the ledger once: for the sums of periods, days, models and projects, and for the windows of limits.

use polars::prelude::*;

use super::periods::Calendar;
use super::sums::{Row, Summing, Turns};
use crate::analysis::limits::ActiveWindows;
use crate::analysis::rows::{CostBasis, Frames, Table};
use crate::analysis::selection::{Error, Grouping, Scope};
use crate::store::frames::{TypedRows, computed_columns, for_each_batch, rows, turns};

computed_columns! {
    /// Whether a row has no cost: see [`CostBasis::columns`].
    IS_UNPRICED: Flag = "is_unpriced";
    /// Whether a row is a response.
    IS_RESPONSE: Flag = "is_response";
}

rows! {
    /// The columns of the ledger.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        model: turns::CANONICAL_MODEL,
        time: turns::OCCURRED_AT,
        tokens: turns::TOTAL_TOKENS,
        cost_usd: turns::COST_USD,
        is_unpriced: IS_UNPRICED,
        is_response: IS_RESPONSE,
    }
}

/// Sums the rows of `turns`, and adds them to the windows of limits. Rows without a time have the time of the start of their
/// session.
pub fn turns(tables: &Frames, calendar: &Calendar, windows: &mut ActiveWindows) -> Result<Turns, Error> {
    let mut turns = Grouping::new("overview", &Table(turns::TABLE), tables, &Scope::default(), CostBasis::Auto)?;
    turns.date_rows()?;
    let is_response = col(turns::GRAIN).eq(lit("turn")).alias(IS_RESPONSE);
    let mut sums = Summing::new(calendar);
    for_each_batch(turns.rows.with_column(is_response), |turns: &TurnColumns| {
        for row in 0..turns.height() {
            let row = Row {
                runtime: turns.runtime(row),
                session: turns.session(row),
                time: turns.time(row),
                model: turns.model(row),
                tokens: turns.tokens(row),
                cost_usd: turns.cost_usd(row),
                is_unpriced: turns.is_unpriced(row),
                is_response: turns.is_response(row),
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
