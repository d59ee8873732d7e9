//! Reconciles linked sources, and divides their rows among the files of a lake.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use polars::prelude::*;
use twox_hash::XxHash3_64;

use crate::analysis::export::lake::first_day;
use crate::analysis::export::tables::{FileKind, write_rows};
use crate::base::time::Day;
use crate::ledger;
use crate::ledger::costs;
use crate::model::source::{Source, SourceStatus};
use crate::prices::Catalog;
use crate::store::archive::{decode_source, encode_source};
use crate::store::frames::{self, TABLES_OF_LOGS, schema_of, turns};
use crate::store::lake::{FACTS, PartitionBy, partition_name};

/// Facts that are reconciled at once, in bytes, unless more of them are linked: some 100,000 turns.
const BATCH_BYTES: usize = 6 << 20;

/// Rows that are kept before fragments are emitted.
const MAX_ROWS: usize = 1 << 19;

/// How rows are divided among the files of a lake.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The period of a partition.
    pub by: PartitionBy,
    /// Files of a partition.
    pub files_per_partition: u32,
    /// Files of a table without partitions.
    pub files_per_table: u32,
}

impl Layout {
    /// The file of rows that come from one source.
    fn file(self, table: &str, day: Option<Day>, source_path: &str) -> String {
        let is_partitioned = table == FACTS || schema_of(table).contains(turns::DAY);
        let count = if is_partitioned { self.files_per_partition } else { self.files_per_table };
        let split = XxHash3_64::oneshot(source_path.as_bytes()) % u64::from(count.max(1));
        match table {
            FACTS => format!("{FACTS}/{}/part-{split}", partition_name(self.by, day)),
            _ if is_partitioned => format!("{table}/{}/part-{split}.parquet", partition_name(self.by, day)),
            _ => format!("{table}/part-{split}.parquet"),
        }
    }
}

/// The columns of fragments.
pub fn fragment_schema() -> Schema {
    Schema::from_iter([
        Field::new("file".into(), DataType::String),
        Field::new(turns::SOURCE_PATH.into(), DataType::String),
        Field::new("rows".into(), DataType::Int64),
        Field::new("content".into(), DataType::Binary),
        Field::new("component".into(), DataType::Int64),
        Field::new("stamp".into(), DataType::String),
        Field::new("links".into(), DataType::List(Box::new(DataType::Int64))),
        Field::new("files".into(), DataType::List(Box::new(DataType::String))),
    ])
}

/// A row of fragments.
#[derive(Default)]
struct Fragment {
    file: String,
    content: Vec<u8>,
    rows: usize,
    /// Of facts: their source.
    source: Option<FactsOf>,
}

/// What the next run has to know of a source.
struct FactsOf {
    path: String,
    component: i64,
    stamp: Option<String>,
    links: Box<[u64]>,
    /// The files of the lake that contain rows of the source.
    files: BTreeSet<String>,
}

/// A source that waits to be reconciled.
struct Waiting {
    source: Source,
    component: i64,
    stamp: Option<String>,
}

/// Reconciles components of linked sources, many at once.
pub struct Reconciler<'a, E> {
    layout: Layout,
    catalog: &'a Catalog,
    /// Whole components, and the begin of the last one.
    waiting: Vec<Waiting>,
    /// The bytes of their facts.
    bytes: usize,
    /// Rows by file.
    rows: BTreeMap<(String, &'static str), Vec<DataFrame>>,
    row_count: usize,
    /// Takes fragments.
    emit: E,
}

impl<'a, E: FnMut(DataFrame) -> PolarsResult<()>> Reconciler<'a, E> {
    /// A reconciler whose fragments `emit` takes.
    pub const fn new(layout: Layout, catalog: &'a Catalog, emit: E) -> Self {
        Self { layout, catalog, waiting: Vec::new(), bytes: 0, rows: BTreeMap::new(), row_count: 0, emit }
    }

