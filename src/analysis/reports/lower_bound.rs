//! How much of a cost is a lower bound: of sessions whose logs are known to omit tokens.

use polars::prelude::*;

use crate::analysis::present::{Currency, counted, grouped};
use crate::analysis::rows::{CostBasis, Frames, KEY, Sessions, Table, known_sum};
use crate::analysis::selection::{Error, Grouping, Scope};
use crate::store::frames::{sessions, turns};

/// Sessions whose `usage` is `lower_bound`, among all of them. See docs/accounting.md.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LowerBound {
    /// Their number.
    pub sessions: u64,
    /// The number of all sessions.
    pub of_sessions: u64,
    /// Their known cost in US dollars.
    pub cost_usd: f64,
    /// The known cost of all sessions.
    pub of_cost_usd: f64,
}

/// Whether the counts of a session are a lower bound, by its column `usage`.
pub fn is_lower_bound() -> Expr {
    col(sessions::USAGE).eq(lit("lower_bound"))
}

impl LowerBound {
    /// The lower bounds among sessions, with the columns `usage` and `cost_usd`.
    ///
    /// # Errors
    /// When the sessions cannot be read.
    pub fn among(sessions: LazyFrame) -> PolarsResult<Self> {
        let cost = || col(sessions::COST_USD).cast(DataType::Float64);
        let sums = sessions.select([
            is_lower_bound().cast(DataType::Int64).sum().alias("lower_bounds"),
            col(sessions::USAGE).len().cast(DataType::Int64).alias("of_sessions"),
            cost().filter(is_lower_bound()).sum().alias(sessions::COST_USD),
            cost().sum().alias("of_cost_usd"),
        ]);
        let sums = sums.collect()?;
        let sum = |name: &str| sums.column(name)?.get(0);
        Ok(Self {
            sessions: sum("lower_bounds")?.extract().unwrap_or_default(),
            of_sessions: sum("of_sessions")?.extract().unwrap_or_default(),
            cost_usd: sum(sessions::COST_USD)?.extract().unwrap_or_default(),
            of_cost_usd: sum("of_cost_usd")?.extract().unwrap_or_default(),
        })
    }

    /// Whether a cost is a lower bound because of these sessions.
    pub fn applies(&self) -> bool {
        self.sessions > 0
    }

    /// `the logs of 288 of 300 sessions, with $1,373.00 of $1,377.00, omit tokens or have no end`.
    pub fn stated(&self, currency: Currency) -> String {
        let sessions = counted(self.of_sessions, "session");
        format!(
            "the logs of {} of {sessions}, with {} of {}, omit tokens or have no end",
            grouped(self.sessions),
            currency.amount(self.cost_usd),
            currency.amount(self.of_cost_usd)
        )
    }

    /// A sentence about these sessions; `None` if there are none.
    pub fn sentence(&self, currency: Currency) -> Option<String> {
        self.applies().then(|| format!("costs and tokens are lower bounds: {}", self.stated(currency)))
    }
}

/// Which rows have the costs and tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// Sessions: a scope has those that begin in it, with all that they spent.
    Sessions,
    /// Turns: a scope can have a part of the turns of a session.
    Turns,
}

/// The lower bounds among the sessions in scope, with the costs of a choice.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn lower_bound(tables: &Frames, scope: &Scope, cost: CostBasis, spending: Spending) -> Result<LowerBound, Error> {
    // Without filters a scope has all turns of each session: the sums of the sessions are read faster.
    if spending == Spending::Sessions || scope.is_everything() {
        let sessions = Grouping::new(sessions::TABLE, &Sessions, tables, scope, cost)?;
        return Ok(LowerBound::among(sessions.rows)?);
    }
    let rows = Grouping::new(turns::TABLE, &Table(turns::TABLE), tables, scope, cost)?.rows;
    let spent = rows.group_by(KEY.map(col)).agg([known_sum(turns::COST_USD)]);
    let [runtime, id] = KEY;
    let usage = tables.table(sessions::TABLE).select([col(runtime), col(id), col(sessions::USAGE)]);
    let sessions = spent.join(usage, KEY.map(col), KEY.map(col), JoinArgs::new(JoinType::Inner));
    Ok(LowerBound::among(sessions)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_bounds_are_counted_with_their_cost() {
        let sessions = df!(
            "usage" => ["lower_bound", "exact", "lower_bound"],
            "cost_usd" => [Some(1.5), Some(2.0), None],
        );
        let found = LowerBound::among(sessions.unwrap().lazy()).unwrap();
        assert_eq!(found, LowerBound { sessions: 2, of_sessions: 3, cost_usd: 1.5, of_cost_usd: 3.5 });
        assert_eq!(
            found.stated(Currency::default()),
            "the logs of 2 of 3 sessions, with $1.50 of $3.50, omit tokens or have no end"
        );
        assert!(!LowerBound::default().applies());
    }
}
