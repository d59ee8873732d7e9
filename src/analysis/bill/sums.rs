//! The sums over all groups.

use super::row::{Outcome, Parts, Row};

/// The sums over all groups, in the unit of the comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// The amount of the bill without credits.
    pub bill: f64,
    /// Credits on the bill, as an amount above 0.
    pub credits: f64,
    /// The known amount of the logs.
    pub logs: f64,
    /// The part of the bill that the logs explain.
    pub explained: f64,
    /// The part of `explained` that the logs of the days around explain.
    pub moved: f64,
    /// What is on the bill only.
    pub bill_only: f64,
    /// What is in the logs only.
    pub logs_only: f64,
    /// How much more the bill states for the same tokens.
    pub dearer: f64,
    /// How much less the bill states for the same tokens.
    pub cheaper: f64,
    /// What the bill states for usage whose cost in the logs is unknown.
    pub no_price: f64,
    /// Groups for which the bill states tokens, but no amount.
    pub without_amount: usize,
    /// Responses of the logs without a known cost.
    pub unpriced: i64,
}

impl Sums {
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut sums = Self::default();
        for row in rows {
            let Parts { bill, logs, explained, moved, bill_only, logs_only, price_difference, no_price } = row.parts;
            sums.bill += bill.unwrap_or(0.0).max(0.0);
            sums.credits -= bill.unwrap_or(0.0).min(0.0);
            sums.logs += logs.unwrap_or(0.0);
            sums.explained += explained;
            sums.moved += moved;
            sums.bill_only += bill_only.max(0.0);
            sums.logs_only += logs_only;
            sums.dearer += price_difference.max(0.0);
            sums.cheaper -= price_difference.min(0.0);
            sums.no_price += no_price;
            let has_bill = row.bill.is_some() && row.outcome != Outcome::LogsOnly;
            sums.without_amount += usize::from(has_bill && bill.is_none());
            sums.unpriced += row.logs.as_ref().map_or(0, |logs| logs.unpriced);
        }
        sums
    }

    /// The share of the bill that is explained; `None` if the bill is 0.
    pub fn share(&self) -> Option<f64> {
        (self.bill > 0.0).then(|| self.explained / self.bill)
    }
}
