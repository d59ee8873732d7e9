//! `agentlogs export`: writes tables to files or to a lake, each session as a trajectory or a trace, or costs by day.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use agentlogs::analysis::evidence::{self, Pack, Texts};
use agentlogs::analysis::export::{
    Access, FOCUS_TABLES, FOCUS_VERSION, Facts, FileKind, Focus, LakeExport, Timeline, Trajectories, Unpriced, Written,
    in_scope, with_verdicts, write, write_file,
};
use agentlogs::analysis::present::{Currency, counted, grouped};
use agentlogs::analysis::reports::{CostBasis, Frames, Scope, Spending, Undated};
use agentlogs::store::archive::{Archive, RepositoryFacts};
use agentlogs::store::frames::TABLES;
use agentlogs::store::lake::shown;
use anyhow::{Context, bail};
use clap::ValueEnum as _;
use clap::builder::PossibleValue;

use super::otlp;
use super::output::{STDOUT, complain, say};
use super::receiver::Receiver;
use super::resolve::{
    report_error, scope, state_empty, state_left_out, state_lower_bound, state_other_users, state_period,
    state_unmatched_turns,
};
use super::source::{Opened, catalog, open, some_tables};
use super::{Outcome, WrongCommandLine};
use crate::cli::args::{DataSource, Export, Filters, Kind, Period};
use crate::cli::settings::Settings;

pub fn run(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    check(&args)?;
    check_directory(&args.directory)?;
    match args.kind {
        Kind::Parquet => write_tables(args, FileKind::Parquet, settings),
        Kind::Csv => write_tables(args, FileKind::Csv, settings),
        Kind::Jsonl => write_tables(args, FileKind::Jsonl, settings),
        Kind::Arrow => write_tables(args, FileKind::Arrow, settings),
        Kind::Lake => write_lake(args, settings),
        Kind::Atif => write_trajectories(args, settings),
        Kind::Otlp => write_otlp(args, settings),
        Kind::Perfetto => write_timeline(args, settings),
        Kind::Focus => write_focus(args, FileKind::Csv, settings),
        Kind::FocusParquet => write_focus(args, FileKind::Parquet, settings),
        Kind::Evidence => write_evidence(args, settings),
    }
}

/// Refuses a file, and a directory in an archive: its files would be those of the archive's next commands.
fn check_directory(directory: &Path) -> anyhow::Result<()> {
    if directory.as_os_str() == STDOUT {
        let message = "an export is a directory, which standard output cannot be; ./- is a directory of that name";
        return Err(WrongCommandLine(message.to_owned()).into());
    }
    if directory.is_file() {
        bail!("{} is a file, not a directory", directory.display());
    }
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let directory = dunce::canonicalize(&directory).unwrap_or(directory);
    if let Some(archive) = directory.ancestors().find(|directory| Archive::at(*directory).exists()) {
        let archive = archive.display();
        return Err(WrongCommandLine(format!("{archive} is an archive; export to a directory outside of it")).into());
    }
    Ok(())
}

/// The tables of the sessions in scope.
struct Selected {
    opened: Opened,
    tables: Frames,
    is_everything: bool,
}

impl Selected {
    /// As an archive has them.
    fn read(filters: Filters, source: DataSource, settings: &Settings, with_facts: bool) -> anyhow::Result<Self> {
        let scope = scope(filters, settings);
        let opened = open(source, settings, &TABLES, with_facts)?;
        let is_everything = scope.is_everything();
        let mut tables = opened.frames.clone();
        if !is_everything {
            let (kept, left_out) = in_scope(&tables, &scope).map_err(report_error)?;
            tables = kept;
            state_left_out("", &left_out, "session", "start", Currency::default());
            state_empty("", &opened, &scope);
            state_other_users(&opened, &scope);
        }
        Ok(Self { opened, tables, is_everything })
    }

    /// With the verdicts of sessions as columns.
    fn with_verdicts(filters: Filters, source: DataSource, settings: &Settings) -> anyhow::Result<Self> {
        let selected = Self::read(filters, source, settings, false)?;
        Ok(Self { tables: with_verdicts(selected.tables, &selected.opened.frames)?, ..selected })
    }
}

/// Writes a file per table, or one per table and period.
fn write_tables(args: Export, kind: FileKind, settings: &Settings) -> anyhow::Result<Outcome> {
    let selected = Selected::with_verdicts(args.filters, args.source, settings)?;
    let access = Access::of(&selected.tables)?;
    if let Some(period) = args.partition_by {
        let export = LakeExport {
            tables: &selected.tables,
            is_everything: selected.is_everything,
            facts: Facts::None,
            repositories: RepositoryFacts::default(),
            prices: selected.opened.prices(),
            kind,
            by: period.into(),
            access,
        };
        return write_partitions(export, &args.directory);
    }
    create(&args.directory)?;
    let (mut files, mut rows) = (0, 0);
    for (name, frame) in selected.tables {
        if args.tables.is_empty() || args.tables.iter().any(|table| table == name) {
            let path = args.directory.join(format!("{name}.{}", kind.extension()));
            let mut frame = frame.collect()?;
            let written = write(name, &mut frame, kind, access, &path);
            written.with_context(|| path.display().to_string())?;
            files += 1;
            rows += frame.height();
        }
    }
    say_written(&format!("{} with {}", counted(files, "table"), counted(rows, "row")), &args.directory);
    Ok(Outcome::Done)
}

