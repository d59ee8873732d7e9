//! Files that are hashed while they are written, and the check of their hashes.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::disk;
use crate::base::time::Time;
use crate::input::discover::micros;
use crate::input::open::open_file;

/// Bytes of a buffer between a writer and its file: larger than the 8 kB of the standard library, as the page cache copies 64 kB in
/// the time of 30 kB that arrive 8 kB at a time.
pub const BUFFER: usize = 1 << 16;

/// Size and hash of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// Its length.
    pub bytes: u64,
    /// XXH3-128 of its content, in hexadecimal.
    pub hash: String,
    /// The rows of a table, or the sources of a file of facts.
    pub rows: usize,
    /// When the file was last written, as its file system states it. `None` where it does not, and in archives of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<Time>,
}

impl Checksum {
    /// Whether a file has this size and hash, as [`checksum`] returns them.
    pub fn is(&self, found: &(u64, String)) -> bool {
        (self.bytes, &self.hash) == (found.0, &found.1)
    }

    /// Whether a file is as it was written, by its size and time, else by its size and hash. The time counts if it is before
    /// `listed_at`, when the list of these checksums was written: a later change may have the same time as an earlier one only while
    /// the clock of the file system shows that time.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn is_state_of(&self, path: &Path, listed_at: Option<Time>) -> io::Result<bool> {
        let metadata = fs::metadata(path)?;
        let modified_at = modified_at(&metadata).filter(|time| Some(*time) < listed_at);
        let is_known = metadata.is_file() && modified_at.is_some();
        let is_unchanged = is_known && (self.modified_at, self.bytes) == (modified_at, metadata.len());
        Ok(is_unchanged || self.is(&checksum(path)?))
    }
}

/// A new file that is hashed while it is written.
pub struct HashedFile {
    /// The buffer is before the hash, because the end of a parquet file is written byte by byte.
    inner: BufWriter<Hashing>,
    bytes: u64,
}

struct Hashing {
    file: File,
    hash: XxHash3_128,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if let Some(bytes) = bytes.get(..written) {
            self.hash.write(bytes);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl HashedFile {
    /// Creates a file.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::over(disk::create(path)?))
    }

    /// Writes to an empty file.
    pub fn over(file: File) -> Self {
        let hashing = Hashing { file, hash: XxHash3_128::new() };
        Self { inner: BufWriter::with_capacity(BUFFER, hashing), bytes: 0 }
    }

    /// How many bytes were written.
    pub const fn written(&self) -> u64 {
        self.bytes
    }

    /// Writes the rest of the buffer and returns the checksum of the file. The file is not yet synced to the disk.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self, rows: usize) -> io::Result<Checksum> {
        let Hashing { file, hash } = self.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
        disk::begin_sync(&file);
        let modified_at = file.metadata().ok().as_ref().and_then(modified_at);
        Ok(Checksum { bytes: self.bytes, hash: format!("{:032x}", hash.finish_128()), rows, modified_at })
    }
}

/// Writes a file and returns its checksum. The file is not yet synced to the disk.
///
/// # Errors
/// When the file exists or cannot be written.
pub fn write_file(
    path: &Path,
    rows: usize,
    write: impl FnOnce(&mut HashedFile) -> io::Result<()>,
) -> io::Result<Checksum> {
    let mut out = HashedFile::create(path)?;
    write(&mut out)?;
    out.finish(rows)
}

/// When a file was last written; `None` for a time that no list of checksums can contain.
pub fn modified_at(metadata: &Metadata) -> Option<Time> {
    metadata.modified().ok().and_then(micros).filter(|time| time.can_be_parsed())
}

/// XXH3-128 of these bytes, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(bytes))
}

/// The size and the hash of an existing file.
///
/// # Errors
/// When the file cannot be read.
pub fn checksum(path: &Path) -> io::Result<(u64, String)> {
    let mut hash = XxHash3_128::new();
    let mut file = open_file(path)?;
    let mut buffer = vec![0; BUFFER];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, format!("{:032x}", hash.finish_128())));
        }
        bytes += read as u64;
        hash.write(buffer.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_file_of_the_same_size_and_time_is_not_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table");
        let written = write_file(&path, 1, |file| file.write_all(b"abc")).unwrap();
        let (before, after) = (Time::from_micros(0), Time::from_micros(i64::MAX));
        let is_state = |listed_at| written.is_state_of(&path, listed_at).unwrap();
        let set_time = |time| File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        assert!(is_state(Some(after)));

        fs::write(&path, "abX").unwrap();
        set_time(time);
        assert!(is_state(Some(after)), "by size and time");
        assert!(!is_state(Some(before)), "the list may have been written before the change");
        assert!(!is_state(None));
        set_time(SystemTime::now() + Duration::from_secs(1));
        assert!(!is_state(Some(after)), "another time");
        fs::write(&path, "abc").unwrap();
        assert!(is_state(Some(after)), "the content that was written, at another time");
        fs::write(&path, "abcd").unwrap();
        set_time(time);
        assert!(!is_state(Some(after)), "another size");
        set_time(SystemTime::UNIX_EPOCH);
        assert_eq!(modified_at(&fs::metadata(&path).unwrap()), None, "a manifest with this time could not be read");
        let unknown = Checksum { modified_at: None, ..written.clone() };
        assert!(!unknown.is_state_of(&path, Some(after)).unwrap());
    }
}
