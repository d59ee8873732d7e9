//! The tables of an archive as lazy polars frames.

use std::ops::Range;
use std::path::Path;

use polars::prelude::*;
use rayon::prelude::*;

use super::error::Error;
use super::generations::Snapshot;
use super::history::Histories;
use super::manifest::Part;
use super::open::Archive;
use super::table_files::scan;
use crate::base::time::Time;
use crate::store::frames::{self, Frames, TABLES, TABLES_OF_REPOSITORIES};

/// The number of parts of a partition: see [`Frames::partitions`]. Nothing in a part depends on another one. Readers have several
/// partitions in memory at a time.
const PARTS_OF_PARTITION: usize = 4;

impl Archive {
    /// The tables, which are read when a query collects them. A reader that runs beside writers for long uses those of a
    /// [`Snapshot`].
    ///
    /// # Errors
    /// When there is no archive, or one of its tables cannot be opened.
    pub fn tables(&self) -> Result<Frames, Error> {
        self.snapshot()?.tables()
    }
}

impl Snapshot {
    /// Its tables, which can be read while this value exists.
    ///
    /// # Errors
    /// When a table cannot be opened or is damaged.
    pub fn tables(&self) -> Result<Frames, Error> {
        self.some_tables(&TABLES)
    }

    /// Some of its tables, by name. The files of the others are not read.
    ///
    /// # Errors
    /// Those of [`Self::tables`].
    pub fn some_tables(&self, names: &[&'static str]) -> Result<Frames, Error> {
        self.tables_of_parts(&self.manifest.parts.iter().collect::<Vec<_>>(), names)
    }

    /// As [`Self::some_tables`], at least with all rows at or after `since`: parts whose times are all before it are left out.
    ///
    /// # Errors
    /// Those of [`Self::tables`].
    pub fn recent_tables(&self, names: &[&'static str], since: Time) -> Result<Frames, Error> {
        let is_recent = |part: &&Part| part.latest.is_none_or(|latest| latest >= since);
        self.tables_of_parts(&self.manifest.parts.iter().filter(is_recent).collect::<Vec<_>>(), names)
    }

    fn tables_of_parts(&self, parts: &[&Part], names: &[&'static str]) -> Result<Frames, Error> {
        let (of_repositories, names): (Vec<&'static str>, Vec<&'static str>) =
            names.iter().partition(|name| TABLES_OF_REPOSITORIES.contains(name));
        let files: Vec<(&'static str, TableFiles)> = names
            .par_iter()
            .map(|name| Ok((*name, TableFiles::verified(parts, &self.directory, name)?)))
            .collect::<Result<_, Error>>()?;
        let of_parts = |positions: Range<usize>| -> Result<Frames, Error> {
            files.iter().map(|(name, files)| Ok((*name, files.scan(&positions)?))).collect()
        };
        let count = parts.len();
        let starts = (0..count).step_by(PARTS_OF_PARTITION);
        let partitions = starts.map(|start| {
            let positions = start..count.min(start + PARTS_OF_PARTITION);
            let ends = parts.get(positions.clone()).unwrap_or_default().iter().map(|part| part.ends_at());
            let ends_at = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max());
            Ok::<_, Error>(of_parts(positions)?.with_end(ends_at))
        });
        let partitions = partitions.collect::<Result<Vec<_>, _>>()?;
        let is_dated = |name: &&'static str| parts.iter().all(|part| part.undated_rows(name) == Some(0));
        let dated = names.iter().copied().filter(is_dated);
        let histories = if of_repositories.is_empty() { Histories::default() } else { self.histories()? };
        let of_repositories: Vec<_> =
            of_repositories.into_iter().map(|name| Ok((name, histories.table(name)?))).collect::<Result<_, Error>>()?;
        let whole = of_parts(0..count)?.into_iter().chain(of_repositories);
        Ok(whole.collect::<Frames>().with_dated(dated).with_partitions(partitions))
    }
}

/// A table in the parts of an archive.
struct TableFiles {
    /// The files that have rows, with the positions of their parts.
    files: Vec<(usize, PlRefPath)>,
    schema: SchemaRef,
}

impl TableFiles {
    /// The files in the directory of a generation, once they are verified.
    fn verified(parts: &[&Part], directory: &Path, name: &str) -> Result<Self, Error> {
        let has_rows = |part: &Part| part.files.get(name).is_some_and(|file| file.rows > 0);
        let parts = parts.par_iter().enumerate().filter(|(_, part)| has_rows(part));
        let files = parts.map(|(position, part)| {
            let path = part.verified_file(directory, name)?;
            Ok((position, PlRefPath::try_from_path(&path)?))
        });
        let files = files.collect::<Result<_, Error>>()?;
        Ok(Self { files, schema: Arc::new(frames::schema_of(name)) })
    }

    /// The rows of some parts.
    fn scan(&self, positions: &Range<usize>) -> PolarsResult<LazyFrame> {
        let paths = self.files.iter().filter(|(position, _)| positions.contains(position));
        scan(paths.map(|(_, path)| path.clone()).collect(), &self.schema)
    }
}
