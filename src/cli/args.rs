//! What can be said on the command line. These types only hold what was said; the commands make sense of it.

use std::path::PathBuf;

use agentlogs::analysis::reports::Bound;
use agentlogs::input::labels::PathPattern;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Offline log analytics for AI coding agents: cost, tokens, tools and turns from recorded session logs
#[derive(Debug, Parser)]
#[command(
    name = "agentlogs",
    version,
    max_term_width = 100,
    after_help = "\
First steps:
  agentlogs ingest ~/.claude/projects ~/.codex/sessions   read logs into ./agentlogs-archive
  agentlogs report cost --by week,model                   what it cost
  agentlogs query --list                                  questions that have their SQL already
  agentlogs COMMAND --help                                more, with examples

Nothing leaves this machine. Exit status: 0 done, 1 it could not be done, 2 the command line is
wrong, 3 with ingest --strict: something was lost."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Ingest(Ingest),
    Report(Box<Report>),
    Query(Query),
    Compare(Compare),
    Dashboard(Box<Dashboard>),
    Export(Box<Export>),
    /// What tokens cost: list prices, explain a session's cost, import your own
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
    /// Look after the archive: check it, repair it, make it compact, merge others into it, forget
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
    Inspect(Inspect),
    Bench(Bench),
    /// List the formats that can be read
    #[command(after_help = "\
Examples:
  agentlogs runtimes
  agentlogs runtimes --format json | jq -r '.[].runtime' | sort -u")]
    Runtimes(Printed),
    /// List the tables and their columns
    #[command(after_help = "\
Examples:
  agentlogs schema
  agentlogs schema --format json | jq '.[] | select(.table == \"turns\")'")]
    Schema(Printed),
    Completions(Completions),
    Man(Man),
}

/// Read logs into the archive
///
/// Formats are known by their content, whatever the names of the files; agentlogs runtimes lists them. Files that have not
/// changed are not read again, and what was read stays when a runtime deletes its logs. The members of tar and zip archives,
/// compressed or not, are read like files.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs ingest ~/.claude/projects ~/.codex/sessions
  agentlogs ingest runs --archive evals --label suite=nightly --strict
  agentlogs ingest logs-2026-10.tar.gz
  claude -p 'fix it' --output-format stream-json --verbose | tee run.jsonl | agentlogs ingest -
  find runs -name '*.jsonl' -mtime -1 -print0 | agentlogs ingest --files-from -
  agentlogs ingest runs --archive evals --label-from-path '{experiment}/{task}/{trial}.jsonl'
  agentlogs report sessions --archive evals --by label:experiment

--label-from-path looks at the end of each path. A part between slashes is text, {name} or *: {name}
becomes a label and stands for one character or more, * for anything; neither holds a slash. The
name of a compressed log may be written without .gz or .zst. The path of a member of an archive is
ARCHIVE!/MEMBER.")]
pub struct Ingest {
    /// Directories and files to read, of any name; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Read the paths that FILE lists, or standard input if it is -, separated by newlines or NULs
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
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
    /// Remove what looks like a secret or a mail address from all that is kept
    #[arg(long)]
    pub redact: bool,
    /// How much a compressed file or an archive may give, such as 500M or 20G [default: 8G, and beyond 256M no more than 200
    /// times its size]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_decompressed: Option<u64>,
    /// The runtime of logs that could be of several
    #[arg(long, value_name = "R")]
    pub runtime: Option<String>,
    /// The model of logs that name none
    #[arg(long, value_name = "M")]
    pub model: Option<String>,
    /// A label for every session, can be repeated
    #[arg(long = "label", value_name = "K=V", value_parser = label)]
    pub labels: Vec<String>,
    /// Labels from the ends of paths, as '{experiment}/{task}/{trial}.jsonl', can be repeated; * stands for anything
    #[arg(long = "label-from-path", value_name = "PATTERN")]
    pub path_labels: Vec<PathPattern>,
    /// Threads that read [default: one per core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Bytes, or so many of 1024, and so on.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|it: char| !it.is_ascii_digit());
    let shift = match text.strip_prefix(digits) {
        Some("") => Some(0),
        Some("K" | "k") => Some(10),
        Some("M" | "m") => Some(20),
        Some("G" | "g") => Some(30),
        Some("T" | "t") => Some(40),
        _ => None,
    };
    let bytes = shift.and_then(|it| digits.parse::<u64>().ok()?.checked_mul(1 << it));
    bytes.ok_or_else(|| "a size is a number, with K, M, G or T behind it".to_owned())
}

