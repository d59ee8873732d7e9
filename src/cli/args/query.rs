//! The arguments of `query`.

use std::path::PathBuf;

use clap::Args;

use super::shared::{DataSource, Printed};
use crate::cli::terminal;

/// Query the archive with SQL
#[derive(Debug, Args)]
#[command(
    long_about = "Query the archive with SQL

The tables are sessions, turns (every billed token in exactly one row), tool_calls, file_changes, events, limits, verdicts, sources, \
rejects, unknown_records, commits, commit_files and pull_requests, and the computed tables labels, failures, outcomes and shipped; \
`DESCRIBE turns` lists the columns of one. Queries read only these tables, and cannot change them. NULL \
comes last in every order. Dates are DATE '2026-10-05', times TIMESTAMP '2026-10-05 08:00:00' in UTC; NOW(), INTERVAL '7 days', \
DATE_TRUNC, EXTRACT, STRFTIME and PERCENTILE_CONT work as in DuckDB. docs/sql.md describes the dialect. The columns day and week are in \
UTC, and NULL in rows without a time; reports use the start of the session for such rows.",
    after_help = "\
Examples:
  agentlogs query
  agentlogs query --list
  agentlogs query weekly-cost-by-model
  agentlogs query --show weekly-cost-by-model > mine.sql
  agentlogs query 'SELECT model, SUM(cost_usd) AS cost_usd FROM turns GROUP BY model ORDER BY model'
  agentlogs query -f mine.sql --format csv > answer.csv
  echo 'SELECT COUNT(*) AS n FROM sessions' | agentlogs query - --logs ~/.codex/sessions"
)]
pub struct Query {
    /// SQL, the name of a built-in query, or - for SQL on standard input. Without it, a terminal shows a prompt
    #[arg(required_unless_present_any = needed_without(), value_name = "SQL|NAME", allow_hyphen_values = true)]
    pub sql: Option<String>,
    /// Read the SQL from a file; - is standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "sql")]
    pub file: Option<PathBuf>,
    /// List the built-in queries
    #[arg(long, conflicts_with_all = ["sql", "file"])]
    pub list: bool,
    /// Print the SQL of a built-in query, to change it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["sql", "file", "list"])]
    pub show: Option<String>,
    /// Print how the query is run: the files and columns that it reads, and where rows are filtered
    #[arg(long, conflicts_with_all = ["list", "show"])]
    pub explain: bool,
    #[command(flatten)]
    pub source: DataSource,
    #[command(flatten)]
    pub printed: Printed,
}

/// The arguments without which SQL is needed. A person at a terminal writes it later.
fn needed_without() -> &'static [&'static str] {
    if terminal::is_interactive() { &[] } else { &["file", "list", "show"] }
}
