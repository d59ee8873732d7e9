//! `agentlogs export`: tables to files.

use std::fs;

use agentlogs::export::{As, write};
use agentlogs::frames::TABLES;
use anyhow::Context;

use super::{Outcome, WrongCommandLine, tables};
use crate::cli::{Export, Kind};

pub fn run(args: Export) -> anyhow::Result<Outcome> {
    if let Some(name) = args.tables.iter().find(|it| !TABLES.contains(&it.as_str())) {
        return Err(WrongCommandLine(format!("no table {name:?}; there are: {}", TABLES.join(", "))).into());
    }
    let kind = match args.kind {
        Kind::Parquet => As::Parquet,
        Kind::Csv => As::Csv,
        Kind::Jsonl => As::Jsonl,
    };
    let tables = tables(args.from)?;
    fs::create_dir_all(&args.folder).with_context(|| args.folder.display().to_string())?;
    for (name, frame) in tables {
        if args.tables.is_empty() || args.tables.iter().any(|it| it == name) {
            let path = args.folder.join(format!("{name}.{}", kind.extension()));
            write(&mut frame.collect()?, kind, &path).with_context(|| path.display().to_string())?;
        }
    }
    Ok(Outcome::Done)
}
