//! Results that are on an earlier line than their calls, as those of parallel calls can be.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::adapters::shared::builder::Builder;

/// At most so many results wait for their calls, which follow within a few lines.
const MOST: usize = 32;

/// At most so many bytes of records wait.
const MOST_BYTES: usize = 1 << 24;

/// Results whose calls were not read yet, in their order. Results without any call are among them, until newer ones replace them.
#[derive(Debug, Default)]
pub(crate) struct EarlyResults {
    waiting: VecDeque<EarlyResult>,
    /// The bytes of their records.
    bytes: usize,
}

/// A result that waits for its call.
#[derive(Debug)]
pub(crate) struct EarlyResult {
    pub(crate) call_id: String,
    /// The line of its record.
    pub(crate) line: i64,
    /// Its record.
    pub(crate) record: Arc<[u8]>,
}

impl EarlyResults {
    /// Adds a result.
    pub(super) fn add(&mut self, call_id: &str, line: i64, record: &[u8]) {
        if record.len() > MOST_BYTES {
            return;
        }
        self.bytes += record.len();
        // The results of a record share it.
        let known = self.waiting.back().filter(|it| it.line == line && it.record.len() == record.len());
        let record = known.map_or_else(|| record.into(), |it| Arc::clone(&it.record));
        self.waiting.push_back(EarlyResult { call_id: call_id.to_owned(), line, record });
        while self.waiting.len() > MOST || self.bytes > MOST_BYTES {
            let Some(oldest) = self.waiting.pop_front() else { return };
            self.bytes -= oldest.record.len();
        }
    }

    /// Removes and returns the results whose calls are known by now.
    pub(crate) fn take_known(&mut self, builder: &Builder) -> Vec<EarlyResult> {
        let mut known = Vec::new();
        let mut index = 0;
        while let Some(result) = self.waiting.get(index) {
            if builder.call_index(&result.call_id).is_none() {
                index += 1;
            } else if let Some(result) = self.waiting.remove(index) {
                self.bytes -= result.record.len();
                known.push(result);
            }
        }
        known
    }
}
