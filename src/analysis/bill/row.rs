//! The two sides of a group, and what they differ in.

use super::amounts::{Amounts, count, is_near};
use super::key::Key;

/// The unit in which the sides are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// US dollars.
    Dollars,
    /// Tokens, if no line of the bill states a cost.
    Tokens,
}

impl Measure {
    /// The largest difference that is ignored whatever the amounts: bills are rounded to a cent.
    pub(super) const fn least(self) -> f64 {
        match self {
            Self::Dollars => 0.01,
            Self::Tokens => 0.0,
        }
    }

    fn of(self, amounts: &Amounts) -> Option<f64> {
        match self {
            Self::Dollars => amounts.cost_usd,
            Self::Tokens => amounts.total_tokens.map(count),
        }
    }
}

/// How the two sides of a group differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// They do not.
    Explained,
    /// The days around explain the difference.
    OtherDay,
    /// The same tokens have other costs.
    Price,
    /// Both have usage, of different amounts.
    Differs,
    /// The logs have no such usage.
    BillOnly,
    /// The bill has no such usage.
    LogsOnly,
    /// The cost of the logs is unknown.
    NoPrice,
}

impl Outcome {
    /// As the column `result` names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Explained => "explained",
            Self::OtherDay => "other_day",
            Self::Price => "price_difference",
            Self::Differs => "differs",
            Self::BillOnly => "bill_only",
            Self::LogsOnly => "logs_only",
            Self::NoPrice => "no_price",
        }
    }
}

/// What the amounts of a group consist of, in the unit of the comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Parts {
    /// The amount of the bill; `None` if it states none.
    pub bill: Option<f64>,
    /// The amount of the logs; `None` if it is unknown.
    pub logs: Option<f64>,
    /// The part of the bill that the logs explain.
    pub explained: f64,
    /// The part of `explained` that the logs of the days around explain.
    pub moved: f64,
    /// What is on the bill only.
    pub bill_only: f64,
    /// What is in the logs only.
    pub logs_only: f64,
    /// The bill less the logs, for the same tokens.
    pub price_difference: f64,
    /// What the bill states for usage whose cost in the logs is unknown.
    pub no_price: f64,
}

/// A group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub key: Key,
    pub bill: Option<Amounts>,
    pub logs: Option<Amounts>,
    pub outcome: Outcome,
    pub parts: Parts,
}

impl Row {
    pub fn of(key: Key, bill: Option<Amounts>, logs: Option<Amounts>, measure: Measure, tolerance: f64) -> Self {
        let (outcome, parts) = compared(bill.as_ref(), logs.as_ref(), measure, tolerance);
        Self { key, bill, logs, outcome, parts }
    }

    /// How much of the group is not explained.
    pub fn unexplained(&self) -> f64 {
        let Parts { bill_only, logs_only, price_difference, no_price, .. } = self.parts;
        bill_only.abs() + logs_only.abs() + price_difference.abs() + no_price.abs()
    }
}

fn compared(bill: Option<&Amounts>, logs: Option<&Amounts>, measure: Measure, tolerance: f64) -> (Outcome, Parts) {
    let of_bill = bill.and_then(|bill| measure.of(bill));
    let of_logs = logs.and_then(|logs| measure.of(logs));
    let parts = Parts { bill: of_bill, logs: of_logs, ..Parts::default() };
    let (Some(bill), Some(logs)) = (bill, logs) else {
        let outcome = if bill.is_some() { Outcome::BillOnly } else { Outcome::LogsOnly };
        return (outcome, Parts { bill_only: of_bill.unwrap_or(0.0), logs_only: of_logs.unwrap_or(0.0), ..parts });
    };
    let has_same_tokens = bill.has_same_tokens(logs, tolerance);
    match (of_bill, of_logs) {
        (None, _) => (if has_same_tokens { Outcome::Explained } else { Outcome::Differs }, parts),
        (Some(no_price), None) => (Outcome::NoPrice, Parts { no_price, ..parts }),
        (Some(bill), Some(logs)) if is_near(bill, logs, tolerance, measure.least()) => {
            (Outcome::Explained, Parts { explained: bill, ..parts })
        }
        (Some(bill), Some(logs)) if has_same_tokens && measure == Measure::Dollars => {
            let explained = bill.min(logs).max(0.0);
            (Outcome::Price, Parts { explained, price_difference: bill - logs, ..parts })
        }
        (Some(bill), Some(logs)) => {
            let explained = bill.min(logs).max(0.0);
            let (bill_only, logs_only) = (bill - explained, logs - explained);
            (Outcome::Differs, Parts { explained, bill_only, logs_only, ..parts })
        }
    }
}
