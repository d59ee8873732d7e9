//! `agentlogs export`: tables to files, or each session as a trajectory.

use std::fs;

use agentlogs::analysis::export::{Access, As, Trajectories, in_scope, write, write_file};
use agentlogs::store::frames::TABLES;
use anyhow::Context;

use super::report::{scope, state_left_out, wrong};
use super::{Outcome, WrongCommandLine, tables};
use crate::cli::args::{Export, Kind};

pub fn run(args: Export) -> anyhow::Result<Outcome> {
    if let Some(name) = args.tables.iter().find(|it| !TABLES.contains(&it.as_str())) {
        return Err(WrongCommandLine(format!("no table {name:?}; there are: {}", TABLES.join(", "))).into());
    }
    let kind = match args.kind {
        Kind::Parquet => Some(As::Parquet),
        Kind::Csv => Some(As::Csv),
        Kind::Jsonl => Some(As::Jsonl),
        Kind::Atif => None,
    };
    if kind.is_none() && !args.tables.is_empty() {
        return Err(WrongCommandLine("--table is for tables; --as atif writes sessions".to_owned()).into());
    }
    let scope = scope(args.filters);
    let opened = tables(args.from)?;
    let mut tables = opened.frames;
    if !scope.is_everything() {
        let (kept, left_out) = in_scope(&tables, &scope).map_err(wrong)?;
        tables = kept;
        state_left_out("", &left_out, "session", "start");
    }
    let access = Access::of(&tables)?;
    fs::create_dir_all(&args.folder).with_context(|| args.folder.display().to_string())?;
    let Some(kind) = kind else {
        for trajectory in Trajectories::of(&tables)?.iter() {
            let path = args.folder.join(&trajectory.file_name);
            let written = write_file(&path, access, |out| trajectory.write(out));
            written.with_context(|| path.display().to_string())?;
        }
        return Ok(Outcome::Done);
    };
    for (name, frame) in tables {
        if args.tables.is_empty() || args.tables.iter().any(|it| it == name) {
            let path = args.folder.join(format!("{name}.{}", kind.extension()));
            let written = write(name, &mut frame.collect()?, kind, access, &path);
            written.with_context(|| path.display().to_string())?;
        }
    }
    Ok(Outcome::Done)
}
