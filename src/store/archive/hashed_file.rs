//! Files that are hashed while they are written, and the check of their hashes.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::disk;
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
}

impl Checksum {
    /// Whether a file has this size and hash, as [`checksum`] returns them.
    pub fn is(&self, found: &(u64, String)) -> bool {
        (self.bytes, &self.hash) == (found.0, &found.1)
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
        Ok(Checksum { bytes: self.bytes, hash: format!("{:032x}", hash.finish_128()), rows })
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
