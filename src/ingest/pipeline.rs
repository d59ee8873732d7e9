//! The pipeline: discover, open, detect, parse, fill. Files in parallel, the largest first, and the members of archives too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::adapters::common::builder::Content;
use crate::adapters::{self, ADAPTERS, Adapter, Hints, Listener};
use crate::base::hash::Hash;
use crate::base::time::Time;
use crate::ingest::behind::{Behind, WINDOW};
use crate::ingest::privacy;
use crate::input::containers::{self, Container, Member};
use crate::input::database::{self, JOURNAL, WAL};
use crate::input::discover::{self, Found, SIDECAR, discover};
use crate::input::labels::PathPattern;
use crate::input::log::{self, Budget, Limit};
use crate::input::sidecar::Sidecar;
use crate::model::session::SessionResult;
use crate::model::source::{Aside, SEPARATOR, STDIN, Source, SourceStatus, path_text};

/// To be raised when the same bytes are read as something else, so that archives take in files again.
const PARSER: u32 = 10;

/// What to read, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Files and folders; `-` is standard input.
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
    /// Paths and stamps of logs that earlier runs read from standard input, but for the last one, which is known by its path:
    /// a log that begins with one of them replaces it.
    pub earlier_stdin: Vec<(String, Stamp)>,
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
            content_hash: source.content_hash.as_deref().and_then(crate::base::hash::of_hexadecimal),
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
        Ok(text.as_deref().and_then(crate::base::hash::of_hexadecimal))
    }
}

/// What a run took in.
#[derive(Debug, Default)]
pub struct Taken {
    /// Files that were read in this run, unless they went elsewhere: see [`read_into`].
    pub sources: Vec<Source>,
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
    let reader = Reader { options, fingerprint: options.fingerprint(), known, sink: Some(sink), detects: false };
    let done = |file: &Found, bytes: u64| {
        progress.files_done.fetch_add(1, Ordering::Relaxed);
        progress.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        if file.is_stream {
            progress.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
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
                && it.options == twox_hash::XxHash3_64::oneshot(fingerprint_of(&file, &reader.fingerprint).as_bytes())
        };
        if (reader.known)(&path).is_some_and(is_same) {
            done(&file, file.bytes);
            unchanged.push(path);
        } else {
            changed.push(file);
        }
    }
    // The largest first: a big file that comes last keeps one core busy and the others waiting.
    changed.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    let unread: Vec<discover::Error> = changed
        .into_par_iter()
        .with_max_len(1)
        .filter_map(|file| {
            let (error, bytes) = reader.read_file(&file, &|source, _| sink.take(source));
            done(&file, if file.is_stream { bytes } else { file.bytes });
            unread(&file, error)
        })
        .collect();
    log::drop_buffers();
    errors.extend(unread);
    // They are in order: so the set is made at once.
    Taken { sources: Vec::new(), unchanged: unchanged.into_iter().collect(), errors }
}

