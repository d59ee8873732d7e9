//! The pipeline: discover, open, detect, parse, fill. Files in parallel, the largest first.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::adapters::{self, ADAPTERS, Adapter, Hints, Listener};
use crate::behind::Behind;
use crate::builder::Content;
use crate::database;
use crate::discover::{self, Found, SIDECAR, discover};
use crate::labels::PathPattern;
use crate::log::{self, Limit};
use crate::privacy;
use crate::session::SessionResult;
use crate::source::{Aside, Sidecar, Source, SourceStatus, path_text};
use crate::time::Time;

/// To be raised when the same bytes are read as something else, so that archives take in files again.
const PARSER: u32 = 8;

/// What to read, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Files and folders.
    pub roots: Vec<PathBuf>,
    /// A folder below them to leave out: the archive.
    pub except: Option<PathBuf>,
    /// How much of the conversations is kept.
    pub content: Content,
    /// Whether what looks like a secret is removed from what is kept.
    pub redact: bool,
    /// How much a compressed file may give.
    pub limit: Limit,
    /// What is true of all logs of this run, where they do not say otherwise.
    pub sidecar: Sidecar,
    /// What the paths of logs say of their sessions.
    pub path_labels: Vec<PathPattern>,
    /// Name of this machine, for `sources`.
    pub host: Option<String>,
    /// The time of this run.
    pub now: Option<Time>,
}

impl Options {
    /// What, besides a file, decides what is read from it: the options, and what this build can read.
    pub fn fingerprint(&self) -> String {
        let formats: Vec<&str> = ADAPTERS.iter().map(|it| it.id).collect();
        let formats = twox_hash::XxHash3_64::oneshot(formats.join(" ").as_bytes());
        let version = env!("CARGO_PKG_VERSION");
        let patterns: Vec<&str> = self.path_labels.iter().map(PathPattern::as_str).collect();
        let (content, redact, sidecar) = (self.content, self.redact, &self.sidecar);
        format!("{PARSER} {version} {formats:x} {content:?} {redact} {sidecar:?} {patterns:?}")
    }
}

/// Where files go that were read. A function that takes them is one.
pub trait Sink: Sync {
    /// Takes a file that was read.
    fn take(&self, source: Source);

    /// Keeps sessions of a large file that is still being read, which tells nothing more of them; gives them back if it has
    /// no place for them. They are part of the file if it is taken.
    ///
    /// # Errors
    /// The sessions.
    fn put_aside(&self, sessions: Vec<SessionResult>) -> Result<Vec<Aside>, Vec<SessionResult>> {
        Err(sessions)
    }
}

