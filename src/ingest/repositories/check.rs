//! What is checked before a repository is opened: whether it is of a kind that can be read, and whether a read of its files would wait
//! for ever.

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use super::error::Error;
use crate::input::open::read_file;

/// The largest file with a path that is read, in bytes.
const MAX_PATH: u64 = 1 << 16;
/// Directories with objects of other repositories that are followed.
const MAX_ALTERNATES: usize = 64;
/// The depth of directories of references and of objects.
const MAX_DEPTH: usize = 64;
/// The files of a repository, apart from references and objects, that are read when it is opened.
const FILES: [&str; 6] = ["HEAD", "config", "config.worktree", "packed-refs", "shallow", "commondir"];

/// Checks the repository with this root.
pub(super) fn check(root: &Path) -> Result<(), Error> {
    let own = own_directory(root)?;
    let common = path_in(&own.join("commondir")).map_or_else(|| own.clone(), |common| own.join(common));
    let objects = objects(common.join("objects"))?;
    let mut seen = HashSet::new();
    let mut within = |directory: &Path| special_within(directory, MAX_DEPTH, &mut seen);
    let special = [&own, &common]
        .into_iter()
        .flat_map(|directory| FILES.map(|name| directory.join(name)))
        .find(|path| is_special(path))
        .or_else(|| within(&own.join("refs")))
        .or_else(|| within(&common.join("refs")))
        .or_else(|| objects.iter().find_map(|directory| within(directory)));
    if let Some(path) = special {
        return Err(Error::Special(path));
    }
    match unsupported(&common.join("config")) {
        Some(what) => Err(Error::Unsupported { path: root.to_owned(), what }),
        None => Ok(()),
    }
}

/// The repository's directory: that of a worktree is named in its file `.git`.
fn own_directory(root: &Path) -> Result<PathBuf, Error> {
    let path = root.join(".git");
    if is_special(&path) {
        return Err(Error::Special(path));
    }
    if !path.is_file() {
        return Ok(if path.is_dir() { path } else { root.to_owned() });
    }
    Ok(path_in(&path).map_or(path, |directory| root.join(directory)))
}

/// The path in a file, which may begin with a word.
fn path_in(file: &Path) -> Option<PathBuf> {
    let text = read_file(file, MAX_PATH).ok()?;
    let line = text.lines().next()?;
    let path = line.strip_prefix(b"gitdir:").unwrap_or(line).trim();
    gix::path::from_byte_slice(path).ok().map(Path::to_owned)
}

/// A directory with objects, and those that it names.
fn objects(own: PathBuf) -> Result<Vec<PathBuf>, Error> {
    let mut found = vec![own];
    let mut next = 0;
    while let Some(directory) = found.get(next).filter(|_| next < MAX_ALTERNATES).cloned() {
        next += 1;
        let list = directory.join("info").join("alternates");
        if is_special(&list) {
            continue;
        }
        for line in read_file(&list, MAX_PATH).unwrap_or_default().lines() {
            if line.starts_with(b"\"") {
                return Err(Error::Unsupported { path: list, what: "a quoted path" });
            }
            let named = gix::path::from_byte_slice(line).ok().map(|named| directory.join(named));
            found.extend(named.filter(|named| !line.is_empty() && !found.contains(named)));
        }
    }
    Ok(found)
}

/// The first file of a directory that would block a read. Links are followed; each directory is searched once.
fn special_within(directory: &Path, depth: usize, seen: &mut HashSet<PathBuf>) -> Option<PathBuf> {
    if !seen.insert(dunce::canonicalize(directory).ok()?) {
        return None;
    }
    fs::read_dir(directory).into_iter().flatten().flatten().find_map(|entry| {
        let own = entry.file_type().ok()?;
        if own.is_file() {
            return None;
        }
        let path = entry.path();
        if own.is_dir() || path.is_dir() {
            return special_within(&path, depth.checked_sub(1)?, seen);
        }
        Some(path).filter(|path| is_special(path))
    })
}

/// Whether a path leads to a named pipe or a device. A socket cannot be opened: git itself has one.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| is_special_type(metadata.file_type()))
}

#[cfg(unix)]
fn is_special_type(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
const fn is_special_type(_: FileType) -> bool {
    false
}

/// What the configuration of a repository names that cannot be read.
fn unsupported(config: &Path) -> Option<&'static str> {
    let config = gix::config::File::from_path_no_includes(config.to_owned(), gix::config::Source::Local).ok()?;
    let is =
        |key: &str, value: &str| config.string(key).is_some_and(|found| found.eq_ignore_ascii_case(value.as_bytes()));
    match () {
        () if is("extensions.objectFormat", "sha256") => Some("SHA-256 hashes"),
        () if is("extensions.refStorage", "reftable") => Some("a reftable"),
        () => None,
    }
}
