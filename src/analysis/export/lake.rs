//! Exports to a directory of partitions: a lake, or CSV and JSON Lines by day, week or month.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use polars::prelude::*;

use super::file::Access;
use super::tables::{FileKind, write_rows};
use crate::analysis::rows::Frames;
use crate::base::time::Day;
use crate::model::history::History;
use crate::model::source::Source;
use crate::store::archive::{self, RepositoryFacts, StoredFacts, encode_source, encode_value};
use crate::store::frames::{schema_of, sessions, turns, verdicts};
use crate::store::lake::{
    self, FACTS, FACTS_OF_REPOSITORIES, LakeWriter, PULL_REQUESTS, PartitionBy, Written, partition_name,
};

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lake cannot be written.
    #[error(transparent)]
    Lake(#[from] lake::Error),
    /// The facts of the archive cannot be read.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// The tables cannot be read.
    #[error(transparent)]
    Polars(#[from] PolarsError),
}

/// The facts of sources, which `archive merge` needs.
pub enum Facts {
    /// None: they are not exported.
    None,
    /// Those of an archive, which are read one by one.
    Stored(StoredFacts),
    /// Those of logs or of another lake.
    InMemory(BTreeMap<String, Source>),
}

/// What a lake is made from.
pub struct LakeExport<'a> {
    /// The rows of the sessions in scope.
    pub tables: &'a Frames,
    /// Whether these are all rows, so that sources without a session belong to them.
    pub is_everything: bool,
    /// The facts of their sources.
    pub facts: Facts,
    /// The facts of repositories, if facts are exported.
    pub repositories: RepositoryFacts,
    /// The day of the prices of computed costs.
    pub prices: Option<Day>,
    /// The kind of files.
    pub kind: FileKind,
    /// The period of a partition.
    pub by: PartitionBy,
    /// Who may read the files.
    pub access: Access,
}

/// Rows that are read and sorted at once: a partition with more rows is read by itself.
const MAX_ROWS: usize = 1 << 21;

/// What the rows of a table are sorted by, as far as it has these columns. Rows of a session keep their order, which is the same in any
/// archive of the same logs.
const SORTED_BY: [&str; 4] = [turns::DAY, turns::RUNTIME, turns::SESSION_ID, turns::SOURCE_PATH];

