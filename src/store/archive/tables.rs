//! The tables of an archive as lazy polars frames.

use polars::prelude::*;
use rayon::prelude::*;

use super::error::Error;
use super::generations::Snapshot;
use super::manifest::Part;
use super::open::Archive;
use crate::model::tables::Tables;
use crate::store::frames::{self, Frames, TABLES};

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
        let Self { folder, manifest, .. } = self;
        if manifest.parts.is_empty() {
            let empty = frames::frames(&Tables::default())?;
            let named = empty.into_iter().filter(|(name, _)| names.contains(name));
            return Ok(named.map(|(name, frame)| (name, frame.lazy())).collect());
        }
        let frames: Result<Frames, Error> = names
            .par_iter()
            .map(|name| {
                let name = *name;
                let has_rows = |part: &&Part| part.files.get(name).is_some_and(|file| file.rows > 0);
                let mut parts: Vec<&Part> = manifest.parts.iter().filter(has_rows).collect();
                if parts.is_empty() {
                    // An empty file has the schema.
                    parts.extend(manifest.parts.first());
                }
                let paths = parts.into_par_iter().map(|part| part.verified_file(folder, name));
                let paths = paths.collect::<Result<Vec<_>, _>>()?;
                let paths =
                    paths.iter().map(|path| PlRefPath::try_from_path(path)).collect::<PolarsResult<Vec<_>>>()?;
                Ok((name, LazyFrame::scan_parquet_files(paths.into(), options())?))
            })
            .collect::<Result<Vec<_>, _>>()
            .map(Frames::from_iter);
        let is_dated = |name: &&'static str| manifest.parts.iter().all(|part| part.undated_rows(name) == Some(0));
        Ok(frames?.with_dated(names.iter().copied().filter(is_dated)))
    }
}

/// How files of an archive are scanned: a path may contain characters that are patterns elsewhere.
pub(super) fn options() -> ScanArgsParquet {
    ScanArgsParquet { glob: false, ..ScanArgsParquet::default() }
}