/// Formats that claim records of a file, the likeliest first, and how surely.
pub type Claims = Vec<(&'static Adapter, u32)>;

/// Reads the files at and below a path as [`read`] does, and says what claims them.
pub fn look(path: &Path, options: &Options) -> (Vec<(Source, Claims)>, Vec<discover::Error>) {
    let (found, mut errors) = discover(&[path.to_owned()], None);
    let no_sink = None::<&fn(Source)>;
    let reader =
        Reader { options, fingerprint: options.fingerprint(), known: |_: &str| None, sink: no_sink, detects: true };
    let read: Vec<_> = found
        .par_iter()
        .map(|file| {
            let looked = Mutex::new(Vec::new());
            let (error, _) = reader.read_file(file, &|source, claims| {
                looked.lock().unwrap_or_else(PoisonError::into_inner).push((source, claims));
            });
            let mut looked = looked.into_inner().unwrap_or_else(PoisonError::into_inner);
            looked.sort_by(|a, b| a.0.path.cmp(&b.0.path));
            (looked, unread(file, error))
        })
        .collect();
    let mut all = Vec::new();
    for (looked, unread) in read {
        all.extend(looked);
        errors.extend(unread);
    }
    (all, errors)
}

/// What was asked for by its own name and cannot be read could not be done; files below a folder are counted.
fn unread(file: &Found, error: Option<String>) -> Option<discover::Error> {
    let error = error.filter(|_| file.is_named)?;
    Some(discover::Error::Unreadable { path: file.path.clone(), error })
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

/// What the options of an archive end with if another attempt may read more of its members.
const INCOMPLETE: &str = " incomplete";

/// The compression of a content that this program cannot read, by its first bytes.
fn unsupported_compression(content: &[u8]) -> Option<&'static str> {
    let bzip2 = |rest: &[u8]| rest.get(1..7) == Some(b"1AY&SY");
    match content {
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [b'B', b'Z', b'h', rest @ ..] if bzip2(rest) => Some("bzip2"),
        [b'7', b'z', 0xBC, 0xAF, 0x27, 0x1C, ..] => Some("7z"),
        [b'R', b'a', b'r', b'!', 0x1A, 0x07, ..] => Some("rar"),
        _ => None,
    }
}

/// How often a file is read that is cut short meanwhile.
const TRIES: usize = 3;

/// Reads files as the options of a run say.
struct Reader<'a, S, K> {
    options: &'a Options,
    /// See [`Options::fingerprint`].
    fingerprint: String,
    /// The stamps of earlier runs, by path.
    known: K,
    sink: Option<&'a S>,
    /// Whether to report which formats claim each file.
    detects: bool,
}

/// What is in the directory of a log: other files, or other members of its archive.
enum Beside<'a> {
    Files(&'a Found),
    Members(&'a Neighbours<'a>, &'a Member),
}

impl Beside<'_> {
    fn is_sidecar(&self) -> bool {
        match self {
            Self::Files(file) => is_sidecar(&file.path),
            Self::Members(_, member) => is_sidecar(Path::new(&member.name)),
        }
    }

    /// What the sidecars of the log say.
    fn sidecar(&self) -> Sidecar {
        match self {
            _ if self.is_sidecar() => Sidecar::default(),
            Self::Files(file) if file.has_companions => read_sidecars(&file.path),
            Self::Files(_) => Sidecar::default(),
            Self::Members(neighbours, member) => neighbours.sidecar(member),
        }
    }

    /// The rows of a database, with those of its journal.
    fn rows(&self, database: &log::Content<'_>) -> Result<database::Rows, String> {
        match self {
            Self::Files(file) => {
                let path = (!file.is_stream && database.compression.is_none()).then_some(&*file.path);
                database::read(path, database, adapters::TABLES)
            }
            Self::Members(neighbours, member) => neighbours.rows(member, database),
        }
    }
}

/// The members of an archive, for what they say of each other.
struct Neighbours<'a> {
    container: &'a Container<'a>,
    budget: &'a Budget,
    /// By their names. Each is read once: many logs may share one.
    sidecars: HashMap<&'a str, Sidecar>,
}

impl<'a> Neighbours<'a> {
    fn new(container: &'a Container<'a>, budget: &'a Budget) -> Self {
        let sidecars = container.members().iter().filter(|member| is_sidecar(Path::new(&member.name)));
        let sidecars = sidecars.filter_map(|member| {
            let content = container.read(member, budget).ok()?;
            Some((member.name.as_str(), Sidecar::parse(&content)))
        });
        Self { container, budget, sidecars: sidecars.collect() }
    }

    fn sidecar(&self, member: &Member) -> Sidecar {
        if self.sidecars.is_empty() {
            return Sidecar::default();
        }
        let found = sidecars(Path::new(&member.name)).filter_map(|path| self.sidecars.get(path.to_str()?));
        found.fold(Sidecar::default(), |nearer, it| nearer.or(it.clone()))
    }

    fn rows(&self, member: &Member, database: &[u8]) -> Result<database::Rows, String> {
        let mut journals = Vec::new();
        for ending in [WAL, JOURNAL] {
            if let Some(journal) = self.container.find(&format!("{}{ending}", member.name)) {
                let content = self.container.read(journal, self.budget).map_err(|error| error.message)?;
                journals.push((ending, content));
            }
        }
        let journals: Vec<(&str, &[u8])> = journals.iter().map(|(ending, content)| (*ending, &**content)).collect();
        database::read_bytes(database, &journals, adapters::TABLES)
    }

