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

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use agentlogs::archive::Archive;
use agentlogs::builder::Content;
use agentlogs::ingest::{Options, Progress};
use agentlogs::log::Limit;
use agentlogs::prices::Catalog;
use agentlogs::render::{self, Look};
use agentlogs::source::{Sidecar, Source};
use agentlogs::tables::Tables;
use agentlogs::time::Time;
use agentlogs::{costs, frames, ledger};
use anyhow::Context;
use comfy_table::Table;
use polars::prelude::{DataFrame, IntoLazy, LazyFrame};

use crate::cli;

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

/// Options of a run that reads logs.
fn options(paths: Vec<PathBuf>, except: Option<PathBuf>, reading: &cli::Reading) -> anyhow::Result<Options> {
    if let Some(jobs) = reading.jobs {
        rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global().context("threads could not be started")?;
    }
    Ok(Options {
        roots: paths,
        except,
        content: match reading.content {
            cli::Content::None => Content::None,
            cli::Content::Text => Content::Text,
            cli::Content::Full => Content::Full,
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

/// The tables of the archive, or of logs that are read for this command only.
fn tables(from: cli::From) -> anyhow::Result<Vec<(&'static str, LazyFrame)>> {
    if from.logs.is_empty() {
        return Ok(Archive::at(from.archive.archive).tables()?);
    }
    let tables = settled(read(from.logs)?, Catalog::built_in());
    Ok(frames::frames(&tables)?.into_iter().map(|(name, frame)| (name, frame.lazy())).collect())
}

/// What logs tell, read for this command only.
fn read(logs: Vec<PathBuf>) -> anyhow::Result<Vec<Source>> {
    let options = options(logs, None, &cli::Reading::default())?;
    let taken = agentlogs::ingest::read(&options, &std::collections::BTreeMap::new(), &Progress::default());
    match taken.errors.into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(taken.sources),
    }
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
fn print(frame: &DataFrame, printed: cli::Printed, report: Option<render::Report>) -> anyhow::Result<Vec<String>> {
    let format = match printed.format {
        cli::Format::Table => render::Format::Table,
        cli::Format::Json => render::Format::Json,
        cli::Format::Csv => render::Format::Csv,
        cli::Format::Markdown => render::Format::Markdown,
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
