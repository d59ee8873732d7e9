//! The rows of the ledger.

use jiff::Span;
use jiff::civil::Date;
use polars::prelude::*;

use super::amounts::Amounts;
use super::billed::Billed;
use super::key::{By, Key};
use super::question::Question;
use crate::analysis::rows::Bound;
use crate::analysis::rows::{Frames, IS_UNPRICED, Table, known_sum};
use crate::analysis::selection::{Error, Grouping, LeftOut, Scope};
use crate::base::time::Day;
use crate::prices::Pricer;
use crate::store::frames::turns;

/// The columns of the label with the name of a key, and of the day in UTC.
const KEY: &str = "bill_key";
const DAY: &str = "bill_day";
const PROJECT: &str = "session_project";
const RESPONSES: &str = "bill_responses";
const UNPRICED: &str = "bill_unpriced";

/// The label of sessions that names their key.
const KEY_LABEL: &str = "label:key";

/// The kinds of tokens, as in [`Kinds`](super::amounts::Kinds), then all tokens.
const TOKENS: [&str; 5] = [
    turns::INPUT_TOKENS,
    turns::OUTPUT_TOKENS,
    turns::CACHE_READ_TOKENS,
    turns::CACHE_WRITE_TOKENS,
    turns::TOTAL_TOKENS,
];

/// The rows in scope, by group.
#[derive(Debug, Default)]
pub(super) struct Logged {
    pub groups: Vec<(Key, Amounts)>,
    /// Rows without a time.
    pub left_out: LeftOut,
    /// Rows that another provider bills.
    pub of_others: OfOthers,
}

/// Rows of the ledger that another provider bills.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OfOthers {
    /// Their number.
    pub responses: i64,
    /// Their known cost.
    pub cost_usd: Option<f64>,
}

impl Logged {
    /// The rows of the period, and of the days around it that may explain differences.
    ///
    /// # Errors
    /// When a filter names something that does not exist, or the tables cannot be read.
    pub fn read(tables: &Frames, billed: &Billed, question: &Question<'_>) -> Result<Self, Error> {
        let is_daily = billed.by.contains(&By::Day);
        let delay = if is_daily { i32::from(question.delay) } else { 0 };
        let (first, last) = billed.period;
        let bound = |day: i32| date(day).map(Bound::Day);
        let scope = Scope {
            since: bound(first.0.saturating_sub(delay)),
            until: bound(last.0.saturating_add(delay)),
            undated: None,
            ..question.scope.clone()
        };
        let mut grouping = Grouping::new("bill", &Table(turns::TABLE), tables, &scope, question.cost)?;
        grouping.join_sessions()?;
        let key = grouping.dimension(KEY_LABEL)?.alias(KEY);
        let left_out = std::mem::take(&mut grouping.left_out);
        let day = col(turns::OCCURRED_AT).dt().date().cast(DataType::Int32).alias(DAY);
        let sums = TOKENS.iter().chain([&turns::COST_USD]).map(|name| known_sum(name).alias(*name));
        let counts = [
            col(turns::OCCURRED_AT).count().cast(DataType::Int64).alias(RESPONSES),
            col(IS_UNPRICED).sum().cast(DataType::Int64).alias(UNPRICED),
        ];
        let keys = [DAY, turns::MODEL, turns::CANONICAL_MODEL, turns::PROVIDER, PROJECT, KEY].map(col);
        let found = grouping.rows.with_columns([day, key]).group_by(keys).agg(sums.chain(counts).collect::<Vec<_>>());
        let groups = groups(&found.collect()?, billed, question)?;
        Ok(Self { left_out, ..groups })
    }
}

fn date(day: i32) -> Option<Date> {
    let days = Span::new().try_days(i64::from(day)).ok()?;
    Date::constant(1970, 1, 1).checked_add(days).ok()
}

/// The groups of the rows that the providers of the bill sell.
fn groups(found: &DataFrame, billed: &Billed, question: &Question<'_>) -> PolarsResult<Logged> {
    let text = |name: &str| -> PolarsResult<StringChunked> { Ok(found.column(name)?.str()?.clone()) };
    let number =
        |name: &str| -> PolarsResult<Int64Chunked> { Ok(found.column(name)?.cast(&DataType::Int64)?.i64()?.clone()) };
    let days = number(DAY)?;
    let (logged, models, providers) = (text(turns::MODEL)?, text(turns::CANONICAL_MODEL)?, text(turns::PROVIDER)?);
    let (projects, keys) = (text(PROJECT)?, text(KEY)?);
    let (responses, unpriced) = (number(RESPONSES)?, number(UNPRICED)?);
    let costs = found.column(turns::COST_USD)?.f64()?;
    let tokens = TOKENS.map(number);
    let mut of_kinds = Vec::with_capacity(tokens.len());
    for counts in tokens {
        of_kinds.push(counts?);
    }
    let mut pricer = Pricer::new(question.catalog);
    let sellers: Vec<Option<&str>> = billed.lines.iter().map(|line| line.seller).collect();
    let is_sold = |seller: Option<&str>| seller.is_none() || sellers.contains(&None) || sellers.contains(&seller);
    let mut result = Logged::default();
    for row in 0..found.height() {
        let owned = |texts: &StringChunked| texts.get(row).map(str::to_owned);
        if !is_sold(pricer.seller(providers.get(row), logged.get(row))) {
            let others = &mut result.of_others;
            others.responses += responses.get(row).unwrap_or(0);
            others.cost_usd = crate::model::session::add_money(others.cost_usd, costs.get(row));
            continue;
        }
        let key = Key {
            day: days.get(row).and_then(|day| i32::try_from(day).ok()).map(Day),
            model: owned(&models),
            project: projects.get(row).map(|project| billed.project_of(project).to_owned()),
            key: owned(&keys),
        };
        let mut counts = of_kinds.iter().map(|counts| counts.get(row));
        let amounts = Amounts {
            cost_usd: costs.get(row),
            tokens: std::array::from_fn(|_| counts.next().flatten()),
            total_tokens: counts.next().flatten(),
            unpriced: unpriced.get(row).unwrap_or(0),
        };
        result.groups.push((key.by(&billed.by), amounts));
    }
    Ok(result)
}
