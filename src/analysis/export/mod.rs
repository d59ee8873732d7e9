//! Tables to files: as they are, or each session as a trajectory.

use std::io::{self, Write};
use std::path::Path;

use polars::prelude::*;

use crate::analysis::render;
use crate::analysis::reports::{self, Frames, LeftOut, Scope};
use crate::store::frames::schema;
use crate::store::parquet;

mod file;
mod trajectory;

pub use file::{Access, write_file};
pub use trajectory::{Trajectories, Trajectory};

/// A kind of file that holds a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum As {
    /// Apache Parquet.
    #[default]
    Parquet,
    /// RFC 4180; lists are joined by semicolons.
    Csv,
    /// One object a line.
    Jsonl,
}

impl As {
    /// The ending of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }
}

/// The rows of the sessions in scope, of every table: of `sources` and `rejects` those of the files that such rows were
/// read from. A session is in scope as a whole or not at all: by its start, its model, its labels. Returned with the sessions
/// that are left out because they have no start.
///
/// # Errors
/// When something is asked for that is not there.
pub fn in_scope(tables: &Frames, scope: &Scope) -> Result<(Frames, LeftOut), reports::Error> {
    let (sessions, left_out) = reports::sessions(tables, scope)?;
    // Small, and needed by every table.
    let sessions = sessions.select([col("runtime"), col("session_id")]).collect()?;
    let key = [col("runtime"), col("session_id")];
    let semi = || JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Semi) };
    let mut kept: Frames = Vec::with_capacity(tables.len());
    let mut paths = Vec::new();
    for (name, frame) in tables {
        let frame = match *name {
            "sources" | "rejects" => frame.clone(),
            _ => {
                let frame = frame.clone().join(sessions.clone().lazy(), key.clone(), key.clone(), semi());
                paths.push(frame.clone().select([col("source_path")]));
                frame
            }
        };
        kept.push((name, frame));
    }
    let paths = concat(paths, UnionArgs::default())?.unique(None, UniqueKeepStrategy::Any).collect()?;
    for (_, frame) in kept.iter_mut().filter(|it| matches!(it.0, "sources" | "rejects")) {
        let path = [col("source_path")];
        *frame = std::mem::take(frame).join(paths.clone().lazy(), path.clone(), path, semi());
    }
    Ok((kept, left_out))
}

/// Writes a table to `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn write(table: &str, frame: &mut DataFrame, kind: As, access: Access, path: &Path) -> io::Result<()> {
    write_file(path, access, |mut file: &mut dyn Write| match kind {
        As::Parquet => parquet::write(file, frame, metadata(table)),
        As::Csv => render::csv(frame, &mut file),
        As::Jsonl => render::jsonl(frame, &mut file),
    })
}

/// What a parquet file says of itself: who wrote it, which table it is, and what its columns mean.
fn metadata(table: &str) -> Vec<(String, String)> {
    let columns: serde_json::Map<String, serde_json::Value> =
        schema().into_iter().filter(|it| it.table == table).map(|it| (it.column.to_owned(), it.about.into())).collect();
    vec![
        ("agentlogs.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("agentlogs.table".to_owned(), table.to_owned()),
        ("agentlogs.columns".to_owned(), serde_json::Value::Object(columns).to_string()),
    ]
}
