//! The arguments of `dashboard` and `export`.

use std::path::PathBuf;

use agentlogs::store::lake::PartitionBy;
use clap::{Args, ValueEnum};

use super::filters::{Cost, Filters};
use super::shared::DataSource;

/// Write a dashboard: one HTML file with charts and filters
///
/// The file has no external resources: open it, mail it, attach it to a CI run. It contains the names of projects, models,
/// tools and files, and the text of error messages, as the archive does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs dashboard week.html --last 7d
  agentlogs dashboard run.html --logs runs --label suite=nightly
  agentlogs dashboard shop.html --project '*/shop' --timezone Europe/Berlin")]
pub struct Dashboard {
    /// The file to write; - is standard output
    #[arg(value_name = "OUT.html")]
    pub out: PathBuf,
    #[command(flatten)]
    pub filters: Filters,
    /// Which cost to use
    #[arg(long, value_enum, default_value_t)]
    pub cost: Cost,
    #[command(flatten)]
    pub source: DataSource,
}

/// Write tables, or sessions as trajectories, to files
///
/// Filters select sessions, by start, model, project and so on. All rows of these sessions are exported, from all tables.
/// docs/archive.md shows how to open the files in DuckDB, polars, pandas and Spark.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs export tables
  agentlogs export tables --as csv --table sessions --last 30d
  agentlogs export lake --as lake
  agentlogs export trajectories --as atif --label experiment=base
  agentlogs export trace --as perfetto --project shop --since 2026-11-20
  agentlogs export traces --as otlp --endpoint http://localhost:4318 --since 2026-11-20 --until 2026-11-20
  agentlogs export costs --as focus --since 2026-11 --timezone UTC
  agentlogs export evidence --as evidence --label prompt=new

A lake is a directory that DuckDB, Spark and others read in place, and that every command with --archive reads too. When it is \
exported again, only the files of days that changed are written.")]
pub struct Export {
    /// The directory to write to; it is created if it does not exist
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Only this table; repeatable
    #[arg(long = "table", value_name = "T")]
    pub tables: Vec<String>,
    /// The kind of files
    #[arg(long = "as", value_enum, default_value_t, value_name = "KIND")]
    pub kind: Kind,
    /// Write a file per table and period, with --as lake (by day, if not given), csv or jsonl
    #[arg(long, value_enum, value_name = "PERIOD")]
    pub partition_by: Option<Period>,
    /// With --as lake, leave out what `archive merge` needs, about a third of the size
    #[arg(long)]
    pub without_facts: bool,
    /// With --as evidence, include the records of the logs around the line that shows each failure
    #[arg(long)]
    pub with_text: bool,
    /// With --as otlp, also send what is written to this receiver of OTLP over HTTP
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub source: DataSource,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A typed file per table, for DuckDB, polars, pandas, Spark
    #[default]
    Parquet,
    /// A file per table for spreadsheets, without formulas
    Csv,
    /// A file per table, with a JSON object per line
    Jsonl,
    /// A stream of Arrow's IPC format per table, with the extension .arrows
    Arrow,
    /// Parquet files per day, for DuckDB, Spark, Athena and other engines, and to merge archives of several machines
    Lake,
    /// A trajectory per session, in the Agent Trajectory Interchange Format
    Atif,
    /// Each session as a trace and as metrics of OpenTelemetry, in lines of OTLP's JSON
    Otlp,
    /// All sessions as one trace for ui.perfetto.dev: agents, tools, waiting, context, tokens and dollars over time
    Perfetto,
    /// Costs and tokens by day in the columns of FOCUS 1.2, for tools of FinOps: a CSV file
    Focus,
    /// The same as a parquet file
    FocusParquet,
    /// Failed sessions by class, with what shows it and what passing trials did differently, as Markdown and JSON
    Evidence,
}

/// The period of a partition. Days, weeks and months are those of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Period {
    Day,
    Week,
    Month,
}

impl From<Period> for PartitionBy {
    fn from(period: Period) -> Self {
        match period {
            Period::Day => Self::Day,
            Period::Week => Self::Week,
            Period::Month => Self::Month,
        }
    }
}
