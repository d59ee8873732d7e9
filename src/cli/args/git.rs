//! The arguments of `git`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::ArchiveDirectory;

#[derive(Debug, Subcommand)]
pub enum Git {
    Scan(GitScan),
    Import(GitImport),
}

/// Read the commits of repositories on this machine
///
/// Without REPO: those in which sessions of the archive ran. Only new commits are read, from 30 days before the first session of the
/// repository on, or a year back if it has none. Nothing is fetched, and no program or hook is run. docs/git.md describes the tables.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs git scan
  agentlogs git scan ~/work/shop ~/work/site
  agentlogs git scan --since 2025-01-01")]
pub struct GitScan {
    /// Directories in repositories
    #[arg(value_name = "REPO")]
    pub repositories: Vec<PathBuf>,
    /// Read the commits since this day in UTC; later scans keep it
    #[arg(long, value_name = "DAY", value_parser = super::shared::day)]
    pub since: Option<jiff::civil::Date>,
    #[command(flatten)]
    pub archive: ArchiveDirectory,
}

/// Import pull requests from the program of a hosting service
///
/// FILE is what `gh pr list` or `glab mr list` prints as JSON. A request that was imported before is replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gh pr list --state all --limit 1000 --json number,url,title,state,author,headRefName,baseRefName,createdAt,mergedAt,closedAt,\
mergeCommit,commits,reviews,additions,deletions | agentlogs git import -
  glab mr list --all --output json | agentlogs git import -
  agentlogs git import requests.json")]
pub struct GitImport {
    /// Files of JSON; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub archive: ArchiveDirectory,
}
