//! Writes tables to files of parquet, CSV, JSON Lines or Arrow.

use std::io::{self, Write};
use std::path::Path;

use polars::prelude::*;

use super::file::{Access, write_file};
use super::verdicts::OF_VERDICTS;
use crate::analysis::present;
use crate::analysis::rows::Frames;
use crate::analysis::selection::{self, LeftOut, Scope};
use crate::base::byte_order_mark::BYTE_ORDER_MARK;
use crate::store::frames::{TABLES_OF_FILES, TABLES_OF_REPOSITORIES, schema, sessions, turns};
use crate::store::{arrow_stream, parquet};

/// A kind of file for a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileKind {
    /// Apache Parquet.
    #[default]
    Parquet,
    /// CSV by RFC 4180. Lists are joined by semicolons.
    Csv,
    /// An object per line.
    Jsonl,
    /// A stream of Arrow's IPC format.
    Arrow,
}

impl FileKind {
    /// The extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Arrow => "arrows",
        }
    }
}

/// The rows of the sessions in scope, of every table; of the tables of files, the rows of the files with such sessions.
/// Filters apply to sessions as a whole: to their start, model, labels and so on. Also returns the sessions that are excluded
/// because they have no start.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn in_scope(tables: &Frames, scope: &Scope) -> Result<(Frames, LeftOut), selection::Error> {
    let (sessions, left_out) = selection::sessions(tables, scope)?;
    // Collected once for all tables.
    let sessions = sessions.select([col(turns::RUNTIME), col(turns::SESSION_ID)]).collect()?;
    let key = [col(turns::RUNTIME), col(turns::SESSION_ID)];
    let semi = || JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Semi) };
    let mut kept = Vec::new();
    let mut paths = Vec::new();
    for (name, frame) in tables {
        let frame = match *name {
            name if TABLES_OF_FILES.contains(&name) || TABLES_OF_REPOSITORIES.contains(&name) => frame.clone(),
            _ => {
                let frame = frame.clone().join(sessions.clone().lazy(), key.clone(), key.clone(), semi());
                paths.push(frame.clone().select([col(turns::SOURCE_PATH)]));
                frame
            }
        };
        kept.push((*name, frame));
    }
    let paths = concat(paths, UnionArgs::default())?.unique(None, UniqueKeepStrategy::Any).collect()?;
    for (_, frame) in kept.iter_mut().filter(|(name, _)| TABLES_OF_FILES.contains(name)) {
        let path = [col(turns::SOURCE_PATH)];
        *frame = std::mem::take(frame).join(paths.clone().lazy(), path.clone(), path, semi());
    }
    Ok((kept.into_iter().collect(), left_out))
}

/// Writes a table to `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn write(table: &str, frame: &mut DataFrame, kind: FileKind, access: Access, path: &Path) -> io::Result<()> {
    write_file(path, access, |file| match kind {
        FileKind::Parquet => parquet::write(file, frame, metadata(table)),
        FileKind::Csv => {
            // Spreadsheets take a file without it for one in the code page of the system.
            file.write_all(BYTE_ORDER_MARK)?;
            write_rows(table, frame, kind, file)
        }
        FileKind::Jsonl | FileKind::Arrow => write_rows(table, frame, kind, file),
    })
}

/// Writes rows of a table as a file. Equal rows give equal bytes with every version of the program.
///
/// # Errors
/// When they cannot be written.
pub(super) fn write_rows(
    table: &str,
    frame: &mut DataFrame,
    kind: FileKind,
    mut out: &mut dyn Write,
) -> io::Result<()> {
    match kind {
        FileKind::Parquet => parquet::write(out, frame, meanings(table)),
        FileKind::Csv => present::csv(frame, &mut out),
        FileKind::Jsonl => present::jsonl(frame, &mut out),
        FileKind::Arrow => arrow_stream::write(frame, out).map_err(io::Error::other),
    }
}

/// The metadata of a parquet file: the version of the program, the table, and the meaning of the columns.
fn metadata(table: &str) -> Vec<(String, String)> {
    let version = ("agentlogs.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    std::iter::once(version).chain(meanings(table)).collect()
}

/// The part of [`metadata`] without the version.
fn meanings(table: &str) -> Vec<(String, String)> {
    let columns = schema().into_iter().filter(|column| column.table == table);
    let of_verdicts = OF_VERDICTS.iter().filter(|_| table == sessions::TABLE).copied();
    let columns = columns.map(|column| (column.column, column.about)).chain(of_verdicts);
    let columns: serde_json::Map<String, serde_json::Value> =
        columns.map(|(name, about)| (name.to_owned(), about.into())).collect();
    vec![
        ("agentlogs.table".to_owned(), table.to_owned()),
        ("agentlogs.columns".to_owned(), serde_json::Value::Object(columns).to_string()),
    ]
}