    /// Whether a member belongs to a database beside it.
    fn is_companion(&self, member: &Member) -> bool {
        let database = database::database_of(&member.name).and_then(|name| self.container.find(name));
        let content = database.and_then(|it| self.container.read(it, self.budget).ok());
        content.is_some_and(|it| database::is_database(&it))
    }
}

impl<'k, S: Sink, K: Fn(&str) -> Option<&'k Stamp> + Sync> Reader<'_, S, K> {
    /// Reads one file, and passes it to `emit`, after its members if it is an archive. Returns why it could not be read, if so,
    /// and its size.
    fn read_file(&self, file: &Found, emit: &(impl Fn(Source, Claims) + Sync)) -> (Option<String>, u64) {
        let mut source = self.source(path_text(&file.path), size(file), file.modified_at);
        source.options = fingerprint_of(file, &self.fingerprint);
        let (source, claims) = self.read_repeatedly(source, file, emit);
        if file.is_stdin() && source.status == SourceStatus::Empty {
            return (Some("it is empty".to_owned()), 0);
        }
        let error = source.message.clone().unwrap_or_default();
        let error = (source.status == SourceStatus::Unreadable).then_some(error);
        let bytes = u64::try_from(source.bytes).unwrap_or_default();
        emit(source, claims);
        (error, bytes)
    }

    fn source(&self, path: String, bytes: i64, modified_at: Option<Time>) -> Source {
        Source {
            path,
            host: self.options.host.clone(),
            bytes,
            modified_at,
            ingested_at: self.options.now,
            options: self.fingerprint.clone(),
            ..Source::default()
        }
    }

    /// Reads one file, again if it is cut short meanwhile.
    fn read_repeatedly(
        &self,
        mut source: Source,
        file: &Found,
        emit: &(impl Fn(Source, Claims) + Sync),
    ) -> (Source, Claims) {
        if database::is_companion(&file.path) {
            source.status = SourceStatus::Auxiliary;
            return (source, Claims::new());
        }
        for _ in 0..TRIES {
            match self.read_once(source.clone(), file, emit) {
                Ok(Some(read)) => return read,
                Ok(None) => {}
                Err(error) => return (unreadable(source, error), Claims::new()),
            }
        }
        (unreadable(source, log::CUT.to_owned()), Claims::new())
    }

    /// Reads one file; nothing if it was cut short meanwhile.
    fn read_once(
        &self,
        mut source: Source,
        file: &Found,
        emit: &(impl Fn(Source, Claims) + Sync),
    ) -> Result<Option<(Source, Claims)>, String> {
        let limit = self.options.limit;
        let content = match () {
            () if file.is_stdin() => log::open_stdin(limit),
            () if file.is_stream => log::open_stream(&file.path, limit),
            () => log::open(&file.path, limit),
        };
        let content = content.map_err(|it| it.to_string())?;
        // It may have grown since it was found.
        source.bytes = i64::try_from(content.stored).unwrap_or(i64::MAX);
        source.modified_at = content.modified.and_then(discover::micros).or(source.modified_at);
        if containers::is_container(&content) {
            let budget = Budget::new(limit, content.stored);
            let whole = !content.is_damaged();
            return Ok(whole.then(|| (self.read_container(source, &content, 0, &budget, emit), Claims::new())));
        }
        self.read_content(source, &content, &Beside::Files(file))
    }

    /// Reads the members of an archive in parallel, and passes each to `emit`. Returns what is known of the archive itself.
    fn read_container(
        &self,
        mut source: Source,
        content: &log::Content<'_>,
        depth: usize,
        budget: &Budget,
        emit: &(impl Fn(Source, Claims) + Sync),
    ) -> Source {
        source.compression = content.compression.map(|it| it.as_str().to_owned());
        if depth > containers::MAX_DEPTH {
            return unreadable(source, "archives are nested too deep".to_owned());
        }
        let container = match Container::open(content, containers::MAX_MEMBERS) {
            Some(Ok(container)) => container,
            Some(Err(error)) => return unreadable(source, error),
            None => return source,
        };
        let neighbours = Neighbours::new(&container, budget);
        // Another attempt may read more: with a higher limit, or once there is space for temporary files.
        let is_incomplete = AtomicBool::new(false);
        // Bytes of members that were read since memory of the archive was released.
        let read_bytes = AtomicU64::new(0);
        container.members().par_iter().with_max_len(1).for_each(|member| {
            let path = format!("{}{}{}", source.path, SEPARATOR, member.name);
            let member_source = self.source(path, 0, member.modified_at);
            match self.read_member(member_source.clone(), &neighbours, member, depth + 1, emit) {
                Ok((read, claims)) => {
                    // An archive inside it may be incomplete itself.
                    is_incomplete.fetch_or(read.options.ends_with(INCOMPLETE), Ordering::Relaxed);
                    emit(read, claims);
                }
                Err(error) => {
                    is_incomplete.fetch_or(!error.is_final, Ordering::Relaxed);
                    emit(unreadable(member_source, error.message), Claims::new());
                }
            }
            let bytes = member.bytes;
            if read_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) >= WINDOW as u64 {
                read_bytes.store(0, Ordering::Relaxed);
                content.give_back(0, content.len());
            }
        });
        let hashes = Behind::new(content, Some(content), None).finish();
        if content.is_damaged() {
            return unreadable(source, log::CUT.to_owned());
        }
        source.content_hash = Some(format!("{:032x}", hashes.whole));
        source.status = if container.damage.is_some() { SourceStatus::Truncated } else { SourceStatus::Auxiliary };
        source.message.clone_from(&container.damage);
        if is_incomplete.into_inner() {
            // So that the next run does not take it for unchanged.
            source.options.push_str(INCOMPLETE);
        }
        source
    }

    /// Reads one member of an archive.
    fn read_member(
        &self,
        mut source: Source,
        neighbours: &Neighbours<'_>,
        member: &Member,
        depth: usize,
        emit: &(impl Fn(Source, Claims) + Sync),
    ) -> Result<(Source, Claims), containers::Unreadable> {
        let content = neighbours.container.read(member, neighbours.budget)?;
        source.bytes = i64::try_from(content.stored).unwrap_or(i64::MAX);
        if containers::is_container(&content) {
            return Ok((self.read_container(source, &content, depth, neighbours.budget, emit), Claims::new()));
        }
        if neighbours.is_companion(member) {
            source.status = SourceStatus::Auxiliary;
            return Ok((source, Claims::new()));
        }
        let read = self.read_content(source, &content, &Beside::Members(neighbours, member));
        let cut = || containers::Unreadable { message: log::CUT.to_owned(), is_final: false };
        read.map_err(|message| containers::Unreadable { message, is_final: true })?.ok_or_else(cut)
    }

    /// Reads a log or a database; nothing if its file was cut short meanwhile.
    fn read_content(
        &self,
        mut source: Source,
        content: &log::Content<'_>,
        beside: &Beside<'_>,
    ) -> Result<Option<(Source, Claims)>, String> {
        source.compression = content.compression.map(|it| it.as_str().to_owned());
        source.message.clone_from(&content.truncated);
        if let Some(compression) = unsupported_compression(content) {
            return Err(format!("compressed with {compression}, which is not read; decompress it first"));
        }
        if database::is_database(content) {
            let rows = beside.rows(content)?;
            source.forgets = true;
            if rows.is_known {
                source.message = source.message.or(rows.lost);
                return Ok(Some(self.parse(source, beside, &rows.text, None)));
            }
        }
        let mut read = self.parse(source, beside, content, Some(content));
        if read.0.path == STDIN {
            read.0.replaces = beginnings(content, &self.options.earlier_stdin);
        }
        Ok((!content.is_damaged()).then_some(read))
    }

    /// Reads the lines of a file. A message says what of it is missing. `log` is the file itself, unless the content was made of
    /// it.
    fn parse(
        &self,
        mut source: Source,
        beside: &Beside<'_>,
        content: &[u8],
        log: Option<&log::Content<'_>>,
    ) -> (Source, Claims) {
        let options = self.options;
        let mut claims = Claims::new();
        let is_cut = source.message.is_some();
        if content.iter().all(|it| it.is_ascii_whitespace() || *it == 0) {
            source.status = if is_cut { SourceStatus::Truncated } else { SourceStatus::Empty };
            return (source, claims);
        }
        let mut sidecar = beside.sidecar().or(options.sidecar.clone());
        sidecar.labels.extend(options.path_labels.iter().flat_map(|it| it.labels(&source.path)));
        let hints = Hints { runtime: sidecar.runtime.as_deref(), path: &source.path };
        // A bug in an adapter costs its file, not the run.
        let known = log.and_then(|_| (self.known)(&source.path));
        let behind = Behind::new(content, log, known.and_then(known_length));
        let mut follower =
            Follower { behind, sink: self.sink, options, sidecar: &sidecar, aside: Vec::new(), kept: Vec::new() };
        let parse = || {
            if self.detects {
                claims = adapters::detect(content, hints);
            }
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
            return (source, claims);
        };
        source.health = parsed.health;
        source.runtime = parsed.runtime.map(str::to_owned);
        source.format = parsed.format.map(str::to_owned);
        source.sessions = parsed.sessions;
        source.sessions.iter_mut().for_each(|it| sidecar.fill(it));
        source.status = match parsed.format {
            _ if is_cut => SourceStatus::Truncated,
            Some(_) => SourceStatus::Parsed,
            None if beside.is_sidecar() || adapters::is_auxiliary(content) => SourceStatus::Auxiliary,
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
        (source, claims)
    }
}

