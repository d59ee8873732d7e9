//! `agentlogs export`: writes tables to files or to a lake, each session as a trajectory or a trace, or costs by day.

use std::fs;
use std::io::{self, Write};

use agentlogs::analysis::evidence::{self, Pack, Texts};
use agentlogs::analysis::export::{
    Access, FOCUS_TABLES, FOCUS_VERSION, Facts, FileKind, Focus, LakeExport, Timeline, Trajectories, Unpriced, Written,
    in_scope, with_verdicts, write, write_file,
};
use agentlogs::analysis::present::{Currency, counted, grouped};
use agentlogs::store::archive::{Archive, RepositoryFacts};
use agentlogs::store::frames::TABLES;
use agentlogs::store::lake::{PartitionBy, shown};
use anyhow::{Context, bail};
use clap::ValueEnum as _;
use clap::builder::PossibleValue;

use super::otlp;
use super::output::{complain, say};
use super::receiver::Receiver;
use super::resolve::{report_error, scope, state_left_out, state_lower_bound, state_unmatched, state_unmatched_turns};
use super::source::{catalog, open, some_tables};
use super::{Outcome, WrongCommandLine};
use crate::cli::args::{Export, Kind, Period};
use crate::cli::settings::Settings;

pub fn run(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    check(&args)?;
    if args.directory.is_file() {
        bail!("{} is a file, not a directory", args.directory.display());
    }
    // Its files would be those of the archive's next commands.
    let directory = std::path::absolute(&args.directory).unwrap_or_else(|_| args.directory.clone());
    let directory = dunce::canonicalize(&directory).unwrap_or(directory);
    if let Some(archive) = directory.ancestors().find(|directory| Archive::at(*directory).exists()) {
        let archive = archive.display();
        return Err(WrongCommandLine(format!("{archive} is an archive; export to a directory outside of it")).into());
    }
    if let Some(kind) = focus_kind(args.kind) {
        return write_focus(args, kind, settings);
    }
    if args.kind == Kind::Evidence {
        return write_evidence(args, settings);
    }
    let with_facts = args.kind == Kind::Lake && !args.without_facts;
    let partitions = partitions(&args);
    let receiver = args.endpoint.as_deref().map(Receiver::at).transpose()?;
    let scope = scope(args.filters, settings);
    let opened = open(args.source, settings, &TABLES, with_facts)?;
    let mut tables = opened.frames.clone();
    if !scope.is_everything() {
        let (kept, left_out) = in_scope(&tables, &scope).map_err(report_error)?;
        tables = kept;
        state_left_out("", &left_out, "session", "start");
        state_unmatched("", &opened.frames, &scope);
    }
    // A lake has the tables of an archive, as commands read it in place of one.
    if args.kind != Kind::Lake {
        tables = with_verdicts(tables, &opened.frames)?;
    }
    let access = Access::of(&tables)?;
    let kind = file_kind(args.kind);
    if let (Some(by), Some(kind)) = (partitions, kind) {
        let prices = opened.prices();
        let (facts, repositories) =
            if with_facts { opened.facts()? } else { (Facts::None, RepositoryFacts::default()) };
        let is_everything = scope.is_everything();
        let export = LakeExport { tables: &tables, is_everything, facts, repositories, prices, kind, by, access };
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
    if args.kind == Kind::Otlp {
        return otlp::export(&tables, &args.directory, access, receiver.as_ref());
    }
    if args.kind == Kind::Perfetto {
        let path = args.directory.join("perfetto.json");
        let timeline = Timeline::new(&tables)?;
        let mut written = Written::default();
        let result = write_file(&path, access, |out| {
            written = timeline.write(out)?;
            Ok(())
        });
        result.with_context(|| path.display().to_string())?;
        state_untimed(&written);
        written_to(counted(written.sessions, "session"));
        return Ok(Outcome::Done);
    }
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

/// Writes the costs by day.
fn write_focus(args: Export, kind: FileKind, settings: &Settings) -> anyhow::Result<Outcome> {
    let scope = scope(args.filters, settings);
    let catalog = catalog(&args.source, settings)?;
    let tables: Vec<&'static str> = FOCUS_TABLES.iter().copied().chain(scope.tables()).collect();
    let opened = some_tables(args.source, settings, &tables)?;
    state_unmatched_turns("", &opened.frames, &scope);
    let mut focus = Focus::of(&opened.frames, &scope, &catalog).map_err(report_error)?;
    fs::create_dir_all(&args.directory).with_context(|| args.directory.display().to_string())?;
    let path = args.directory.join(format!("focus.{}", kind.extension()));
    focus.write(kind, &path).with_context(|| path.display().to_string())?;
    say(&format!(
        "{} of FOCUS {FOCUS_VERSION} written to {}",
        counted(focus.rows.height(), "row"),
        shown(&path).display()
    ));
    let Unpriced { turns, tokens } = focus.unpriced;
    if turns > 0 {
        let what = format!("{} with {}", counted(turns, "response"), counted(tokens, "token"));
        complain(format_args!("not in the file, as the cost is unknown: {what}"));
    }
    if let Some(sentence) = focus.left_out.stated("row", "time") {
        complain(format_args!("{sentence}: a charge has a day"));
    }
    // The file has US dollars.
    state_lower_bound("", &opened.frames, &scope, Currency::default())?;
    opened.state_prices();
    Ok(Outcome::Done)
}

/// Writes the evidence as Markdown and as JSON.
fn write_evidence(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    let scope = scope(args.filters, settings);
    let tables: Vec<&'static str> = evidence::TABLES.iter().copied().chain(scope.tables()).collect();
    let opened = some_tables(args.source, settings, &tables)?;
    let (texts, access) =
        if args.with_text { (Texts::OfLogs, Access::Owner) } else { (Texts::OfArchive, Access::of(&opened.frames)?) };
    let (pack, left_out) = Pack::read(&opened.frames, &scope, texts).map_err(report_error)?;
    state_left_out("", &left_out, "session", "start");
    state_unmatched("", &opened.frames, &scope);
    fs::create_dir_all(&args.directory).with_context(|| args.directory.display().to_string())?;
    let write_to = |name: &str, write: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let path = args.directory.join(name);
        write_file(&path, access, |out| write(out)).with_context(|| path.display().to_string())
    };
    write_to("evidence.json", &|out| pack.write_json(out))?;
    write_to("evidence.md", &|out| pack.write_markdown(out))?;
    let held_out = match pack.held_out_sessions {
        0 => String::new(),
        sessions => format!("; {} of held-out tasks left out", counted(sessions, "failed session")),
    };
    let sessions = counted(pack.sessions, "failed session");
    let directory = shown(&args.directory);
    say(&format!("evidence.md and evidence.json with {sessions} written to {}{held_out}", directory.display()));
    Ok(Outcome::Done)
}

/// Prints what has no place in time.
fn state_untimed(written: &Written) {
    const NAMED: usize = 5;
    let untimed = &written.untimed_sessions;
    if !untimed.is_empty() {
        let named = untimed.get(..NAMED.min(untimed.len())).unwrap_or_default().join(", ");
        let more = if untimed.len() > NAMED { ", …" } else { "" };
        complain(format_args!("{} without a known time left out: {named}{more}", counted(untimed.len(), "session")));
    }
    if written.untimed_rows > 0 {
        let rows = grouped(written.untimed_rows);
        complain(format_args!(
            "responses and calls without a time, which only the sums of tokens and dollars contain: {rows}"
        ));
    }
}

/// Refuses options that do not go together.
fn check(args: &Export) -> Result<(), WrongCommandLine> {
    let wrong = |message: String| Err(WrongCommandLine(message));
    if let Some(name) = args.tables.iter().find(|name| !TABLES.contains(&name.as_str())) {
        return wrong(format!("no table {name:?}; there are: {}", TABLES.join(", ")));
    }
    if matches!(args.kind, Kind::Atif | Kind::Evidence | Kind::Otlp | Kind::Perfetto) && !args.tables.is_empty() {
        let kind = args.kind.to_possible_value();
        let kind = kind.as_ref().map_or("", PossibleValue::get_name);
        return wrong(format!("--table cannot be used with --as {kind}, which writes sessions"));
    }
    if args.endpoint.is_some() && args.kind != Kind::Otlp {
        return wrong("--endpoint is for --as otlp".to_owned());
    }
    if args.with_text && args.kind != Kind::Evidence {
        return wrong("--with-text is for --as evidence".to_owned());
    }
    if focus_kind(args.kind).is_some() && !args.tables.is_empty() {
        return wrong("--table cannot be used with --as focus, which writes costs by day".to_owned());
    }
    if partitions(args).is_some() && !args.tables.is_empty() {
        return wrong("--table cannot be used with partitions, which are written for all tables".to_owned());
    }
    if !matches!(args.kind, Kind::Lake | Kind::Csv | Kind::Jsonl) && args.partition_by.is_some() {
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

/// The kind of the file of costs by day; `None` for other exports.
const fn focus_kind(kind: Kind) -> Option<FileKind> {
    match kind {
        Kind::Focus => Some(FileKind::Csv),
        Kind::FocusParquet => Some(FileKind::Parquet),
        _ => None,
    }
}

/// The kind of the files of tables; `None` for other exports.
const fn file_kind(kind: Kind) -> Option<FileKind> {
    match kind {
        Kind::Parquet | Kind::Lake => Some(FileKind::Parquet),
        Kind::Csv => Some(FileKind::Csv),
        Kind::Jsonl => Some(FileKind::Jsonl),
        Kind::Arrow => Some(FileKind::Arrow),
        Kind::Atif | Kind::Evidence | Kind::Otlp | Kind::Perfetto | Kind::Focus | Kind::FocusParquet => None,
    }
}
