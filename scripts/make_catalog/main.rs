//! Makes the built-in catalog of prices from the tables of genai-prices and LiteLLM, and prints the changes. `scripts/prices.py`
//! downloads the tables and runs it:
//!
//!     cargo run --no-default-features --example make_catalog -- [--check] genai-prices-VERSION.json litellm-VERSION.json
//!
//! It writes `src/prices/catalog.jsonl` and the table in docs/prices.md. With `--check` it changes nothing, and exits with 1 if
//! something would change. The versions are part of the catalog.
//!
//! ```text
//! sources, clause   the tables, sources.toml, and the names of genai-prices
//! makers, hosts     entries of both tables -> the book of all entries
//! names, kind       names of hosts; what differs between two prices
//! corrections       corrections by hand
//! written           the catalog as text
//! changes           what differs from the catalog before
//! disagreements     what the tables disagree on, for docs/prices.md
//! ```

mod book;
mod changes;
mod clause;
mod corrections;
mod disagreements;
mod hosts;
mod kind;
mod makers;
mod names;
mod sources;
#[cfg(test)]
mod tests;
mod written;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use agentlogs::base::time::{Day, Time};

use book::Book;
use corrections::Corrections;
use sources::{Sources, Tables};
use written::{Catalog, Header};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "make_catalog: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode> {
    let (flags, files): (Vec<_>, Vec<_>) = env::args().skip(1).partition(|it| it.starts_with("--"));
    let [genai_prices, litellm] = &files[..] else { return Err("two files of tables are needed".into()) };
    if let Some(flag) = flags.iter().find(|flag| *flag != "--check") {
        return Err(format!("{flag} is not an option").into());
    }
    let versions = BTreeMap::from([version(genai_prices)?, version(litellm)?]);
    let tables = Tables::parse(&read(genai_prices)?, &read(litellm)?)?;
    let today = Day(Time::from_micros(jiff::Timestamp::now().as_microsecond()).day());
    update(&tables, versions, today, !flags.is_empty())
}

/// Prints the changes, and writes catalog and page unless they are only to be checked.
fn update(tables: &Tables, versions: BTreeMap<String, String>, today: Day, only_checks: bool) -> Result<ExitCode> {
    let sources = Sources::of_program();
    let book = merge(tables, &sources, Corrections::parse(Corrections::TEXT)?, today)?;
    let rows = disagreements::table(&book, &sources);
    let disagreements = book.disagreements.len();
    let entries = written::clean(book.entries);

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (catalog, page) = (root.join("src/prices/catalog.jsonl"), root.join("docs/prices.md"));
    let old = Catalog::parse(&read(&catalog)?)?;
    let changes = changes::changes(&old.entries, &entries)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", if changes.is_empty() { "no price changed".to_owned() } else { changes.join("\n") })?;
    let (models, changed) = (entries.len(), changes.len());
    writeln!(out, "{models} models, {disagreements} on which the sources disagree, {changed} changed")?;
    if only_checks {
        return Ok(if changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    // The date is that of the prices: it does not change if they do not.
    let date = if changes.is_empty() { old.header.date } else { today };
    let new = Catalog { header: Header { date, sources: versions }, entries };
    fs::write(catalog, new.to_text()?)?;
    let text = disagreements::replace(&read(&page)?, &rows).ok_or("docs/prices.md has no place for disagreements")?;
    fs::write(page, text)?;
    Ok(ExitCode::SUCCESS)
}

/// All entries of the catalog.
fn merge(tables: &Tables, sources: &Sources, corrections: Corrections, today: Day) -> Result<Book> {
    let makers = makers::collect(tables, sources, today)?;
    let mut book = hosts::add(makers, tables, sources, today);
    names::add_other_orders(&mut book);
    corrections.apply(&mut book);
    Ok(book)
}

/// The name and the version of a table in the name of its file.
fn version(path: &str) -> Result<(String, String)> {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let parts = stem.rsplit_once('-').ok_or_else(|| format!("{path} is not named NAME-VERSION.json"))?;
    Ok((parts.0.to_owned(), parts.1.to_owned()))
}

fn read(path: impl Into<PathBuf>) -> Result<String> {
    let path = path.into();
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}
