//! What can be said on the command line. These types only hold what was said; the commands make sense of it.

use std::path::PathBuf;

use agentlogs::reports::Bound;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Offline log analytics for AI coding agents: cost, tokens, tools and turns from recorded session logs
#[derive(Debug, Parser)]
#[command(name = "agentlogs", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read logs into the archive
    Ingest(Ingest),
    /// Answer a question: cost, tokens, tools, turns, sessions, models, files, errors, health, reconcile
    Report(Box<Report>),
    /// Ask the archive in SQL
    Query(Query),
    /// Write tables to files
    Export(Export),
    /// What tokens cost: list prices, explain a session's cost, import your own
    #[command(subcommand)]
    Prices(Prices),
    /// Look after the archive: check it, make it compact, merge others into it, forget
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Say what a log is, why, and what it tells, as JSON
    Inspect(Inspect),
    /// Measure how fast these logs are read on this machine, by format and stage
    Bench(Bench),
    /// List the formats that can be read
    Runtimes(Printed),
    /// List the tables and their columns
    Schema(Printed),
    /// Print a completion script
    Completions(Completions),
}

#[derive(Debug, Args)]
pub struct Ingest {
    /// Folders and files to read, of any name
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub archive: ArchiveFolder,
    #[command(flatten)]
    pub reading: Reading,
    /// Exit with 3 if lines were rejected or files could not be read
    #[arg(long)]
    pub strict: bool,
}

