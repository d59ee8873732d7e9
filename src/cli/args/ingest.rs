//! The arguments of `ingest`, and how logs are read.

use std::path::PathBuf;

use agentlogs::input::labels::PathPattern;
use agentlogs::model::retention::Retention;
use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::shared::{ArchiveDirectory, label};

/// Read logs into the archive
///
/// Without paths, the logs that your own runtimes keep are read; `agentlogs runtimes` lists where they are. Formats are detected by content, not by file name; `agentlogs runtimes --formats` lists them. Unchanged files are skipped. The
/// archive keeps what it read when a runtime deletes its logs. Members of tar and zip archives, compressed or not, are read
/// like files.
#[derive(Debug, Args)]
#[command(
    override_usage = "agentlogs ingest [OPTIONS]                         (your own logs, wherever they are)
       agentlogs ingest [OPTIONS] <PATH>...
       agentlogs ingest [OPTIONS] -                       (a log on standard input)
       agentlogs ingest [OPTIONS] --files-from <FILE>     (a list of paths)",
    after_help = "\
Examples:
  agentlogs ingest
  agentlogs ingest --runtime codex
  agentlogs ingest runs --archive evals --label suite=nightly --strict
  agentlogs ingest logs-2026-10.tar.gz
  claude -p 'fix it' --output-format stream-json --verbose | tee run.jsonl | agentlogs ingest -
  find runs -name '*.jsonl' -mtime -1 -print0 | agentlogs ingest --files-from -
  agentlogs ingest runs --archive evals --label-from-path '{experiment}/{task}/{trial}.jsonl'
  agentlogs report sessions --archive evals --by label:experiment

--label-from-path matches the end of each path. Each component of the pattern consists of text, {name} and *: {name} matches one \
or more characters and becomes a label, * matches any characters; neither matches a slash. The extension .gz or .zst of a \
compressed log may be omitted. The path of a member of an archive is ARCHIVE!/MEMBER."
)]
pub struct Ingest {
    /// Files and directories to read; - is standard input [default: where the runtimes keep their logs, see agentlogs runtimes]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Read the paths listed in FILE (- is standard input), separated by newlines or NULs
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    #[command(flatten)]
    pub archive: ArchiveDirectory,
    #[command(flatten)]
    pub reading: Reading,
    /// Exit with status 3 if lines were rejected or files could not be read
    #[arg(long)]
    pub strict: bool,
}

/// How logs are read.
#[derive(Debug, Default, Args)]
pub struct Reading {
    /// How much text of the conversations to keep [default: none, or that of agentlogs.toml]
    #[arg(long, value_enum)]
    pub content: Option<Content>,
    /// Remove secrets and mail addresses, as far as they are recognised, from all text that is kept
    #[arg(long)]
    pub redact: bool,
    /// The maximum decompressed size of a file or archive, such as 500M or 20G [default: 8G, and above 256M at most 200 times
    /// the compressed size]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_decompressed: Option<u64>,
    /// The runtime of logs whose format is used by several runtimes; `ingest` without paths reads only logs of this runtime
    #[arg(long, value_name = "R")]
    pub runtime: Option<String>,
    /// The model of logs that do not name one
    #[arg(long, value_name = "M")]
    pub model: Option<String>,
    /// A label of every session; repeatable
    #[arg(long = "label", value_name = "K=V", value_parser = label)]
    pub labels: Vec<String>,
    /// Take labels from the end of each path, such as '{experiment}/{task}/{trial}.jsonl'; repeatable
    #[arg(long = "label-from-path", value_name = "PATTERN")]
    pub path_labels: Vec<PathPattern>,
    /// The number of threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// How much text of the conversations is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// No text
    #[default]
    None,
    /// The first prompt and the last answer
    Text,
    /// Also the arguments and results of tool calls
    Full,
}

impl From<Content> for Retention {
    fn from(content: Content) -> Self {
        match content {
            Content::None => Self::None,
            Content::Text => Self::Text,
            Content::Full => Self::Full,
        }
    }
}

impl Content {
    /// The value on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Text => "text",
            Self::Full => "full",
        }
    }
}

/// A number of bytes, with an optional unit of 1024, 1024², 1024³ or 1024⁴.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|char: char| !char.is_ascii_digit());
    let shift = match text.strip_prefix(digits) {
        Some("") => Some(0),
        Some("K" | "k") => Some(10),
        Some("M" | "m") => Some(20),
        Some("G" | "g") => Some(30),
        Some("T" | "t") => Some(40),
        _ => None,
    };
    let bytes = shift.and_then(|shift| digits.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.ok_or_else(|| "a size is a whole number, optionally followed by K, M, G or T".to_owned())
}
