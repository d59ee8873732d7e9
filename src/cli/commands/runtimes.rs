//! `agentlogs runtimes`: where each runtime keeps its logs, and what is there; or the list of formats.

use std::path::Path;
use std::time::SystemTime;

use agentlogs::adapters::{self, ADAPTERS};
use agentlogs::base::time::Time;
use agentlogs::input::discover::micros;
use polars::prelude::*;
use walkdir::WalkDir;

use super::Outcome;
use super::output::{print, say};
use super::places::{KnownPlace, known_places};
use crate::cli::args::{Format, Printed, Runtimes};
use crate::cli::settings::Settings;

pub fn run(args: &Runtimes, settings: &Settings) -> anyhow::Result<Outcome> {
    if args.formats {
        return formats(args.printed);
    }
    let mut places = known_places(settings);
    for adapter in ADAPTERS {
        if !places.iter().any(|place| place.runtime == Some(adapter.runtime)) {
            // A runtime whose logs are recorded by a user, and kept anywhere.
            places.push(KnownPlace::nowhere(adapter.runtime));
        }
    }
    places.sort_by(|a, b| a.runtime.unwrap_or("~").cmp(b.runtime.unwrap_or("~")));
    for place in &mut places {
        let of_runtime = ADAPTERS.iter().filter(|adapter| Some(adapter.runtime) == place.runtime);
        if place.path.path.as_os_str().is_empty() {
            place.formats = of_runtime.map(|adapter| adapter.id).collect();
        }
    }
    let has_path = |place: &&KnownPlace| !place.path.path.as_os_str().is_empty();
    let contents: Vec<Option<Contents>> =
        places.iter().map(|place| Some(place).filter(has_path).map(|place| Contents::of(&place.path.path))).collect();
    let is_shown = |content: &Option<Contents>| {
        args.all || args.printed.format != Format::Table || content.as_ref().is_none_or(|content| content.exists)
    };
    let rows: Vec<(&KnownPlace, &Option<Contents>)> =
        places.iter().zip(&contents).filter(|(_, content)| is_shown(content)).collect();
    let number = |of: fn(&Contents) -> i64| -> Vec<Option<i64>> {
        rows.iter().map(|(_, content)| content.as_ref().filter(|content| content.exists).map(of)).collect()
    };
    let mut newest = Column::new(
        "newest".into(),
        rows.iter().map(|(_, content)| Some(content.as_ref()?.newest?.micros())).collect::<Vec<_>>(),
    );
    newest = newest.cast(&DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC)))?;
    let frame = DataFrame::new(
        rows.len(),
        vec![
            Column::new("runtime".into(), rows.iter().map(|(place, _)| place.runtime).collect::<Vec<_>>()),
            Column::new("formats".into(), rows.iter().map(|(place, _)| place.formats.join(", ")).collect::<Vec<_>>()),
            Column::new(
                "path".into(),
                rows.iter()
                    .map(|(place, _)| {
                        Some(place).filter(|place| has_path(place)).map(|place| place.path.path.display().to_string())
                    })
                    .collect::<Vec<_>>(),
            ),
            Column::new(
                "exists".into(),
                rows.iter().map(|(_, content)| content.as_ref().map(|content| content.exists)).collect::<Vec<_>>(),
            ),
            Column::new("files".into(), number(|content| content.files)),
            Column::new("bytes".into(), number(|content| content.bytes)),
            newest,
        ],
    )?;
    print(&frame, args.printed, None)?;
    let hidden = places.len() - rows.len();
    if hidden > 0 {
        say(&format!("{hidden} places that do not exist are left out; --all lists them"));
    }
    Ok(Outcome::Done)
}

/// What is in a place.
#[derive(Debug, Default)]
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

/// The list of formats.
fn formats(printed: Printed) -> anyhow::Result<Outcome> {
    let column = |of: fn(&adapters::Adapter) -> &'static str| ADAPTERS.iter().map(of).collect::<Vec<_>>();
    let frame = df!(
        "format" => column(|adapter| adapter.id),
        "runtime" => column(|adapter| adapter.runtime),
        "about" => column(|adapter| adapter.about),
    )?;
    print(&frame, printed, None)?;
    Ok(Outcome::Done)
}
