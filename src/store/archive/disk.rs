//! All changes that the archive makes to files and directories. Each step is one function, so that a test (`cut`) can compute what a
//! power cut between two steps would leave.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};

#[cfg(test)]
mod cut;

#[cfg(test)]
use cut::note;

/// Sets the permissions of new files: only their owner reads them.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Creates a file that must not exist.
pub fn create(path: &Path) -> io::Result<File> {
    let file = private(File::options().read(true).write(true).create_new(true)).open(path)?;
    #[cfg(test)]
    note(&cut::Step::Create(path.to_owned()));
    Ok(file)
}

/// Creates a file, or empties an existing one.
pub fn create_or_empty(path: &Path) -> io::Result<File> {
    let file = private(File::options().write(true).create(true).truncate(true)).open(path)?;
    #[cfg(test)]
    note(&cut::Step::Create(path.to_owned()));
    Ok(file)
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
    file.sync_data()?;
    let _ = path;
    #[cfg(test)]
    note(&cut::Step::Sync(path.to_owned(), fs::read(path)?));
    Ok(())
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
fn sync_closed(path: &Path) -> io::Result<()> {
    sync(&File::options().write(true).open(path)?, path)
}

/// Syncs the names in a directory to the disk.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    let _ = path;
    #[cfg(test)]
    note(&cut::Step::SyncFolder(path.to_owned()));
    Ok(())
}

/// What [`sync_all`] syncs: a file that was closed, or the names in a directory.
#[derive(Debug)]
pub enum Waited {
    File(PathBuf),
    Folder(PathBuf),
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
                Waited::Folder(path) => sync_folder(&path),
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
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    #[cfg(test)]
    note(&cut::Step::CreateFolder(path.to_owned()));
    Ok(())
}

/// Renames a file or directory within its directory.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    #[cfg(test)]
    note(&cut::Step::Rename(from.to_owned(), to.to_owned()));
    Ok(())
}

/// Creates a hard link, or a copy on file systems without links.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    if fs::hard_link(from, to).is_ok() {
        #[cfg(test)]
        note(&cut::Step::Link(from.to_owned(), to.to_owned()));
        return Ok(());
    }
    io::copy(&mut File::open(from)?, &mut create(to)?)?;
    sync(&File::open(to)?, to)
}

/// Creates a symbolic link to `target` in the same directory; on Windows a file that contains the name.
pub fn point(path: &Path, target: &str) -> io::Result<()> {
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, path)?;
    #[cfg(not(unix))]
    fs::write(path, target)?;
    #[cfg(test)]
    note(&cut::Step::Point(path.to_owned(), target.to_owned()));
    Ok(())
}

/// Removes a file.
pub fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    #[cfg(test)]
    note(&cut::Step::Remove(path.to_owned()));
    Ok(())
}

/// Removes an empty directory.
pub fn remove_empty_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)?;
    #[cfg(test)]
    note(&cut::Step::Remove(path.to_owned()));
    Ok(())
}

/// Removes a directory with its content, if it exists.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => return Ok(()),
        Ok(()) => {}
    }
    #[cfg(test)]
    note(&cut::Step::Remove(path.to_owned()));
    Ok(())
}