impl LakeExport<'_> {
    /// Writes what has changed in `directory`.
    ///
    /// # Errors
    /// When the tables cannot be read, or the files cannot be written. The lake is then as before.
    pub fn write(self, directory: &Path) -> Result<Written, Error> {
        let mut writer = LakeWriter::open(directory, self.access == Access::Owner)?;
        for (table, frame) in self.tables {
            if schema_of(table).contains(turns::DAY) {
                self.write_partitions(&mut writer, table, frame)?;
            } else {
                self.write_whole(&mut writer, table, frame)?;
            }
        }
        let (by, prices) = (self.by, self.prices);
        self.write_repositories(&mut writer)?;
        self.write_facts(&mut writer)?;
        Ok(writer.commit(Some(by), prices)?)
    }

    fn write_whole(&self, writer: &mut LakeWriter, table: &str, frame: &LazyFrame) -> Result<(), Error> {
        let rows = sorted(frame.clone(), &keys_of(table)).collect()?;
        if rows.height() > 0 {
            let path = format!("{table}/part-0.{}", self.kind.extension());
            self.write_file(writer, table, path, None, rows)?;
        }
        Ok(())
    }

    /// Reads consecutive partitions together, and writes a file for each.
    fn write_partitions(&self, writer: &mut LakeWriter, table: &str, frame: &LazyFrame) -> Result<(), Error> {
        for batch in batches(&days_of(frame)?, self.by) {
            let mut days = batch.iter().flat_map(|partition| &partition.days);
            let first = days.next();
            let is_in_batch = match (first, days.last().or(first)) {
                (Some(first), Some(last)) => {
                    let day = |day: &Day| lit(day.0).cast(DataType::Date);
                    col(turns::DAY).gt_eq(day(first)).and(col(turns::DAY).lt_eq(day(last)))
                }
                _ => col(turns::DAY).is_null(),
            };
            let mut rows = sorted(frame.clone().filter(is_in_batch), &keys_of(table)).collect()?;
            for partition in batch {
                let part = rows.head(Some(partition.rows));
                rows = rows.slice(i64::try_from(partition.rows).unwrap_or(i64::MAX), usize::MAX);
                let name = partition_name(self.by, partition.first_day);
                let path = format!("{table}/{name}/part-0.{}", self.kind.extension());
                let days = partition.days.first().copied().zip(partition.days.last().copied());
                self.write_file(writer, table, path, days, part.drop_many([self.by.column()]))?;
            }
        }
        Ok(())
    }

    fn write_file(
        &self,
        writer: &mut LakeWriter,
        table: &str,
        path: String,
        days: Option<(Day, Day)>,
        mut rows: DataFrame,
    ) -> Result<(), Error> {
        let write = |out: &mut dyn Write| {
            write_rows(table, &mut rows, self.kind, out)?;
            Ok(rows.height())
        };
        Ok(writer.add(path, days, write)?)
    }

    /// Writes the facts of repositories, in the order of their names.
    fn write_repositories(&self, writer: &mut LakeWriter) -> Result<(), Error> {
        let mut histories: Vec<&History> = self.repositories.histories.iter().collect();
        histories.sort_by_cached_key(|history| (history.repository.clone(), history.identity().directories));
        for (index, history) in histories.into_iter().enumerate() {
            writer.add(format!("{FACTS_OF_REPOSITORIES}/part-{index}"), None, |out| {
                out.write_all(&encode_value(history)?)?;
                Ok(1)
            })?;
        }
        let requests = &self.repositories.pull_requests;
        Ok(writer.add(PULL_REQUESTS.to_owned(), None, |out| {
            out.write_all(&encode_value(requests)?)?;
            Ok(requests.len())
        })?)
    }

    /// Writes the facts of the sources, by the first day of their sessions.
    fn write_facts(self, writer: &mut LakeWriter) -> Result<(), Error> {
        let paths: BTreeSet<String> = match &self.facts {
            Facts::None => return Ok(()),
            Facts::Stored(facts) => facts.paths().map(str::to_owned).collect(),
            Facts::InMemory(sources) => sources.keys().cloned().collect(),
        };
        let sessions = Sessions::of(self.tables)?;
        let mut partitions: BTreeMap<Option<Day>, Vec<String>> = BTreeMap::new();
        for path in paths {
            let day = sessions.first_days.get(&path).map(|day| first_day(self.by, *day));
            partitions.entry(day).or_default().push(path);
        }
        let mut facts = self.facts;
        for (day, paths) in partitions {
            let path = format!("{FACTS}/{}/part-0", partition_name(self.by, day));
            writer.add(path, day.map(|day| (day, day)), |out| {
                let mut count = 0;
                for path in &paths {
                    let source = facts.take(path).map_err(io::Error::other)?;
                    if let Some(source) = source.and_then(|source| sessions.in_scope(source, self.is_everything)) {
                        out.write_all(&encode_source(&source)?)?;
                        count += 1;
                    }
                }
                Ok(count)
            })?;
        }
        Ok(())
    }
}

impl Facts {
    /// Returns the facts of a source, once.
    fn take(&mut self, path: &str) -> Result<Option<Source>, archive::Error> {
        match self {
            Self::None => Ok(None),
            Self::Stored(facts) => facts.load(path),
            Self::InMemory(sources) => Ok(sources.remove(path)),
        }
    }
}

/// The sessions that are exported.
struct Sessions {
    /// Their runtimes and ids.
    keys: HashSet<(String, String)>,
    /// The first day of the sessions of each source.
    first_days: HashMap<String, Day>,
    /// The verdicts of these sessions.
    verdicts: HashSet<VerdictKey>,
}

/// The file of a verdict, its task, its trial and its name.
type VerdictKey = [Option<String>; 4];

impl Sessions {
    fn of(tables: &Frames) -> PolarsResult<Self> {
        let columns = [turns::RUNTIME, turns::SESSION_ID, turns::SOURCE_PATH];
        let frame = tables
            .table(sessions::TABLE)
            .select(columns.into_iter().chain(["day"]).map(col).collect::<Vec<_>>())
            .collect()?;
        let [runtimes, ids, paths] = columns.map(|column| frame.column(column).and_then(|column| column.str()));
        let days = frame.column(turns::DAY)?.date()?.physical();
        let mut sessions = Self { keys: HashSet::new(), first_days: HashMap::new(), verdicts: verdicts_of(tables)? };
        for (((runtime, id), path), day) in runtimes?.iter().zip(ids?.iter()).zip(paths?.iter()).zip(days.iter()) {
            let (Some(runtime), Some(id), Some(path)) = (runtime, id, path) else { continue };
            sessions.keys.insert((runtime.to_owned(), id.to_owned()));
            if let Some(day) = day.map(Day) {
                sessions.first_days.entry(path.to_owned()).and_modify(|known| *known = day.min(*known)).or_insert(day);
            }
        }
        Ok(sessions)
    }