fn label(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if key.contains(char::is_control) => Err("a label's key has no control characters".to_owned()),
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

/// Answer a question: cost, tokens, tools, turns, sessions, models, files, errors, health, reconcile
///
/// A report groups the rows of the archive by any dimensions. Without --by it has some of its own.
#[derive(Debug, Args)]
#[command(after_help = reports())]
pub struct Report {
    /// Its name: see below
    pub name: String,
    #[arg(
        long,
        value_name = "DIM,DIM",
        value_delimiter = ',',
        help = "Dimensions: day, week, month, hour, runtime, format, model, provider, project, session, agent, status, \
                label:KEY; of tools also tool, category, mcp_server, target; of files path, operation; of errors kind, code"
    )]
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
    /// Draw the rows in place of their table: lines over time, else bars, of the column of --sort or the first
    #[arg(long, conflicts_with = "format")]
    pub chart: bool,
    /// Write that chart to a file as well
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub from: From,
    #[command(flatten)]
    pub printed: Printed,
}

/// What reports there are, for people.
fn reports() -> String {
    let width = agentlogs::analysis::reports::REPORTS.iter().map(|it| it.name.len()).max().unwrap_or_default();
    let line = |it: &agentlogs::analysis::reports::Report| format!("  {:width$}  {}\n", it.name, it.about);
    let lines: String = agentlogs::analysis::reports::REPORTS.iter().map(line).collect();
    format!(
        "Reports:\n{lines}\nExamples:\n  \
         agentlogs report cost --by week,model --since 30d\n  \
         agentlogs report tools --by mcp_server,tool --runtime claude --sort errors\n  \
         agentlogs report sessions --by label:experiment --format csv\n  \
         agentlogs report cost --by session --project '*/shop' --limit 20\n  \
         agentlogs report cost --by week,runtime --chart --svg weeks.svg"
    )
}

/// Which rows a report is about.
#[derive(Debug, Clone, Default, Args)]
pub struct Filters {
    /// Only from then on: a day (2026-10-05), a time in --timezone (2026-10-05T08:00) or with its own zone
    /// (2026-10-05T08:00:00Z), or so long ago (30d, 2w, 12h)
    #[arg(long, value_name = "TIME")]
    pub since: Option<Bound>,
    /// Only before that time; a day is included as a whole
    #[arg(long, value_name = "TIME")]
    pub until: Option<Bound>,
    /// Rows without a time, in sessions without a start: --since and --until leave them out, and state how many, unless this
    /// includes them
    #[arg(long, value_enum, value_name = "HOW")]
    pub undated: Option<Undated>,
    /// Time zone of days, weeks, hours and of times without a zone, as Europe/Berlin [default: the system's]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Undated {
    /// Keep them, whatever --since and --until
    Include,
    /// Leave them out
    Exclude,
    /// Keep them alone
    Only,
}

