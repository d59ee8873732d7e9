//! `agentlogs query`: runs SQL from the command line, a file or stdin, or a built-in query.

use std::io::{self, Write};
use std::path::Path;

use agentlogs::model::source::STDIN;
use anyhow::Context;
use polars::prelude::*;

use super::output::{WITH_ABOUT, print};
use super::source::tables;
use super::sql::{Named, QUERIES, answer, sql_of, unknown};
use super::{Outcome, WrongCommandLine, query_prompt};
use crate::cli::args::{self, DataSource, Query};
use crate::cli::settings::Settings;
use crate::cli::terminal;

pub fn run(args: Query, settings: &Settings) -> anyhow::Result<Outcome> {
    if args.list {
        return list(args.printed);
    }
    if let Some(name) = &args.show {
        return show(name);
    }
    if args.sql.is_none() && args.file.is_none() && terminal::is_interactive() {
        return query_prompt::run(args.source, args.printed, settings);
    }
    let sql = match (args.sql.as_deref(), &args.file) {
        (Some("-"), None) => read_sql(Path::new("-"), &args.source)?,
        (_, Some(path)) => read_sql(path, &args.source)?,
        // A comment begins with two dashes; everything else that begins with one is an option that does not exist.
        (Some(sql), None) if sql.starts_with('-') && !sql.starts_with("-- ") && !sql.starts_with("--\n") => {
            let option = sql.split(['=', ' ']).next().unwrap_or_default();
            return Err(WrongCommandLine(format!("unexpected argument '{option}' found; see --help")).into());
        }
        (Some(sql), None) => sql_of(sql)?,
        (None, None) => String::new(),
    };
    // Editors on Windows may write a byte order mark.
    let sql = sql.trim_start_matches('\u{feff}');
    let sql = if args.explain { format!("EXPLAIN {sql}") } else { sql.to_owned() };
    let opened = tables(args.source, settings)?;
    answer(opened.frames.clone(), &sql, args.printed)?;
    Ok(Outcome::Done)
}

/// Reads SQL from a file, or from standard input for the path `-`.
fn read_sql(path: &Path, source: &DataSource) -> anyhow::Result<String> {
    if path.as_os_str() == STDIN && source.logs.iter().any(|log| log.as_os_str() == STDIN) {
        let message = "standard input cannot be both the SQL and a log of --logs";
        return Err(WrongCommandLine(message.to_owned()).into());
    }
    let read = if path.as_os_str() == STDIN { io::read_to_string(io::stdin()) } else { std::fs::read_to_string(path) };
    read.with_context(|| path.display().to_string())
}

fn list(printed: args::Printed) -> anyhow::Result<Outcome> {
    let names: Vec<_> = QUERIES.iter().map(|query| query.name).collect();
    let abouts: Vec<_> = QUERIES.iter().map(Named::about).collect();
    print(&df!("query" => names, "about" => abouts)?, printed, WITH_ABOUT)?;
    Ok(Outcome::Done)
}

/// Prints the SQL of a built-in query.
fn show(name: &str) -> anyhow::Result<Outcome> {
    let Some(query) = QUERIES.iter().find(|query| query.name == name) else { anyhow::bail!(unknown(name)) };
    let mut out = io::stdout().lock();
    writeln!(out, "{}", query.sql.trim_end())?;
    out.flush()?;
    Ok(Outcome::Done)
}