/// Writes a lake. It has the tables of an archive, as commands read it in place of one.
fn write_lake(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    let with_facts = !args.without_facts;
    let Selected { opened, tables, is_everything } = Selected::read(args.filters, args.source, settings, with_facts)?;
    let access = Access::of(&tables)?;
    let prices = opened.prices();
    let (facts, repositories) = if with_facts { opened.facts()? } else { (Facts::None, RepositoryFacts::default()) };
    let by = args.partition_by.unwrap_or(Period::Day).into();
    let kind = FileKind::Parquet;
    let export = LakeExport { tables: &tables, is_everything, facts, repositories, prices, kind, by, access };
    write_partitions(export, &args.directory)
}

fn write_partitions(export: LakeExport<'_>, directory: &Path) -> anyhow::Result<Outcome> {
    let written = export.write(directory)?;
    say(&format!(
        "{}, {} bytes; {} written, {} removed",
        counted(written.files, "file"),
        grouped(written.bytes),
        written.changed,
        written.removed
    ));
    Ok(Outcome::Done)
}

/// Writes each session as a trajectory.
fn write_trajectories(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    let Selected { tables, .. } = Selected::with_verdicts(args.filters, args.source, settings)?;
    let access = Access::of(&tables)?;
    create(&args.directory)?;
    let mut sessions = 0;
    for trajectory in Trajectories::new(&tables)?.iter() {
        let path = args.directory.join(&trajectory.file_name);
        let written = write_file(&path, access, |out| trajectory.write(out));
        written.with_context(|| path.display().to_string())?;
        sessions += 1;
    }
    say_written(&counted(sessions, "session"), &args.directory);
    Ok(Outcome::Done)
}

/// Writes each session as a trace and as metrics, or sends them.
fn write_otlp(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    let receiver = args.endpoint.as_deref().map(Receiver::at).transpose()?;
    let Selected { tables, .. } = Selected::with_verdicts(args.filters, args.source, settings)?;
    let access = Access::of(&tables)?;
    create(&args.directory)?;
    otlp::export(&tables, &args.directory, access, receiver.as_ref())
}

/// Writes all sessions as one trace.
fn write_timeline(args: Export, settings: &Settings) -> anyhow::Result<Outcome> {
    let Selected { tables, .. } = Selected::with_verdicts(args.filters, args.source, settings)?;
    let access = Access::of(&tables)?;
    create(&args.directory)?;
    let path = args.directory.join("perfetto.json");
    let timeline = Timeline::new(&tables)?;
    let mut written = Written::default();
    let result = write_file(&path, access, |out| {
        written = timeline.write(out)?;
        Ok(())
    });
    result.with_context(|| path.display().to_string())?;
    state_untimed(&written);
    say_written(&counted(written.sessions, "session"), &args.directory);
    Ok(Outcome::Done)
}

/// Writes the costs by day.
fn write_focus(args: Export, kind: FileKind, settings: &Settings) -> anyhow::Result<Outcome> {
    let scope = scope(args.filters, settings);
    let catalog = catalog(&args.source, settings)?;
    let tables: Vec<&'static str> = FOCUS_TABLES.iter().copied().chain(scope.tables()).collect();
    let opened = some_tables(args.source, settings, &tables)?;
    state_unmatched_turns("", &opened, &scope);
    let mut focus = Focus::of(&opened.frames, &scope, &catalog).map_err(report_error)?;
    if focus.rows.height() == 0 {
        state_period("", &opened, &scope);
    }
    create(&args.directory)?;
    let path = args.directory.join(format!("focus.{}", kind.extension()));
    focus.write(kind, &path).with_context(|| path.display().to_string())?;
    say(&format!(
        "{} of FOCUS {FOCUS_VERSION} written to {}",
        counted(focus.rows.height(), "row"),
        shown(&path).display()
    ));
    let Unpriced { rows, tokens } = focus.unpriced;
    if rows > 0 {
        let what = format!("{} of the ledger with {}", counted(rows, "row"), counted(tokens, "token"));
        complain(format_args!("not in the file, as the cost is unknown: {what}"));
    }
    if let Some(sentence) = focus.left_out.stated("row", "time", Currency::default()) {
        complain(format_args!("{sentence}: a charge has a day"));
    }
    // The file has US dollars, and only rows with a time.
    let dated = Scope { undated: Some(Undated::Exclude), ..scope };
    state_lower_bound("", &opened, &dated, CostBasis::Auto, Spending::Turns, Currency::default())?;
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
    state_left_out("", &left_out, "session", "start", Currency::default());
    state_empty("", &opened, &scope);
    create(&args.directory)?;
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
    if matches!(args.kind, Kind::Focus | Kind::FocusParquet) && !args.tables.is_empty() {
        return wrong("--table cannot be used with --as focus, which writes costs by day".to_owned());
    }
    if (args.kind == Kind::Lake || args.partition_by.is_some()) && !args.tables.is_empty() {
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

fn create(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())
}

fn say_written(what: &str, directory: &Path) {
    say(&format!("{what} written to {}", shown(directory).display()));
}