impl Undated {
    /// The value as it is typed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Include => "include",
            Self::Exclude => "exclude",
            Self::Only => "only",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Cost {
    #[default]
    Auto,
    Reported,
    Computed,
}

/// Ask the archive in SQL
///
/// The tables are sessions, turns (the ledger: every billed token in exactly one row), `tool_calls`, `file_changes`, events,
/// sources and rejects; agentlogs schema lists their columns. The SQL is that of polars; it reads these tables and
/// nothing else, and changes nothing. day and week are those of a row's own time in UTC: NULL in rows without a time, which
/// reports place by the start of their session.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs query --list
  agentlogs query weekly-cost-by-model
  agentlogs query 'SELECT model, SUM(cost_usd) AS cost_usd FROM turns GROUP BY model ORDER BY model'
  agentlogs query -f mine.sql --format csv > answer.csv
  echo 'SELECT COUNT(*) AS n FROM sessions' | agentlogs query - --logs ~/.codex/sessions")]
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

/// Compare two cohorts of sessions: models, experiments, weeks
///
/// Each line is a number of both cohorts, the difference from A to B, and the interval in which it lies with a confidence of
/// 95 %, found by drawing sessions anew. The verdict says whether B is higher, lower, not told apart from A by more than
/// chance, or whether there are too few sessions to say.
#[derive(Debug, Args)]
#[command(after_help = "\
FILTERS are NAME=VALUE between commas. Names are since and until, by the start of the session;
runtime, model, project, session, status, format, label:KEY and the other dimensions of sessions.
* in a value stands for anything.

Examples:
  agentlogs compare --a 'model=claude-opus-*' --b 'model=gpt-5*'
  agentlogs compare --a label:experiment=base --b label:experiment=new-prompt --format json
  agentlogs compare --a since=2026-10-01,until=2026-10-07 --b since=2026-10-08,until=2026-10-14
  agentlogs compare --a 'runtime=codex,project=*/shop' --b 'runtime=claude,project=*/shop'")]
pub struct Compare {
    /// The first cohort, can be repeated for more filters
    #[arg(long, value_name = "FILTERS", required = true)]
    pub a: Vec<String>,
    /// The second cohort
    #[arg(long, value_name = "FILTERS", required = true)]
    pub b: Vec<String>,
    /// Time zone of days and of times without a zone, as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "TZ")]
    pub timezone: Option<String>,
    /// Sessions without a start: since and until leave them out, and state how many, unless this includes them
    #[arg(long, value_enum, value_name = "HOW")]
    pub undated: Option<Undated>,
    #[command(flatten)]
    pub from: From,
    #[command(flatten)]
    pub printed: Printed,
}

/// Write one HTML file to look at: cost, tokens, tools, outcomes and sessions, with filters
///
/// The file holds all that it needs and fetches nothing: open it, mail it, attach it to a CI run. It keeps the names of
/// projects, models, tools and files, and the words of errors, as the archive does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs dashboard week.html --since 7d
  agentlogs dashboard run.html --logs runs --label suite=nightly
  agentlogs dashboard shop.html --project '*/shop' --timezone Europe/Berlin")]
pub struct Dashboard {
    /// The file to write, `-` for standard output
    #[arg(value_name = "OUT.html")]
    pub out: PathBuf,
    #[command(flatten)]
    pub filters: Filters,
    /// Which cost: what logs report, what tokens are worth, or the first where there is one
    #[arg(long, value_enum, default_value_t)]
    pub cost: Cost,
    #[command(flatten)]
    pub from: From,
}

/// Write tables, or sessions as trajectories, to files
///
/// Filters choose sessions, by their start, model, project and so on; of each, all rows of all tables are written.
/// docs/archive.md shows how DuckDB, polars, pandas and Spark open them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs export tables
  agentlogs export tables --as csv --table sessions --since 30d
  agentlogs export trajectories --as atif --label experiment=base")]
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
    pub filters: Filters,
    #[command(flatten)]
    pub from: From,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A typed file a table, for DuckDB, polars, pandas, Spark
    #[default]
    Parquet,
    /// A file a table for spreadsheets; nothing in it is a formula
    Csv,
    /// A file a table, one JSON object a line
    Jsonl,
    /// A trajectory a session, in the Agent Trajectory Interchange Format
    Atif,
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
    /// Recover a damaged archive: keep what is intact, read the other logs again
    ///
    /// Options of ingest, such as --content, apply to the logs that are read again. Damaged sources whose logs are gone are listed.
    Repair {
        #[command(flatten)]
        reading: Reading,
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

/// Say what a log is, why, and what it tells, as JSON
///
/// For each file: the formats that claim it and how surely, its sessions with all their turns, calls and events, and what
/// was lost. Nothing is written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs inspect run.jsonl
  agentlogs inspect run.jsonl --content full | jq '.[].sessions[].tool_calls'
  agentlogs inspect ~/.codex/sessions | jq -r '.[] | select(.status == \"unrecognised\") | .path'")]
pub struct Inspect {
    /// The files to look at; of a folder, all below it
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

/// Measure how fast these logs are read on this machine, by format and stage
///
/// Nothing is written. Speeds are those of one thread.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs bench ~/.claude/projects
  agentlogs bench logs --format json")]
pub struct Bench {
    /// Folders and files to read
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub printed: Printed,
}

/// Print a completion script
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

/// Print the manual page, or write those of all commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs man | man -l -
  agentlogs man ~/.local/share/man/man1")]
pub struct Man {
    /// The folder to write a page of each command to
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    #[test]
    fn labels_have_keys_without_control_characters() {
        assert_eq!(super::label("team=a=b").as_deref(), Ok("team=a=b"));
        for refused in ["team", "=a", "te\u{1b}[31mam=a", "a\nb=c", "\u{9b}=x"] {
            assert!(super::label(refused).is_err(), "{refused:?}");
        }
    }
}
