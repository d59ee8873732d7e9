//! The arguments of `extract`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::export::Period;
use super::ingest::Reading;

/// Run a step of a cluster's job: parse, reconcile, or write a lake
///
/// agentlogs-spark runs this command on the machines of a cluster: see docs/cluster.md. Rows are read from stdin and written to
/// stdout as streams in Arrow's IPC format.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("step").required(true).args(["files_from", "reconcile", "merge", "describe"]),
    after_help = "\
Examples:
  find logs -type f | agentlogs extract --files-from - --as arrow > extracted.arrow
  agentlogs extract --reconcile < facts.arrow > fragments.arrow
  agentlogs extract --merge lake < fragments.arrow > files.arrow
  agentlogs extract --describe"
)]
pub struct Extract {
    /// Parse the files that FILE lists (- is standard input), separated by newlines or NULs
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    /// Reconcile facts of linked files, and divide their rows among the files of a lake
    #[arg(long)]
    pub reconcile: bool,
    /// Merge rows into the files of a lake, below DIR
    #[arg(long, value_name = "DIR")]
    pub merge: Option<PathBuf>,
    /// Print the versions that all machines must have in common, and the hash of the options, as JSON
    #[arg(long)]
    pub describe: bool,
    /// The format of the rows
    #[arg(long = "as", value_name = "FORMAT", value_enum, default_value_t)]
    pub rows: Rows,
    /// The name of the machine whose logs these are [default: that of this machine]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Record the paths of files below DIR with NAME in place of DIR
    #[arg(long, num_args = 2, value_names = ["DIR", "NAME"])]
    pub moved: Vec<String>,
    /// Do not open the files, but record them as unreadable with MESSAGE
    #[arg(long, value_name = "MESSAGE", requires = "files_from")]
    pub unreadable: Option<String>,
    /// Own prices, which take precedence, as for `agentlogs prices import`; instead of those of the configuration
    #[arg(long, value_name = "FILE", conflicts_with = "files_from")]
    pub prices: Vec<PathBuf>,
    /// The period of a partition
    #[arg(long, value_enum, default_value_t = Period::Day)]
    pub partition_by: Period,
    /// Files of a partition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub files_per_partition: u32,
    /// Files of a table without partitions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub files_per_table: u32,
    #[command(flatten)]
    pub reading: Reading,
}

/// The format of rows that programs pass to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Rows {
    /// A stream in Arrow's IPC format
    #[default]
    Arrow,
}
