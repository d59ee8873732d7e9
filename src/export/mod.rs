//! Tables to files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use polars::prelude::*;

use crate::{archive, render};

/// A kind of file.
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

/// Writes a table to `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn write(frame: &mut DataFrame, kind: As, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    match kind {
        As::Parquet => archive::write_parquet(&mut file, frame)?,
        As::Csv => render::csv(frame, &mut file)?,
        As::Jsonl => render::jsonl(frame, &mut file)?,
    }
    file.flush()
}