impl<F: Fn(Source) + Sync> Sink for F {
    fn take(&self, source: Source) {
        self(source);
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

/// By what a file is known again: whether it is as it was, and whether it grew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Its size on disk.
    pub bytes: i64,
    /// When it was last written.
    pub modified_at: Option<Time>,
    /// Hash of the options that it was read with.
    pub options: u64,
    /// What became of it.
    pub status: SourceStatus,
    /// Hash of its decompressed bytes.
    #[serde(with = "hex")]
    pub content_hash: Option<u128>,
    /// Whether it is compressed.
    pub is_compressed: bool,
}

impl Stamp {
    /// That of a file that was read.
    pub fn of(source: &Source) -> Self {
        Self {
            bytes: source.bytes,
            modified_at: source.modified_at,
            options: twox_hash::XxHash3_64::oneshot(source.options.as_bytes()),
            status: source.status,
            content_hash: source.content_hash.as_deref().and_then(crate::hash::of_hexadecimal),
            is_compressed: source.compression.is_some(),
        }
    }
}

/// A hash as text, where it is kept.
mod hex {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde gives it so")]
    pub fn serialize<S: Serializer>(hash: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
        hash.map(|it| format!("{it:032x}")).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u128>, D::Error> {
        let text: Option<String> = Deserialize::deserialize(deserializer)?;
        Ok(text.as_deref().and_then(crate::hash::of_hexadecimal))
    }
}

/// What a run took in.
#[derive(Debug, Default)]
pub struct Taken {
    /// Files that were read in this run, unless they went elsewhere: see [`read_into`].
    pub sources: Vec<Source>,
    /// How many were read.
    pub read: usize,
    /// Paths of files that are as they were: their facts stand.
    pub unchanged: BTreeSet<String>,
    /// What could not be walked.
    pub errors: Vec<discover::Error>,
}

/// Reads all logs at and below the roots. `known` are the stamps of earlier runs, by path; a file of the same size and
/// time, read with the same options by the same version, is not read again.
pub fn read(options: &Options, known: &BTreeMap<String, Stamp>, progress: &Progress) -> Taken {
    let sources = Mutex::new(Vec::new());
    let mut taken = read_into(options, |it| known.get(it), progress, &|source| {
        sources.lock().unwrap_or_else(PoisonError::into_inner).push(source);
    });
    taken.sources = sources.into_inner().unwrap_or_else(PoisonError::into_inner);
    taken.sources.sort_by(|a, b| a.path.cmp(&b.path));
    taken
}

/// As [`read`], but hands each file on as soon as it is read, in any order, so that the memory need not hold them all.
pub fn read_into<'a>(
    options: &Options,
    known: impl Fn(&str) -> Option<&'a Stamp> + Sync,
    progress: &Progress,
    sink: &impl Sink,
) -> Taken {
    let (found, mut errors) = discover(&options.roots, options.except.as_deref());
    progress.files.store(found.len() as u64, Ordering::Relaxed);
    progress.bytes.store(found.iter().map(|it| it.bytes).sum(), Ordering::Relaxed);
    let fingerprint = options.fingerprint();
    let done = |file: &Found| {
        progress.files_done.fetch_add(1, Ordering::Relaxed);
        progress.bytes_done.fetch_add(file.bytes, Ordering::Relaxed);
    };
    let mut unchanged = Vec::new();
    let mut changed = Vec::new();
    for file in found {
        let path = path_text(&file.path);
        let is_same = |it: &Stamp| {
            // What could not be read may be readable now.
            it.status != SourceStatus::Unreadable
                && !file.is_stream
                && it.bytes == size(&file)
                && it.modified_at == file.modified_at
                && it.options == twox_hash::XxHash3_64::oneshot(fingerprint_of(&file, &fingerprint).as_bytes())
        };
        if known(&path).is_some_and(is_same) {
            done(&file);
            unchanged.push(path);
        } else {
            changed.push(file);
        }
    }
    // The largest first: a big file that comes last keeps one core busy and the others waiting.
    changed.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    let read = changed.len();
    let unread: Vec<discover::Error> = changed
        .into_par_iter()
        .with_max_len(1)
        .filter_map(|file| {
            let known = known(&path_text(&file.path));
            let source = read_file(&file, options, &fingerprint, known, |_, _| (), Some(sink));
            let unread = unread(&file, &source);
            sink.take(source);
            done(&file);
            unread
        })
        .collect();
    log::drop_buffers();
    errors.extend(unread);
    // They are in order: so the set is made at once.
    Taken { sources: Vec::new(), read, unchanged: unchanged.into_iter().collect(), errors }
}

/// Formats that claim records of a file, the likeliest first, and how surely.
pub type Claims = Vec<(&'static Adapter, u32)>;

/// Reads the files at and below a path as [`read`] does, and says what claims them.
pub fn look(path: &Path, options: &Options) -> (Vec<(Source, Claims)>, Vec<discover::Error>) {
    let (found, mut errors) = discover(&[path.to_owned()], None);
    let fingerprint = options.fingerprint();
    let looked: Vec<(Source, Claims)> = found
        .par_iter()
        .map(|file| {
            let mut claims = Claims::new();
            let see = |content: &[u8], hints: Hints<'_>| claims = adapters::detect(content, hints);
            let source = read_file(file, options, &fingerprint, None, see, None::<&fn(Source)>);
            (source, claims)
        })
        .collect();
    errors.extend(found.iter().zip(&looked).filter_map(|(file, (source, _))| unread(file, source)));
    (looked, errors)
}

/// What was asked for by its own name and cannot be read could not be done; files below a folder are counted.
fn unread(file: &Found, source: &Source) -> Option<discover::Error> {
    let is_lost = file.is_named && source.status == SourceStatus::Unreadable;
    let error = source.message.clone().unwrap_or_default();
    is_lost.then(|| discover::Error::Unreadable { path: file.path.clone(), error })
}

fn size(file: &Found) -> i64 {
    i64::try_from(file.bytes).unwrap_or(i64::MAX)
}

/// The options and the files that a file is read with: sidecars, and the last rows of a database.
fn fingerprint_of(file: &Found, options: &str) -> String {
    if !file.has_companions {
        return options.to_owned();
    }
    let stamps = sidecars(&file.path).chain([database::wal(&file.path)]).filter_map(|it| {
        let metadata = it.metadata().ok()?;
        Some(format!(" {} {:?}", metadata.len(), metadata.modified().ok()))
    });
    stamps.fold(options.to_owned(), |all, it| all + &it)
}

/// How often a file is read that is cut short meanwhile.
const TRIES: usize = 3;

/// Reads one file; `see` is shown what the formats are told of it.
fn read_file(
    file: &Found,
    options: &Options,
    fingerprint: &str,
    known: Option<&Stamp>,
    mut see: impl FnMut(&[u8], Hints<'_>),
    sink: Option<&impl Sink>,
) -> Source {
    let mut source = Source {
        path: path_text(&file.path),
        host: options.host.clone(),
        bytes: size(file),
        modified_at: file.modified_at,
        ingested_at: options.now,
        options: fingerprint_of(file, fingerprint),
        ..Source::default()
    };
    if database::is_companion(&file.path) {
        source.status = SourceStatus::Auxiliary;
        return source;
    }
    for _ in 0..TRIES {
        match read_once(source.clone(), file, options, known, &mut see, sink) {
            Ok(Some(source)) => return source,
            Ok(None) => {}
            Err(error) => return unreadable(source, error),
        }
    }
    unreadable(source, log::CUT.to_owned())
}

fn unreadable(source: Source, error: String) -> Source {
    Source { status: SourceStatus::Unreadable, message: Some(error), ..source }
}

/// Reads one file; nothing if it was cut short meanwhile.
fn read_once(
    mut source: Source,
    file: &Found,
    options: &Options,
    known: Option<&Stamp>,
    see: &mut impl FnMut(&[u8], Hints<'_>),
    sink: Option<&impl Sink>,
) -> Result<Option<Source>, String> {
    let open = if file.is_stream { log::open_stream } else { log::open };
    let content = open(&file.path, options.limit).map_err(|it| it.to_string())?;
    // It may have grown since it was found.
    source.bytes = i64::try_from(content.stored).unwrap_or(i64::MAX);
    source.modified_at = content.modified.and_then(discover::micros).or(source.modified_at);
    source.compression = content.compression.map(|it| it.as_str().to_owned());
    source.message.clone_from(&content.truncated);
    if database::is_database(&content) {
        let path = (!file.is_stream && content.compression.is_none()).then_some(&*file.path);
        let rows = database::read(path, &content, adapters::TABLES)?;
        source.forgets = true;
        if rows.is_known {
            source.message = source.message.or(rows.lost);
            return Ok(Some(parse(source, file, &rows.text, options, see, sink, None)));
        }
    }
    let log = Some((&content, known));
    let source = parse(source, file, &content, options, see, sink, log);
    Ok((!content.is_damaged()).then_some(source))
}

/// Reads the lines of a file. A message says what of it is missing. `log` is the file itself, and what was known of it, unless
/// the content was made of it.
fn parse(
    mut source: Source,
    file: &Found,
    content: &[u8],
    options: &Options,
    see: &mut impl FnMut(&[u8], Hints<'_>),
    sink: Option<&impl Sink>,
    log: Option<(&log::Content, Option<&Stamp>)>,
) -> Source {
    let is_cut = source.message.is_some();
    if content.iter().all(|it| it.is_ascii_whitespace() || *it == 0) {
        source.status = if is_cut { SourceStatus::Truncated } else { SourceStatus::Empty };
        return source;
    }
    let has_sidecars = file.has_companions && !is_sidecar(&file.path);
    let sidecar = if has_sidecars { read_sidecars(&file.path) } else { Sidecar::default() };
    let mut sidecar = sidecar.or(options.sidecar.clone());
    sidecar.labels.extend(options.path_labels.iter().flat_map(|it| it.labels(&source.path)));
    let hints = Hints { runtime: sidecar.runtime.as_deref(), path: &source.path };
    // A bug in an adapter costs its file, not the run.
    let known = log.and_then(|it| it.1);
    let behind = Behind::new(content, log.map(|it| it.0), known.and_then(known_length));
    let mut follower = Follower { behind, sink, options, sidecar: &sidecar, aside: Vec::new(), kept: Vec::new() };
    let parse = || {
        see(content, hints);
        adapters::parse_with(content, hints, options.content, Some(&mut follower))
    };
    let parsed = catch_unwind(AssertUnwindSafe(parse));
    let Follower { behind, aside, kept, .. } = follower;
    let hashes = behind.finish();
    source.content_hash = Some(format!("{:032x}", hashes.whole));
    source.grew = known.is_some_and(|it| it.content_hash.is_some() && it.content_hash == hashes.at_mark);
    let Ok(parsed) = parsed else {
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
        _ if is_cut => SourceStatus::Truncated,
        Some(_) => SourceStatus::Parsed,
        None if is_sidecar(&file.path) || adapters::is_auxiliary(content) => SourceStatus::Auxiliary,
        None => SourceStatus::Unrecognised,
    };
    if parsed.format.is_none() {
        // What no format claims has no records to lose.
        source.health.rejects.clear();
    }
    if options.content == Content::None {
        // A line that cannot be read may hold what was said.
        source.health.rejects.iter_mut().for_each(|it| it.example = privacy::shape(&it.example));
    }
    if options.redact {
        privacy::redact(&mut source);
    }
    // What was over before is redacted already.
    source.aside = aside;
    source.sessions.splice(..0, kept);
    source
}

/// Follows the reading of a file.
struct Follower<'a, S> {
    behind: Behind<'a>,
    sink: Option<&'a S>,
    options: &'a Options,
    sidecar: &'a Sidecar,
    /// Sessions that were over before the file was.
    aside: Vec<Aside>,
    /// Those for which the sink has no place.
    kept: Vec<SessionResult>,
}

impl<S: Sink> Listener for Follower<'_, S> {
    fn passed(&mut self, line: &[u8]) {
        self.behind.passed(line);
    }

    fn over(&mut self, mut sessions: Vec<SessionResult>) {
        for session in &mut sessions {
            self.sidecar.fill(session);
            if self.options.redact {
                privacy::redact_session(session);
            }
        }
        let Some(sink) = self.sink else { return self.kept.extend(sessions) };
        match sink.put_aside(sessions) {
            Ok(aside) => self.aside.extend(aside),
            Err(sessions) => self.kept.extend(sessions),
        }
    }

    fn again(&mut self) {
        self.behind.again();
        self.aside.clear();
        self.kept.clear();
    }
}

/// How much a file held when it was last read. Of compressed files that is not known.
fn known_length(known: &Stamp) -> Option<usize> {
    usize::try_from(known.bytes).ok().filter(|_| !known.is_compressed)
}

fn is_sidecar(path: &Path) -> bool {
    path.file_name()
        .and_then(OsStr::to_str)
        .is_some_and(|it| it.strip_suffix(SIDECAR).is_some_and(|name| name.is_empty() || name.ends_with('.')))
}

/// Where sidecars of a log may lie: `NAME.meta.json` beside `NAME.jsonl`, `meta.json` in its folder. The nearer first.
fn sidecars(path: &Path) -> impl Iterator<Item = PathBuf> {
    // Only endings that say how a log is stored: what else stands behind a point tells it from its neighbours.
    let name = without_ending(path.file_name().unwrap_or_default(), &["gz", "zst"]);
    let mut beside: OsString = without_ending(name, &["jsonl", "json", "ndjson", "log", "txt"]).to_owned();
    beside.push(".");
    beside.push(SIDECAR);
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    [beside, OsString::from(SIDECAR)].into_iter().map(move |it| folder.join(it))
}

fn without_ending<'a>(name: &'a OsStr, endings: &[&str]) -> &'a OsStr {
    let path = Path::new(name);
    let is_one = path.extension().is_some_and(|it| endings.iter().any(|ending| it == *ending));
    path.file_stem().filter(|_| is_one).unwrap_or(name)
}

fn read_sidecars(path: &Path) -> Sidecar {
    sidecars(path)
        .filter_map(|it| log::open(&it, Limit::Usual).ok())
        .fold(Sidecar::default(), |nearer, it| nearer.or(Sidecar::parse(&it)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LOG: &str = r#"{"type":"thread.started","thread_id":"th1"}
{"type":"turn.started"}
{"type":"turn.completed","usage":{"input_tokens":3,"cached_input_tokens":0,"output_tokens":5}}
"#;

    fn options(root: &Path) -> Options {
        Options { roots: vec![root.to_owned()], ..Options::default() }
    }

    fn known(sources: &[Source]) -> BTreeMap<String, Stamp> {
        sources.iter().map(|it| (it.path.clone(), Stamp::of(it))).collect()
    }

    #[test]
    fn a_file_is_read_again_only_when_there_may_be_more_to_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.jsonl"), LOG).unwrap();
        let options = options(folder.path());
        let first = read(&options, &BTreeMap::new(), &Progress::default()).sources;
        let unchanged = |change: fn(&mut Source)| {
            let mut sources = first.clone();
            sources.iter_mut().for_each(change);
            read(&options, &known(&sources), &Progress::default()).unchanged.len()
        };
        assert_eq!(unchanged(|_| ()), 1);
        assert_eq!(unchanged(|it| it.status = SourceStatus::Unreadable), 0);
        assert_eq!(unchanged(|it| it.options = "written by another version".to_owned()), 0);
    }

    #[test]
    fn a_sidecar_is_of_the_log_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("run.meta.json", r#"{"labels":{"of":"run"}}"#);
        for name in ["run", "run.jsonl", "run.retry.jsonl", "run.json.zst", "run.txt.gz", "run.out"] {
            write(name, LOG);
        }
        let mut sources = read(&options(folder.path()), &BTreeMap::new(), &Progress::default()).sources;
        sources.retain(|it| it.sessions.iter().any(|it| it.labels.contains("of=run")));
        let mut names: Vec<_> = sources.iter().filter_map(|it| it.path.rsplit(['/', '\\']).next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["run", "run.json.zst", "run.jsonl", "run.txt.gz"]);
    }

    #[test]
    fn an_index_of_sessions_is_no_log() {
        let folder = tempfile::tempdir().unwrap();
        let status = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap();
            look(&folder.path().join(name), &Options::default()).0[0].0.status
        };
        let index = "{\n  \"agent:main:main\": {\n    \"sessionId\": \"s1\", \"inputTokens\": 7 } }";
        assert_eq!(status("sessions.json", index), SourceStatus::Auxiliary);
        let pointer = r#"{"traceSchema":"openclaw-trajectory-pointer","runtimeFile":"/a.jsonl"}"#;
        assert_eq!(status("s1.trajectory-path.json", pointer), SourceStatus::Auxiliary);
        assert_eq!(status("other.json", r#"{"a":{"sessionId":"s1"},"b":{}}"#), SourceStatus::Unrecognised);
        assert_eq!(status("none.json", "{}"), SourceStatus::Unrecognised);
    }

    #[test]
    fn a_look_at_a_folder_shows_every_file_in_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.jsonl"), LOG).unwrap();
        fs::write(folder.path().join("b"), "x").unwrap();
        let (looked, errors) = look(folder.path(), &Options::default());
        let shown: Vec<_> = looked.iter().map(|(source, claims)| (source.status, claims.is_empty())).collect();
        assert_eq!(shown, [(SourceStatus::Parsed, false), (SourceStatus::Unrecognised, true)]);
        assert!(errors.is_empty());
        assert_eq!(look(&folder.path().join("c"), &Options::default()).1.len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_when_it_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // In a folder it is left alone: nobody may ever write to it.
        assert!(read(&options(folder.path()), &BTreeMap::new(), &Progress::default()).sources.is_empty());
        let taken = std::thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, LOG).unwrap());
            read(&options(&pipe), &BTreeMap::new(), &Progress::default())
        });
        assert_eq!((taken.errors.len(), taken.sources[0].bytes), (0, i64::try_from(LOG.len()).unwrap()));
        assert_eq!(taken.sources[0].sessions[0].session_id, "th1");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let taken = read(&options(&socket), &BTreeMap::new(), &Progress::default());
        assert!(matches!(&taken.errors[..], [discover::Error::Unreadable { .. }]));
    }
}
