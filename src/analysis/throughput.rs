//! Measures how fast this machine reads logs, by format and stage, for `agentlogs bench`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::adapters::shared::builder::Retention;
use crate::adapters::{Driver, Hints, TABLES, UserFormat};
use crate::input::containers::{self, Container};
use crate::input::database;
use crate::input::discover::{self, discover};
use crate::input::open::{self, Budget, Limit};
use crate::json::lines::Lines;
use crate::ledger;
use crate::ledger::costs;
use crate::model::source::{SEPARATOR, Source, SourceStatus, path_text};
use crate::prices;
use crate::store::frames;
use crate::store::parquet::RowGroupWriter;

/// The measurements of the files of one format, or of all files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// The number of files.
    pub files: usize,
    /// Their decompressed bytes.
    pub bytes: u64,
    /// The number of their lines.
    pub lines: u64,
    /// The number of their sessions.
    pub sessions: usize,
    /// The time to map, read or decompress them. All times are sums over threads.
    pub open: Duration,
    /// The time to split them into lines and records.
    pub split: Duration,
    /// The time to detect their format.
    pub detect: Duration,
    /// The time to parse them into sessions.
    pub parse: Duration,
}

impl Measured {
    fn plus(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            bytes: self.bytes + other.bytes,
            lines: self.lines + other.lines,
            sessions: self.sessions + other.sessions,
            open: self.open + other.open,
            split: self.split + other.split,
            detect: self.detect + other.detect,
            parse: self.parse + other.parse,
        }
    }
}

/// The measurements of a run.
#[derive(Debug, Default)]
pub struct Run {
    /// By format; `None` for files that no format claims.
    pub formats: BTreeMap<Option<&'static str>, Measured>,
    /// The wall time to read all files.
    pub read: Duration,
    /// The time to reconcile the ledger.
    pub reconcile: Duration,
    /// The time to compute the costs of its rows.
    pub price: Duration,
    /// The time to encode and compress the columns of its tables.
    pub frames: Duration,
    /// The time to write them as parquet files, without a disk.
    pub write: Duration,
    /// Paths that could not be read.
    pub errors: Vec<discover::Error>,
    /// What was read, without its sessions.
    pub read_sources: Vec<Source>,
}

impl Run {
    /// The sums over all formats.
    pub fn all(&self) -> Measured {
        self.formats.values().fold(Measured::default(), |sum, it| sum.plus(*it))
    }
}

fn timed<T>(time: &mut Duration, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    *time += start.elapsed();
    result
}

/// Reads all logs at and below the roots as an ingest does, and keeps only the times. `formats` are those that the user describes.
pub fn run(roots: &[PathBuf], formats: &'static [UserFormat]) -> Run {
    let (mut found, errors) = discover(roots, None);
    found.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    let mut run = Run { errors, ..Run::default() };
    let measured_logs: Vec<_> = timed(&mut run.read, || {
        let files = found.par_iter().with_max_len(1).filter(|file| !file.is_stream);
        files.flat_map(|file| measure_file(&file.path, formats)).collect()
    });
    let mut sources = Vec::new();
    for (format, measured, source) in measured_logs {
        let sum = run.formats.entry(format).or_default();
        *sum = sum.plus(measured);
        run.read_sources.push(Source {
            path: source.path.clone(),
            status: source.status,
            message: source.message.clone(),
            health: source.health.clone(),
            ..Source::default()
        });
        sources.push(source);
    }
    let mut tables = timed(&mut run.reconcile, || ledger::reconcile(sources));
    timed(&mut run.price, || costs::price(&mut tables, prices::Catalog::built_in()));
    let mut files = Vec::new();
    timed(&mut run.frames, || {
        for table in frames::TABLES_OF_LOGS {
            // Cannot fail: all types are known, and nothing is written.
            let Ok(file) = RowGroupWriter::new(std::io::sink(), &frames::schema_of(table)) else { continue };
            let mut groups = Vec::new();
            let _ = frames::row_sets(&tables, table, usize::MAX, |rows| {
                groups.push(file.encode(rows)?);
                Ok(())
            });
            files.push((file, groups));
        }
    });
    timed(&mut run.write, || {
        for (mut file, groups) in files {
            for group in groups {
                let _ = file.write(&group);
            }
            let _ = file.finish();
        }
    });
    run
}

