//! What a report consists of: its rows, its default dimensions and its measures.

use std::fmt::Debug;

use super::answer::Answer;
use super::options::Options;
use crate::analysis::present::{Currency, Roles};
use crate::analysis::rows::measure::Measure;
use crate::analysis::rows::{Frames, ReportRows, Top};
use crate::analysis::selection::{Error, LeftOut};

/// A question about the archive.
#[derive(Debug)]
pub struct Report {
    /// Its name on the command line.
    pub name: &'static str,
    /// The question that it answers, in a line.
    pub about: &'static str,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    /// Rows grouped by dimensions.
    Groups(Groups),
    /// A list.
    List(&'static dyn List),
}

/// A report whose rows are grouped by dimensions.
#[derive(Debug)]
pub(super) struct Groups {
    pub rows: &'static dyn ReportRows,
    /// The dimensions of a report without `--by`.
    pub by: &'static [&'static str],
    pub measures: &'static [Measure],
    /// The rows of `--top`, if the report has it.
    pub top: Option<Top>,
}

/// A report that is a list: its rows are not grouped.
pub(super) trait List: Debug + Sync {
    /// The tables that it reads.
    fn tables(&self) -> Vec<&'static str>;

    /// Whether it can be grouped by a column of sessions.
    fn has(&self, _column: &str) -> bool {
        false
    }

    /// What its columns after the dimensions are for.
    fn roles(&self) -> Roles<'static> {
        Roles::default()
    }

    /// Its rows.
    fn run(&self, tables: &Frames, options: &Options) -> Result<Answer, Error>;

    /// The columns that have a value over all rows, which budgets can bound.
    fn bounded(&self) -> &'static [Measure] {
        &[]
    }

    /// The values of these columns, as the total of the answer.
    fn totals(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        self.run(tables, options)
    }

    /// Whether it contains costs.
    fn has_cost(&self) -> bool {
        false
    }

    /// Whether it can include rows without a time.
    fn takes_undated(&self) -> bool {
        true
    }

    /// A sentence about rows without a time, if the list cannot include them.
    fn stated(&self, _left_out: &LeftOut, _currency: Currency) -> Option<String> {
        None
    }

    /// What it needs for a row, where that is more than a session.
    fn needs(&self, _options: &Options) -> Option<String> {
        None
    }

    /// Whether some of its rows are active.
    fn has_active(&self) -> bool {
        false
    }
}
