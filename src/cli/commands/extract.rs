//! `agentlogs extract`: the steps that a cluster runs on its machines.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::export::{
    Access, Description, Layout, Reconciler, extracted, extracted_schema, fragment_schema, merge_fragments,
    written_schema,
};
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::input::discover;
use agentlogs::model::source::{Source, SourceStatus, path_text};
use agentlogs::prices::{Catalog, Table};
use agentlogs::store::arrow_stream::{FrameWriter, read_frames};
use anyhow::Context as _;
use polars::prelude::{PolarsResult, Schema};

use super::Outcome;
use super::ingest::listed;
use super::prices::today;
use super::reading::options;
use super::summary::Losses;
use crate::cli::args::Extract;
use crate::cli::settings::Settings;

pub fn run(args: Extract, settings: &Settings) -> anyhow::Result<Outcome> {
    let paths = args.files_from.as_deref().map(listed).transpose()?.unwrap_or_default();
    let mut options = options(paths, None, &args.reading, settings)?;
    options.host = args.host.or(options.host).filter(|name| !name.is_empty());
    if args.files_from.is_some() {
        extract(&options, Moved::of(&args.moved).as_ref(), args.unreadable.as_deref())?;
    } else if let Some(directory) = args.merge {
        let access = if options.content == Retention::None { Access::Umask } else { Access::Owner };
        let rows = read_frames(io::stdin().lock())?;
        write_stream(&written_schema(), |out| merge_fragments(rows, &directory, access, |frame| out.write(&frame)))?;
    } else if args.reconcile {
        let layout = Layout {
            by: args.partition_by.into(),
            files_per_partition: args.files_per_partition,
            files_per_table: args.files_per_table,
        };
        let catalog = catalog(&args.prices, settings)?;
        write_stream(&fragment_schema(), |out| {
            let mut reconciler = Reconciler::new(layout, &catalog, |frame| out.write(&frame));
            for rows in read_frames(io::stdin().lock())? {
                reconciler.add(&rows?)?;
            }
            reconciler.finish()
        })?;
    } else {
        let description = Description::of(&options, &*catalog(&args.prices, settings)?);
        writeln!(io::stdout(), "{}", serde_json::to_string(&description)?)?;
    }
    Ok(Outcome::Done)
}

/// The built-in prices with own ones, of these files or else of the configuration.
fn catalog(files: &[PathBuf], settings: &Settings) -> anyhow::Result<Cow<'static, Catalog>> {
    if files.is_empty() {
        return settings.catalog();
    }
    let mut entries = Vec::new();
    for path in files {
        let name = || path.display().to_string();
        let bytes = std::fs::read(path).with_context(name)?;
        entries.extend(Table::parse(&bytes, today()).with_context(name)?.entries);
    }
    Ok(Catalog::with_own(entries))
}

type Output = FrameWriter<io::BufWriter<io::StdoutLock<'static>>>;

/// Writes a stream to stdout. After an error it has no end, so that its reader notices.
fn write_stream(schema: &Schema, write: impl FnOnce(&mut Output) -> PolarsResult<()>) -> PolarsResult<()> {
    let mut out = FrameWriter::new(io::BufWriter::with_capacity(1 << 16, io::stdout().lock()), schema)?;
    write(&mut out)?;
    out.finish()
}

/// Parses files, and writes a row for each source as soon as it is read.
fn extract(options: &Options, moved: Option<&Moved>, unreadable: Option<&str>) -> anyhow::Result<()> {
    // The locks of stdout belong to one thread, but all threads write.
    let out = FrameWriter::new(io::stdout(), &extracted_schema())?;
    let out = Mutex::new((out, Ok(())));
    let losses = Mutex::new(Losses::default());
    let emit = |mut source: Source| {
        if let Some(moved) = moved {
            moved.rename(&mut source);
        }
        losses.lock().unwrap_or_else(PoisonError::into_inner).add(&source);
        let row = extracted(source);
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.1.is_ok() {
            out.1 = row.map_err(Into::into).and_then(|row| out.0.write(&row));
        }
    };
    let source = |path: &Path, message: String| Source {
        path: real_path(path),
        host: options.host.clone(),
        status: SourceStatus::Unreadable,
        message: Some(message),
        ingested_at: options.now,
        options: options.fingerprint(),
        ..Source::default()
    };
    if let Some(message) = unreadable {
        options.roots.iter().for_each(|path| emit(source(path, message.to_owned())));
    } else {
        let read = ingest::read_into(options, |_| None, &Progress::default(), &emit);
        // A file that cannot be read has a row already, but one that vanished has not.
        for error in read.errors {
            match error {
                discover::Error::Unreadable { path, .. } if read.read.contains(&real_path(&path)) => {}
                discover::Error::Missing(path) => emit(source(&path, "no such file".to_owned())),
                discover::Error::Unreadable { path, error } | discover::Error::LeftOut { path, error } => {
                    emit(source(&path, error));
                }
            }
        }
    }
    let (out, written) = out.into_inner().unwrap_or_else(PoisonError::into_inner);
    written?;
    out.finish()?;
    losses.into_inner().unwrap_or_else(PoisonError::into_inner).state("agentlogs report health --archive LAKE");
    Ok(())
}

/// The path that identifies a file. Of one that is missing, the real path of its directory and its name.
fn real_path(path: &Path) -> String {
    let of_missing = || Some(dunce::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    let real = dunce::canonicalize(path).ok().or_else(of_missing);
    path_text(&real.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_owned()))
}

/// Files that were copied to this machine: they are recorded with the names that they have elsewhere.
struct Moved {
    directory: String,
    name: String,
}

impl Moved {
    fn of(arguments: &[String]) -> Option<Self> {
        let [directory, name] = arguments else { return None };
        Some(Self { directory: real_path(&PathBuf::from(directory)), name: name.clone() })
    }

    fn rename(&self, source: &mut Source) {
        let below = source.path.strip_prefix(&self.directory).filter(|rest| rest.starts_with(['/', '\\']));
        if let Some(below) = below {
            source.path = format!("{}{below}", self.name);
        }
    }
}
