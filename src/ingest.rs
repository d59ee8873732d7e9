//! The pipeline: discover, open, detect, parse, fill. Files in parallel, the largest first.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::adapters::{self, Hints};
use crate::builder::Content;
use crate::discover::{self, Found, discover};
use crate::log;
use crate::source::{Sidecar, Source, SourceStatus};
use crate::time::Time;

/// What to read, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Files and folders.
    pub roots: Vec<PathBuf>,
    /// A folder below them to leave out: the archive.
    pub except: Option<PathBuf>,
    /// How much of the conversations is kept.
    pub content: Content,
    /// What is true of all logs of this run, where they do not say otherwise.
    pub sidecar: Sidecar,
    /// Name of this machine, for `sources`.
    pub host: Option<String>,
    /// The time of this run.
    pub now: Option<Time>,
}

impl Options {
    /// What of the options changes what is read from a file.
    pub fn fingerprint(&self) -> String {
        format!("{:?} {:?}", self.content, self.sidecar)
    }
}

/// How far a run has come. Read by a progress bar while the run writes it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files to look at.
    pub files: AtomicU64,
    /// Their bytes on disk.
    pub bytes: AtomicU64,
    /// Files looked at.
    pub files_done: AtomicU64,
    /// Their bytes on disk.
    pub bytes_done: AtomicU64,
}

/// What a run took in.
#[derive(Debug, Default)]
pub struct Taken {
    /// Files that were read in this run.
    pub sources: Vec<Source>,
    /// Paths of files that are as they were: their facts stand.
    pub unchanged: BTreeSet<String>,
    /// What could not be walked.
    pub errors: Vec<discover::Error>,
}

/// Reads all logs at and below the roots. `known` are the facts of earlier runs, by path; a file of the same size and
/// time, read with the same options, is not read again.
pub fn read(options: &Options, known: &BTreeMap<String, Source>, progress: &Progress) -> Taken {
    let (found, errors) = discover(&options.roots, options.except.as_deref());
    progress.files.store(found.len() as u64, Ordering::Relaxed);
    progress.bytes.store(found.iter().map(|it| it.bytes).sum(), Ordering::Relaxed);
    let fingerprint = options.fingerprint();
    let done = |file: &Found| {
        progress.files_done.fetch_add(1, Ordering::Relaxed);
        progress.bytes_done.fetch_add(file.bytes, Ordering::Relaxed);
    };
    let mut unchanged = BTreeSet::new();
    let mut changed = Vec::new();
    for file in found {
        let path = file.path.to_string_lossy();
        let is_same = |it: &Source| {
            it.bytes == size(&file)
                && it.modified_at == file.modified_at
                && it.options == fingerprint_of(&file, &fingerprint)
        };
        if known.get(path.as_ref()).is_some_and(is_same) {
            done(&file);
            unchanged.insert(path.into_owned());
        } else {
            changed.push(file);
        }
    }
    // The largest first: a big file that comes last keeps one core busy and the others waiting.
    changed.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    let sources = changed
        .par_iter()
        .with_max_len(1)
        .map(|file| {
            let source = read_file(file, options, &fingerprint);
            done(file);
            source
        })
        .collect();
    Taken { sources, unchanged, errors }
}

/// Reads one file as [`read`] does.
pub fn read_one(path: &Path, options: &Options) -> Option<Source> {
    let (found, _) = discover(&[path.to_owned()], None);
    found.first().map(|it| read_file(it, options, &options.fingerprint()))
}

fn size(file: &Found) -> i64 {
    i64::try_from(file.bytes).unwrap_or(i64::MAX)
}

/// The options and the sidecars that a file is read with.
fn fingerprint_of(file: &Found, options: &str) -> String {
    let stamps = sidecars(&file.path).filter_map(|it| {
        let metadata = it.metadata().ok()?;
        Some(format!(" {} {:?}", metadata.len(), metadata.modified().ok()))
    });
    stamps.fold(options.to_owned(), |all, it| all + &it)
}

fn read_file(file: &Found, options: &Options, fingerprint: &str) -> Source {
    let mut source = Source {
        path: file.path.to_string_lossy().into_owned(),
        host: options.host.clone(),
        bytes: size(file),
        modified_at: file.modified_at,
        ingested_at: options.now,
        options: fingerprint_of(file, fingerprint),
        ..Source::default()
    };
    let content = match log::open(&file.path) {
        Ok(content) => content,
        Err(error) => {
            source.status = SourceStatus::Unreadable;
            source.message = Some(error.to_string());
            return source;
        }
    };
    source.compression = content.compression.map(|it| it.as_str().to_owned());
    source.message.clone_from(&content.truncated);
    if content.iter().all(|it| it.is_ascii_whitespace() || *it == 0) {
        source.status = if content.truncated.is_some() { SourceStatus::Truncated } else { SourceStatus::Empty };
        return source;
    }
    source.content_hash = Some(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&content)));
    let sidecar = if is_sidecar(&file.path) { Sidecar::default() } else { read_sidecars(&file.path) };
    let sidecar = sidecar.or(options.sidecar.clone());
    let hints = Hints { runtime: sidecar.runtime.as_deref(), path: &source.path };
    // A bug in an adapter costs its file, not the run.
    let parse = AssertUnwindSafe(|| adapters::parse(&content, hints, options.content));
    let Ok(parsed) = catch_unwind(parse) else {
        source.status = SourceStatus::Unreadable;
        source.message = Some("internal error while reading it; please report it with the file".to_owned());
        return source;
    };
    source.health = parsed.health;
    source.runtime = parsed.runtime.map(str::to_owned);
    source.format = parsed.format.map(str::to_owned);
    source.sessions = parsed.sessions;
    source.sessions.iter_mut().for_each(|it| sidecar.fill(it));
    source.status = match parsed.format {
        _ if content.truncated.is_some() => SourceStatus::Truncated,
        Some(_) => SourceStatus::Parsed,
        None if is_sidecar(&file.path) => SourceStatus::Auxiliary,
        None => SourceStatus::Unrecognised,
    };
    if parsed.format.is_none() {
        // What no format claims has no records to lose.
        source.health.rejects.clear();
    }
    source
}

fn is_sidecar(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|it| it == "meta.json" || it.ends_with(".meta.json"))
}

/// Where sidecars of a log may lie: `NAME.meta.json` beside it, `meta.json` in its folder. The nearer first.
fn sidecars(path: &Path) -> impl Iterator<Item = PathBuf> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let full = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let beside = [format!("{full}.meta.json"), format!("{stem}.meta.json"), "meta.json".to_owned()];
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    beside.into_iter().map(move |it| folder.join(it))
}

fn read_sidecars(path: &Path) -> Sidecar {
    sidecars(path)
        .filter_map(|it| log::open(&it).ok())
        .fold(Sidecar::default(), |nearer, it| nearer.or(Sidecar::parse(&it)))
}
