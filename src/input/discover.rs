//! Paths to files: each file once, in a fixed order, whatever links and overlapping paths lead to it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rayon::prelude::*;
use walkdir::{DirEntry, WalkDir};

use super::database::WAL;
use crate::base::time::Time;
use crate::model::source::STDIN;

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its real path, without links, which identifies it.
    pub path: PathBuf,
    /// Its path below the given one, for labels.
    pub relative: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last written.
    pub modified_at: Option<Time>,
    /// Whether it is a pipe or a device: its size is known only after it was read, and it can be read only once.
    pub is_stream: bool,
    /// Whether it is itself a path of the command line, not one below it.
    pub is_named: bool,
    /// Whether its directory may contain files that belong to logs, by their names: sidecars, journals of databases.
    pub has_companions: bool,
    /// Whether a directory around it may contain results of evaluations, by their names: see [`RESULTS`].
    pub has_results: bool,
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
            has_results: false,
        }
    }
}

/// The name of a sidecar, which describes the logs beside it: `NAME.meta.json`, or `meta.json` for its directory.
pub const SIDECAR: &str = "meta.json";

/// The names of files with the results of an evaluation, that name the run, or that contain the directory of the project. They
/// describe the logs in their directory and below it.
pub const RESULTS: [&str; 5] = ["result.json", "results.json", "run_metadata.json", "aw_info.json", ".project_root"];

/// The metadata of fewer files is read by one thread.
const FILES_OF_A_THREAD: usize = 128;

/// The ends of the names of files that belong to a log beside them.
const COMPANIONS: [&str; 2] = [SIDECAR, WAL];

/// A path that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path of the command line does not exist.
    #[error("{}: no such file or directory", .0.display())]
    Missing(PathBuf),
    /// A file, pipe or device of the command line cannot be read.
    #[error("{}: {error}", .path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// A directory, file or link below a path of the command line cannot be read. It is skipped.
    #[error("{}: left out: {error}", .path.display())]
    LeftOut {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: String,
    },
}

impl Error {
    /// Whether it concerns only a path below one of the command line, not that path itself.
    pub fn is_left_out(&self) -> bool {
        matches!(self, Self::LeftOut { .. })
    }

    fn of_walk(error: &walkdir::Error, root: &Path) -> Self {
        let path = error.path().unwrap_or(root).to_owned();
        let cause = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
        if error.depth() == 0 { Self::Unreadable { path, error: cause } } else { Self::LeftOut { path, error: cause } }
    }
}

/// Finds all regular files at and below `roots`, hidden ones too, as agents keep their logs in hidden directories. Links are
/// followed; a file with several paths is found once, and a directory that links to itself is walked once. A root may be a pipe or
/// a device (`<(zcat x.gz)`, `/dev/stdin`); those below directories are skipped, as their writers may never close them. The root
/// `-` is standard input.
///
/// The directory `except`, an archive, is skipped.
pub fn discover(roots: &[PathBuf], except: Option<&Path>) -> (Vec<Found>, Vec<Error>) {
    let mut search = Search { except: except.and_then(|path| dunce::canonicalize(path).ok()), ..Search::default() };
    for root in roots {
        search.add_root(root);
    }
    search.finish()
}

/// The files that were found so far.
#[derive(Debug, Default)]
struct Search {
    /// The real path of the directory to skip.
    except: Option<PathBuf>,
    found: Vec<Found>,
    /// Directories that contain companions of logs.
    with_companions: HashSet<PathBuf>,
    /// Directories that contain results of evaluations.
    with_results: HashSet<PathBuf>,
    /// The directory of the last file, so that only the names of the other files in it have to be compared.
    directory: Directory,
    errors: Vec<Error>,
}

#[derive(Debug, Default)]
struct Directory {
    path: PathBuf,
    real: PathBuf,
}

