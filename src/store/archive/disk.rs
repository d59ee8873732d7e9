//! All changes that the archive makes to files and directories. Each is one function, so that a test (`cut`) can let it fail, or compute
//! what a power cut after it would leave.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};

// It makes symbolic links.
#[cfg(all(test, unix))]
#[path = "disk/tests/cut.rs"]
mod cut;

#[cfg(all(test, unix))]
use cut::{change, is_without_links};

/// A change of files or directories.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(all(test, unix)), expect(dead_code, reason = "only tests record the paths"))]
enum Change<'a> {
    Create(&'a Path),
    CreateDirectory(&'a Path),
    Link(&'a Path, &'a Path),
    LinkDirectory(&'a Path, &'a str),
    Rename(&'a Path, &'a Path),
    Remove(&'a Path),
    Sync(&'a Path),
    SyncDirectory(&'a Path),
}

/// Makes a change. Tests record it, or let it fail.
#[cfg(not(all(test, unix)))]
fn change<T>(_: Change<'_>, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    make()
}

/// Whether a test lets this directory have no links.
#[cfg(not(all(test, unix)))]
const fn is_without_links(_: &Path) -> bool {
    false
}

/// Whether hard and symbolic links are made in this directory. The environment variable `AGENTLOGS_WITHOUT_LINKS` turns them off, for
/// file systems that make links which other machines do not see.
pub fn uses_links(path: &Path) -> bool {
    !is_without_links(path) && std::env::var_os("AGENTLOGS_WITHOUT_LINKS").is_none_or(|value| value.is_empty())
}

/// Sets the permissions of new files: only their owner reads them.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Creates a file that must not exist.
pub fn create(path: &Path) -> io::Result<File> {
    change(Change::Create(path), || private(File::options().read(true).write(true).create_new(true)).open(path))
}

/// Creates a file, or empties an existing one.
pub fn create_or_empty(path: &Path) -> io::Result<File> {
    change(Change::Create(path), || private(File::options().write(true).create(true).truncate(true)).open(path))
}

/// Opens a file that is only locked, or creates it.
pub fn open_lock(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)
}

/// Whether an open file is still the one at this path: it may have been removed or replaced.
pub fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        file.metadata().ok().map(id) == fs::metadata(path).ok().map(id)
    }
    #[cfg(not(unix))]
    {
        // An open file cannot be removed.
        let _ = (file, path);
        true
    }
}

/// Syncs the content of a file to the disk.
pub fn sync(file: &File, path: &Path) -> io::Result<()> {
    change(Change::Sync(path), || file.sync_data())
}

/// Begins to write the content of a file to the disk, so that a later [`sync`] waits for less. It does not replace [`sync`], and does
/// nothing where the system has no such call.
pub fn begin_sync(file: &File) {
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "a system call")]
    // SAFETY: The file is open. The result is ignored: `sync` returns an error of writing too.
    unsafe {
        libc::sync_file_range(std::os::fd::AsRawFd::as_raw_fd(file), 0, 0, libc::SYNC_FILE_RANGE_WRITE);
    }
    let _ = file;
}

/// [`sync`] for a file that was closed.
pub fn sync_closed(path: &Path) -> io::Result<()> {
    sync(&File::options().write(true).open(path)?, path)
}

/// Syncs the names in a directory to the disk.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    change(Change::SyncDirectory(path), || {
        // Other systems write the names with the files.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    })
}

/// What [`sync_all`] syncs: a file that was closed, or the names in a directory.
#[derive(Debug)]
pub enum Waited {
    File(PathBuf),
    Directory(PathBuf),
}

/// Runs `work`, and syncs the files and directories that it passes to its argument, several at once and while it runs: each sync
/// waits for the disk.
pub fn sync_all<T>(work: impl FnOnce(&dyn Fn(Waited)) -> io::Result<T>) -> io::Result<T> {
    /// How many are synced at once.
    const SYNCS: usize = 8;
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let next = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
    let wait = || {
        let mut result = Ok(());
        while let Some(waited) = next() {
            let synced = match waited {
                Waited::File(path) => sync_closed(&path),
                Waited::Directory(path) => sync_directory(&path),
            };
            result = result.and(synced);
        }
        result
    };
    std::thread::scope(|scope| {
        let threads = [(); SYNCS].map(|()| std::thread::Builder::new().spawn_scoped(scope, wait));
        // If no thread receives it, that thread's own error is returned.
        let done = work(&|it| drop(sender.send(it)));
        drop(sender);
        let panicked = |_| Err(io::Error::other("a thread panicked"));
        // This thread syncs too: perhaps no other could be started.
        let own = wait();
        let synced = threads.into_iter().flatten().map(|thread| thread.join().unwrap_or_else(panicked));
        synced.fold(own, Result::and).and(done)
    })
}

/// Creates a directory that only its owner enters, with its parents, if it does not exist.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    change(Change::CreateDirectory(path), || builder.create(path))
}

/// Renames a file or directory within its directory.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    change(Change::Rename(from, to), || fs::rename(from, to))
}

/// Creates a hard link, or a copy with the same time on file systems without links.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    if uses_links(to) && change(Change::Link(from, to), || fs::hard_link(from, to)).is_ok() {
        return Ok(());
    }
    let mut original = File::open(from)?;
    let mut copy = create(to)?;
    io::copy(&mut original, &mut copy)?;
    // Not all file systems have times.
    let _ = original.metadata().and_then(|metadata| metadata.modified()).and_then(|time| copy.set_modified(time));
    sync(&copy, to)
}

/// Creates a symbolic link to a directory next to it.
///
/// # Errors
/// Where links cannot be made: on some file systems, and on Windows without the privilege.
pub fn link_directory(path: &Path, target: &str) -> io::Result<()> {
    if !uses_links(path) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    change(Change::LinkDirectory(path, target), || {
        #[cfg(unix)]
        return std::os::unix::fs::symlink(target, path);
        #[cfg(windows)]
        return std::os::windows::fs::symlink_dir(target, path);
        #[cfg(not(any(unix, windows)))]
        return Err(io::ErrorKind::Unsupported.into());
    })
}

/// Removes a file or a link.
pub fn remove_file(path: &Path) -> io::Result<()> {
    change(Change::Remove(path), || {
        #[cfg(windows)]
        if std::os::windows::fs::FileTypeExt::is_symlink_dir(&fs::symlink_metadata(path)?.file_type()) {
            // There a link to a directory is removed like a directory.
            return fs::remove_dir(path);
        }
        fs::remove_file(path)
    })
}

/// Removes an empty directory.
pub fn remove_empty_directory(path: &Path) -> io::Result<()> {
    change(Change::Remove(path), || fs::remove_dir(path))
}

/// Removes a directory with its content, if it exists.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    match change(Change::Remove(path), || fs::remove_dir_all(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
