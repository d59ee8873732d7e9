//! Merges the fragments of a file of a lake into the file.

use std::fs;
use std::io::Cursor;
use std::path::{Component, Path};

use polars::prelude::*;

use super::reconcile::concatenated;
use crate::analysis::export::file::{Access, write_file};
use crate::analysis::export::lake::{keys_of, sorted};
use crate::analysis::export::tables::{FileKind, write_rows};
use crate::base::time::Day;
use crate::store::archive;
use crate::store::frames::turns;
use crate::store::lake::FACTS;

/// The columns of [`merge_fragments`].
pub fn written_schema() -> Schema {
    Schema::from_iter([
        Field::new("file".into(), DataType::String),
        Field::new("bytes".into(), DataType::Int64),
        Field::new("xxh3_128".into(), DataType::String),
        Field::new("rows".into(), DataType::Int64),
        Field::new("min_day".into(), DataType::String),
        Field::new("max_day".into(), DataType::String),
    ])
}

/// A fragment: the source of facts, and the bytes.
type Content = (Option<String>, Vec<u8>);

/// Writes the files whose fragments `rows` contain, and passes their entries for the manifest to `emit`. The rows have the columns
/// `file`, `source_path` and `content`, and those of a file follow each other. A file appears under its name when it is complete. A
/// file without rows gets an entry, but is not written; facts without content are ignored.
///
/// # Errors
/// When fragments are damaged, or a file cannot be written.
pub fn merge_fragments(
    rows: impl Iterator<Item = PolarsResult<DataFrame>>,
    directory: &Path,
    access: Access,
    mut emit: impl FnMut(DataFrame) -> PolarsResult<()>,
) -> PolarsResult<()> {
    let mut current: Option<(String, Vec<Content>)> = None;
    for rows in rows {
        let rows = rows?;
        let (files, paths) = (rows.column("file")?.str()?, rows.column(turns::SOURCE_PATH)?.str()?);
        let contents = rows.column("content")?.binary()?;
        for ((file, path), content) in files.iter().zip(paths.iter()).zip(contents.iter()) {
            let (Some(file), Some(content)) = (file, content) else {
                polars_bail!(ComputeError: "a row without file or content");
            };
            if current.as_ref().is_some_and(|current| current.0 != file) {
                current
                    .take()
                    .map_or(Ok(()), |(file, contents)| emit(merge_file(directory, &file, contents, access)?))?;
            }
            let contents = &mut current.get_or_insert_with(|| (file.to_owned(), Vec::new())).1;
            contents.push((path.map(str::to_owned), content.to_vec()));
        }
    }
    current.map_or(Ok(()), |(file, contents)| emit(merge_file(directory, &file, contents, access)?))
}

fn merge_file(directory: &Path, file: &str, contents: Vec<Content>, access: Access) -> PolarsResult<DataFrame> {
    if Path::new(file).components().any(|name| !matches!(name, Component::Normal(_))) {
        polars_bail!(ComputeError: "{file}: not a path below the lake");
    }
    let table = file.split('/').next().unwrap_or_default();
    let Merged { content, rows, days } =
        if table == FACTS { merge_facts(contents) } else { merge_rows(table, contents)? };
    if rows > 0 {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        // Another attempt of the same task may write the same file: each has a temporary file of its own.
        write_file(&path, access, |out| out.write_all(&content))?;
    }
    let (min, max) =
        days.or_else(|| day_of_partition(file)).map(|(min, max)| (min.to_string(), max.to_string())).unzip();
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let columns = [
        Series::new("file".into(), [file]),
        Series::new("bytes".into(), [number(content.len())]),
        Series::new("xxh3_128".into(), [archive::hash(&content)]),
        Series::new("rows".into(), [number(rows)]),
        Series::new("min_day".into(), [min]),
        Series::new("max_day".into(), [max]),
    ];
    DataFrame::new(1, columns.map(Column::from).to_vec())
}

/// A file before it is written.
struct Merged {
    content: Vec<u8>,
    rows: usize,
    /// The first and the last day of the rows, if they have the column.
    days: Option<(Day, Day)>,
}

/// The facts in the order of the paths.
fn merge_facts(mut contents: Vec<Content>) -> Merged {
    contents.sort();
    let rows = contents.iter().filter(|(_, content)| !content.is_empty()).count();
    Merged { content: contents.into_iter().flat_map(|(_, content)| content).collect(), rows, days: None }
}

/// Rows in the order of a lake.
fn merge_rows(table: &str, contents: Vec<Content>) -> PolarsResult<Merged> {
    let read = |(_, content)| ParquetReader::new(Cursor::new(content)).finish();
    let rows = concatenated(contents.into_iter().map(read).collect::<PolarsResult<_>>()?)?;
    let keys: Vec<_> = keys_of(table).into_iter().filter(|key| rows.schema().contains(key)).collect();
    let mut rows = sorted(rows.lazy(), &keys).collect()?;
    let mut content = Vec::new();
    write_rows(table, &mut rows, FileKind::Parquet, &mut content)?;
    let days = rows.column(turns::DAY).ok().map(|days| days.date().map(|days| days.physical().clone())).transpose()?;
    let days = days.and_then(|days| Some((Day(days.min()?), Day(days.max()?))));
    Ok(Merged { content, rows: rows.height(), days })
}

/// The day of a partition by day.
fn day_of_partition(file: &str) -> Option<(Day, Day)> {
    let (_, value) = file.split('/').nth(1)?.split_once('=')?;
    let day: Day = serde_json::from_value(value.into()).ok()?;
    Some((day, day))
}