/// How logs are read.
#[derive(Debug, Default, Args)]
pub struct Reading {
    /// How much of the conversations to keep
    #[arg(long, value_enum, default_value_t)]
    pub content: Content,
    /// The runtime of logs that could be of several
    #[arg(long, value_name = "R")]
    pub runtime: Option<String>,
    /// The model of logs that name none
    #[arg(long, value_name = "M")]
    pub model: Option<String>,
    /// A label for every session, can be repeated
    #[arg(long = "label", value_name = "K=V", value_parser = label)]
    pub labels: Vec<String>,
    /// Threads that read [default: one per core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

fn label(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.is_empty() => Ok(text.to_owned()),
        _ => Err("a label has the form KEY=VALUE".to_owned()),
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Content {
    /// Numbers only
    #[default]
    None,
    /// The first prompt and the last answer
    Text,
    /// Arguments and results of tool calls as well
    Full,
}

#[derive(Debug, Args)]
pub struct ArchiveFolder {
    /// The archive's folder
    #[arg(long, value_name = "DIR", env = "AGENTLOGS_ARCHIVE", default_value = "agentlogs-archive")]
    pub archive: PathBuf,
}

/// Where rows come from.
#[derive(Debug, Args)]
pub struct From {
    #[command(flatten)]
    pub archive: ArchiveFolder,
    /// Read these logs instead of an archive, can be repeated
    #[arg(long, value_name = "PATH")]
    pub logs: Vec<PathBuf>,
}

/// How rows are printed.
#[derive(Debug, Clone, Copy, Args)]
pub struct Printed {
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
    Csv,
    Markdown,
}

#[derive(Debug, Args)]
#[command(after_help = reports())]
pub struct Report {
    /// Its name: see below
    pub name: String,
    /// Dimensions: day, week, month, hour, runtime, format, model, provider, project, session, agent, status, label:KEY;
    /// of tools also tool, category, `mcp_server`, target; of files path, operation; of errors kind, code
    #[arg(long, value_name = "DIM,DIM", value_delimiter = ',')]
    pub by: Vec<String>,
    #[command(flatten)]
    pub filters: Filters,
    /// Which cost: what logs report, what tokens are worth, or the first where there is one
    #[arg(long, value_enum, default_value_t)]
    pub cost: Cost,
    /// Column to sort by, the largest first
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<String>,
    /// At most so many rows
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
    /// All columns in tables as well; JSON and CSV always have them
    #[arg(long)]
    pub wide: bool,
    /// Large numbers, bytes and times in short: 3.1M, 2 MB, 4m 10s
    #[arg(long)]
    pub human: bool,
    #[command(flatten)]
    pub from: From,
    #[command(flatten)]
    pub printed: Printed,
}

/// What reports there are, for people.
fn reports() -> String {
    let width = agentlogs::reports::REPORTS.iter().map(|it| it.name.len()).max().unwrap_or_default();
    let line = |it: &agentlogs::reports::Report| format!("  {:width$}  {}\n", it.name, it.about);
    let lines: String = agentlogs::reports::REPORTS.iter().map(line).collect();
    format!(
        "Reports:\n{lines}\nExamples:\n  \
         agentlogs report cost --by week,model --since 30d\n  \
         agentlogs report tools --by mcp_server,tool --runtime claude --sort errors\n  \
         agentlogs report sessions --by label:experiment --format csv\n  \
         agentlogs report cost --by session --project '*/shop' --limit 20"
    )
}

/// Which rows a report is about.
#[derive(Debug, Clone, Default, Args)]
pub struct Filters {
    /// Only from then on: a day (2026-10-05), a time (2026-10-05T08:00:00Z), or so long ago (30d, 2w, 12h)
    #[arg(long, value_name = "TIME")]
    pub since: Option<Bound>,
    /// Only until then; of a day, all of it
    #[arg(long, value_name = "TIME")]
    pub until: Option<Bound>,
    /// Time zone of days, weeks and hours, as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "TZ")]
    pub timezone: Option<String>,
    /// Only this runtime; * stands for anything, here and below
    #[arg(long, value_name = "R")]
    pub runtime: Option<String>,
    /// Only this model
    #[arg(long, value_name = "M")]
    pub model: Option<String>,
    /// Only this project
    #[arg(long, value_name = "P")]
    pub project: Option<String>,
    /// Only this session
    #[arg(long, value_name = "S")]
    pub session: Option<String>,
    /// Only sessions of this status
    #[arg(long, value_name = "S")]
    pub status: Option<String>,
    /// Only sessions with this label, can be repeated
    #[arg(long = "label", value_name = "K=V", value_parser = label)]
    pub labels: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Cost {
    #[default]
    Auto,
    Reported,
    Computed,
}

#[derive(Debug, Args)]
pub struct Query {
    /// SQL, the name of a query from --list, or - for SQL from stdin
    #[arg(required_unless_present_any = ["file", "list"], value_name = "SQL|NAME")]
    pub sql: Option<String>,
    /// Read the SQL from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "sql")]
    pub file: Option<PathBuf>,
    /// List the named queries
    #[arg(long, conflicts_with_all = ["sql", "file"])]
    pub list: bool,
    #[command(flatten)]
    pub from: From,
    #[command(flatten)]
    pub printed: Printed,
}

#[derive(Debug, Args)]
pub struct Export {
    /// The folder to write to; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Only this table, can be repeated
    #[arg(long = "table", value_name = "T")]
    pub tables: Vec<String>,
    /// The kind of files
    #[arg(long = "as", value_enum, default_value_t, value_name = "KIND")]
    pub kind: Kind,
    #[command(flatten)]
    pub from: From,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    #[default]
    Parquet,
    Csv,
    Jsonl,
}

#[derive(Debug, Subcommand)]
pub enum Prices {
    /// List all models with today's prices, in US dollars per million tokens
    List {
        /// Only models of which name or provider contains this
        #[arg(value_name = "TEXT")]
        text: Option<String>,
        #[command(flatten)]
        archive: ArchiveFolder,
        #[command(flatten)]
        printed: Printed,
    },
    /// Show which model a logged name means, and its prices since when
    Show {
        /// The name, as logs write it
        model: String,
        /// The provider, as logs write it
        #[arg(long, value_name = "P")]
        provider: Option<String>,
        #[command(flatten)]
        archive: ArchiveFolder,
        #[command(flatten)]
        printed: Printed,
    },
    /// Show how the cost of a session comes about: tokens times price, turn by turn
    Explain {
        /// The session's id, or the beginning of it
        session: String,
        #[command(flatten)]
        from: From,
        #[command(flatten)]
        printed: Printed,
    },
    /// Take your own prices into the archive and compute its costs anew
    ///
    /// FILE is the table of `LiteLLM` (`model_prices_and_context_window.json`) or of genai-prices (`data.json`), or a TOML of
    /// your own prices as docs/prices.md describes. They come before the built-in ones; those of a model that was imported before are
    /// replaced.
    Import {
        /// The table of prices
        #[arg(required_unless_present = "clear")]
        file: Option<PathBuf>,
        /// Drop all prices that were imported before
        #[arg(long)]
        clear: bool,
        #[command(flatten)]
        archive: ArchiveFolder,
    },
}

#[derive(Debug, Subcommand)]
pub enum ArchiveCommand {
    /// Verify every file, and that the ledger adds up
    Check {
        #[command(flatten)]
        archive: ArchiveFolder,
    },
    /// Settle all of it again, into as few files as it needs
    Compact {
        #[command(flatten)]
        archive: ArchiveFolder,
    },
    /// Take in what other archives hold: of several machines, or of one twice
    Merge {
        /// The folders of the other archives
        #[arg(required = true, value_name = "DIR")]
        others: Vec<PathBuf>,
        #[command(flatten)]
        archive: ArchiveFolder,
    },
    /// Delete what is known of files, or of sessions that ended before a day
    ///
    /// Logs that are still there come back when they change, or are read by a newer version.
    Forget {
        /// Paths of files as `sources` has them; * stands for anything
        #[arg(required_unless_present = "before", value_name = "SOURCE")]
        sources: Vec<String>,
        /// Sessions whose last record is of an earlier day in UTC, as 2026-01-01
        #[arg(long, value_name = "DAY", conflicts_with = "sources")]
        before: Option<jiff::civil::Date>,
        #[command(flatten)]
        archive: ArchiveFolder,
    },
}

#[derive(Debug, Args)]
pub struct Inspect {
    /// The files to look at; of a folder, all below it
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
pub struct Bench {
    /// Folders and files to read; nothing is written
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub printed: Printed,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
