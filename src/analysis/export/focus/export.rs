//! The charges of an archive, and their file.

use std::io;
use std::path::Path;

use polars::prelude::*;

use super::unpriced::Unpriced;
use super::{charges, makers, meters};
use crate::analysis::export::file::{Access, write_file};
use crate::analysis::export::tables::FileKind;
use crate::analysis::present;
use crate::analysis::rows::{CostBasis, Frames, Table};
use crate::analysis::selection::{Error, Grouping, LeftOut, Scope};
use crate::prices::Catalog;
use crate::store::frames::{sessions, turns};
use crate::store::parquet;

/// The version of the specification.
pub const FOCUS_VERSION: &str = "1.2";

/// The tables that the export reads.
pub const FOCUS_TABLES: &[&str] = &[sessions::TABLE, turns::TABLE];

/// The charges in scope, and the rows of the ledger that are not charges.
#[derive(Debug)]
pub struct Focus {
    /// A row per day, kind of usage, model, project, labels and so on.
    pub rows: DataFrame,
    /// Rows without a time, which have no day.
    pub left_out: LeftOut,
    /// Rows without a cost, and tokens whose part of the cost is unknown.
    pub unpriced: Unpriced,
}

impl Focus {
    /// The charges of the rows of the ledger in scope: the same rows as those of `report cost`.
    ///
    /// # Errors
    /// When a filter names something that does not exist, or the tables cannot be read.
    pub fn of(tables: &Frames, scope: &Scope, catalog: &Catalog) -> Result<Self, Error> {
        let mut grouping = Grouping::new("focus", &Table(turns::TABLE), tables, scope, CostBasis::Auto)?;
        grouping.join_sessions()?;
        let mut left_out = std::mem::take(&mut grouping.left_out);
        if left_out == LeftOut::default() {
            left_out = grouping.count_undated()?;
        }
        let rows = grouping.rows.filter(col(turns::OCCURRED_AT).is_not_null());
        let sums = meters::summed(makers::with_providers(rows, catalog)).collect()?;
        let unpriced = meters::unpriced(&sums)?;
        Ok(Self { rows: charges::charges(&sums)?, left_out, unpriced })
    }

    /// Writes the charges to a file of CSV or parquet.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, kind: FileKind, path: &Path) -> io::Result<()> {
        let rows = &mut self.rows;
        write_file(path, Access::Umask, |mut out| match kind {
            FileKind::Parquet => parquet::write(out, rows, metadata()),
            // Without a byte order mark: the file is for programs.
            _ => present::csv(rows, &mut out),
        })
    }
}

fn metadata() -> Vec<(String, String)> {
    let pairs = [
        ("agentlogs.version", env!("CARGO_PKG_VERSION")),
        ("agentlogs.table", "focus"),
        ("focus.version", FOCUS_VERSION),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}
