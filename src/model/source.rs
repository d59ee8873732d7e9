//! The facts about one file, which the ledger reconciles and the archive stores.

use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::time::Time;
use crate::model::health::Health;
use crate::model::known_places::KnownPlaces;
use crate::model::missing::Content;
use crate::model::session::SessionResult;
use crate::model::verdict::ImportedVerdict;

/// The path of a log that was read from standard input.
pub const STDIN: &str = "-";

/// What separates the path of an archive from the name of its member.
pub const SEPARATOR: &str = "!/";

/// One file and its sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Its real path, as [`path_text`] returns it. Earlier facts of an overwritten file have a path of their own:
    /// [`Source::under_history_path`].
    pub path: String,
    /// The machine on which it was read.
    pub host: Option<String>,
    /// The runtime that wrote it.
    pub runtime: Option<String>,
    /// Its format.
    pub format: Option<String>,
    /// How it is compressed.
    pub compression: Option<String>,
    /// Its size on disk.
    pub bytes: i64,
    /// Time of its last modification.
    pub modified_at: Option<Time>,
    /// Hash of its decompressed bytes.
    pub content_hash: Option<String>,
    /// Its status.
    pub status: SourceStatus,
    /// The file with the same content.
    pub duplicate_of: Option<String>,
    /// Why it could not be read completely.
    pub message: Option<String>,
    /// When it was read.
    pub ingested_at: Option<Time>,
    /// The options with which it was read: with others it is read again.
    pub options: String,
    /// Whether it grew: it begins with the content that was known before.
    #[serde(skip)]
    pub grew: bool,
    /// Paths of other sources that it replaces: it begins with their content.
    #[serde(skip)]
    pub replaces: Vec<String>,
    /// Whether it is a database. The runtime deletes sessions from it, which stay in the archive.
    pub runtime_deletes_sessions: bool,
    /// Records and losses.
    pub health: Health,
    /// Its sessions.
    pub sessions: Vec<SessionResult>,
    /// Further sessions, which were spilled while it was read.
    #[serde(skip)]
    pub spilled: Vec<SpilledSession>,
    /// The number of its sessions, after they have moved into the tables.
    #[serde(skip)]
    pub session_count: usize,
    /// The verdicts of a file that was imported.
    pub verdicts: Vec<ImportedVerdict>,
}

/// A session of a large file that was spilled while the rest was read, to save memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpilledSession {
    /// Its offset in the caller's file.
    pub offset: u64,
    /// Its length in that file, in bytes.
    pub length: u64,
    /// Its id.
    pub session_id: String,
    /// Hashes that related sessions have in common.
    pub links: Box<[u64]>,
}

impl Source {
    /// Whether it contains a session.
    pub fn contains_session(&self, session_id: &str) -> bool {
        let aside = self.spilled.iter().map(|it| &it.session_id);
        self.sessions.iter().map(|it| &it.session_id).chain(aside).any(|it| it == session_id)
    }

    /// The sessions of this source that a later observation of the file does not replace, as a source of their own; the ledger removes
    /// what they have in common with it.
    ///
    /// - If the file grew, it contains all that it contained before.
    /// - A truncated file, and another log from standard input, replace only content with which they begin.
    /// - A file without any of the sessions is another log.
    /// - Otherwise those sessions are kept that were billed for responses that the file does not contain any more, as after a rewind,
    ///   and those that a runtime deleted from its database.
    pub fn sessions_kept_after(&self, later: &Self) -> Option<Self> {
        if later.grew || self.content_hash == later.content_hash || self.sessions.is_empty() {
            return None;
        }
        let is_still_there = |it: &SessionResult| later.contains_session(&it.session_id);
        let is_another_log = !self.sessions.iter().any(is_still_there);
        if is_another_log || later.status == SourceStatus::Truncated || self.is_stdin() {
            return Some(self.clone().under_history_path());
        }
        let content = Content::of(&later.sessions);
        let is_spilled = |it: &SessionResult| later.spilled.iter().any(|spilled| spilled.session_id == it.session_id);
        let is_kept = |it: &&SessionResult| {
            later.runtime_deletes_sessions && !is_still_there(it) || !is_spilled(it) && content.lacks_some_of(it)
        };
        let sessions: Vec<_> = self.sessions.iter().filter(is_kept).cloned().collect();
        (!sessions.is_empty()).then(|| Self { sessions, ..self.clone() }.under_history_path())
    }

