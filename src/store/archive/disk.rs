//! All that the archive does to files and folders: each step is one function here, so that a test can tell what a power cut
//! between two of them would leave.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};

#[cfg(test)]
mod cut;

#[cfg(test)]
use cut::note;

/// Options for files that only their owner reads.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Makes a file that must not be there.
pub fn create(path: &Path) -> io::Result<File> {
    let file = private(File::options().read(true).write(true).create_new(true)).open(path)?;
    #[cfg(test)]
    note(&cut::Step::Create(path.to_owned()));
    Ok(file)
}

/// Makes a file, or empties the one that is there.
pub fn create_or_empty(path: &Path) -> io::Result<File> {
    let file = private(File::options().write(true).create(true).truncate(true)).open(path)?;
    #[cfg(test)]
    note(&cut::Step::Create(path.to_owned()));
    Ok(file)
}

/// Opens a file that means nothing by its content.
pub fn open_lock(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)
}

/// Whether an open file is the one at a path, not one that was removed from there.
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

/// What was written to a file reaches the disk.
pub fn sync(file: &File, path: &Path) -> io::Result<()> {
    file.sync_data()?;
    let _ = path;
    #[cfg(test)]
    note(&cut::Step::Sync(path.to_owned(), fs::read(path)?));
    Ok(())
}

/// What was written to a file begins to reach the disk, so that less of it is waited for by [`sync`], which may not be left out.
/// Where the system has no such call, nothing happens.
pub fn begin_sync(file: &File) {
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "the system's call is")]
    // SAFETY: The file is open. What the call answers means nothing: a failure to write is told by `sync` as well.
    unsafe {
        libc::sync_file_range(std::os::fd::AsRawFd::as_raw_fd(file), 0, 0, libc::SYNC_FILE_RANGE_WRITE);
    }
    let _ = file;
}

/// [`sync`] of a file that was closed.
fn sync_closed(path: &Path) -> io::Result<()> {
    sync(&File::options().write(true).open(path)?, path)
}

/// Names in a folder reach the disk as the content of files does.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    let _ = path;
    #[cfg(test)]
    note(&cut::Step::SyncFolder(path.to_owned()));
    Ok(())
}

/// What is waited for until it is on the disk: a file that was closed, or the names in a folder.
#[derive(Debug)]
pub enum Waited {
    File(PathBuf),
    Folder(PathBuf),
}

/// All that `work` hands on reaches the disk. Each file and folder waits for the disk, so several are waited for at once, and while
/// the work goes on.
pub fn sync_all<T>(work: impl FnOnce(&dyn Fn(Waited)) -> io::Result<T>) -> io::Result<T> {
    /// What is waited for at once.
    const SYNCS: usize = 8;
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let next = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
    let wait = || {
        let mut result = Ok(());
        while let Some(it) = next() {
            let synced = match it {
                Waited::File(path) => sync_closed(&path),
                Waited::Folder(path) => sync_folder(&path),
            };
            result = result.and(synced);
        }
        result
    };
    std::thread::scope(|scope| {
        let threads = [(); SYNCS].map(|()| std::thread::Builder::new().spawn_scoped(scope, wait));
        // Without a thread that receives it, it is told by what the thread says.
        let done = work(&|it| drop(sender.send(it)));
        drop(sender);
        let panicked = |_| Err(io::Error::other("a thread panicked"));
        // This thread waits as well: perhaps no other could be started.
        let own = wait();
        let synced = threads.into_iter().flatten().map(|it| it.join().unwrap_or_else(panicked));
        synced.fold(own, Result::and).and(done)
    })
}

/// A folder that only its owner enters, with those above it, if it is made.
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

/// Gives a file or folder another name in its folder.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    #[cfg(test)]
    note(&cut::Step::Rename(from.to_owned(), to.to_owned()));
    Ok(())
}

/// Gives a file a second name. Not every file system has links.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    if fs::hard_link(from, to).is_ok() {
        #[cfg(test)]
        note(&cut::Step::Link(from.to_owned(), to.to_owned()));
        return Ok(());
    }
    io::copy(&mut File::open(from)?, &mut create(to)?)?;
    sync(&File::open(to)?, to)
}

/// A name for `target`, which stands beside it.
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

/// Removes a folder in which nothing is left.
pub fn remove_empty_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)?;
    #[cfg(test)]
    note(&cut::Step::Remove(path.to_owned()));
    Ok(())
}

/// Removes a folder with all that is in it, if it is there.
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