impl Search {
    fn add_root(&mut self, root: &Path) {
        if root.as_os_str() == STDIN {
            self.found.push(Found::stdin());
            return;
        }
        match root.try_exists() {
            Ok(true) => {}
            Ok(false) => return self.errors.push(Error::Missing(root.to_owned())),
            Err(error) => {
                let (path, error) = (root.to_owned(), error.to_string());
                return self.errors.push(Error::Unreadable { path, error });
            }
        }
        let except = self.except.clone();
        let is_excepted = |entry: &DirEntry| {
            entry.file_type().is_dir() && except.is_some() && dunce::canonicalize(entry.path()).ok() == except
        };
        // Sorted by name: the paths of one directory begin with the same bytes.
        let walk = WalkDir::new(root).follow_links(true).sort_by(|a, b| a.path().as_os_str().cmp(b.path().as_os_str()));
        for entry in walk.into_iter().filter_entry(|entry| !is_excepted(entry)) {
            match entry {
                Ok(entry) => self.add(&entry, root),
                Err(error) if error.loop_ancestor().is_some() || is_missing(&error) => {}
                Err(error) => self.errors.push(Error::of_walk(&error, root)),
            }
        }
    }

    /// Adds an entry of a directory, or the root itself, if it is a file that may be a log.
    fn add(&mut self, entry: &DirEntry, root: &Path) {
        let is_named = entry.depth() == 0;
        if !is_named {
            if !self.enter_directory_of(entry) {
                return;
            }
            let name = entry.file_name().as_encoded_bytes();
            if COMPANIONS.iter().any(|end| name.ends_with(end.as_bytes())) {
                self.with_companions.insert(self.directory.real.clone());
            }
            if RESULTS.iter().any(|result| name == result.as_bytes()) {
                self.with_results.insert(self.directory.real.clone());
            }
        }
        let is_stream = !entry.file_type().is_file();
        if is_stream && (!is_named || entry.file_type().is_dir()) {
            return;
        }
        let Ok(path) = self.real_path(entry, root) else { return };
        let relative = below(entry.path(), root);
        let relative = if relative.as_os_str().is_empty() { Path::new(entry.file_name()) } else { relative };
        self.found.push(Found {
            path,
            relative: relative.to_owned(),
            // See `read_metadata`.
            bytes: 0,
            modified_at: None,
            is_stream,
            is_named,
            // The search does not pass through the directory of these.
            has_companions: is_named || entry.path_is_symlink(),
            has_results: is_named || entry.path_is_symlink(),
        });
    }

    /// Makes the directory of an entry the current one. Returns `false` if its real path cannot be found.
    fn enter_directory_of(&mut self, entry: &DirEntry) -> bool {
        if is_in(entry.path(), &self.directory.path, entry.file_name()) {
            return true;
        }
        let path = entry.path().parent().unwrap_or(Path::new("")).to_owned();
        let Ok(real) = dunce::canonicalize(&path) else { return false };
        self.directory = Directory { path, real };
        true
    }

    fn real_path(&self, entry: &DirEntry, root: &Path) -> io::Result<PathBuf> {
        if !entry.file_type().is_file() {
            // The real path of a pipe does not exist.
            std::path::absolute(root)
        } else if entry.depth() == 0 || entry.path_is_symlink() {
            dunce::canonicalize(entry.path())
        } else {
            Ok(self.directory.real.join(entry.file_name()))
        }
    }

    /// Sorts the files, and merges those that were found several times.
    fn finish(self) -> (Vec<Found>, Vec<Error>) {
        let Self { mut found, with_companions, with_results, mut errors, .. } = self;
        // Stable, and fast, as the files are nearly sorted: the first of equal paths is kept.
        found.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        found.dedup_by(|again, first| {
            let is_same = again.path.as_os_str() == first.path.as_os_str();
            first.is_named |= is_same && again.is_named;
            first.has_companions |= is_same && again.has_companions;
            first.has_results |= is_same && again.has_results;
            is_same
        });
        errors.extend(read_metadata(&mut found));
        // After an error a directory may contain more files than were found.
        let is_complete = errors.is_empty();
        for file in &mut found {
            let has_others = || file.path.parent().is_some_and(|directory| with_companions.contains(directory));
            file.has_companions |= !is_complete || !with_companions.is_empty() && has_others();
            let has_results = || file.path.ancestors().skip(1).any(|directory| with_results.contains(directory));
            file.has_results |= !is_complete || !with_results.is_empty() && has_results();
        }
        (found, errors)
    }
}

