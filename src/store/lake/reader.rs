//! Reads the tables of a lake, also of one that another engine wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use polars::prelude::*;

use super::error::Error;
use super::layout::{self, MANIFEST, NO_VALUE, STAGED_MANIFEST, STAGING, is_in, partition_of};
use super::manifest::{FileEntry, Manifest};
use super::place::Place;
use super::url::is_url;
use crate::base::time::Day;
use crate::model::tables::Tables;
use crate::store::archive::{Archive, checksum};
use crate::store::contained::contained;
use crate::store::frames::{self, Frames, TABLES, schema_hash, schema_of};

/// A lake that can be read.
#[derive(Debug)]
pub struct Lake {
    place: Place,
    manifest: Option<Manifest>,
    /// The files that an export has prepared, and not yet moved to their places.
    staged: BTreeSet<String>,
    /// The parquet files of each table, in order.
    tables: Vec<(&'static str, Vec<String>)>,
}

/// What [`Lake::verify`] found.
#[derive(Debug, Default)]
pub struct LakeChecked {
    /// Files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Damage.
    pub problems: Vec<Error>,
}

impl FileEntry {
    /// Compares the content of a file with its checksum.
    ///
    /// # Errors
    /// When it cannot be read or differs.
    pub(super) fn verify(&self, path: &Path) -> Result<(), Error> {
        let (bytes, hash) = checksum(path).map_err(Error::file(path))?;
        if bytes == self.bytes && hash == self.xxh3_128 {
            return Ok(());
        }
        Err(Error::wrong(path, "the content differs from what was exported; export or sync the lake again"))
    }
}

impl Lake {
    /// Whether this is a lake: the URL of an object store, or a directory that contains a lake and no archive.
    pub fn is_at(name: &Path) -> bool {
        is_url(name) || layout::is_lake(name) && !Archive::at(name).exists()
    }

    /// Opens the lake in a directory, or in an object store by its URL. The files are compared with the sizes in the manifest, if there
    /// is one.
    ///
    /// # Errors
    /// When the manifest is wrong, a file is missing, has another size or is not listed, or a directory cannot be read.
    pub fn open(name: &Path) -> Result<Self, Error> {
        // An export may move the files meanwhile.
        const TRIES: usize = 10;
        let mut result = Self::open_once(name);
        for _ in 1..TRIES {
            if !matches!(&result, Err(Error::Wrong { .. })) || !name.join(STAGING).exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            result = Self::open_once(name);
        }
        result
    }

    fn open_once(name: &Path) -> Result<Self, Error> {
        let place = Place::open(name)?;
        let staged_manifest = Manifest::read(&place, STAGED_MANIFEST)?;
        let is_staged = staged_manifest.is_some();
        let manifest = if is_staged { staged_manifest } else { Manifest::read(&place, MANIFEST)? };
        let mut files = place.list("")?;
        let staged = if is_staged { place.list(STAGING)? } else { BTreeMap::new() };
        let names = staged.keys().cloned().collect();
        files.extend(staged);
        if manifest.is_none() && files.is_empty() {
            let what = format!("no lake here: neither {MANIFEST} nor a directory of a table with files");
            return Err(Error::wrong(name, what));
        }
        let mut lake = Self { place, manifest, staged: names, tables: Vec::new() };
        lake.check_sizes(&files)?;
        // During the move, files of the earlier state are still there.
        let unlisted =
            lake.manifest.as_ref().filter(|_| !is_staged).and_then(|manifest| manifest.find_unlisted(&files));
        if let Some(path) = unlisted {
            let what =
                format!("{MANIFEST} does not list this file; remove the file, or remove {MANIFEST} to read all files");
            return Err(Error::wrong(&lake.path_of(path), what));
        }
        let listed = lake
            .manifest
            .as_ref()
            .map_or_else(|| files.keys().collect::<Vec<_>>(), |manifest| manifest.files.keys().collect());
        let of_table = |table: &str| {
            let is_of_table = |path: &&&String| is_in(table, path) && is_parquet(path);
            listed.iter().filter(is_of_table).map(|path| (*path).clone()).collect()
        };
        lake.tables = TABLES.into_iter().map(|table| (table, of_table(table))).collect();
        Ok(lake)
    }

    /// Its directory or URL.
    pub fn name(&self) -> PathBuf {
        self.place.path_of("")
    }

    /// Its manifest, if it has one.
    pub(super) const fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// The day of the built-in prices of its costs, as far as is known.
    pub fn priced_with(&self) -> Option<Day> {
        self.manifest.as_ref()?.prices
    }

