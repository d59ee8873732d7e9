//! The files that an ingest read or skipped.

use std::collections::HashSet;

use agentlogs::model::source::SEPARATOR;
use twox_hash::XxHash3_64;

/// The hash of a path.
pub fn hash(path: &str) -> u64 {
    XxHash3_64::oneshot(path.as_bytes())
}

/// The files of a run, as hashes of their paths to save memory.
pub struct Files {
    pub read: HashSet<u64>,
    pub unchanged: HashSet<u64>,
}

impl Files {
    /// Whether a file was read.
    pub fn is_read(&self, path: &str) -> bool {
        self.read.contains(&hash(path))
    }

    /// Whether a file was skipped as unchanged. The members of an unchanged archive are unchanged.
    pub fn is_unchanged(&self, path: &str) -> bool {
        let archives = path.match_indices(SEPARATOR).filter_map(|(end, _)| path.get(..end));
        archives.chain([path]).any(|path| self.unchanged.contains(&hash(path)))
    }
}
