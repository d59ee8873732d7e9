//! Paths to files: each file once, in a fixed order, whatever links and overlapping paths lead to it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use walkdir::WalkDir;

use crate::base::time::Time;
use crate::input::database::WAL;
use crate::model::source::STDIN;

/// A file to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its real path, without links: what makes it one file.
    pub path: PathBuf,
    /// Its path below the given one, for labels.
    pub relative: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last written.
    pub modified_at: Option<Time>,
    /// Whether it is a pipe or a device: what it holds is known only once it is read, and it is read only once.
    pub is_stream: bool,
    /// Whether it is itself a path of the command line, not one below it.
    pub is_named: bool,
    /// Whether its folder has files that belong to logs, by their names: sidecars, journals of databases. Also where the
    /// folder was not looked through.
    pub has_companions: bool,
}

impl Found {
    /// Whether it is standard input.
    pub fn is_stdin(&self) -> bool {
        self.is_stream && self.path.as_os_str() == STDIN
    }

    fn stdin() -> Self {
        Self {
            path: PathBuf::from(STDIN),
            relative: PathBuf::from(STDIN),
            bytes: 0,
            modified_at: None,
            is_stream: true,
            is_named: true,
            has_companions: false,
        }
    }
}

/// What says more of a log beside it: `NAME.meta.json`, or `meta.json` for its folder.
pub const SIDECAR: &str = "meta.json";

/// Ends of the names of files that belong to a log beside them.
const COMPANIONS: [&str; 2] = [SIDECAR, WAL];

/// What could not be walked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path of the command line that is not there.
    #[error("{}: no such file or folder", .0.display())]
    Missing(PathBuf),
    /// A file, pipe or device of the command line that cannot be read.
    #[error("{}: {error}", .path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// A directory, file or link below it that cannot be read. It is left out, and the rest is read.
    #[error("{}: left out: {error}", .path.display())]
    LeftOut {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: String,
    },
}

impl Error {
    /// Whether only something below a path of the command line is missing, not the path itself.
    pub fn is_left_out(&self) -> bool {
        matches!(self, Self::LeftOut { .. })
    }

    fn of_walk(error: &walkdir::Error, root: &Path) -> Self {
        let path = error.path().unwrap_or(root).to_owned();
        let cause = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
        if error.depth() == 0 { Self::Unreadable { path, error: cause } } else { Self::LeftOut { path, error: cause } }
    }
}

/// Finds all regular files at and below `roots`, hidden ones too: agents keep their logs in dot folders. Links are
/// followed; a file that several names lead to is found once, a folder that links to itself is walked once. A root may be
/// a pipe or a device (`<(zcat x.gz)`, `/dev/stdin`); those in folders are left alone, as they may wait for ever. The root
/// `-` is standard input.
///
/// The folder `except`, an archive, is left out.
pub fn discover(roots: &[PathBuf], except: Option<&Path>) -> (Vec<Found>, Vec<Error>) {
    let except = except.and_then(|it| it.canonicalize().ok());
    let mut found: Vec<Found> = Vec::new();
    let mut with_companions: HashSet<PathBuf> = HashSet::new();
    // The folder of the last file, and its real path: of many files in it only their own names have to be looked at.
    let mut folder = (PathBuf::new(), PathBuf::new());
    let mut errors = Vec::new();
    for root in roots {
        if root.as_os_str() == STDIN {
            found.push(Found::stdin());
            continue;
        }
        if !root.exists() {
            errors.push(Error::Missing(root.clone()));
            continue;
        }
        let is_archive =
            |path: &Path| except.as_deref().is_some_and(|it| path.canonicalize().is_ok_and(|path| path == it));
        // By name: paths of one folder begin alike, and are compared as they stand.
        let walk = WalkDir::new(root).follow_links(true).sort_by(|a, b| a.path().as_os_str().cmp(b.path().as_os_str()));
        for entry in walk.into_iter().filter_entry(|it| !(it.file_type().is_dir() && is_archive(it.path()))) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if error.loop_ancestor().is_some() => continue,
                // A link to nothing is no file.
                Err(error) if error.io_error().is_some_and(|it| it.kind() == std::io::ErrorKind::NotFound) => continue,
                Err(error) => {
                    errors.push(Error::of_walk(&error, root));
                    continue;
                }
            };
            let is_named = entry.depth() == 0;
            let file_name = entry.file_name();
            if !is_named && !is_in(entry.path(), &folder.0, file_name) {
                let parent = entry.path().parent().unwrap_or(Path::new(""));
                let Ok(real) = parent.canonicalize() else { continue };
                folder = (parent.to_owned(), real);
            }
            let name = file_name.as_encoded_bytes();
            if !is_named && COMPANIONS.iter().any(|it| name.ends_with(it.as_bytes())) {
                with_companions.insert(folder.1.clone());
            }
            let is_stream = !entry.file_type().is_file();
            if is_stream && (entry.depth() > 0 || entry.file_type().is_dir()) {
                continue;
            }
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) => {
                    errors.push(Error::of_walk(&error, root));
                    continue;
                }
            };
            let is_link = entry.path_is_symlink();
            let real = if is_stream {
                // The real path of a pipe leads nowhere.
                std::path::absolute(root)
            } else if is_named || is_link {
                entry.path().canonicalize()
            } else {
                Ok(folder.1.join(file_name))
            };
            let Ok(path) = real else { continue };
            let relative = below(entry.path(), root);
            let relative = if relative.as_os_str().is_empty() { Path::new(file_name) } else { relative };
            found.push(Found {
                path,
                relative: relative.to_owned(),
                bytes: metadata.len(),
                modified_at: metadata.modified().ok().filter(|_| !is_stream).and_then(micros),
                is_stream,
                is_named,
                has_companions: is_named || is_link,
            });
        }
    }
    // Stable, and nearly sorted already: of a file that is found again the first look stands.
    found.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    found.dedup_by(|again, first| {
        let is_same = again.path.as_os_str() == first.path.as_os_str();
        first.is_named |= is_same && again.is_named;
        first.has_companions |= is_same && again.has_companions;
        is_same
    });
    // A folder that was not read to its end may hold more.
    let is_complete = errors.is_empty();
    for file in &mut found {
        let has_others = || file.path.parent().is_some_and(|it| with_companions.contains(it));
        file.has_companions |= !is_complete || !with_companions.is_empty() && has_others();
    }
    (found, errors)
}