    /// The path or URL at which a file of the lake is now.
    pub(super) fn path_of(&self, path: &str) -> PathBuf {
        if self.staged.contains(path) {
            return self.place.path_of(&format!("{STAGING}/{path}"));
        }
        self.place.path_of(path)
    }

    /// Compares the sizes of the files that exist with the manifest.
    fn check_sizes(&self, files: &BTreeMap<String, u64>) -> Result<(), Error> {
        let again = "export or sync the lake again";
        for (path, entry) in self.manifest.iter().flat_map(|manifest| &manifest.files) {
            let what = match files.get(path) {
                None => format!("the file is missing; {again}"),
                Some(bytes) if *bytes != entry.bytes => {
                    format!("the file has {bytes} bytes, not {} as exported; {again}", entry.bytes)
                }
                Some(_) if !is_parquet(path) && TABLES.iter().any(|table| is_in(table, path)) => {
                    "only lakes of parquet files can be read".to_owned()
                }
                Some(_) => continue,
            };
            return Err(Error::wrong(&self.path_of(path), what));
        }
        Ok(())
    }

    /// Compares the content of all files with the checksums in the manifest, and decodes them.
    ///
    /// # Errors
    /// When the lake has no manifest, or its facts are of another version.
    pub fn verify(&self) -> Result<LakeChecked, Error> {
        let Some(manifest) = &self.manifest else {
            return Err(Error::wrong(&self.name(), format!("without {MANIFEST} there are no checksums to check")));
        };
        if is_url(&self.name()) {
            return Err(Error::wrong(
                &self.name(),
                "only the sizes of files in an object store are checked, whenever it is read",
            ));
        }
        let mut checked = LakeChecked::default();
        for (path, entry) in &manifest.files {
            checked.files += 1;
            checked.bytes += entry.bytes;
            let decoded = |()| if is_parquet(path) { self.decode(path) } else { Ok(()) };
            checked.problems.extend(entry.verify(&self.path_of(path)).and_then(decoded).err());
        }
        if self.has_facts() && checked.problems.is_empty() {
            checked.problems.extend(self.facts()?.filter_map(Result::err));
            checked.problems.extend(self.repositories().err());
        }
        Ok(checked)
    }

    /// Its tables, which are read when a query collects them.
    ///
    /// # Errors
    /// When a file is not parquet, a column has another type than in the schema, the files of a table differ in their columns, or the
    /// value of a partition is wrong.
    pub fn tables(&self) -> Result<Frames, Error> {
        self.some_tables(&TABLES)
    }

    /// Some of its tables, by name.
    ///
    /// # Errors
    /// Those of [`Self::tables`].
    pub fn some_tables(&self, names: &[&str]) -> Result<Frames, Error> {
        let named = self.tables.iter().filter(|(table, _)| names.contains(table));
        let frames: Result<Frames, Error> =
            named.map(|(table, files)| Ok((*table, self.table(table, files)?))).collect();
        let dated = self.tables.iter().filter(|(_, files)| self.is_dated(files)).map(|(table, _)| *table);
        Ok(frames?.with_dated(dated))
    }

    /// Whether an export found a time in all rows of these files: it writes rows without one to partitions of their own.
    fn is_dated(&self, files: &[String]) -> bool {
        let is_dated = |path: &String| path.split('/').filter_map(partition_of).any(|(_, value)| value != NO_VALUE);
        self.manifest.is_some() && files.iter().all(is_dated)
    }

    fn table(&self, table: &'static str, files: &[String]) -> Result<LazyFrame, Error> {
        let schema = schema_of(table);
        let Some(first) = files.first() else {
            return Ok(frames::frame(&Tables::default(), table)?.lazy());
        };
        let partitions = self.partitions(&schema, files)?;
        let hive = HiveOptions {
            enabled: Some(!partitions.is_empty()),
            hive_start_idx: self.name().as_os_str().len(),
            schema: (!partitions.is_empty()).then(|| Arc::new(partitions.clone())),
            try_parse_dates: true,
        };
        let is_known = self.manifest.as_ref().is_some_and(|manifest| manifest.schema == schema_hash());
        let in_files = if is_known {
            let columns = schema.iter().filter(|(name, _)| !partitions.contains(name));
            Arc::new(columns.map(|(name, dtype)| (name.clone(), dtype.clone())).collect())
        } else {
            let columns = self.columns_of(first)?;
            self.check_columns(&schema, &columns, files)?;
            columns
        };
        let frame = self.scan(files, hive, Some(Arc::clone(&in_files)))?;
        // A column that no file has is unknown.
        let column = |(name, dtype): (&PlSmallStr, &DataType)| {
            let is_there = in_files.contains(name) || partitions.contains(name);
            if is_there { col(name.clone()) } else { lit(NULL).cast(dtype.clone()).alias(name.clone()) }
        };
        Ok(frame.select(schema.iter().map(column).collect::<Vec<_>>()))
    }

