//! Where the sidecars of a log are: `NAME.meta.json` beside `NAME.jsonl`, or `meta.json` in its directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::input::discover::SIDECAR;
use crate::input::open::{self, Limit};
use crate::input::sidecar::Sidecar;

/// Whether a file is a sidecar, by its name.
pub fn is_sidecar(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let stem = name.and_then(|name| name.strip_suffix(SIDECAR));
    stem.is_some_and(|stem| stem.is_empty() || stem.ends_with('.'))
}

/// The paths where sidecars of a log may be, the nearer first.
pub fn sidecar_paths(path: &Path) -> impl Iterator<Item = PathBuf> {
    // Only extensions that state how a log is stored: `run.retry.jsonl` is not the log of `run.meta.json`.
    let name = without_extension(path.file_name().unwrap_or_default(), &["gz", "zst"]);
    let mut own: OsString = without_extension(name, &["jsonl", "json", "ndjson", "log", "txt"]).to_owned();
    own.push(".");
    own.push(SIDECAR);
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    [own, OsString::from(SIDECAR)].into_iter().map(move |name| directory.join(name))
}

fn without_extension<'a>(name: &'a OsStr, extensions: &[&str]) -> &'a OsStr {
    let path = Path::new(name);
    let is_one = path.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension));
    path.file_stem().filter(|_| is_one).unwrap_or(name)
}

/// Reads the sidecars of the log at `path`. The nearer one decides.
pub fn read_sidecars(path: &Path) -> Sidecar {
    let contents = sidecar_paths(path).filter_map(|path| open::open(&path, Limit::Usual).ok());
    contents.fold(Sidecar::default(), |nearer, content| nearer.or(Sidecar::parse(&content)))
}
