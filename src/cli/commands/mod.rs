//! The commands: each makes sense of its arguments, calls the library, and prints.

pub mod archive;
pub mod bench;
pub mod compare;
pub mod dashboard;
pub mod export;
pub mod ingest;
pub mod inspect;
pub mod lists;
pub mod prices;
pub mod query;
pub mod report;

use std::error::Error as _;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use agentlogs::adapters::common::builder::Content;
use agentlogs::analysis::render::{self, Look};
use agentlogs::base::time::Time;
use agentlogs::ingest::{Options, Progress};
use agentlogs::input::open::Limit;
use agentlogs::input::sidecar::Sidecar;
use agentlogs::ledger;
use agentlogs::ledger::costs;
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;
use agentlogs::prices::Catalog;
use agentlogs::store::archive::{Archive, Snapshot};
use agentlogs::store::frames;
use comfy_table::Table;
use polars::prelude::{DataFrame, IntoLazy, LazyFrame};

use crate::cli::args;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is done.
    Done,
    /// Some paths could not be taken in.
    NotAllDone,
    /// Lines or files were lost, and that was asked for.
    Lost,
}

/// An error of whoever typed the command.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongCommandLine(pub String);

/// Prints one line of complaint. That nobody hears it is no reason to fail.
pub fn complain(message: fmt::Arguments<'_>) {
    say(&format!("agentlogs: {message}"));
}

/// Prints one line to stderr, which may be closed: `eprintln!` would panic.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", render::visible(line));
}

/// Starts the threads that share the work: as many as asked for, within limits, else one per core.
fn start_threads(jobs: Option<usize>) -> anyhow::Result<()> {
    /// Any machine may start as many: more threads than cores hide the waiting for slow disks.
    const MOST: usize = 64;
    /// More than these only wait for each other.
    const MOST_PER_CORE: usize = 4;
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let most = MOST.max(cores * MOST_PER_CORE);
    if let Some(jobs) = jobs.filter(|jobs| *jobs > most) {
        complain(format_args!("--jobs {jobs} is more than this machine can use: {most} threads are started"));
    }
    // 0 means one per core.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0).min(most));
    match threads.build_global() {
        // They may be running already: then there is no cause.
        Err(error) if error.source().is_some() => {
            anyhow::bail!("threads could not be started: {error}; --jobs N starts fewer")
        }
        _ => Ok(()),
    }
}

/// Options of a run that reads logs.
fn options(paths: Vec<PathBuf>, except: Option<PathBuf>, reading: &args::Reading) -> anyhow::Result<Options> {
    start_threads(reading.jobs)?;
    Ok(Options {
        roots: paths,
        except,
        content: match reading.content {
            args::Content::None => Content::None,
            args::Content::Text => Content::Text,
            args::Content::Full => Content::Full,
        },
        redact: reading.redact,
        limit: reading.max_decompressed.map_or(Limit::Usual, Limit::Bytes),
        sidecar: Sidecar {
            runtime: reading.runtime.clone(),
            model: reading.model.clone(),
            labels: reading.labels.iter().cloned().collect(),
            ..Sidecar::default()
        },
        path_labels: reading.path_labels.clone(),
        host: gethostname::gethostname().into_string().ok(),
        now: Some(Time::from_micros(jiff::Timestamp::now().as_microsecond())),
        earlier_stdin: Vec::new(),
    })
}

/// The tables that a command reads.
struct Opened {
    frames: Vec<(&'static str, LazyFrame)>,
    /// Keeps writers from removing the files of the tables; none of logs that were read for this command only.
    snapshot: Option<Snapshot>,
}

impl Opened {
    /// Which prices computed costs are made with.
    fn priced_with(&self) -> String {
        let newest = Catalog::built_in_date();
        match self.snapshot.as_ref().map_or(Some(newest), Snapshot::priced_with) {
            Some(date) if date == newest => format!("prices of {date}"),
            Some(date) => format!("prices of {date}; the next ingest computes with those of {newest}"),
            None => format!("no prices; the next ingest computes with those of {newest}"),
        }
    }
}

/// The tables of the archive, or of logs that are read for this command only.
fn tables(from: args::From) -> anyhow::Result<Opened> {
    if from.logs.is_empty() {
        start_threads(None)?;
        let snapshot = Archive::at(from.archive.archive).snapshot()?;
        return Ok(Opened { frames: snapshot.tables()?, snapshot: Some(snapshot) });
    }
    let tables = settled(read(from.logs)?, Catalog::built_in());
    let frames = frames::frames(&tables)?.into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
    Ok(Opened { frames, snapshot: None })
}

/// What logs tell, read for this command only.
fn read(logs: Vec<PathBuf>) -> anyhow::Result<Vec<Source>> {
    let options = options(logs, None, &args::Reading::default())?;
    let taken = agentlogs::ingest::read(&options, &std::collections::BTreeMap::new(), &Progress::default());
    for error in taken.errors {
        if !error.is_left_out() {
            return Err(error.into());
        }
        complain(format_args!("{error}"));
    }
    Ok(taken.sources)
}

/// The tables of what was read, with prices.
fn settled(sources: Vec<Source>, catalog: &Catalog) -> Tables {
    let mut tables = ledger::settle(sources);
    costs::price(&mut tables, catalog);
    tables
}

/// Columns of the terminal, if stdout is one that says it.
fn terminal_width() -> Option<u16> {
    io::stdout().is_terminal().then(|| Table::new().width()).flatten()
}

/// Prints rows to stdout, and tells which columns of a report the terminal had no room for.
fn print(frame: &DataFrame, printed: args::Printed, report: Option<render::Report>) -> anyhow::Result<Vec<String>> {
    let format = match printed.format {
        args::Format::Table => render::Format::Table,
        args::Format::Json => render::Format::Json,
        args::Format::Csv => render::Format::Csv,
        args::Format::Markdown => render::Format::Markdown,
    };
    let stdout = io::stdout();
    let look = Look {
        // A terminal that says it is as good as not there is none.
        width: terminal_width().filter(|it| *it >= 40),
        is_terminal: stdout.is_terminal(),
        color: stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()),
        report,
    };
    let mut out = io::BufWriter::new(stdout.lock());
    let hidden = render::render(frame, format, look, &mut out)?;
    out.flush()?;
    Ok(hidden)
}