    /// Scans files with these columns; if they are not given, polars reads those of the first file.
    fn scan(&self, files: &[String], hive: HiveOptions, columns: Option<SchemaRef>) -> PolarsResult<LazyFrame> {
        let options =
            ScanArgsParquet { glob: false, hive_options: hive, schema: columns, ..ScanArgsParquet::default() };
        let path = |file: &String| PlRefPath::try_from_path(&self.path_of(file));
        let paths = files.iter().map(path).collect::<PolarsResult<Vec<_>>>()?;
        LazyFrame::scan_parquet_files(paths.into(), options)
    }

    /// The columns of a parquet file with their types.
    fn columns_of(&self, file: &str) -> Result<SchemaRef, Error> {
        let hive = HiveOptions { enabled: Some(false), ..HiveOptions::default() };
        let columns = || Ok::<_, Error>(contained(|| self.scan(&[file.to_owned()], hive, None)?.collect_schema())?);
        columns().map_err(|error| Error::wrong(&self.path_of(file), format!("not a readable parquet file: {error}")))
    }

    /// Decodes all values of a file.
    fn decode(&self, file: &str) -> Result<(), Error> {
        let hive = HiveOptions { enabled: Some(false), ..HiveOptions::default() };
        let counts = || self.scan(&[file.to_owned()], hive, None)?.select([all().as_expr().null_count()]).collect();
        contained(counts).map(drop).map_err(|error| {
            Error::wrong(&self.path_of(file), format!("not a readable parquet file: {error}; export the lake again"))
        })
    }

    /// Checks that all files of a table have the columns of the first, with the types of the schema.
    fn check_columns(&self, schema: &Schema, first: &Schema, files: &[String]) -> Result<(), Error> {
        for file in files {
            let columns = self.columns_of(file)?;
            for (name, dtype) in columns.iter() {
                if let Some(expected) = schema.get(name).filter(|expected| *expected != dtype) {
                    let what = format!("the column {name} has the type {dtype}, not {expected}");
                    return Err(Error::wrong(&self.path_of(file), what));
                }
            }
            let missing = first.iter_names().find(|name| !columns.contains(name));
            let more = columns.iter_names().find(|name| !first.contains(name));
            if let Some(name) = missing.or(more) {
                let has = if missing.is_some() { "has no column" } else { "has a column" };
                let what = format!(
                    "the file {has} {name}, unlike the first file of its table: the lake mixes versions of the schema; export it \
                     again"
                );
                return Err(Error::wrong(&self.path_of(file), what));
            }
        }
        Ok(())
    }

    /// The partition columns of a table. All files must have the same.
    fn partitions(&self, schema: &Schema, files: &[String]) -> Result<Schema, Error> {
        let mut known: Option<Schema> = None;
        let mut checked = BTreeSet::new();
        for file in files {
            let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
            if !checked.insert(directory) {
                continue;
            }
            let mut columns = Schema::default();
            for (column, value) in directory.split('/').filter_map(partition_of) {
                let dtype = schema.get(column).cloned().unwrap_or(DataType::String);
                if value != NO_VALUE && !is_value(value, &dtype) {
                    let what = format!("{column}={value}: the directory has no valid value of {column}");
                    return Err(Error::wrong(&self.path_of(file), what));
                }
                columns.with_column(column.into(), dtype);
            }
            if known.get_or_insert_with(|| columns.clone()) != &columns {
                let what = "the file is in other partitions than the others of its table";
                return Err(Error::wrong(&self.path_of(file), what));
            }
        }
        Ok(known.unwrap_or_default())
    }
}

/// Whether the text of a partition is a value of this type.
fn is_value(text: &str, dtype: &DataType) -> bool {
    match dtype {
        DataType::Date => text.parse::<jiff::civil::Date>().is_ok(),
        DataType::Int64 => text.parse::<i64>().is_ok(),
        DataType::Boolean => text.parse::<bool>().is_ok(),
        DataType::String => true,
        _ => false,
    }
}

fn is_parquet(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}
