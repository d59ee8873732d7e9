//! What was computed of an archive, in a small file: it is used until the archive is written again, or the day ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::line::Spent;
use crate::base::time::Time;

/// Raised when the content is computed differently.
const VERSION: u32 = 2;
/// Sessions that a file may contain.
const MOST_SESSIONS: usize = 64;

/// What the content depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    /// See [`VERSION`].
    pub version: u32,
    /// The directory of the archive.
    pub archive: String,
    /// See [`Archive::stamp`](crate::store::archive::Archive::stamp).
    pub stamp: String,
    /// The local day.
    pub day: String,
    /// The time zone of the day.
    pub timezone: String,
}

/// What was computed of an archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cached {
    #[serde(flatten)]
    pub key: Key,
    /// The cost of the day.
    pub today: Option<Spent>,
    /// Windows that had not ended.
    pub windows: Vec<CachedWindow>,
    /// The costs of sessions that were asked for.
    pub sessions: BTreeMap<String, Option<Spent>>,
}

/// A window of a subscription's limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CachedWindow {
    /// Its name.
    pub name: String,
    /// When it begins.
    pub starts_at: Time,
    /// When it ends.
    pub ends_at: Time,
    /// The used part of the limit in percent.
    pub used_percent: Option<f64>,
    /// The cost of the turns in it.
    pub cost: Option<Spent>,
}

impl Key {
    pub fn new(archive: &Path, stamp: String, day: String, timezone: &str) -> Self {
        let archive = dunce::canonicalize(archive).unwrap_or_else(|_| archive.to_owned());
        Self {
            version: VERSION,
            archive: archive.to_string_lossy().into_owned(),
            stamp,
            day,
            timezone: timezone.to_owned(),
        }
    }

    /// The file of the archive. Archives have files of their own, so that sessions with different archives do not replace each
    /// other's.
    fn path(&self, directory: &Path) -> PathBuf {
        directory.join(format!("statusline-{:016x}.json", XxHash3_64::oneshot(self.archive.as_bytes())))
    }
}

impl Cached {
    /// Reads what was computed with this key. `None` if there is no such file, or it is damaged.
    pub fn read(directory: &Path, key: &Key) -> Option<Self> {
        let cached: Self = serde_json::from_slice(&fs::read(key.path(directory)).ok()?).ok()?;
        (cached.key == *key).then_some(cached)
    }

    /// Replaces the file by one atomic rename.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, directory: &Path) -> io::Result<()> {
        while self.sessions.len() > MOST_SESSIONS {
            self.sessions.pop_first();
        }
        fs::create_dir_all(directory)?;
        let mut file = tempfile::Builder::new().prefix("statusline-").tempfile_in(directory)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.persist(self.key.path(directory))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_intact_file_with_the_same_key_is_used() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("cache");
        let key = Key::new(Path::new("/no/archive"), "generation-1".to_owned(), "2026-10-05".to_owned(), "UTC");
        let window = CachedWindow {
            name: "five_hour".to_owned(),
            starts_at: Time::from_micros(1_790_000_000_000_000),
            ends_at: Time::from_micros(1_790_018_000_000_000),
            used_percent: Some(4.5),
            cost: Spent::of(Some(1.0), true),
        };
        let sessions = (0..100).map(|number| (format!("{number:03}"), Spent::of(Some(0.5), false))).collect();
        let mut cached =
            Cached { key: key.clone(), today: Spent::of(Some(0.1), true), windows: vec![window], sessions };
        cached.write(&directory).unwrap();
        assert_eq!(Cached::read(&directory, &key), Some(cached.clone()));
        assert_eq!((cached.sessions.len(), fs::read_dir(&directory).unwrap().count()), (MOST_SESSIONS, 1));
        let other = Key { stamp: "generation-2".to_owned(), ..key.clone() };
        assert_eq!(Cached::read(&directory, &other), None);
        let path = key.path(&directory);
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() / 2], b"", b"null"] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(Cached::read(&directory, &key), None);
        }
        cached.write(&directory).unwrap();
        assert!(Cached::read(&directory, &key).is_some());
    }
}