/// Reads the sizes and times of files on all threads, as that takes longer than to find them. Files without them are removed and
/// returned as errors, unless they were deleted since the search found them.
fn read_metadata(found: &mut Vec<Found>) -> Vec<Error> {
    let read = |file: &mut Found| {
        if file.is_stream {
            return None;
        }
        match fs::metadata(&file.path) {
            Ok(metadata) => {
                file.bytes = metadata.len();
                file.modified_at = metadata.modified().ok().and_then(micros);
                None
            }
            Err(error) => Some(error),
        }
    };
    let errors: Vec<Option<io::Error>> = found.par_iter_mut().with_min_len(FILES_OF_A_THREAD).map(read).collect();
    if errors.iter().all(Option::is_none) {
        return Vec::new();
    }
    let (mut kept, mut removed) = (Vec::with_capacity(found.len()), Vec::new());
    for (file, error) in found.drain(..).zip(errors) {
        match error {
            None => kept.push(file),
            Some(error) if file.is_named => {
                removed.push(Error::Unreadable { path: file.path, error: error.to_string() });
            }
            Some(error) if error.kind() == io::ErrorKind::NotFound => {}
            Some(error) => removed.push(Error::LeftOut { path: file.path, error: error.to_string() }),
        }
    }
    *found = kept;
    removed
}

/// Whether a link leads to nothing.
fn is_missing(error: &walkdir::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// The part of a path after that of the root.
fn below<'a>(path: &'a Path, root: &Path) -> &'a Path {
    let rest = path.to_str().zip(root.to_str()).and_then(|(path, root)| path.strip_prefix(root));
    match rest.and_then(|rest| rest.strip_prefix(std::path::is_separator)) {
        Some(rest) if !rest.starts_with(std::path::is_separator) => Path::new(rest),
        _ => path.strip_prefix(root).unwrap_or(path),
    }
}

/// Whether a path is that of the file `name` in `directory`. The texts are compared: to split paths takes a hundred times as long.
fn is_in(path: &Path, directory: &Path, name: &OsStr) -> bool {
    let [path, directory, name] = [path.as_os_str(), directory.as_os_str(), name].map(OsStr::as_encoded_bytes);
    let between = path.strip_prefix(directory).and_then(|rest| rest.strip_suffix(name));
    let is_separator = |bytes: &[u8]| matches!(bytes, [byte] if std::path::is_separator(char::from(*byte)));
    !directory.is_empty() && between.is_some_and(is_separator)
}

/// A time of the file system.
pub fn micros(time: SystemTime) -> Option<Time> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok().map(Time::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results are those of the standard library.
    #[test]
    fn paths_are_compared_as_texts() {
        let directories = ["/", "//", "a", "a/", "./a", "a/.", "/a/b", "/a/b//", "../a", "ä%", "."];
        for root in directories.map(Path::new) {
            for name in ["x", "x/y", "x y.jsonl", ".x"] {
                let path = root.join(name);
                assert_eq!(below(&path, root), path.strip_prefix(root).unwrap(), "{path:?} {root:?}");
                let file_name = path.file_name().unwrap_or_default();
                let parent = path.parent().unwrap_or(Path::new(""));
                for directory in directories.map(Path::new) {
                    assert!(!is_in(&path, directory, file_name) || directory == parent, "{path:?} {directory:?}");
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
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("a/.hidden")).unwrap();
        fs::create_dir_all(root.join("archive")).unwrap();
        for name in ["a/b.jsonl", "a/.hidden/c", "archive/x.parquet"] {
            fs::write(root.join(name), "x").unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("..", root.join("a/loop")).unwrap();
            std::os::unix::fs::symlink("b.jsonl", root.join("a/link.jsonl")).unwrap();
            std::os::unix::fs::symlink("missing", root.join("a/dangling")).unwrap();
        }
        let below_file = root.join("a/b.jsonl/x");
        let roots = [root.join("a"), root.to_owned(), root.join("a/b.jsonl"), root.join("missing"), below_file];
        let (found, errors) = discover(&roots, Some(&root.join("archive")));
        let names: Vec<_> = found.iter().map(|it| it.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["c", "b.jsonl"]);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(matches!(errors[0], Error::Missing(_)), "{errors:?}");
        // On Unix it cannot be checked whether a path below a file exists; on Windows it does not exist.
        #[cfg(unix)]
        assert!(matches!(errors[1], Error::Unreadable { .. }), "{errors:?}");
    }
}
