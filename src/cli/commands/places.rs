//! Where this user's logs are: the places that adapters declare, and the directories of the configuration.

use std::path::{Path, PathBuf};

use agentlogs::adapters::{ADAPTERS, Adapter};
use agentlogs::analysis::present::counted;
use agentlogs::input::machine::UserPath;
use agentlogs::store::archive::Archive;

use super::WrongCommandLine;
use super::output::say;
use crate::cli::settings::{LOCAL_ARCHIVE, Settings};

/// A directory or file that may contain logs.
pub struct KnownPlace {
    /// The runtime that writes there; `None` for a directory of the configuration.
    pub runtime: Option<&'static str>,
    /// The formats of the logs there.
    pub formats: Vec<&'static str>,
    /// The path, which need not exist, and the account.
    pub path: UserPath,
}

/// All places where logs may be on this machine, by runtime.
pub fn known_places(settings: &Settings) -> Vec<KnownPlace> {
    let mut places: Vec<KnownPlace> = Vec::new();
    for adapter in ADAPTERS {
        for path in adapter.places.iter().flat_map(|place| settings.machine.resolve(place)) {
            let is_same =
                |place: &&mut KnownPlace| place.runtime == Some(adapter.runtime) && place.path.path == path.path;
            match places.iter_mut().find(is_same) {
                Some(place) => place.formats.push(adapter.id),
                None => places.push(KnownPlace { runtime: Some(adapter.runtime), formats: vec![adapter.id], path }),
            }
        }
    }
    let user = settings.machine.user();
    let configured = settings.logs.iter().map(|path| KnownPlace {
        runtime: None,
        formats: Vec::new(),
        path: UserPath { path: path.value.clone(), user: user.clone() },
    });
    places.extend(configured);
    places
}

/// The existing places of all runtimes, or of one.
///
/// # Errors
/// When there is no runtime of that name, or it is not known where it keeps its logs.
pub fn existing(settings: &Settings, runtime: Option<&str>) -> Result<Vec<PathBuf>, WrongCommandLine> {
    if let Some(runtime) = runtime {
        check_runtime(runtime)?;
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    for place in known_places(settings) {
        let is_selected = runtime.is_none() || place.runtime == runtime;
        let path = place.path.path;
        // A directory that may not be searched exists; reading it names the reason.
        if is_selected && path.try_exists().unwrap_or(true) && !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn check_runtime(runtime: &str) -> Result<(), WrongCommandLine> {
    let has_places = |adapter: &&Adapter| !adapter.places.is_empty();
    if ADAPTERS.iter().filter(has_places).any(|adapter| adapter.runtime == runtime) {
        return Ok(());
    }
    let mut names: Vec<&str> = ADAPTERS.iter().filter(has_places).map(|adapter| adapter.runtime).collect();
    names.sort_unstable();
    names.dedup();
    Err(WrongCommandLine(format!(
        "no directory is known in which runtime {runtime:?} keeps logs; name a PATH, or one of these runtimes: {}",
        names.join(", ")
    )))
}

/// The directories in which runtimes keep logs on this machine, as real paths, with their accounts. Those of the
/// configuration may contain logs from anywhere, and are not among them.
pub fn owned(settings: &Settings) -> Vec<UserPath> {
    let of_runtimes = known_places(settings).into_iter().filter(|place| place.runtime.is_some());
    of_runtimes
        .filter_map(|place| Some(UserPath { path: dunce::canonicalize(place.path.path).ok()?, user: place.path.user }))
        .collect()
}

/// Whether this user may not read a place, so that it is unknown whether it contains logs.
fn is_locked(path: &Path) -> bool {
    path.try_exists().map_or(true, |exists| exists && path.is_dir() && path.read_dir().is_err())
}

/// Prints that no log was found, of all runtimes or of one: the runtimes that are here without logs, those that were searched for, and
/// what to do. Places that cannot be read may contain logs.
pub fn say_searched(settings: &Settings, runtime: Option<&str>) {
    let mut places = known_places(settings);
    places.retain(|place| runtime.is_none() || place.runtime == runtime);
    let (locked, readable): (Vec<_>, Vec<_>) = places.iter().partition(|place| is_locked(&place.path.path));
    if locked.is_empty() {
        say(&format!("no logs of {} were found on this machine", runtime.unwrap_or("a coding agent")));
    } else {
        say("logs may be in directories that cannot be read");
    }
    let existing = readable.into_iter().filter(|place| place.path.path.exists());
    let found = locked.into_iter().map(|place| ("cannot be read:", place));
    let mut named = Vec::new();
    for (what, place) in found.chain(existing.map(|place| ("no logs in", place))) {
        let runtime = place.runtime.unwrap_or("(configured)");
        if !named.contains(&runtime) {
            say(&format!("  {runtime:<16}{what} {}", place.path.path.display()));
            named.push(runtime);
        }
    }
    let mut runtimes: Vec<&str> = places.iter().filter_map(|place| place.runtime).collect();
    runtimes.sort_unstable();
    runtimes.dedup();
    if runtime.is_some() {
        let searched: Vec<String> = places.iter().map(|place| place.path.path.display().to_string()).collect();
        say(&format!("searched: {}", searched.join(", ")));
    } else {
        let runtimes = counted(runtimes.len(), "runtime");
        say(&format!("searched for {runtimes}; `agentlogs runtimes --all` lists them with their directories"));
    }
    if Archive::at(PathBuf::from(LOCAL_ARCHIVE)).sums().is_ok_and(|sums| sums.sessions > 0) {
        say(&format!(
            "{LOCAL_ARCHIVE} contains the logs that were read from elsewhere: `agentlogs sessions` lists them"
        ));
    }
    say(&format!(
        "if your logs are elsewhere, `agentlogs ingest PATH` reads them, and `logs = [\"PATH\"]` in {} makes that permanent",
        settings.own_file()
    ));
}