    /// Fills in where its sessions ran, as far as an earlier observation of the file knows it and this one does not. Returns whether
    /// something was filled in.
    pub fn keep_known_places(&mut self, earlier: &Self) -> bool {
        KnownPlaces::of(&earlier.sessions).fill(&mut self.sessions)
    }

    /// The sources that are kept once the file was read again, by the rules of [`Self::sessions_kept_after`]. A file that cannot be read replaces
    /// nothing. Where its sessions ran stays known.
    pub fn followed_by(self, mut later: Self) -> Vec<Self> {
        if self.sessions.is_empty() {
            return vec![later];
        }
        if later.status == SourceStatus::Unreadable {
            return vec![self];
        }
        later.keep_known_places(&self);
        self.sessions_kept_after(&later).into_iter().chain([later]).collect()
    }

    /// Whether it was read from standard input, or is a member of such an archive. `archive merge` prefixes the path with the name
    /// of the machine.
    fn is_stdin(&self) -> bool {
        let host = self.host.as_deref().unwrap_or_default();
        let path = self.path.strip_prefix(host).and_then(|path| path.strip_prefix(':')).unwrap_or(&self.path);
        path.strip_prefix(STDIN).is_some_and(|rest| rest.is_empty() || rest.starts_with(SEPARATOR))
    }

    /// The same facts at a path that no later observation of the file replaces. The path depends on the content only, so that
    /// repeating this changes nothing.
    #[must_use]
    pub fn under_history_path(self) -> Self {
        let hash = self.content_hash.as_deref().unwrap_or_default();
        Self { path: format!("{}#{}", self.path, hash.get(..8).unwrap_or(hash)), ..self }
    }
}

/// The path of the file whose earlier facts have this path: see [`Source::under_history_path`]. Any other path is that of a file itself.
pub fn file_of_history(path: &str) -> &str {
    let is_hash = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    path.rsplit_once('#').filter(|(_, hash)| is_hash(hash)).map_or(path, |(file, _)| file)
}

/// A path as text, different for different paths: bytes that are not UTF-8 become `%FF`, and a `%` before such digits becomes
/// `%25`.
pub fn path_text(path: &Path) -> String {
    name_text(path.as_os_str().as_encoded_bytes())
}

