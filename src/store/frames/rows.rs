//! The rows of the ledger's tables as frames, and as row groups of files.

use polars::prelude::*;
use polars_arrow::array::Array;
use polars_parquet::write::ParquetType;
use rayon::prelude::*;

use super::column::{Arrays, ColumnPages, Field};
use super::columns::{
    Judged, Lost, RowContext, Unread, commit_files, commits, events, file_changes, limits, pull_requests, rejects,
    sessions, sources, tool_calls, turns, unknown_records, verdicts,
};
use super::schema::{TABLES, schema_of};
use crate::base::time::Time;
use crate::model::tables::Tables;
use crate::store::parquet::{PageEncoder, Pages, RowSet};

/// Some rows of a table, of any type.
trait Batch: RowSet {
    /// Their columns.
    fn arrays(&self) -> Vec<Box<dyn Array>>;
}

/// Rows and the columns of their table.
struct Chunk<'a, R> {
    rows: &'a [R],
    fields: &'a [Field<R>],
}

impl<R: Sync> RowSet for Chunk<'_, R> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn pages(&self, column: usize, kind: &ParquetType, encoder: &mut PageEncoder) -> PolarsResult<Pages> {
        let Some(field) = self.fields.get(column) else { return Ok(Pages::new()) };
        field.get.column(self.rows, ColumnPages { kind, encoder })
    }
}

impl<R: Sync> Batch for Chunk<'_, R> {
    fn arrays(&self) -> Vec<Box<dyn Array>> {
        self.fields.iter().map(|field| field.get.column(self.rows, Arrays)).collect()
    }
}

/// All tables as frames with their names, in the order of [`TABLES`].
///
/// # Errors
/// When polars refuses a column, which would be a bug.
pub fn frames(tables: &Tables) -> PolarsResult<Vec<(&'static str, DataFrame)>> {
    some_frames(tables, &TABLES)
}