    /// The facts of a source without the sessions that are not exported; `None` if none is left.
    fn in_scope(&self, mut source: Source, is_everything: bool) -> Option<Source> {
        if is_everything {
            return Some(source);
        }
        source
            .sessions
            .retain(|session| self.keys.contains(&(session.runtime.to_string(), session.session_id.clone())));
        source.verdicts.retain(|imported| {
            let verdict = &imported.verdict;
            let name = Some(verdict.name.clone());
            self.verdicts.contains(&[verdict.path.clone(), verdict.task.clone(), verdict.trial.clone(), name])
        });
        (!source.sessions.is_empty() || !source.verdicts.is_empty()).then_some(source)
    }
}

fn verdicts_of(tables: &Frames) -> PolarsResult<HashSet<VerdictKey>> {
    if !tables.iter().any(|(name, _)| *name == "verdicts") {
        return Ok(HashSet::new());
    }
    let columns = [turns::SOURCE_PATH, "task", "trial", "name"];
    let frame = tables.table(verdicts::TABLE).select(columns.map(col)).collect()?;
    let texts = columns.map(|column| frame.column(column).and_then(|column| column.str()));
    let [path, task, trial, name] = texts;
    let texts = [path?, task?, trial?, name?];
    Ok((0..frame.height()).map(|row| texts.map(|text| text.get(row).map(str::to_owned))).collect())
}

/// Rows of one partition.
struct Partition {
    first_day: Option<Day>,
    /// The days of its rows, in order.
    days: Vec<Day>,
    rows: usize,
}

/// The days of the rows of a table with their numbers of rows, in order; rows without a time last.
fn days_of(frame: &LazyFrame) -> PolarsResult<Vec<(Option<Day>, usize)>> {
    let frame = frame.clone().group_by([col(turns::DAY)]).agg([len().cast(DataType::Int64).alias("rows")]);
    let frame = sorted(frame, &["day"]).collect()?;
    let days = frame.column(turns::DAY)?.date()?.physical();
    let rows = frame.column("rows")?.i64()?;
    Ok(days
        .iter()
        .zip(rows.iter())
        .map(|(day, rows)| (day.map(Day), rows.unwrap_or_default().try_into().unwrap_or(0)))
        .collect())
}

/// Days grouped to partitions, and these to batches that are read together.
fn batches(days: &[(Option<Day>, usize)], by: PartitionBy) -> Vec<Vec<Partition>> {
    let mut partitions: Vec<Partition> = Vec::new();
    for (day, rows) in days {
        let first_day = day.map(|day| first_day(by, day));
        if partitions.last().is_none_or(|last| last.first_day != first_day) {
            partitions.push(Partition { first_day, days: Vec::new(), rows: 0 });
        }
        if let Some(partition) = partitions.last_mut() {
            partition.days.extend(day);
            partition.rows += rows;
        }
    }
    let mut batches: Vec<Vec<Partition>> = Vec::new();
    let mut rows = 0;
    for partition in partitions {
        rows += partition.rows;
        let batch = batches.last_mut().filter(|_| rows <= MAX_ROWS && partition.first_day.is_some());
        if let Some(batch) = batch {
            batch.push(partition);
        } else {
            rows = partition.rows;
            batches.push(vec![partition]);
        }
    }
    batches
}

/// The first day of the period of a day.
pub(super) fn first_day(by: PartitionBy, day: Day) -> Day {
    match by {
        PartitionBy::Day => day,
        PartitionBy::Week => day.week(),
        PartitionBy::Month => day.month(),
    }
}

/// The columns of a table that its rows are sorted by: of `sources` and `rejects` the path only, of others the session.
pub(super) fn keys_of(table: &str) -> Vec<&'static str> {
    let schema = schema_of(table);
    let by_session = schema.contains(turns::SESSION_ID);
    SORTED_BY.into_iter().filter(|key| schema.contains(key) && (*key == turns::SOURCE_PATH) != by_session).collect()
}

/// Rows by these columns, those without a value last. Equal rows keep their order.
pub(super) fn sorted(frame: LazyFrame, keys: &[&str]) -> LazyFrame {
    let options = SortMultipleOptions::default().with_maintain_order(true).with_nulls_last(true);
    frame.sort_by_exprs(keys.iter().copied().map(col).collect::<Vec<_>>(), options)
}
