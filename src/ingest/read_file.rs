//! Reads one file of the disk, a pipe or standard input: opens it, tries again if it changes meanwhile, and emits it.

use std::path::PathBuf;

use super::place::Place;
use super::read_content::Failure;
use super::run::{FileRead, Run};
use super::sidecars::{result_paths, sidecar_paths};
use crate::input::containers;
use crate::input::database;
use crate::input::discover::{self, Found};
use crate::input::open::{self, Budget};
use crate::model::source::{Source, SourceStatus, path_text};

/// How often a file is read that changes while it is read: a log that is cut short, a database that is written to.
const TRIES: usize = 3;

/// How the reading of a file ended.
pub struct Finished {
    /// Its size.
    pub bytes: u64,
    /// Why it could not be read, if so.
    pub error: Option<String>,
}

impl Run<'_> {
    /// Reads one file, and emits it; the members of an archive come before the archive.
    pub fn read_file(&self, file: &Found) -> Finished {
        let mut source = self.source(path_text(&file.path), size(file), file.modified_at);
        source.options = fingerprint_of(file, &self.fingerprint);
        let read = self.read_until_unchanged(source, file);
        let source = &read.source;
        if file.is_stdin() && source.status == SourceStatus::Empty {
            return Finished { bytes: 0, error: Some("it is empty".to_owned()) };
        }
        let is_unreadable = source.status == SourceStatus::Unreadable;
        let finished = Finished {
            bytes: u64::try_from(source.bytes).unwrap_or_default(),
            error: is_unreadable.then(|| source.message.clone().unwrap_or_default()),
        };
        (self.emit)(read);
        finished
    }

    fn read_until_unchanged(&self, mut source: Source, file: &Found) -> FileRead {
        if database::is_companion(&file.path) {
            source.status = SourceStatus::Auxiliary;
            return FileRead::without_claims(source);
        }
        for attempt in 1..=TRIES {
            match self.read_once(source.clone(), file, attempt == TRIES) {
                Ok(read) => return read,
                Err(Failure::Changed) => {}
                Err(Failure::Unreadable(message)) => return FileRead::unreadable(source, message),
            }
        }
        FileRead::unreadable(source, open::CUT.to_owned())
    }

    /// Opens and reads a file. On the last attempt a database that was written to is accepted as it was read.
    fn read_once(&self, mut source: Source, file: &Found, is_last: bool) -> Result<FileRead, Failure> {
        let limit = self.options.limit;
        let content = match () {
            () if file.is_stdin() => open::open_stdin(limit),
            () if file.is_stream => open::open_stream(&file.path, limit),
            () => open::open(&file.path, limit),
        };
        let content = content.map_err(|error| Failure::Unreadable(error.to_string()))?;
        // It may have grown since it was found.
        source.bytes = i64::try_from(content.stored).unwrap_or(i64::MAX);
        source.modified_at = content.modified.and_then(discover::micros).or(source.modified_at);
        if containers::is_container(&content) {
            if content.is_damaged() {
                return Err(Failure::Changed);
            }
            let budget = Budget::new(limit, content.stored);
            return Ok(FileRead::without_claims(self.read_container(source, &content, 0, &budget)));
        }
        self.read_content(source, &content, &Place::File(file), is_last)
    }
}

/// The size of a file when it was found.
pub fn size(file: &Found) -> i64 {
    i64::try_from(file.bytes).unwrap_or(i64::MAX)
}

/// The options that a file is read with, and the state of the files that are read with it: sidecars, results of an evaluation, and
/// the write-ahead log of a database.
pub fn fingerprint_of(file: &Found, options: &str) -> String {
    let mut companions: Vec<PathBuf> = Vec::new();
    if file.has_companions {
        companions.extend(sidecar_paths(&file.path).chain([database::wal(&file.path)]));
    }
    if file.has_results {
        companions.extend(result_paths(&file.path));
    }
    let stamps = companions.into_iter().filter_map(|path| {
        let metadata = path.metadata().ok()?;
        Some(format!(" {} {:?}", metadata.len(), metadata.modified().ok()))
    });
    stamps.fold(options.to_owned(), |all, stamp| all + &stamp)
}