/// A log's format, measurements and content.
type MeasuredLog = (Option<&'static str>, Measured, Source);

fn measure_file(path: &Path, formats: &'static [UserFormat]) -> Vec<MeasuredLog> {
    let mut measured = Measured { files: 1, ..Measured::default() };
    let content = match timed(&mut measured.open, || open::open(path, Limit::default())) {
        Ok(content) => content,
        Err(error) => return vec![unreadable(path_text(path), measured, error.to_string())],
    };
    let budget = Budget::new(Limit::default(), content.stored);
    if containers::is_container(&content) {
        return measure_members(&path_text(path), &content, 0, &budget, formats);
    }
    vec![measure_log(path_text(path), &content, Some(path), measured, formats)]
}

/// Measures the members of an archive.
fn measure_members(
    path: &str,
    content: &open::FileContent<'_>,
    depth: usize,
    budget: &Budget,
    formats: &'static [UserFormat],
) -> Vec<MeasuredLog> {
    let container = match Container::open(content, containers::MAX_MEMBERS) {
        Some(Ok(container)) => container,
        Some(Err(error)) => {
            return vec![unreadable(path.to_owned(), Measured { files: 1, ..Measured::default() }, error)];
        }
        None => return Vec::new(),
    };
    let members = container.members().par_iter().with_max_len(1);
    let measured_logs = members.flat_map(|member| {
        let mut measured = Measured { files: 1, ..Measured::default() };
        let opened = timed(&mut measured.open, || container.read(member, budget));
        let path = format!("{path}{}{}", SEPARATOR, member.name);
        match opened {
            Ok(content) if containers::is_container(&content) && depth < containers::MAX_DEPTH => {
                measure_members(&path, &content, depth + 1, budget, formats)
            }
            Ok(content) => vec![measure_log(path, &content, None, measured, formats)],
            Err(error) => vec![unreadable(path, measured, error.message)],
        }
    });
    measured_logs.collect()
}

/// Measures a log. `file` is its path, or `None` for a member of an archive.
fn measure_log(
    path: String,
    content: &[u8],
    file: Option<&Path>,
    mut measured: Measured,
    formats: &'static [UserFormat],
) -> MeasuredLog {
    let mut rows = None;
    if database::is_database(content) {
        let budget = Budget::new(Limit::Usual, content.len() as u64);
        match timed(&mut measured.open, || database::read(file, content, TABLES, &budget)) {
            Ok(read) => rows = Some(read),
            Err(error) => return unreadable(path, measured, error),
        }
    }
    let bytes = rows.as_ref().map_or(content, |rows| &*rows.text);
    measured.bytes = bytes.len() as u64;
    measured.lines = timed(&mut measured.split, || Lines::new(bytes).count()) as u64;
    let hints = Hints { runtime: None, path: &path };
    let driver = timed(&mut measured.detect, || Driver::with_formats(bytes, hints, Retention::None, formats));
    let parsed = timed(&mut measured.parse, || driver.parse());
    measured.sessions = parsed.sessions.len();
    let source = Source {
        path,
        status: if parsed.format.is_some() { SourceStatus::Parsed } else { SourceStatus::Unrecognised },
        health: parsed.health,
        sessions: parsed.sessions,
        ..Source::default()
    };
    (parsed.format, measured, source)
}

/// A log that cannot be read.
fn unreadable(path: String, measured: Measured, message: String) -> MeasuredLog {
    (None, measured, Source { path, status: SourceStatus::Unreadable, message: Some(message), ..Source::default() })
}
