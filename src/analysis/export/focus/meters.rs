//! The kinds of usage that have a price of their own, and their sums over the rows of the ledger.

use polars::prelude::*;

use super::makers::{PROVIDER, PUBLISHER};
use super::unpriced::Unpriced;
use crate::analysis::rows::{IS_UNPRICED, sum_of};
use crate::store::frames::{sessions, turns};

/// A kind of usage.
pub(super) struct Meter {
    /// The value of `x_TokenType`, and the prefix of the columns of its sums.
    pub name: &'static str,
    /// `SkuMeter`.
    pub about: &'static str,
    /// The column of the ledger with its quantity.
    pub quantity: &'static str,
    /// The column with its part of the cost; `None` for the cost of rows that are not split.
    part: Option<&'static str>,
    pub unit: &'static str,
    /// The unit of prices, and how many of `unit` it is.
    pub pricing_unit: (&'static str, i64),
}

const fn tokens(name: &'static str, about: &'static str, quantity: &'static str, part: &'static str) -> Meter {
    let pricing_unit = ("1000000 Tokens", 1_000_000);
    Meter { name, about, quantity, part: Some(part), unit: "Tokens", pricing_unit }
}

/// All kinds. Their quantities are disjoint.
pub(super) static METERS: [Meter; 6] = [
    tokens("input", "Input tokens", turns::INPUT_TOKENS, turns::INPUT_COST_USD),
    tokens("output", "Output tokens", turns::OUTPUT_TOKENS, turns::OUTPUT_COST_USD),
    tokens("cache_read", "Cache read tokens", turns::CACHE_READ_TOKENS, turns::CACHE_READ_COST_USD),
    tokens("cache_write", "Cache write tokens", turns::CACHE_WRITE_TOKENS, turns::CACHE_WRITE_COST_USD),
    Meter {
        name: "web_search",
        about: "Web searches",
        quantity: turns::WEB_SEARCHES,
        part: Some(turns::WEB_SEARCH_COST_USD),
        unit: "Searches",
        pricing_unit: ("1000 Searches", 1_000),
    },
    Meter { part: None, ..tokens("all", "All tokens", turns::TOTAL_TOKENS, "") },
];

/// What the charges of a day are grouped by.
pub(super) const KEYS: [&str; 10] = [
    turns::DAY,
    PROVIDER,
    PUBLISHER,
    turns::CANONICAL_MODEL,
    turns::SERVICE_TIER,
    PROJECT,
    USER,
    turns::RUNTIME,
    turns::COST_SOURCE,
    LABELS,
];

pub(super) const PROJECT: &str = "session_project";
pub(super) const USER: &str = "session_user_name";
pub(super) const LABELS: &str = "focus_labels";

/// The separator of the labels in [`LABELS`]: labels have no control characters in their keys.
pub(super) const SEPARATOR: char = '\u{1f}';

const UNPRICED_ROWS: &str = "unpriced_rows";
const UNPRICED_TOKENS: &str = sessions::UNPRICED_TOKENS;

impl Meter {
    /// The column of the sum of its costs.
    pub(super) fn cost_column(&self) -> String {
        format!("{}_focus_usd", self.name)
    }

    /// The column of the sum of its quantity.
    pub(super) fn quantity_column(&self) -> String {
        format!("{}_focus_quantity", self.name)
    }

    /// Its part of the cost of a row; NULL if it is unknown.
    fn cost(&self) -> Expr {
        match self.part {
            Some(part) => when(is_split()).then(col(part)).otherwise(lit(NULL)),
            None => when(is_split().not()).then(col(turns::COST_USD)).otherwise(lit(NULL)),
        }
        .cast(DataType::Float64)
    }

    /// The sums over the rows of a group; NULL if no row has a known value.
    fn sums(&self) -> [Expr; 2] {
        // A cost contains that of other rows of its session: with parts, each part does.
        let has_cost = self.cost().count().gt(lit(0));
        let contains_others = if self.part.is_some() { has_cost } else { has_cost.and(is_split().any(true).not()) };
        let is_of_cost = self.cost().is_not_null().or(is_covered().and(contains_others));
        let quantity = when(is_of_cost).then(col(self.quantity)).otherwise(lit(NULL));
        let known = |value: Expr, sum: Expr| when(value.count().gt(lit(0))).then(sum).otherwise(lit(NULL));
        let cost = sum_of(turns::COST_USD, self.cost());
        [
            known(self.cost(), cost).alias(self.cost_column()),
            known(quantity.clone(), quantity.sum()).alias(self.quantity_column()),
        ]
    }
}

/// Whether the parts of a row's cost are known.
fn is_split() -> Expr {
    let parts = METERS.iter().filter_map(|meter| meter.part).map(|part| col(part).is_not_null());
    parts.reduce(Expr::or).unwrap_or_else(|| lit(false)).and(col(turns::COST_USD).is_not_null())
}

/// Whether the cost of a row is in that of another one: of the session, whose total is known.
fn is_covered() -> Expr {
    col(turns::COST_USD).is_null().and(is_unpriced().not())
}

/// Whether the cost of a row is unknown.
fn is_unpriced() -> Expr {
    col(IS_UNPRICED)
}

/// Whether a row has tokens that no charge contains: its cost is unknown, or a part of it, or it is in the cost of a row of another group.
fn is_left_out() -> Expr {
    let is_elsewhere =
        is_covered().and(col(turns::COST_USD).count().eq(lit(0))).and(col(turns::TOTAL_TOKENS).gt(lit(0)));
    let of_parts = METERS
        .iter()
        .filter(|meter| meter.part.is_some() && meter.unit == "Tokens")
        .map(|meter| is_split().and(meter.cost().is_null()).and(col(meter.quantity).gt(lit(0))));
    of_parts.fold(is_unpriced().or(is_elsewhere), Expr::or).fill_null(lit(false))
}

/// The sums of all meters by [`KEYS`]. The day is the one of UTC, as FOCUS requires.
pub(super) fn summed(rows: LazyFrame) -> LazyFrame {
    let labels = col(format!("session_{}", sessions::LABELS)).list().join(lit(SEPARATOR.to_string()), true);
    let rows = rows.with_columns([labels.alias(LABELS), col(turns::OCCURRED_AT).dt().date().alias(turns::DAY)]);
    let rows_left_out = is_left_out().sum().cast(DataType::Int64).alias(UNPRICED_ROWS);
    let all_tokens = col(turns::TOTAL_TOKENS).sum().alias(turns::TOTAL_TOKENS);
    let sums: Vec<Expr> = METERS.iter().flat_map(Meter::sums).chain([rows_left_out, all_tokens]).collect();
    let charged = METERS
        .iter()
        .filter(|meter| meter.unit == "Tokens")
        .map(|meter| col(meter.quantity_column()).fill_null(lit(0)));
    let left_out = charged.fold(col(turns::TOTAL_TOKENS), |left, charged| left - charged).alias(UNPRICED_TOKENS);
    rows.group_by(KEYS.map(col)).agg(sums).with_column(left_out.cast(DataType::Int64))
}

/// The usage without a known cost in all groups.
pub(super) fn unpriced(sums: &DataFrame) -> PolarsResult<Unpriced> {
    let sum = |name: &str| -> PolarsResult<i64> { Ok(sums.column(name)?.i64()?.sum().unwrap_or(0)) };
    Ok(Unpriced { rows: sum(UNPRICED_ROWS)?, tokens: sum(UNPRICED_TOKENS)? })
}