fn unreadable(source: Source, error: String) -> Source {
    Source { status: SourceStatus::Unreadable, message: Some(error), ..source }
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

/// The paths of logs with which a content begins.
fn beginnings(content: &[u8], logs: &[(String, Stamp)]) -> Vec<String> {
    let mut logs: Vec<_> = logs.iter().filter_map(|(path, stamp)| Some((known_length(stamp)?, stamp, path))).collect();
    logs.sort_by_key(|it| it.0);
    let mut hash = Hash::new();
    let mut paths = Vec::new();
    for (length, stamp, path) in logs {
        let Some(beginning) = content.get(..length) else { break };
        hash.advance(beginning);
        if stamp.content_hash == Some(hash.clone().finish(beginning)) {
            paths.push(path.clone());
        }
    }
    paths
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
    fn a_file_of_an_unsupported_compression_is_unreadable() {
        let folder = tempfile::tempdir().unwrap();
        let looked = |bytes: &[u8]| {
            fs::write(folder.path().join("a"), bytes).unwrap();
            let source = look(folder.path(), &Options::default()).0.remove(0).0;
            (source.status, source.message.unwrap_or_default())
        };
        let contents = [
            ("xz", &b"\xFD7zXZ\0\0"[..]),
            ("bzip2", b"BZh91AY&SY.."),
            ("7z", b"7z\xBC\xAF\x27\x1C"),
            ("rar", b"Rar!\x1A\x07"),
        ];
        for (name, bytes) in contents {
            let message = format!("compressed with {name}, which is not read; decompress it first");
            assert_eq!(looked(bytes), (SourceStatus::Unreadable, message));
        }
        assert_eq!(looked(b"BZh is a word").0, SourceStatus::Unrecognised);
    }

    #[test]
    fn an_archive_is_incomplete_if_one_inside_it_is() {
        let tar = |name: &str, content: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            let mut builder = tar::Builder::new(Vec::new());
            builder.append_data(&mut header, name, content).unwrap();
            builder.into_inner().unwrap()
        };
        let log = zstd::encode_all(LOG.as_bytes(), 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("outer.tar"), tar("inner.tar", &tar("a.jsonl.zst", &log))).unwrap();
        let mut options = options(folder.path());
        options.limit = Limit::Bytes(10);
        let first = known(&read(&options, &BTreeMap::new(), &Progress::default()).sources);
        options.limit = Limit::Usual;
        let again = read(&options, &first, &Progress::default()).sources;
        assert_eq!(again.iter().map(|source| source.sessions.len()).sum::<usize>(), 1);
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
