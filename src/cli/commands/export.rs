//! `agentlogs export`: writes tables to files or to a lake, or each session as a trajectory.

use std::fs;

use agentlogs::analysis::export::{Access, Facts, FileKind, LakeExport, Trajectories, in_scope, write, write_file};
use agentlogs::analysis::present::{counted, grouped};
use agentlogs::store::frames::TABLES;
use agentlogs::store::lake::{PartitionBy, shown};
use anyhow::{Context, bail};

use super::output::say;
use super::resolve::{report_error, scope, state_left_out, state_unmatched};
use super::source::open;
use super::{Outcome, WrongCommandLine};
use crate::cli::args::{Export, Kind, Period};
use crate::cli::settings::Settings;

pub fn run(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    check(&args)?;
    if args.directory.is_file() {
        bail!("{} is a file, not a directory", args.directory.display());
    }
    let with_facts = args.kind == Kind::Lake && !args.without_facts;
    let partitions = partitions(&args);
    let scope = scope(args.filters, settings);
    let opened = open(args.source, settings, &TABLES, with_facts)?;
    let mut tables = opened.frames.clone();
    if !scope.is_everything() {
        let (kept, left_out) = in_scope(&tables, &scope).map_err(report_error)?;
        tables = kept;
        state_left_out("", &left_out, "session", "start");
        state_unmatched("", &opened.frames, &scope);
    }
    let access = Access::of(&tables)?;
    let kind = file_kind(args.kind);
    if let (Some(by), Some(kind)) = (partitions, kind) {
        let prices = opened.prices();
        let facts = if with_facts { opened.facts()? } else { Facts::None };
        let is_everything = scope.is_everything();
        let export = LakeExport { tables: &tables, is_everything, facts, prices, kind, by, access };
        let written = export.write(&args.directory)?;
        say(&format!(
            "{}, {} bytes; {} written, {} removed",
            counted(written.files, "file"),
            grouped(written.bytes),
            written.changed,
            written.removed
        ));
        return Ok(Outcome::Done);
    }
    fs::create_dir_all(&args.directory).with_context(|| args.directory.display().to_string())?;
    let written_to = |what: String| say(&format!("{what} written to {}", shown(&args.directory).display()));
    let Some(kind) = kind else {
        let mut sessions = 0;
        for trajectory in Trajectories::new(&tables)?.iter() {
            let path = args.directory.join(&trajectory.file_name);
            let written = write_file(&path, access, |out| trajectory.write(out));
            written.with_context(|| path.display().to_string())?;
            sessions += 1;
        }
        written_to(counted(sessions, "session"));
        return Ok(Outcome::Done);
    };
    let (mut files, mut rows) = (0, 0);
    for (name, frame) in tables {
        if args.tables.is_empty() || args.tables.iter().any(|table| table == name) {
            let path = args.directory.join(format!("{name}.{}", kind.extension()));
            let mut frame = frame.collect()?;
            let written = write(name, &mut frame, kind, access, &path);
            written.with_context(|| path.display().to_string())?;
            files += 1;
            rows += frame.height();
        }
    }
    written_to(format!("{} with {}", counted(files, "table"), counted(rows, "row")));
    Ok(Outcome::Done)
}

/// Refuses options that do not go together.
fn check(args: &Export) -> Result<(), WrongCommandLine> {
    let wrong = |message: String| Err(WrongCommandLine(message));
    if let Some(name) = args.tables.iter().find(|name| !TABLES.contains(&name.as_str())) {
        return wrong(format!("no table {name:?}; there are: {}", TABLES.join(", ")));
    }
    if args.kind == Kind::Atif && !args.tables.is_empty() {
        return wrong("--table cannot be used with --as atif, which writes sessions".to_owned());
    }
    if partitions(args).is_some() && !args.tables.is_empty() {
        return wrong("--table cannot be used with partitions, which are written for all tables".to_owned());
    }
    if matches!(args.kind, Kind::Parquet | Kind::Arrow | Kind::Atif) && args.partition_by.is_some() {
        return wrong("--partition-by is for --as lake, csv and jsonl; a lake consists of parquet files".to_owned());
    }
    if args.kind != Kind::Lake && args.without_facts {
        return wrong("--without-facts is for --as lake; other exports have no facts".to_owned());
    }
    Ok(())
}

/// The period of a partition; `None` for one file per table or session.
fn partitions(args: &Export) -> Option<PartitionBy> {
    let period = args.partition_by.or((args.kind == Kind::Lake).then_some(Period::Day))?;
    Some(partition_by(period))
}

/// A period of the command line.
pub const fn partition_by(period: Period) -> PartitionBy {
    match period {
        Period::Day => PartitionBy::Day,
        Period::Week => PartitionBy::Week,
        Period::Month => PartitionBy::Month,
    }
}

/// The kind of the files of tables; `None` for trajectories.
const fn file_kind(kind: Kind) -> Option<FileKind> {
    match kind {
        Kind::Parquet | Kind::Lake => Some(FileKind::Parquet),
        Kind::Csv => Some(FileKind::Csv),
        Kind::Jsonl => Some(FileKind::Jsonl),
        Kind::Arrow => Some(FileKind::Arrow),
        Kind::Atif => None,
    }
}
