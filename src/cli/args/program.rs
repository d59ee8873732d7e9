//! The program and its commands.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{FromArgMatches as _, Parser, Subcommand};

use super::archive::ArchiveCommand;
use super::bill::Bill;
use super::browse::Browse;
use super::check::Check;
use super::compare::Compare;
use super::export::{Dashboard, Export};
use super::extract::Extract;
use super::git::Git;
use super::ingest::Ingest;
use super::mcp::Mcp;
use super::prices::Prices;
use super::query::Query;
use super::report::Report;
use super::sessions::Sessions;
use super::shared::Printed;
use super::show::Show;
use super::statusline::Statusline;
use super::tools::{Bench, Completions, Inspect, Man, Runtimes, Schema};
use super::verdicts::Verdicts;
use super::watch::Watch;
use crate::cli::terminal::ColorChoice;

/// Offline log analytics for AI coding agents: cost, tokens, tools, turns
#[derive(Debug, Parser)]
#[command(
    name = "agentlogs",
    version,
    max_term_width = 100,
    after_help = "\
agentlogs opens no network connection, except to a bucket or receiver that you name. `agentlogs COMMAND --help` shows options and examples.

Exit status: 0 success, 1 failure, 2 wrong command line, 3 lines were rejected or files could not be read (ingest --strict), 4 a \
bound is exceeded and 5 a filter matches no session (check)."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The time that counts as now, so that tests are repeatable
    #[arg(long, value_name = "TIME", hide = true)]
    pub now: Option<jiff::Timestamp>,
    /// When text on standard output is coloured
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, hide_default_value = true)]
    pub color: ColorChoice,
    /// On a terminal, also print which archive is used, if the command line does not name it, and the date of its prices; elsewhere both are always printed
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

impl Cli {
    /// The arguments of the program, whose first is its name.
    ///
    /// # Errors
    /// When they are wrong. `--now` before a command is, too: it would have no effect.
    pub fn of(command: &mut clap::Command, arguments: &[OsString]) -> Result<Self, clap::Error> {
        let matches = command.try_get_matches_from_mut(arguments)?;
        let cli = Self::from_arg_matches(&matches)?;
        if cli.command.is_some() && cli.now.is_some() {
            let message = "--now before a command has no effect; write it after the command";
            return Err(command.error(ErrorKind::ArgumentConflict, message));
        }
        Ok(cli)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Ingest(Ingest),
    Watch(Box<Watch>),
    Report(Box<Report>),
    Sessions(Box<Sessions>),
    Show(Box<Show>),
    Browse(Box<Browse>),
    Query(Query),
    Check(Box<Check>),
    Compare(Compare),
    Bill(Box<Bill>),
    Dashboard(Box<Dashboard>),
    Export(Box<Export>),
    Statusline(Statusline),
    Mcp(Box<Mcp>),
    /// Print a skill: a file that teaches an agent to use agentlogs
    ///
    /// Save it where the agent searches for skills.
    #[command(after_help = "\
Examples:
  mkdir -p ~/.claude/skills/agentlogs && agentlogs skill > ~/.claude/skills/agentlogs/SKILL.md")]
    Skill,
    /// List prices, explain a session's cost, import your own prices
    #[command(
        subcommand,
        after_help = "\
Examples:
  agentlogs prices list sonnet
  agentlogs prices show us.anthropic.claude-sonnet-4-5-20250929-v1:0
  agentlogs prices explain 0f6c1d5e
  agentlogs prices import contract.toml"
    )]
    Prices(Prices),
    /// Check, repair, compact or merge archives, or delete data from one
    #[command(
        subcommand,
        after_help = "\
Examples:
  agentlogs archive check
  agentlogs archive repair
  agentlogs archive compact --archive evals
  agentlogs archive merge laptop-archive server-archive --archive all
  agentlogs archive forget --before 2025-01-01"
    )]
    Archive(ArchiveCommand),
    /// Import judgements of sessions: whether a task was solved, scores
    #[command(
        subcommand,
        after_help = "\
Examples:
  agentlogs verdicts import verdicts.csv
  agentlogs verdicts import jobs/nightly"
    )]
    Verdicts(Verdicts),
    /// Read the commits of repositories, and import pull requests
    #[command(
        subcommand,
        after_help = "\
Examples:
  agentlogs git scan
  agentlogs git scan ~/work/shop --since 2026-01-01
  agentlogs git import pull-requests.json"
    )]
    Git(Git),
    Extract(Box<Extract>),
    Inspect(Inspect),
    Bench(Bench),
    Runtimes(Runtimes),
    /// List the settings, and where each value comes from
    ///
    /// Settings come from environment variables, from agentlogs.toml in the current directory or the nearest parent of it
    /// that has one, and from agentlogs.toml in your directory for configuration, in this order. docs/configuration.md
    /// describes the file.
    #[command(after_help = "\
Examples:
  agentlogs config
  agentlogs config --format json | jq -r '.[] | select(.setting == \"archive\") | .value'")]
    Config(Printed),
    Schema(Schema),
    Completions(Completions),
    Man(Man),
}