    /// Adds sources. The rows have the columns `component`, `is_known`, `stamp` and `facts`, and those of a component follow each
    /// other. A known source is one of an earlier run; a row of the same path that is not known is its present state.
    ///
    /// # Errors
    /// When facts are damaged, or fragments cannot be emitted.
    pub fn add(&mut self, rows: &DataFrame) -> PolarsResult<()> {
        let components = rows.column("component")?.i64()?.iter();
        let known = rows.column("is_known")?.bool()?.iter();
        let stamps = rows.column("stamp")?.str()?.iter();
        let facts = rows.column("facts")?.binary()?.iter();
        for (((component, is_known), stamp), facts) in components.zip(known).zip(stamps).zip(facts) {
            let (Some(component), Some(facts)) = (component, facts) else {
                polars_bail!(ComputeError: "a row without component or facts");
            };
            let is_next = self.waiting.last().is_some_and(|last| last.component != component);
            if is_next && self.bytes > BATCH_BYTES {
                self.reconcile()?;
            }
            let source = decode_source(facts)?;
            self.bytes += facts.len();
            self.push(source, component, stamp.map(str::to_owned), is_known == Some(true));
        }
        Ok(())
    }

    /// Adds a source in place of its earlier state, if that was added.
    fn push(&mut self, source: Source, component: i64, stamp: Option<String>, is_known: bool) {
        let stamp = stamp.filter(|_| source.status != SourceStatus::Unreadable);
        let of_component =
            self.waiting.iter().rposition(|other| other.component != component).map_or(0, |last| last + 1);
        let same = self.waiting.iter().skip(of_component).position(|other| other.source.path == source.path);
        let Some(other) = same.map(|position| self.waiting.swap_remove(of_component + position)) else {
            self.waiting.push(Waiting { source, component, stamp });
            return;
        };
        let this = Waiting { source, component, stamp };
        let (earlier, later) = if is_known { (this, other) } else { (other, this) };
        let path = later.source.path.clone();
        for source in earlier.source.followed_by(later.source) {
            let stamp = if source.path == path { later.stamp.clone() } else { None };
            self.waiting.push(Waiting { source, component, stamp });
        }
    }

    /// Reconciles what waits, and emits all fragments that are left.
    ///
    /// # Errors
    /// Those of [`Self::add`].
    pub fn finish(mut self) -> PolarsResult<()> {
        self.reconcile()?;
        self.emit_rows()
    }

    fn reconcile(&mut self) -> PolarsResult<()> {
        self.bytes = 0;
        let mut facts = Vec::with_capacity(self.waiting.len());
        let mut sources = Vec::with_capacity(self.waiting.len());
        for Waiting { source, component, stamp } in self.waiting.drain(..) {
            let (path, links) = (source.path.clone(), ledger::links(&source));
            let of = FactsOf { path, component, stamp, links, files: BTreeSet::new() };
            facts.push((of, encode_source(&source)?));
            sources.push(source);
        }
        let mut tables = ledger::reconcile(sources);
        costs::price(&mut tables, self.catalog);
        let mut files: HashMap<String, BTreeSet<String>> = HashMap::new();
        let mut first_days: HashMap<String, Day> = HashMap::new();
        let of_logs = frames::some_frames(&tables, &TABLES_OF_LOGS)?;
        for (table, frame) in of_logs {
            self.divide(table, &frame, &mut files, &mut first_days)?;
        }
        drop(tables);
        let facts = facts.into_iter().map(|(of, content)| {
            let day = first_days.get(&of.path).map(|day| first_day(self.layout.by, *day));
            let file = self.layout.file(FACTS, day, &of.path);
            let files = files.remove(&of.path).unwrap_or_default();
            Fragment { file, content, rows: 1, source: Some(FactsOf { files, ..of }) }
        });
        let facts: Vec<Fragment> = facts.collect();
        (self.emit)(fragments(&facts)?)?;
        if self.row_count > MAX_ROWS { self.emit_rows() } else { Ok(()) }
    }

