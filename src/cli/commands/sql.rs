//! SQL and the built-in queries: what `agentlogs query` and its prompt have in common.

use agentlogs::store::frames::Frames;

use super::output::{Layout, WITH_ABOUT, print};
use crate::cli::args::Printed;

/// A built-in query: a file of `queries/`, whose first line is its description.
pub struct Named {
    pub name: &'static str,
    pub sql: &'static str,
}

/// The built-in queries.
pub static QUERIES: &[Named] = include!(concat!(env!("OUT_DIR"), "/queries.rs"));

impl Named {
    /// Its description.
    pub fn about(&self) -> &'static str {
        self.sql.lines().next().unwrap_or_default().trim_start_matches("--").trim()
    }
}

/// The names of the built-in queries with their descriptions.
pub fn named_queries() -> impl Iterator<Item = (&'static str, &'static str)> {
    QUERIES.iter().map(|query| (query.name, query.about()))
}

/// The SQL of a built-in query, or the text itself.
///
/// # Errors
/// When the text is a name, and no built-in query has it.
pub fn sql_of(text: &str) -> anyhow::Result<String> {
    match QUERIES.iter().find(|query| query.name == text) {
        Some(query) => Ok(query.sql.to_owned()),
        None if is_name(text) => anyhow::bail!(unknown(text)),
        None => Ok(text.to_owned()),
    }
}

/// Runs SQL, and prints its rows.
///
/// # Errors
/// When the SQL is wrong, or the tables cannot be read.
pub fn answer(tables: Frames, sql: &str, printed: Printed) -> anyhow::Result<()> {
    let frames = agentlogs::analysis::views::with_views(tables, sql)?;
    let frame = agentlogs::store::query::query(frames, sql)?;
    // Whoever writes a LIMIT wants to see that many rows.
    let is_long = !agentlogs::store::query::has_limit(sql);
    print(&frame, printed, Layout { is_long, ..WITH_ABOUT })
}

/// Whether the text is a name: SQL consists of more than one word.
fn is_name(sql: &str) -> bool {
    !sql.is_empty() && sql.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_')
}

/// The message about a name that no built-in query has.
pub fn unknown(name: &str) -> String {
    let near = agentlogs::store::query::near(name, QUERIES.iter().map(|query| query.name));
    let near =
        near.map_or_else(|| "`agentlogs query --list` lists them".to_owned(), |near| format!("did you mean {near:?}?"));
    format!("no query {name:?}; {near}")
}
