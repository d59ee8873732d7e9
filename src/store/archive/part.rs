//! Writes a part: the tables of some sources and their facts.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::error::Error;
use super::facts::{FactsFile, Place, ReconcileBatch};
use super::hashed_file::{Checksum, HashedFile};
use super::layout::{FACTS, file_of};
use super::manifest::{Part, Sums};
use crate::ledger;
use crate::ledger::costs;
use crate::ledger::{SessionKeys, Unmatched};
use crate::model::source::Source;
use crate::model::tables::Tables;
use crate::prices::Catalog;
use crate::store::frames::{self, TABLES_OF_FILES, TABLES_OF_LOGS};
use crate::store::parquet::{RowGroupWriter, RowSet};

/// Rows of a row group.
const ROW_GROUP: usize = 1 << 14;

/// A part that was written.
pub struct WrittenPart {
    /// Its entry in the manifest.
    pub part: Part,
    /// Where the facts of each source are, in the order in which they were added.
    pub places: Vec<Place>,
    /// The sources with their status after the ledger.
    pub reconciled: Vec<Source>,
    /// Imported verdicts without a session.
    pub unmatched: Vec<Unmatched>,
}

/// What parts are computed with.
pub struct PartInputs<'a> {
    /// The prices.
    pub catalog: &'a Catalog,
    /// Tables whose memory is used again.
    pub pool: &'a TablesPool,
    /// The sessions that imported verdicts can be about; `None` for parts without such verdicts.
    pub keys: Option<&'a SessionKeys>,
}

/// Tables without rows, whose memory the next part uses again: it takes as long to get fresh memory from the system as to fill it.
pub type TablesPool = Mutex<Vec<Tables>>;

/// Reconciles sources batch by batch, and writes their tables as a part into the directory of a generation. `facts` are the facts of
/// these sources.
///
/// # Errors
/// Those of the batches, and when a file cannot be written.
pub fn write(
    generation: &Path,
    name: String,
    batches: impl Iterator<Item = Result<ReconcileBatch, Error>>,
    facts: FactsFile,
    inputs: &PartInputs<'_>,
) -> Result<WrittenPart, Error> {
    let PartInputs { catalog, pool, keys } = inputs;
    let writers =
        TABLES_OF_LOGS.into_iter().map(|table| TableWriter::create(&generation.join(file_of(&name, table)), table));
    let mut writers = writers.collect::<io::Result<Vec<_>>>().map_err(Error::file(generation))?;
    let mut sums = Sums::default();
    let mut undated = BTreeMap::new();
    let mut latest = None;
    let mut reconciled = Vec::new();
    let mut sessions_before = 0;
    let mut unmatched = Vec::new();
    for batch in batches {
        let ReconcileBatch { sources, has_more } = batch?;
        let used = pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut tables = ledger::reconcile_into(sources, used.unwrap_or_default());
        costs::price(&mut tables, catalog);
        if let Some(keys) = keys {
            unmatched.extend(ledger::find_sessions(&mut tables, keys));
        }
        sums = sums.plus(Sums::of(&tables));
        latest = latest.max(tables.latest_time());
        // The row of a source that is in several batches counts the sessions of all of them.
        for source in &mut tables.sources {
            source.session_count += sessions_before;
        }
        sessions_before = if has_more { tables.sources.iter().map(|source| source.session_count).sum() } else { 0 };
        for writer in &mut writers {
            // The last batch has the final rows of the source.
            if !(has_more && TABLES_OF_FILES.contains(&writer.table)) {
                writer.write(&tables).map_err(Error::file(generation))?;
                let rows = frames::count_undated(&tables, writer.table);
                if rows > 0 {
                    *undated.entry(writer.table.to_owned()).or_insert(0) += rows;
                }
            }
            frames::drop_rows(&mut tables, writer.table);
        }
        if !has_more {
            reconciled.append(&mut tables.sources);
        }
        let used = Tables { sessions: Vec::new(), sources: Vec::new(), ..tables };
        pool.lock().unwrap_or_else(PoisonError::into_inner).push(used);
    }
    let finish = || -> io::Result<_> {
        let mut files = BTreeMap::new();
        for writer in writers {
            files.insert(writer.table.to_owned(), writer.finish()?);
        }
        let (checksum, places) = facts.finish()?;
        files.insert(FACTS.to_owned(), checksum);
        Ok((files, places))
    };
    let (files, places) = finish().map_err(Error::file(generation))?;
    let latest = latest.filter(|time| time.can_be_parsed());
    let part = Part { name, files, sums, undated: Some(undated), latest };
    Ok(WrittenPart { part, places, reconciled, unmatched })
}

/// The file of a table.
pub struct TableWriter {
    table: &'static str,
    file: RowGroupWriter<HashedFile>,
    rows: usize,
}

impl TableWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// When it exists or cannot be created.
    pub fn create(path: &Path, table: &'static str) -> io::Result<Self> {
        let file = HashedFile::create(path)?;
        Ok(Self { table, file: RowGroupWriter::new(file, &frames::schema_of(table))?, rows: 0 })
    }

    /// Writes the rows of the table.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&mut self, tables: &Tables) -> io::Result<()> {
        let write = |rows: &dyn RowSet| {
            let group = self.file.encode(rows)?;
            self.rows += self.file.write(&group)?;
            Ok(())
        };
        frames::row_sets(tables, self.table, ROW_GROUP, write).map_err(io::Error::other)
    }

    /// Ends the file, which is not yet synced to the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> io::Result<Checksum> {
        self.file.finish()?.finish(self.rows)
    }
}
