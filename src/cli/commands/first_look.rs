//! The first overview of a machine with many logs: the newest logs are read first, so that it is shown before all are read.

use agentlogs::base::time::{DAY_MICROS, Time};
use agentlogs::ingest::Options;
use agentlogs::input::discover::{Found, discover};
use indicatif::DecimalBytes;

/// The logs of so many days come first: the overview shows 30 days, and compares them with the 30 before.
const DAYS: i64 = 61;

/// Fewer bytes of older logs are read in a second: then all logs are read at once.
const MANY: u64 = 1 << 30;

/// The newest logs of a run, if they are to be read before the others.
#[derive(Debug, PartialEq, Eq)]
pub struct Newest {
    /// They were written since.
    pub since: Time,
    /// The size of the others.
    pub older: u64,
}

impl Newest {
    /// The newest logs of a run into an archive without logs. `None` if there are too few older ones.
    pub fn of(options: &Options) -> Option<Self> {
        let (found, errors) = discover(&options.roots, options.except.as_deref());
        // The run itself states these.
        if errors.is_empty() { Self::among(&found, options.now?, MANY) } else { None }
    }

    fn among(found: &[Found], now: Time, many: u64) -> Option<Self> {
        let since = Time::from_micros(now.micros().saturating_sub(DAYS * DAY_MICROS));
        let is_older = |file: &&Found| file.modified_at.is_some_and(|written| written < since);
        let older: u64 = found.iter().filter(is_older).map(|file| file.bytes).sum();
        let newest: u64 = found.iter().map(|file| file.bytes).sum::<u64>() - older;
        (newest > 0 && older >= many.max(newest)).then_some(Self { since, older })
    }

    /// The message below the overview of these logs.
    pub fn message(&self) -> String {
        format!("these are the logs of the last {DAYS} days; reading {} of older ones", DecimalBytes(self.older))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn file(bytes: u64, day: i64) -> Found {
        Found {
            path: PathBuf::from("/logs/a.jsonl"),
            relative: PathBuf::from("a.jsonl"),
            bytes,
            modified_at: Some(time(day)),
            is_stream: false,
            is_named: false,
            has_companions: false,
            has_results: false,
        }
    }

    fn time(day: i64) -> Time {
        Time::from_micros(day * DAY_MICROS)
    }

    #[test]
    fn newest_logs_come_first_if_most_are_older() {
        let among = |found: &[Found]| Newest::among(found, time(20_100), 100);
        let newest = Some(Newest { since: time(20_039), older: 150 });
        assert_eq!(among(&[file(150, 20_038), file(150, 20_039)]), newest);
        // The others are read as fast.
        assert_eq!(among(&[file(150, 20_038), file(151, 20_039)]), None);
        assert_eq!(among(&[file(99, 20_038), file(1, 20_039)]), None);
        // There would be nothing to show.
        assert_eq!(among(&[file(150, 20_038)]), None);
        assert_eq!(among(&[]), None);
        // The run reads files without a time.
        let unknown = Found { modified_at: None, ..file(150, 0) };
        assert_eq!(among(&[file(150, 20_038), unknown]), newest);
    }
}