/// What of the path stands behind that of the root.
fn below<'a>(path: &'a Path, root: &Path) -> &'a Path {
    let behind = path.to_str().zip(root.to_str()).and_then(|(path, root)| path.strip_prefix(root));
    match behind.and_then(|it| it.strip_prefix(std::path::is_separator)) {
        Some(it) if !it.starts_with(std::path::is_separator) => Path::new(it),
        _ => path.strip_prefix(root).unwrap_or(path),
    }
}

/// Whether the path is this folder with that name in it, as texts: to take paths apart costs a hundred times as much.
fn is_in(path: &Path, folder: &Path, name: &OsStr) -> bool {
    let [path, folder, name] = [path.as_os_str(), folder.as_os_str(), name].map(OsStr::as_encoded_bytes);
    let behind = path.strip_prefix(folder).and_then(|it| it.strip_suffix(name));
    !folder.is_empty() && behind.is_some_and(|it| matches!(it, [it] if std::path::is_separator(char::from(*it))))
}

/// A file's time.
pub fn micros(time: SystemTime) -> Option<Time> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok().map(Time::from_micros)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// As the library takes paths apart.
    #[test]
    fn paths_below_others_are_told_by_their_texts() {
        let folders = ["/", "//", "a", "a/", "./a", "a/.", "/a/b", "/a/b//", "../a", "ä%", "."];
        for root in folders.map(Path::new) {
            for name in ["x", "x/y", "x y.jsonl", ".x"] {
                let path = root.join(name);
                assert_eq!(below(&path, root), path.strip_prefix(root).unwrap(), "{path:?} {root:?}");
                let file_name = path.file_name().unwrap_or_default();
                let parent = path.parent().unwrap_or(Path::new(""));
                for folder in folders.map(Path::new) {
                    assert!(!is_in(&path, folder, file_name) || folder == parent, "{path:?} {folder:?}");
                }
            }
        }
        assert!(is_in(Path::new("/a b/x"), Path::new("/a b"), OsStr::new("x")));
        assert_eq!(below(Path::new("abc"), Path::new("a")), Path::new("abc"));
        assert!(!is_in(Path::new("a/bx"), Path::new("a/b"), OsStr::new("x")));
        assert!(!is_in(Path::new("a/b/x"), Path::new("a"), OsStr::new("x")));
    }

    #[test]
    fn each_file_is_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/.hidden")).unwrap();
        fs::create_dir_all(root.join("archive")).unwrap();
        for name in ["a/b.jsonl", "a/.hidden/c", "archive/x.parquet"] {
            fs::write(root.join(name), "x").unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("..", root.join("a/loop")).unwrap();
            std::os::unix::fs::symlink("b.jsonl", root.join("a/link.jsonl")).unwrap();
            std::os::unix::fs::symlink("nowhere", root.join("a/dangling")).unwrap();
        }
        let roots = [root.join("a"), root.to_owned(), root.join("a/b.jsonl"), root.join("missing")];
        let (found, errors) = discover(&roots, Some(&root.join("archive")));
        let names: Vec<_> = found.iter().map(|it| it.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["c", "b.jsonl"]);
        assert!(matches!(&errors[..], [Error::Missing(_)]));
    }
}