/// As [`frames`], only of the tables that are named.
///
/// # Errors
/// Those of [`frames`].
pub fn some_frames(tables: &Tables, names: &[&'static str]) -> PolarsResult<Vec<(&'static str, DataFrame)>> {
    names.par_iter().map(|table| Ok((*table, frame(tables, table)?))).collect()
}

/// One table as a frame.
///
/// # Errors
/// Those of [`frames`].
pub fn frame(tables: &Tables, table: &str) -> PolarsResult<DataFrame> {
    let (mut rows, mut whole) = (0, Vec::new());
    in_batches(tables, table, usize::MAX, |batch| {
        (rows, whole) = (batch.count(), batch.arrays());
        Ok(())
    })?;
    let names = schema_of(table).into_iter().map(|(name, _)| name);
    let columns = names.zip(whole).map(|it| Ok(Series::try_from(it)?.into()));
    DataFrame::new(rows, columns.collect::<PolarsResult<_>>()?)
}

/// Passes the rows of one table to `take`, at most `max_rows` at a time.
///
/// # Errors
/// Those of `take`.
pub fn row_sets(
    tables: &Tables,
    table: &str,
    max_rows: usize,
    mut take: impl FnMut(&dyn RowSet) -> PolarsResult<()>,
) -> PolarsResult<()> {
    in_batches(tables, table, max_rows, |batch| take(batch))
}

/// As [`row_sets`]. If the table is empty, `take` is called once without rows.
#[expect(clippy::indexing_slicing, reason = "the ledger sets the positions of session and source in each row")]
fn in_batches(
    tables: &Tables,
    table: &str,
    max_rows: usize,
    take: impl FnMut(&dyn Batch) -> PolarsResult<()>,
) -> PolarsResult<()> {
    fn cut<'a, T, R: Sync>(
        rows: &'a [T],
        row: impl Fn(&'a T) -> R,
        fields: &[Field<R>],
        max_rows: usize,
        mut take: impl FnMut(&dyn Batch) -> PolarsResult<()>,
    ) -> PolarsResult<()> {
        if rows.is_empty() {
            return take(&Chunk { rows: &[], fields });
        }
        for rows in rows.chunks(max_rows) {
            let rows: Vec<R> = rows.iter().map(&row).collect();
            take(&Chunk { rows: &rows, fields })?;
        }
        Ok(())
    }
    macro_rules! placed {
        () => {
            |row| RowContext { row, session: &tables.sessions[row.session], source: &tables.sources[row.source] }
        };
    }
    match table {
        sessions::TABLE => {
            let row = |row| RowContext { row, session: row, source: &tables.sources[row.source] };
            cut(&tables.sessions, row, &sessions::fields(), max_rows, take)
        }
        turns::TABLE => cut(&tables.turns, placed!(), &turns::fields(), max_rows, take),
        tool_calls::TABLE => cut(&tables.tool_calls, placed!(), &tool_calls::fields(), max_rows, take),
        file_changes::TABLE => cut(&tables.file_changes, placed!(), &file_changes::fields(), max_rows, take),
        events::TABLE => cut(&tables.events, placed!(), &events::fields(), max_rows, take),
        limits::TABLE => cut(&tables.limits, placed!(), &limits::fields(), max_rows, take),
        verdicts::TABLE => {
            let row = |row| Judged { row, source: &tables.sources[row.source] };
            cut(&tables.verdicts, row, &verdicts::fields(), max_rows, take)
        }
        sources::TABLE => cut(&tables.sources, |source| source, &sources::fields(), max_rows, take),
        commits::TABLE => cut(&tables.commits, |row| row, &commits::fields(), max_rows, take),
        commit_files::TABLE => cut(&tables.commit_files, |row| row, &commit_files::fields(), max_rows, take),
        pull_requests::TABLE => cut(&tables.pull_requests, |row| row, &pull_requests::fields(), max_rows, take),
        unknown_records::TABLE => {
            let unread = tables.sources.iter();
            let unread: Vec<Unread<'_>> = unread
                .flat_map(|source| source.health.unknown_types.iter().map(move |row| Unread { row, source }))
                .collect();
            cut(&unread, |unread| *unread, &unknown_records::fields(), max_rows, take)
        }
        _ => {
            let lost = tables.sources.iter();
            let lost: Vec<Lost<'_>> = lost
                .flat_map(|source| source.health.rejects.iter().map(move |reject| Lost { reject, source }))
                .collect();
            cut(&lost, |lost| *lost, &rejects::fields(), max_rows, take)
        }
    }
}

/// The number of rows without a time; 0 for a table without times.
pub fn count_undated(tables: &Tables, table: &str) -> usize {
    fn count<R>(rows: &[R], time: impl Fn(&R) -> Option<Time>) -> usize {
        rows.iter().filter(|row| time(row).is_none()).count()
    }
    match table {
        sessions::TABLE => count(&tables.sessions, |row| row.session.started_at),
        turns::TABLE => count(&tables.turns, |row| row.turn.occurred_at),
        tool_calls::TABLE => count(&tables.tool_calls, |row| row.call.occurred_at),
        file_changes::TABLE => count(&tables.file_changes, |row| row.change.occurred_at),
        events::TABLE => count(&tables.events, |row| row.event.occurred_at),
        limits::TABLE => count(&tables.limits, |row| row.limit.occurred_at),
        _ => 0,
    }
}

/// Removes the rows of a table, unless rows of other tables refer to them. The memory is kept for the next rows.
pub fn drop_rows(tables: &mut Tables, table: &str) {
    /// Memory that is kept, in bytes; that of larger tables is released.
    const MAX_KEPT: usize = 1 << 22;
    fn empty<T>(rows: &mut Vec<T>) {
        rows.clear();
        if rows.capacity() * size_of::<T>() > MAX_KEPT {
            *rows = Vec::new();
        }
    }
    match table {
        turns::TABLE => empty(&mut tables.turns),
        tool_calls::TABLE => empty(&mut tables.tool_calls),
        file_changes::TABLE => empty(&mut tables.file_changes),
        events::TABLE => empty(&mut tables.events),
        limits::TABLE => empty(&mut tables.limits),
        verdicts::TABLE => empty(&mut tables.verdicts),
        _ => {}
    }
}
