//! The spool: a file of the next generation with facts that do not fit into memory, until they are in a part.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::store::archive::disk;
use crate::store::archive::error::Error;
use crate::store::archive::facts::codec;
use crate::store::archive::hashed_file::BUFFER;
use crate::store::archive::layout::SPOOL;

/// Encoded facts of sessions and sources, in any order. Threads write to it at the same time.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    end: Mutex<End>,
}

#[derive(Debug)]
struct End {
    file: BufWriter<File>,
    offset: u64,
}

impl Spool {
    /// Creates the spool in the directory of the next generation.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(next: &Path) -> Result<Self, Error> {
        let path = next.join(SPOOL);
        let file = disk::create(&path).map_err(Error::file(&path))?;
        Ok(Self { path, end: Mutex::new(End { file: BufWriter::with_capacity(BUFFER, file), offset: 0 }) })
    }

    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes facts and appends them. Returns where they begin and their length, in bytes.
    ///
    /// # Errors
    /// When they cannot be encoded or written.
    pub fn append_encoded<T: Serialize>(&self, facts: &T) -> Result<(u64, u64), Error> {
        self.append(&codec::encode(facts).map_err(Error::file(&self.path))?)
    }

    /// Appends facts that are encoded. Returns where they begin and their length, in bytes.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append(&self, encoded: &[u8]) -> Result<(u64, u64), Error> {
        let mut end = self.end();
        let (offset, length) = (end.offset, encoded.len() as u64);
        end.offset += length;
        end.file.write_all(encoded).map_err(Error::file(&self.path))?;
        Ok((offset, length))
    }

    /// Opens the file for reading, with all that was appended before. Returns its path too.
    ///
    /// # Errors
    /// When it cannot be written or opened.
    pub fn open(&self) -> Result<(&Path, File), Error> {
        self.end().file.flush().map_err(Error::file(&self.path))?;
        Ok((&self.path, File::open(&self.path).map_err(Error::file(&self.path))?))
    }
}
