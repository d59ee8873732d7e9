//! `agentlogs export`: writes tables to files, or each session as a trajectory.

use std::fs;

use agentlogs::analysis::export::{Access, FileKind, Trajectories, in_scope, write, write_file};
use agentlogs::store::frames::TABLES;
use anyhow::{Context, bail};

use super::resolve::{report_error, scope, state_left_out};
use super::source::tables;
use super::{Outcome, WrongCommandLine};
use crate::cli::args::{Export, Kind};
use crate::cli::settings::Settings;

pub fn run(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    if let Some(name) = args.tables.iter().find(|name| !TABLES.contains(&name.as_str())) {
        return Err(WrongCommandLine(format!("no table {name:?}; there are: {}", TABLES.join(", "))).into());
    }
    let kind = match args.kind {
        Kind::Parquet => Some(FileKind::Parquet),
        Kind::Csv => Some(FileKind::Csv),
        Kind::Jsonl => Some(FileKind::Jsonl),
        Kind::Atif => None,
    };
    if kind.is_none() && !args.tables.is_empty() {
        return Err(WrongCommandLine("--table cannot be used with --as atif, which writes sessions".to_owned()).into());
    }
    if args.directory.is_file() {
        bail!("{} is a file, not a directory", args.directory.display());
    }
    let scope = scope(args.filters, settings);
    let opened = tables(args.source, settings)?;
    let mut tables = opened.frames;
    if !scope.is_everything() {
        let (kept, left_out) = in_scope(&tables, &scope).map_err(report_error)?;
        tables = kept;
        state_left_out("", &left_out, "session", "start");
    }
    let access = Access::of(&tables)?;
    fs::create_dir_all(&args.directory).with_context(|| args.directory.display().to_string())?;
    let Some(kind) = kind else {
        for trajectory in Trajectories::new(&tables)?.iter() {
            let path = args.directory.join(&trajectory.file_name);
            let written = write_file(&path, access, |out| trajectory.write(out));
            written.with_context(|| path.display().to_string())?;
        }
        return Ok(Outcome::Done);
    };
    for (name, frame) in tables {
        if args.tables.is_empty() || args.tables.iter().any(|table| table == name) {
            let path = args.directory.join(format!("{name}.{}", kind.extension()));
            let written = write(name, &mut frame.collect()?, kind, access, &path);
            written.with_context(|| path.display().to_string())?;
        }
    }
    Ok(Outcome::Done)
}
