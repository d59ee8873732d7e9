//! Reads the content of one file: a log, or the rows of a database.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use super::content_hasher::ContentHasher;
use super::drift::Drifts;
use super::file_stamp::FileStamp;
use super::place::Place;
use super::privacy;
use super::run::{FileRead, Inspection, Run};
use super::shape::Shape;
use super::swe_bench;
use crate::adapters::shared::repository::of_root;
use crate::adapters::{self, Claims, Driver, Hints, Parsed, Step};
use crate::base::hash::Hash;
use crate::input::database;
use crate::input::machine::UserPath;
use crate::input::open::FileContent;
use crate::input::prefixes::without_prefixes;
use crate::input::sidecar::Sidecar;
use crate::model::retention;
use crate::model::session::SessionResult;
use crate::model::source::{STDIN, Source, SourceStatus, SpilledSession};

/// Why a file was not read.
pub enum Failure {
    /// It changed meanwhile, and may be read again.
    Changed,
    /// It cannot be read, for this reason.
    Unreadable(String),
}

impl Run<'_> {
    /// Reads the log or the database that is the content of a file.
    ///
    /// # Errors
    /// When the file was cut short meanwhile, is a database that was written to meanwhile (unless this is the last attempt), or
    /// cannot be read.
    pub fn read_content(
        &self,
        mut source: Source,
        content: &FileContent<'_>,
        place: &Place<'_>,
        is_last: bool,
    ) -> Result<FileRead, Failure> {
        source.compression = content.compression.map(|compression| compression.as_str().to_owned());
        source.message.clone_from(&content.truncated);
        if let Some(compression) = unsupported_compression(content) {
            let message = format!("compressed with {compression}, which is not read; decompress it first");
            return Err(Failure::Unreadable(message));
        }
        let mut is_side_database = false;
        if database::is_database(content) {
            let rows = place.rows(content, self.options.limit).map_err(Failure::Unreadable)?;
            if rows.has_changed && !is_last {
                return Err(Failure::Changed);
            }
            source.runtime_deletes_sessions = true;
            if rows.is_known {
                source.message = source.message.or(rows.lost);
                let job = FileJob {
                    run: self,
                    place,
                    content: &rows.text,
                    stored: content,
                    file: None,
                    is_side_database,
                    source,
                };
                return Ok(job.read());
            }
            is_side_database = adapters::is_auxiliary_database(&source.path, &rows.other_tables);
        }
        let text = if adapters::is_plain_text(content) { None } else { without_prefixes(content) };
        let text = text.as_deref().unwrap_or(content);
        let file = Some(content);
        let job = FileJob { run: self, place, content: text, stored: content, file, is_side_database, source };
        let mut read = job.read();
        if read.source.path == STDIN {
            read.source.replaces = beginnings(content, &self.options.earlier_stdin);
        }
        if content.is_damaged() { Err(Failure::Changed) } else { Ok(read) }
    }
}

/// One log that is being read.
struct FileJob<'a> {
    run: &'a Run<'a>,
    place: &'a Place<'a>,
    content: &'a [u8],
    /// The content of the file, from which `content` may be made.
    stored: &'a [u8],
    /// The file that the content is, with prefixes before its lines or without; `None` if its rows are the content.
    file: Option<&'a FileContent<'a>>,
    /// Whether it is a database that belongs to logs without being one.
    is_side_database: bool,
    /// What is known of the file so far. A message states why a part of it is missing.
    source: Source,
}

/// What the records of a log became.
struct Records {
    parsed: Parsed,
    /// Sessions that were complete before the end of the log, and are stored.
    spilled: Vec<SpilledSession>,
    /// Such sessions that could not be stored.
    kept: Vec<SessionResult>,
}

