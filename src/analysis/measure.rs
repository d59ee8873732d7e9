//! How fast this machine reads a user's own logs, stage by stage: what `agentlogs bench` prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::adapters::common::builder::Content;
use crate::adapters::{self, Hints};
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

/// What was measured of the files of one format, or of all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// Files.
    pub files: usize,
    /// Their bytes, decompressed.
    pub bytes: u64,
    /// Their lines.
    pub lines: u64,
    /// Their sessions.
    pub sessions: usize,
    /// Time to map, read or decompress them, in sum over threads, as the following.
    pub open: Duration,
    /// Time to find lines and records.
    pub split: Duration,
    /// Time to tell their format.
    pub detect: Duration,
    /// Time to parse and fold them into sessions.
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

/// What was measured of a run.
#[derive(Debug, Default)]
pub struct Run {
    /// By format; without one, what no format claims.
    pub formats: BTreeMap<Option<&'static str>, Measured>,
    /// Time of all files, by the clock.
    pub read: Duration,
    /// Time to settle the ledger.
    pub settle: Duration,
    /// Time to price its rows.
    pub price: Duration,
    /// Time to make the pages of its tables' columns, and to compress them.
    pub frames: Duration,
    /// Time to write them as parquet, nowhere.
    pub write: Duration,
    /// What could not be walked.
    pub errors: Vec<discover::Error>,
}

impl Run {
    /// All formats together.
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

/// Reads all logs at and below the roots as an ingest does, and keeps nothing but the times.
pub fn run(roots: &[PathBuf]) -> Run {
    let (mut found, errors) = discover(roots, None);
    found.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    let mut run = Run { errors, ..Run::default() };
    let looked: Vec<_> = timed(&mut run.read, || {
        let files = found.par_iter().with_max_len(1).filter(|it| !it.is_stream);
        files.flat_map(|it| look(&it.path)).collect()
    });
    let mut sources = Vec::new();
    for (format, measured, source) in looked {
        let sum = run.formats.entry(format).or_default();
        *sum = sum.plus(measured);
        sources.push(source);
    }
    let mut tables = timed(&mut run.settle, || ledger::settle(sources));
    timed(&mut run.price, || costs::price(&mut tables, prices::Catalog::built_in()));
    let mut files = Vec::new();
    timed(&mut run.frames, || {
        for table in frames::TABLES {
            // Nothing can fail: all types are known, and it goes nowhere.
            let Ok(file) = RowGroupWriter::new(std::io::sink(), &frames::schema_of(table)) else { continue };
            let mut groups = Vec::new();
            let _ = frames::row_sets(&tables, table, usize::MAX, |it| {
                groups.push(file.encode(it)?);
                Ok(())
            });
            files.push((file, groups));
        }
    });
    timed(&mut run.write, || {
        for (mut file, groups) in files {
            for it in groups {
                let _ = file.write(&it);
            }
            let _ = file.finish();
        }
    });
    run
}

/// What was measured of a log, with its format.
type Looked = (Option<&'static str>, Measured, Source);

fn look(path: &Path) -> Vec<Looked> {
    let mut measured = Measured { files: 1, ..Measured::default() };
    let Ok(content) = timed(&mut measured.open, || open::open(path, Limit::default())) else { return Vec::new() };
    let budget = Budget::new(Limit::default(), content.stored);
    if containers::is_container(&content) {
        return look_into(&path_text(path), &content, 0, &budget);
    }
    vec![look_at(path_text(path), &content, Some(path), measured)]
}

/// Measures the members of an archive.
fn look_into(path: &str, content: &open::Content<'_>, depth: usize, budget: &Budget) -> Vec<Looked> {
    let Some(Ok(container)) = Container::open(content, containers::MAX_MEMBERS) else { return Vec::new() };
    let members = container.members().par_iter().with_max_len(1);
    let looked = members.flat_map(|member| {
        let mut measured = Measured { files: 1, ..Measured::default() };
        let opened = timed(&mut measured.open, || container.read(member, budget));
        let path = format!("{path}{}{}", SEPARATOR, member.name);
        match opened {
            Ok(content) if containers::is_container(&content) && depth < containers::MAX_DEPTH => {
                look_into(&path, &content, depth + 1, budget)
            }
            Ok(content) => vec![look_at(path, &content, None, measured)],
            Err(_) => Vec::new(),
        }
    });
    looked.collect()
}

/// Measures a log. `file` is where it is, unless it is a member of an archive.
fn look_at(path: String, content: &[u8], file: Option<&Path>, mut measured: Measured) -> Looked {
    let mut rows = None;
    if database::is_database(content) {
        rows = timed(&mut measured.open, || database::read(file, content, adapters::TABLES)).ok();
    }
    let bytes = rows.as_ref().map_or(content, |it| &*it.text);
    measured.bytes = bytes.len() as u64;
    measured.lines = timed(&mut measured.split, || Lines::new(bytes).count()) as u64;
    let hints = Hints { runtime: None, path: &path };
    timed(&mut measured.detect, || std::hint::black_box(adapters::detect(bytes, hints)));
    let parsed = timed(&mut measured.parse, || adapters::parse(bytes, hints, Content::None));
    measured.sessions = parsed.sessions.len();
    let source = Source {
        path,
        status: SourceStatus::Parsed,
        health: parsed.health,
        sessions: parsed.sessions,
        ..Source::default()
    };
    (parsed.format, measured, source)
}
