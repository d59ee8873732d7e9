//! The files that an ingest read or skipped.

use agentlogs::ingest::PathSet;
use agentlogs::model::source::SEPARATOR;

/// The files of a run.
pub struct Files {
    pub read: PathSet,
    pub unchanged: PathSet,
}

impl Files {
    /// Whether a file was read.
    pub fn is_read(&self, path: &str) -> bool {
        self.read.contains(path)
    }

    /// Whether a file was skipped as unchanged. The members of an unchanged archive are unchanged.
    pub fn is_unchanged(&self, path: &str) -> bool {
        let archives = path.match_indices(SEPARATOR).filter_map(|(end, _)| path.get(..end));
        archives.chain([path]).any(|path| self.unchanged.contains(path))
    }
}
