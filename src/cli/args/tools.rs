//! The arguments of `inspect`, `bench`, `runtimes`, `completions` and `man`.

use std::path::PathBuf;

use clap::Args;

use super::ingest::Reading;
use super::shared::Printed;

/// Show the detected format and the parsed content of logs, as JSON
///
/// For each file, the output contains the formats that claim it and their weights, its sessions with all turns, calls and
/// events, and the rejected lines. Nothing is written.
///
/// With --redact, all text of the logs, with paths, ids and names, is replaced by numbers. The rest, structure and numbers, is
/// safe to publish in a bug report.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs inspect run.jsonl
  agentlogs inspect run.jsonl --redact > report.json
  agentlogs inspect run.jsonl --content full | jq '.[].sessions[].tool_calls'
  agentlogs inspect --shape unknown.jsonl
  agentlogs inspect --drift ~/.claude/projects
  agentlogs inspect ~/.codex/sessions | jq -r '.[] | select(.status == \"unrecognised\") | .path'")]
pub struct Inspect {
    /// The files to inspect; directories are read recursively
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print only the shape of each file: keys, types and counts, tables and columns. It contains no text of the file, neither its
    /// name, so that it can be published
    #[arg(long, conflicts_with_all = ["content", "redact"])]
    pub shape: bool,
    /// Print only what the adapters do not know: types of records, members and values, by format and version, with counts. Of
    /// the text of the files it contains only words of programs, and not the names of the files, so that it can be published
    #[arg(long, conflicts_with_all = ["content", "redact", "shape"])]
    pub drift: bool,
    #[command(flatten)]
    pub reading: Reading,
}

/// Measure how fast this machine reads logs, by format and stage
///
/// Nothing is written. Speeds are per thread.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs bench ~/.claude/projects
  agentlogs bench logs --format json")]
pub struct Bench {
    /// Files and directories to read
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub printed: Printed,
}

/// List where the runtimes keep their logs, and what is there
///
/// `agentlogs ingest` without paths reads these directories and files. Runtimes without a path write logs only on request, to
/// any directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs runtimes
  agentlogs runtimes --all
  agentlogs runtimes --formats
  agentlogs runtimes --format json | jq -r '.[] | select(.exists) | .path'")]
pub struct Runtimes {
    /// Also list places that do not exist; formats other than table always contain them
    #[arg(long, conflicts_with = "formats")]
    pub all: bool,
    /// List the supported log formats instead
    #[arg(long)]
    pub formats: bool,
    #[command(flatten)]
    pub printed: Printed,
}

/// List the tables, or the columns of one with their meaning
///
/// Without TABLE, a terminal shows the tables with the names of their columns; --wide, other formats and files have the columns of all
/// tables with their meaning.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs schema
  agentlogs schema turns
  agentlogs schema --format json | jq '.[] | select(.table == \"turns\")'")]
pub struct Schema {
    /// The table
    pub table: Option<String>,
    #[command(flatten)]
    pub printed: Printed,
}

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  agentlogs completions bash > ~/.local/share/bash-completion/completions/agentlogs

  mkdir -p ~/.zfunc       # in ~/.zshrc, before compinit: fpath+=(~/.zfunc)
  agentlogs completions zsh > ~/.zfunc/_agentlogs

  mkdir -p ~/.config/fish/completions
  agentlogs completions fish > ~/.config/fish/completions/agentlogs.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs man | man -l -
  agentlogs man ~/.local/share/man/man1")]
pub struct Man {
    /// The directory to write a page of each command to
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}