/// The bytes of a file's name as text: see [`path_text`].
pub fn name_text(name: &[u8]) -> String {
    if let Some(text) = std::str::from_utf8(name).ok().filter(|it| !it.contains('%')) {
        return text.to_owned();
    }
    let reads_like_one = |it: &str| it == "25" || u8::from_str_radix(it, 16).is_ok_and(|it| it >= 0x80);
    let mut out = String::new();
    for chunk in name.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some((before, behind)) = rest.split_once('%') {
            out.push_str(before);
            let digits = behind.get(..2).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
            out.push_str(if digits.is_some_and(reads_like_one) { "%25" } else { "%" });
            rest = behind;
        }
        out.push_str(rest);
        for byte in chunk.invalid() {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The status of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceStatus {
    /// Its sessions are in the tables.
    Parsed,
    /// Another file has the same content.
    Duplicate,
    /// It belongs to a log: a sidecar, an index, a tar or zip archive of logs.
    Auxiliary,
    /// It is compressed, or an archive, and cut; the part before the cut was read.
    Truncated,
    /// No format matches it.
    #[default]
    Unrecognised,
    /// It could not be read.
    Unreadable,
    /// It is empty.
    Empty,
}

impl SourceStatus {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Parsed => "parsed",
            Self::Duplicate => "duplicate",
            Self::Auxiliary => "auxiliary",
            Self::Truncated => "truncated",
            Self::Unrecognised => "unrecognised",
            Self::Unreadable => "unreadable",
            Self::Empty => "empty",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn every_path_has_a_text_of_its_own() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let text = |bytes: &[u8]| path_text(Path::new(OsStr::from_bytes(bytes)));
        let texts = [&b"a\xff"[..], b"a\xfe", b"a%FF", b"a%25FF", b"a%2F", "\u{e4}%".as_bytes()].map(text);
        assert_eq!(texts, ["a%FF", "a%FE", "a%25FF", "a%2525FF", "a%2F", "\u{e4}%"]);
    }

    #[test]
    fn a_log_from_standard_input_replaces_only_what_it_begins_with() {
        let session = SessionResult { session_id: "s1".to_owned(), ..SessionResult::default() };
        let source = |path: &str, hash: &str| Source {
            path: path.to_owned(),
            host: Some("mars".to_owned()),
            content_hash: Some(hash.to_owned()),
            status: SourceStatus::Parsed,
            sessions: vec![session.clone()],
            ..Source::default()
        };
        let left = |old: &Source, new: &Source| old.sessions_kept_after(new).map(|aside| aside.path);
        for path in ["-", "-!/logs/a.jsonl", "mars:-"] {
            let (first, second) = (source(path, "aaaaaaaaaa"), source(path, "bbbbbbbbbb"));
            assert_eq!(left(&first, &second), Some(format!("{path}#aaaaaaaa")));
            assert_eq!(left(&first, &first), None);
            assert_eq!(left(&first, &Source { grew: true, ..second }), None);
        }
        assert_eq!(left(&source("/a", "aaaaaaaaaa"), &source("/a", "bbbbbbbbbb")), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_replaces_nothing() {
        let session = |id: &str| SessionResult { session_id: id.to_owned(), ..SessionResult::default() };
        let source = |hash: &str, status, sessions| Source {
            path: "/a".to_owned(),
            content_hash: Some(hash.to_owned()),
            status,
            sessions,
            ..Source::default()
        };
        let known = source("aaaaaaaaaa", SourceStatus::Parsed, vec![session("s1")]);
        let grown = source("bbbbbbbbbb", SourceStatus::Parsed, vec![session("s1"), session("s2")]);
        let other = source("cccccccccc", SourceStatus::Parsed, vec![session("s3")]);
        let lost = source("", SourceStatus::Unreadable, Vec::new());
        assert_eq!(known.clone().followed_by(lost.clone()), std::slice::from_ref(&known));
        assert_eq!(lost.clone().followed_by(grown.clone()), std::slice::from_ref(&grown));
        assert_eq!(known.clone().followed_by(grown.clone()), std::slice::from_ref(&grown));
        let earlier = Source { path: "/a#aaaaaaaa".to_owned(), ..known.clone() };
        assert_eq!(file_of_history(&earlier.path), "/a");
        assert_eq!(known.followed_by(other.clone()), [earlier, other]);
    }

    #[test]
    fn a_file_that_is_read_again_keeps_where_its_sessions_ran() {
        let source = |repository: Option<&str>| Source {
            sessions: vec![SessionResult {
                session_id: "s1".to_owned(),
                repository: repository.map(str::to_owned),
                ..SessionResult::default()
            }],
            ..Source::default()
        };
        assert_eq!(source(Some("shop")).followed_by(source(None)), [source(Some("shop"))]);
    }

    #[test]
    fn a_truncated_file_replaces_nothing() {
        let session = SessionResult { session_id: "s1".to_owned(), ..SessionResult::default() };
        let whole = Source {
            path: "/a.gz".to_owned(),
            content_hash: Some("aaaaaaaaaa".to_owned()),
            status: SourceStatus::Parsed,
            sessions: vec![session],
            ..Source::default()
        };
        let cut =
            Source { content_hash: Some("bbbbbbbbbb".to_owned()), status: SourceStatus::Truncated, ..whole.clone() };
        assert_eq!(whole.sessions_kept_after(&cut).map(|aside| aside.path), Some("/a.gz#aaaaaaaa".to_owned()));
        assert_eq!(cut.sessions_kept_after(&whole), None);
        assert_eq!(cut.sessions_kept_after(&cut), None);
    }
}