impl FileJob<'_> {
    fn read(mut self) -> FileRead {
        let is_cut = self.source.message.is_some();
        if self.content.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
            self.source.status = if is_cut { SourceStatus::Truncated } else { SourceStatus::Empty };
            return FileRead::without_claims(self.source);
        }
        let sidecar = self.sidecar();
        let known = self.file.and_then(|_| (self.run.known)(&self.source.path));
        let hashed: &[u8] = self.file.map_or(self.content, |file| file);
        let mut hasher = ContentHasher::new(hashed, self.file, known.as_ref().and_then(FileStamp::length));
        let mut claims = Claims::new();
        // A defect in an adapter costs its file, not the run.
        let records = catch_unwind(AssertUnwindSafe(|| self.read_records(&sidecar, &mut hasher, &mut claims)));
        let hashes = hasher.finish();
        self.source.content_hash = Some(format!("{:032x}", hashes.whole));
        self.source.grew =
            known.is_some_and(|stamp| stamp.content_hash.is_some() && stamp.content_hash == hashes.at_mark);
        if let Ok(records) = records {
            self.add_records(records, &sidecar, is_cut);
        } else {
            self.source.status = SourceStatus::Unreadable;
            let message = "internal error while reading it; please report it with the file";
            self.source.message = Some(message.to_owned());
        }
        let shape = self.is_shape_wanted().then(|| Shape::of(self.stored, self.place.path()));
        let drift = (self.run.inspection == Inspection::Drift).then(|| Drifts::of(self.content, &self.source));
        FileRead { source: self.source, claims, shape, drift }
    }

    fn is_shape_wanted(&self) -> bool {
        match self.run.inspection {
            Inspection::None | Inspection::Drift => false,
            Inspection::UnrecognisedShapes => self.source.status == SourceStatus::Unrecognised,
            Inspection::Shapes => true,
        }
    }

    /// What is known of the log besides its records.
    fn sidecar(&self) -> Sidecar {
        let options = self.run.options;
        let mut sidecar = self.place.sidecar().or(options.sidecar.clone());
        let of_path = options.path_labels.iter().flat_map(|pattern| pattern.labels(&self.source.path));
        sidecar.set_labels(options.sidecar.labels.iter().cloned().chain(of_path));
        if let Some(directory) = self.directory_of_runtime() {
            sidecar.host = sidecar.host.or_else(|| options.host.clone());
            sidecar.user_name = sidecar.user_name.or_else(|| directory.user.clone());
        }
        sidecar
    }

    /// The directory of this machine in which a runtime wrote the log; `None` if the log was brought from elsewhere.
    fn directory_of_runtime(&self) -> Option<&UserPath> {
        let path = Path::new(&self.source.path);
        self.run.options.owned.iter().find(|directory| path.starts_with(&directory.path))
    }

    /// Fills in what the records of a session do not contain.
    fn fill(&self, session: &mut SessionResult, sidecar: &Sidecar) {
        sidecar.fill(session);
        if session.is_trial_result {
            self.place.name_failed_tests(&mut session.verdicts);
        }
        if self.run.options.content == retention::Retention::None {
            privacy::reduce_messages(session);
        }
        if session.repository.is_none()
            && self.directory_of_runtime().is_some()
            && let Some(cwd) = &session.cwd
        {
            let root = self.run.repositories.of(Path::new(cwd)).map(|root| root.to_string_lossy().into_owned());
            // The directory of a bare repository is named `shop.git`.
            session.repository = root.and_then(|root| of_root(root.strip_suffix(".git").unwrap_or(&root)));
        }
    }

    /// Reads the records, hashes the bytes that were read, and stores the sessions that are complete.
    fn read_records(&self, sidecar: &Sidecar, hasher: &mut ContentHasher<'_>, claims: &mut Claims) -> Records {
        let hints = Hints { runtime: sidecar.runtime.as_deref(), path: &self.source.path };
        thread::scope(|scope| {
            // It is dropped before the scope waits for its threads, so that they end even if this one panics.
            let mut driver =
                Driver::with_formats(self.content, hints, self.run.options.content, self.run.options.formats);
            claims.clone_from(driver.claims());
            let (mut spilled, mut kept) = (Vec::new(), Vec::new());
            loop {
                match driver.step() {
                    Step::Progress(end) => hasher.advance(end),
                    Step::Large(parse_ahead) => {
                        // Without a second thread the first one does everything.
                        let _ = thread::Builder::new().spawn_scoped(scope, parse_ahead);
                    }
                    Step::Closed(sessions) => match self.spill(sessions, sidecar) {
                        Ok(more) => spilled.extend(more),
                        Err(sessions) => kept.extend(sessions),
                    },
                    Step::Restart => {
                        hasher.restart();
                        spilled.clear();
                        kept.clear();
                    }
                    Step::Done(parsed) => return Records { parsed, spilled, kept },
                }
            }
        })
    }

    /// Stores sessions that are complete. Returns them if they cannot be stored.
    fn spill(
        &self,
        mut sessions: Vec<SessionResult>,
        sidecar: &Sidecar,
    ) -> Result<Vec<SpilledSession>, Vec<SessionResult>> {
        for session in &mut sessions {
            self.fill(session, sidecar);
            if self.run.options.redact {
                privacy::redact_session(session);
            }
        }
        match self.run.spill {
            Some(sink) => sink.spill(&self.source.path, sessions),
            None => Err(sessions),
        }
    }

    /// Fills the source with what was read.
    fn add_records(&mut self, records: Records, sidecar: &Sidecar, is_cut: bool) {
        let Records { parsed, spilled, kept } = records;
        let mut sessions = parsed.sessions;
        for session in &mut sessions {
            self.fill(session, sidecar);
        }
        let is_auxiliary = || {
            self.is_side_database || self.place.is_sidecar() || adapters::is_auxiliary(self.content, &self.source.path)
        };
        let status = match parsed.format {
            _ if is_cut => SourceStatus::Truncated,
            Some(_) => SourceStatus::Parsed,
            None if is_auxiliary() => SourceStatus::Auxiliary,
            None => SourceStatus::Unrecognised,
        };
        let (options, source) = (self.run.options, &mut self.source);
        source.sessions = sessions;
        source.status = status;
        source.health = parsed.health;
        privacy::reduce_types(&mut source.health.unknown_types);
        if status == SourceStatus::Unrecognised {
            source.verdicts = swe_bench::of_file(self.content, &source.path);
            if !source.verdicts.is_empty() {
                source.status = SourceStatus::Auxiliary;
            }
        }
        if status == SourceStatus::Auxiliary && self.place.is_sidecar() {
            source.message = Sidecar::problem(self.content);
            if source.message.is_some() {
                source.status = SourceStatus::Unreadable;
            }
        }
        source.runtime = parsed.runtime.map(str::to_owned);
        source.format = parsed.format.map(str::to_owned);
        if parsed.format.is_none() {
            // A file that no format claims has no records to lose.
            source.health.clear_losses();
        }
        if options.content == retention::Retention::None {
            // A line that cannot be parsed may contain a part of the conversation.
            source.health.rejects.iter_mut().for_each(|reject| reject.example = privacy::shape(&reject.example));
            source.verdicts.iter_mut().for_each(|imported| privacy::reduce_verdict(&mut imported.verdict));
        }
        if options.redact {
            privacy::redact(source);
        }
        // These were filled and redacted when they were complete.
        source.spilled = spilled;
        source.sessions.splice(..0, kept);
    }
}

/// The compression of a content that this program does not support, by its first bytes.
fn unsupported_compression(content: &[u8]) -> Option<&'static str> {
    let is_bzip2 = |rest: &[u8]| rest.get(1..7) == Some(b"1AY&SY");
    match content {
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [b'B', b'Z', b'h', rest @ ..] if is_bzip2(rest) => Some("bzip2"),
        [b'7', b'z', 0xBC, 0xAF, 0x27, 0x1C, ..] => Some("7z"),
        [b'R', b'a', b'r', b'!', 0x1A, 0x07, ..] => Some("rar"),
        _ => None,
    }
}

/// The paths of the logs with which a content begins.
fn beginnings(content: &[u8], logs: &[(String, FileStamp)]) -> Vec<String> {
    let mut logs: Vec<_> = logs.iter().filter_map(|(path, stamp)| Some((stamp.length()?, stamp, path))).collect();
    logs.sort_by_key(|(length, ..)| *length);
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
