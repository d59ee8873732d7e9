//! What a run reads, and how.

use std::fmt::Write as _;
use std::path::PathBuf;

use twox_hash::XxHash3_64;

use super::file_stamp::FileStamp;
use crate::adapters::{ADAPTERS, UserFormat};
use crate::base::time::Time;
use crate::input::labels::PathPattern;
use crate::input::machine::UserPath;
use crate::input::open::Limit;
use crate::input::sidecar::Sidecar;
use crate::model::retention::Retention;

/// Raised when the same bytes are parsed differently, so that archives read unchanged files again.
const PARSER: u32 = 39;

/// What to read, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Files and directories; `-` is standard input.
    pub roots: Vec<PathBuf>,
    /// A directory below them to skip: the archive.
    pub except: Option<PathBuf>,
    /// How much of the conversations is kept.
    pub content: Retention,
    /// Whether text that resembles a secret is removed from the stored text.
    pub redact: bool,
    /// The size up to which a compressed file is decompressed.
    pub limit: Limit,
    /// What is known of all logs of this run, where neither they nor their own sidecars state otherwise.
    pub sidecar: Sidecar,
    /// Where the paths of logs contain labels.
    pub path_labels: Vec<PathPattern>,
    /// The name of this machine, for `sources`, and for sessions whose logs are in `owned`.
    pub host: Option<String>,
    /// The directories in which runtimes keep logs on this machine, as real paths, with the accounts whose logs they are.
    pub owned: Vec<UserPath>,
    /// The formats that the user describes.
    pub formats: &'static [UserFormat],
    /// The time of this run.
    pub now: Option<Time>,
    /// Leaves the files that were last written before this time to a later run; `None` reads all.
    pub written_since: Option<Time>,
    /// Paths and stamps of logs that earlier runs read from standard input, except the last one, which is known by its path: a
    /// log that begins with one of them replaces it.
    pub earlier_stdin: Vec<(String, FileStamp)>,
}

impl Options {
    /// What decides, besides a file's bytes, how the file is parsed: the options, and the formats of this build.
    pub fn fingerprint(&self) -> String {
        let formats: Vec<&str> = ADAPTERS.iter().map(|adapter| adapter.id).collect();
        let formats = XxHash3_64::oneshot(formats.join(" ").as_bytes());
        let version = env!("CARGO_PKG_VERSION");
        let patterns: Vec<&str> = self.path_labels.iter().map(PathPattern::as_str).collect();
        let (content, redact, sidecar) = (self.content, self.redact, &self.sidecar);
        let mut all = format!("{PARSER} {version} {formats:x} {content:?} {redact} {sidecar:?} {patterns:?}");
        if !self.formats.is_empty() {
            // A changed description reads the same bytes differently.
            let described: Vec<_> =
                self.formats.iter().map(|it| (it.adapter.id, it.adapter.runtime, &it.description)).collect();
            let _ = write!(all, " {:x}", XxHash3_64::oneshot(format!("{described:?}").as_bytes()));
        }
        all
    }
}
