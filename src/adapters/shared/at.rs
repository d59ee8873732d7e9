//! The place and the time of a record.

use crate::base::time::Time;

/// Where and when something was logged: the line of its record, and its time.
#[derive(Debug, Clone, Copy, Default)]
pub struct At {
    /// The line of the record.
    pub line: i64,
    /// The time, if the log has one.
    pub time: Option<Time>,
}