    /// Divides the rows of a table among files. `files` and `first_days` are by source.
    fn divide(
        &mut self,
        table: &'static str,
        frame: &DataFrame,
        files: &mut HashMap<String, BTreeSet<String>>,
        first_days: &mut HashMap<String, Day>,
    ) -> PolarsResult<()> {
        let paths = frame.column(turns::SOURCE_PATH)?.str()?;
        let days =
            frame.column(turns::DAY).ok().map(|days| days.date().map(|days| days.physical().clone())).transpose()?;
        let mut by_file: BTreeMap<String, Vec<IdxSize>> = BTreeMap::new();
        // Rows of one source and day follow each other.
        let mut last: Option<(&str, Option<Day>, String)> = None;
        for (position, path) in (0..).zip(paths.iter()) {
            let path = path.unwrap_or_default();
            let day = days.as_ref().and_then(|days| days.get(position)).map(Day);
            if table == "sessions"
                && let Some(day) = day
            {
                first_days.entry(path.to_owned()).and_modify(|known| *known = day.min(*known)).or_insert(day);
            }
            let period = day.map(|day| first_day(self.layout.by, day));
            let mut new_file = || {
                let file = self.layout.file(table, period, path);
                files.entry(path.to_owned()).or_default().insert(file.clone());
                file
            };
            let same = last.take().filter(|last| (last.0, last.1) == (path, period));
            let file = same.map_or_else(&mut new_file, |(_, _, file)| file);
            let position = IdxSize::try_from(position).map_err(|_| polars_err!(ComputeError: "too many rows"))?;
            match by_file.get_mut(&file) {
                Some(positions) => positions.push(position),
                None => drop(by_file.insert(file.clone(), vec![position])),
            }
            last = Some((path, period, file));
        }
        self.row_count += frame.height();
        for (file, positions) in by_file {
            let rows = frame.take(&IdxCa::from_vec("".into(), positions))?.drop_many([self.layout.by.column()]);
            self.rows.entry((file, table)).or_default().push(rows);
        }
        Ok(())
    }

    /// Emits the rows that were kept.
    fn emit_rows(&mut self) -> PolarsResult<()> {
        /// Bytes of fragments that are emitted together.
        const MAX_BYTES: usize = 1 << 24;
        self.row_count = 0;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for ((file, table), frames) in std::mem::take(&mut self.rows) {
            let mut frame = concatenated(frames)?;
            let mut content = Vec::new();
            write_rows(table, &mut frame, FileKind::Parquet, &mut content)?;
            bytes += content.len();
            batch.push(Fragment { file, content, rows: frame.height(), source: None });
            if bytes > MAX_BYTES {
                (self.emit)(fragments(&std::mem::take(&mut batch))?)?;
                bytes = 0;
            }
        }
        (self.emit)(fragments(&batch)?)
    }
}

/// Frames with the same columns as one.
pub(super) fn concatenated(frames: Vec<DataFrame>) -> PolarsResult<DataFrame> {
    let mut frames = frames.into_iter();
    let mut all = frames.next().unwrap_or_default();
    for frame in frames {
        all.vstack_mut_owned(frame)?;
    }
    all.rechunk_mut();
    Ok(all)
}

fn fragments(rows: &[Fragment]) -> PolarsResult<DataFrame> {
    fn of_source<T>(rows: &[Fragment], value: impl Fn(&FactsOf) -> T) -> Vec<Option<T>> {
        rows.iter().map(|row| row.source.as_ref().map(&value)).collect()
    }
    let links =
        |of: &FactsOf| Series::new("".into(), of.links.iter().map(|link| link.cast_signed()).collect::<Vec<_>>());
    let files = |of: &FactsOf| Series::new("".into(), of.files.iter().map(String::as_str).collect::<Vec<_>>());
    let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let stamps: Vec<Option<&str>> = rows.iter().map(|row| row.source.as_ref()?.stamp.as_deref()).collect();
    let columns = [
        Series::new("file".into(), rows.iter().map(|row| row.file.as_str()).collect::<Vec<_>>()),
        Series::new(turns::SOURCE_PATH.into(), of_source(rows, |of| of.path.clone())),
        Series::new("rows".into(), rows.iter().map(|row| count(row.rows)).collect::<Vec<_>>()),
        Series::new("content".into(), rows.iter().map(|row| row.content.as_slice()).collect::<Vec<_>>()),
        Series::new("component".into(), of_source(rows, |of| of.component)),
        Series::new("stamp".into(), stamps),
        Series::new("links".into(), of_source(rows, links)),
        Series::new("files".into(), of_source(rows, files)),
    ];
    let types = fragment_schema();
    let columns = columns.into_iter().map(|column| {
        let dtype = types.get(column.name()).cloned().unwrap_or(DataType::Null);
        Ok(column.cast(&dtype)?.into())
    });
    DataFrame::new(rows.len(), columns.collect::<PolarsResult<_>>()?)
}
