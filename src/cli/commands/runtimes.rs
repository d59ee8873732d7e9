//! `agentlogs runtimes`: where each runtime keeps its logs, and what is there; or the list of formats.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agentlogs::adapters::{self, ADAPTERS};
use agentlogs::analysis::present::{Roles, are};
use agentlogs::base::time::Time;
use agentlogs::input::discover::micros;
use agentlogs::store::frames::time_type;
use polars::prelude::*;
use walkdir::WalkDir;

use super::Outcome;
use super::output::{Layout, WITH_ABOUT, is_on_terminal, print, say};
use super::places::known_places;
use crate::cli::args::{Format, Printed, Runtimes};
use crate::cli::settings::Settings;

/// A line of the output.
struct Row {
    /// `None` for a directory of the configuration.
    runtime: Option<&'static str>,
    formats: String,
    /// `None` for a runtime that keeps no logs by itself: a user records them.
    place: Option<(PathBuf, Contents)>,
}

pub fn run(args: &Runtimes, settings: &Settings) -> anyhow::Result<Outcome> {
    if args.formats {
        return formats(args.printed, settings);
    }
    let all = rows(settings);
    let shows_missing = args.all || args.printed.format != Format::Table;
    let missing = all.iter().filter(|row| row.place.as_ref().is_some_and(|(_, contents)| !contents.exists)).count();
    // A person wants to know what is here.
    let shows_without_place = shows_missing || !is_on_terminal(args.printed);
    let is_shown = |row: &Row| match &row.place {
        Some((_, contents)) => shows_missing || contents.exists,
        None => shows_without_place,
    };
    let rows: Vec<Row> = all.into_iter().filter(is_shown).collect();
    let mut frame = frame(&rows)?;
    if is_on_terminal(args.printed) {
        frame = if args.all { frame.select(COLUMNS_OF_ALL)? } else { frame.select(COLUMNS_OF_EXISTING)? };
    }
    let roles = Roles { names: Some(1), main: Some("path"), ..Roles::default() };
    let empty = Some("no runtime keeps logs here");
    print(&frame, args.printed, Layout { roles, empty, ..Layout::default() })?;
    if missing > 0 && !shows_missing {
        say(&format!("{} missing; --all lists all", are(missing, "place")));
    }
    Ok(Outcome::Done)
}

/// The columns on a terminal, the most important ones first.
const COLUMNS_OF_EXISTING: [&str; 6] = ["runtime", "path", "files", "bytes", "newest", "formats"];
const COLUMNS_OF_ALL: [&str; 5] = ["runtime", "path", "exists", "files", "formats"];

/// All places by runtime, then the runtimes without one, then the directories of the configuration.
fn rows(settings: &Settings) -> Vec<Row> {
    let places = known_places(settings);
    let mut without_place: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for adapter in all_adapters(settings) {
        if places.iter().all(|place| place.runtime != Some(adapter.runtime)) {
            without_place.entry(adapter.runtime).or_default().push(adapter.id);
        }
    }
    let without_place = without_place.into_iter();
    let without_place = without_place.map(|(runtime, formats)| Row {
        runtime: Some(runtime),
        formats: formats.join(", "),
        place: None,
    });
    let with_place = places.into_iter().map(|place| {
        let contents = Contents::of(&place.path.path);
        Row { runtime: place.runtime, formats: place.formats.join(", "), place: Some((place.path.path, contents)) }
    });
    let mut rows: Vec<Row> = with_place.chain(without_place).collect();
    rows.sort_by_key(|row| (row.runtime.is_none(), row.runtime));
    rows
}

fn frame(rows: &[Row]) -> PolarsResult<DataFrame> {
    let existing = |row: &Row| row.place.as_ref().map(|(_, contents)| *contents).filter(|contents| contents.exists);
    let number = |name: &str, of: fn(Contents) -> Option<i64>| {
        let numbers: Vec<Option<i64>> = rows.iter().map(|row| existing(row).and_then(of)).collect();
        Column::new(name.into(), numbers)
    };
    let path = |row: &Row| row.place.as_ref().map(|(path, _)| path.display().to_string());
    let exists = |row: &Row| row.place.as_ref().map(|(_, contents)| contents.exists);
    let columns = vec![
        Column::new("runtime".into(), rows.iter().map(|row| row.runtime).collect::<Vec<_>>()),
        Column::new("formats".into(), rows.iter().map(|row| row.formats.as_str()).collect::<Vec<_>>()),
        Column::new("path".into(), rows.iter().map(path).collect::<Vec<_>>()),
        Column::new("exists".into(), rows.iter().map(exists).collect::<Vec<_>>()),
        number("files", |contents| Some(contents.files)),
        number("bytes", |contents| Some(contents.bytes)),
        number("newest", |contents| contents.newest.map(Time::micros)).cast(&time_type())?,
    ];
    DataFrame::new(rows.len(), columns)
}

/// What is in a place.
#[derive(Debug, Clone, Copy, Default)]
struct Contents {
    exists: bool,
    files: i64,
    bytes: i64,
    newest: Option<Time>,
}

impl Contents {
    /// Counts the files at and below a path. What cannot be read is not counted.
    fn of(path: &Path) -> Self {
        let mut contents = Self { exists: path.try_exists().unwrap_or(true), ..Self::default() };
        for entry in WalkDir::new(path).follow_links(true).into_iter().filter_map(Result::ok) {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                contents.files += 1;
                contents.bytes = contents.bytes.saturating_add(i64::try_from(metadata.len()).unwrap_or(i64::MAX));
                let written = metadata.modified().ok().and_then(|time: SystemTime| micros(time));
                contents.newest = contents.newest.max(written);
            }
        }
        contents
    }
}

/// The formats of agentlogs, then those that the user describes.
fn all_adapters(settings: &Settings) -> impl Iterator<Item = &'static adapters::Adapter> {
    ADAPTERS.iter().chain(settings.formats.iter().map(|format| &format.adapter))
}

/// The list of formats.
fn formats(printed: Printed, settings: &Settings) -> anyhow::Result<Outcome> {
    let column = |of: fn(&adapters::Adapter) -> &'static str| all_adapters(settings).map(of).collect::<Vec<_>>();
    let frame = df!(
        "format" => column(|adapter| adapter.id),
        "runtime" => column(|adapter| adapter.runtime),
        "tested" => all_adapters(settings).map(|adapter| adapter.tested).collect::<Vec<_>>(),
        "about" => column(|adapter| adapter.about),
    )?;
    print(&frame, printed, WITH_ABOUT)?;
    Ok(Outcome::Done)
}
