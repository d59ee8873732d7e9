//! Whether the records of a log show which requests were made again.
//!
//! The first engine of Kimi Code (`packages/agent-core`) writes a record for each request, with the number of a repeated one. The second
//! one (`packages/agent-core-v2`) writes no number: it makes the request again as another step, and the record of the retry,
//! `turn.step.retrying`, is not kept in the file. Only its records have the agent's id.

use super::records::Record;

#[derive(Debug, Default)]
pub(super) struct Retries {
    /// Whether there is a record that states retries, or would state them.
    are_stated: bool,
    /// Whether there are requests whose records do not.
    are_hidden: bool,
    /// Whether the last record of a retry is that of the next request.
    has_event: bool,
}

impl Retries {
    /// Reads a record of a request. Returns whether the request was made again.
    pub(super) fn request(&mut self, record: &Record<'_>) -> bool {
        let is_stated = record.agent_id.some().is_none();
        self.are_stated |= is_stated;
        self.are_hidden |= !is_stated;
        is_stated && record.attempt.some().is_some() && !std::mem::take(&mut self.has_event)
    }

    /// The log has a record of a retry, whose request follows.
    pub(super) const fn stated(&mut self) {
        self.are_stated = true;
        self.has_event = true;
    }

    /// Whether the number of retries is that of their records.
    pub(super) const fn are_complete(&self) -> bool {
        self.are_stated && !self.are_hidden
    }
}
