//! `agentlogs query`: runs SQL from the command line, a file or stdin, or a built-in query.

use std::io::{self, Read, Write};

use agentlogs::model::source::STDIN;
use anyhow::Context;
use polars::prelude::*;

use super::output::{Layout, WITH_ABOUT, print};
use super::source::tables;
use super::{Outcome, WrongCommandLine};
use crate::cli::args::{self, Query};
use crate::cli::settings::Settings;

/// A built-in query: a file of `queries/`, whose first line is its description.
struct Named {
    name: &'static str,
    sql: &'static str,
}

static QUERIES: &[Named] = include!(concat!(env!("OUT_DIR"), "/queries.rs"));

impl Named {
    fn about(&self) -> &'static str {
        self.sql.lines().next().unwrap_or_default().trim_start_matches("--").trim()
    }
}

/// The names of the built-in queries with their descriptions.
pub fn named_queries() -> impl Iterator<Item = (&'static str, &'static str)> {
    QUERIES.iter().map(|query| (query.name, query.about()))
}

pub fn run(args: Query, settings: &Settings) -> anyhow::Result<Outcome> {
    if args.list {
        return list(args.printed);
    }
    if let Some(name) = &args.show {
        return show(name);
    }
    let sql = match (args.sql.as_deref(), &args.file) {
        (_, Some(path)) => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
        (Some("-"), None) if args.source.logs.iter().any(|path| path.as_os_str() == STDIN) => {
            let message = "standard input cannot be both the SQL and a log of --logs";
            return Err(WrongCommandLine(message.to_owned()).into());
        }
        (Some("-"), None) => io::read_to_string(io::stdin().take(1 << 24)).context("stdin")?,
        // A comment begins with two dashes; everything else that begins with one is an option that does not exist.
        (Some(sql), None) if sql.starts_with('-') && !sql.starts_with("-- ") && !sql.starts_with("--\n") => {
            let option = sql.split(['=', ' ']).next().unwrap_or_default();
            return Err(WrongCommandLine(format!("unexpected argument '{option}' found; see --help")).into());
        }
        (Some(sql), None) => match QUERIES.iter().find(|query| query.name == sql) {
            Some(query) => query.sql.to_owned(),
            None if is_name(sql) => anyhow::bail!(unknown(sql)),
            None => sql.to_owned(),
        },
        (None, None) => String::new(),
    };
    let sql = if args.explain { format!("EXPLAIN {sql}") } else { sql };
    let opened = tables(args.source, settings)?;
    let frames = agentlogs::analysis::views::with_views(opened.frames.clone(), &sql)?;
    let frame = agentlogs::store::query::query(frames, &sql)?;
    // Whoever writes a LIMIT wants to see that many rows.
    let is_long = !agentlogs::store::query::has_limit(&sql);
    print(&frame, args.printed, Layout { is_long, ..WITH_ABOUT })?;
    Ok(Outcome::Done)
}

/// Whether the text is a name: SQL consists of more than one word.
fn is_name(sql: &str) -> bool {
    !sql.is_empty() && sql.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_')
}

fn unknown(name: &str) -> String {
    let near = agentlogs::store::query::near(name, QUERIES.iter().map(|query| query.name));
    let near =
        near.map_or_else(|| "`agentlogs query --list` lists them".to_owned(), |near| format!("did you mean {near:?}?"));
    format!("no query {name:?}; {near}")
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
