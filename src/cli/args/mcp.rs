//! The arguments of `mcp` and `skill`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// The help of the option that names the archive.
const ARCHIVE: &str = "The directory of the archive [env: AGENTLOGS_ARCHIVE] [default: your own, see agentlogs config]";

/// Answer questions of agents, by the Model Context Protocol
///
/// The server reads requests from standard input and writes answers to standard output, a JSON object per line. Its tools only read.
/// Answers have at most 2000 bytes unless a call asks for more, and a cursor for the remainder. docs/mcp.md describes the tools.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  agentlogs mcp install claude
  agentlogs mcp install codex --write
  agentlogs mcp --archive evals"
)]
pub struct Mcp {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    #[arg(long, value_name = "DIR", help = ARCHIVE)]
    pub archive: Option<PathBuf>,
    #[command(flatten)]
    pub limits: McpLimits,
}

/// What the server may do.
#[derive(Debug, Args)]
pub struct McpLimits {
    /// Also answer with text of conversations, as far as the archive contains it (ingest --content)
    #[arg(long)]
    pub allow_text: bool,
    /// The longest time that a question may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub timeout: u64,
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    Install(Install),
}

/// Print the setting with which a client starts the server
///
/// With --write the setting is added to the client's file, which otherwise stays as it is. A file that cannot be parsed, or that has
/// another server of this name, is not changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs mcp install claude
  agentlogs mcp install codex --write")]
pub struct Install {
    /// The client [default: all are printed]
    #[arg(value_enum)]
    pub client: Option<Client>,
    /// Add the setting to the client's file
    #[arg(long, requires = "client")]
    pub write: bool,
    #[arg(long, value_name = "DIR", help = ARCHIVE)]
    pub archive: Option<PathBuf>,
}

/// A program that starts the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Client {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Opencode,
}
