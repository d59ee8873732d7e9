//! The arguments of `inspect`, `bench`, `completions` and `man`.

use std::path::PathBuf;

use clap::Args;

use super::ingest::Reading;
use super::shared::Printed;

/// Show the detected format and the parsed content of logs, as JSON
///
/// For each file, the output contains the formats that claim it and their weights, its sessions with all turns, calls and
/// events, and the rejected lines. Nothing is written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs inspect run.jsonl
  agentlogs inspect run.jsonl --content full | jq '.[].sessions[].tool_calls'
  agentlogs inspect ~/.codex/sessions | jq -r '.[] | select(.status == \"unrecognised\") | .path'")]
pub struct Inspect {
    /// The files to inspect; directories are read recursively
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
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

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs completions bash > ~/.local/share/bash-completion/completions/agentlogs
  agentlogs completions zsh > ~/.zfunc/_agentlogs
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
