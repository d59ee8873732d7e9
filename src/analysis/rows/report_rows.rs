//! What the rows of a report are.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::LazyLock;

use polars::prelude::*;

use super::cost::CostBasis;
use super::trials::{Judged, Unjudged};
use super::within::Within;
use crate::prices::Catalog;
use crate::store::frames::{self, Frames, sessions, turns};

/// The rows that a report groups. All have `runtime`, `session_id` and `occurred_at`.
///
/// A report whose rows are not those of a table implements it next to what computes them: `frame` returns the rows that are filtered
/// by the scope, and `extend` adds columns to those in scope. By default the rows are the sessions, at the time of their start.
pub(in crate::analysis) trait ReportRows: Debug + Sync {
    /// The tables of the rows and their sessions.
    fn tables(&self) -> Vec<&'static str>;

    /// The options that only these rows have.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the rows have a column.
    fn has(&self, column: &str) -> bool {
        column == turns::OCCURRED_AT || COLUMNS.contains(&(sessions::TABLE, column))
    }

    /// Whether every row is known to have a time.
    fn are_dated(&self, tables: &Frames) -> bool {
        tables.is_dated(sessions::TABLE)
    }

    /// Whether the time of each row is that of a row of its session in a table, so that files that end before the scope need not be read.
    fn has_times_of_tables(&self) -> bool {
        false
    }

    /// The rows, from the tables.
    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        Ok(tables.table(sessions::TABLE).with_column(col(sessions::STARTED_AT).alias(turns::OCCURRED_AT)))
    }

    /// Adds columns to the rows in scope.
    fn extend(&self, rows: LazyFrame, _context: &Context<'_>) -> PolarsResult<Extended> {
        Ok(rows.into())
    }
}

/// The value of rows that have none, as their log shows. NULL is unknown.
pub(in crate::analysis) const NONE: &str = "(none)";

/// What the columns of [`ReportRows::extend`] can depend on.
#[derive(Clone, Copy)]
pub(in crate::analysis) struct Context<'a> {
    pub tables: &'a Frames,
    /// The dimensions, and their values.
    pub by: &'a [&'a str],
    pub keys: &'a [Expr],
    pub cost: CostBasis,
    pub catalog: &'a Catalog,
    pub k: Option<u32>,
    pub unjudged: Unjudged,
    pub within: Within,
}

/// Rows with all their columns.
pub(in crate::analysis) struct Extended {
    pub rows: LazyFrame,
    /// The rows of the total, if they differ: a task can have trials in several groups.
    pub rows_of_total: Option<LazyFrame>,
    pub judged: Option<Judged>,
}

impl From<LazyFrame> for Extended {
    fn from(rows: LazyFrame) -> Self {
        Self { rows, rows_of_total: None, judged: None }
    }
}

/// The groups that `--top` selects, in place of all.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) struct Top {
    /// The dimensions without `--by`.
    pub by: &'static [&'static str],
    /// The columns of tables.
    pub columns: &'static [&'static str],
    /// Selects the groups, by the dimensions and the number of `--top`.
    pub first: fn(LazyFrame, &[&str], u32) -> PolarsResult<LazyFrame>,
}

/// All rows of a table.
#[derive(Debug)]
pub(in crate::analysis) struct Table(pub &'static str);

/// The rows of a table that fulfil a condition.
#[derive(Debug)]
pub(in crate::analysis) struct Where(pub &'static str, pub fn() -> Expr);

/// The sessions, at the time of their start.
#[derive(Debug)]
pub(in crate::analysis) struct Sessions;

impl ReportRows for Table {
    fn tables(&self) -> Vec<&'static str> {
        vec![self.0, sessions::TABLE]
    }

    fn has(&self, column: &str) -> bool {
        COLUMNS.contains(&(self.0, column))
    }

    fn are_dated(&self, tables: &Frames) -> bool {
        tables.is_dated(self.0)
    }

    fn has_times_of_tables(&self) -> bool {
        true
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        Ok(tables.table(self.0))
    }
}

impl ReportRows for Where {
    fn tables(&self) -> Vec<&'static str> {
        Table(self.0).tables()
    }

    fn has(&self, column: &str) -> bool {
        Table(self.0).has(column)
    }

    fn are_dated(&self, tables: &Frames) -> bool {
        Table(self.0).are_dated(tables)
    }

    fn has_times_of_tables(&self) -> bool {
        true
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        Ok(tables.table(self.0).filter((self.1)()))
    }
}

impl ReportRows for Sessions {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE]
    }

    fn has_times_of_tables(&self) -> bool {
        true
    }
}

/// The tables and columns of an archive.
static COLUMNS: LazyLock<HashSet<(&str, &str)>> =
    LazyLock::new(|| frames::schema().into_iter().map(|column| (column.table, column.column)).collect());
