//! Losses, counted by reason: nothing is dropped silently.

use serde::{Deserialize, Serialize};

use crate::model::unknown::UnknownType;

/// Maximum length of the example of a rejected line, in characters.
const EXAMPLE: usize = 120;

/// Why a part of a log could not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The line is not JSON: noise of a terminal, or damage.
    NotJson,
    /// The line ends inside its JSON.
    CutShort,
    /// It is JSON, but not an object.
    NotAnObject,
    /// Its brackets are nested too deep to be a record.
    TooDeep,
    /// It is too long to be a record.
    TooLong,
    /// It contains an impossible count: negative, infinite, or beyond a trillion.
    BadNumber,
    /// It contains usage that cannot be parsed.
    NoUsage,
}

impl Reason {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::CutShort => "cut_short",
            Self::NotAnObject => "not_an_object",
            Self::TooDeep => "too_deep",
            Self::TooLong => "too_long",
            Self::BadNumber => "bad_number",
            Self::NoUsage => "no_usage",
        }
    }
}

/// One kind of loss in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// The reason.
    pub reason: Reason,
    /// Number of lines that were rejected whole or in part.
    pub lines: i64,
    /// The first of these lines, from 1.
    pub first_line: i64,
    /// The beginning of that line, without control characters.
    pub example: String,
    /// The last of these lines: several parts of one line are one line.
    #[serde(default)]
    pub last_line: i64,
}

/// The number of records that were read from a log, and losses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Physical lines, including a last one without a newline.
    pub lines: i64,
    /// Records that were read.
    pub records: i64,
    /// Records of a type that the adapter does not know.
    pub unknown_records: i64,
    /// Losses by reason.
    pub rejects: Vec<Reject>,
    /// The unknown records by type, with the unknown parts of known records.
    pub unknown_types: Vec<UnknownType>,
    /// If there are any, the newest version of the runtime among the sessions of the log.
    pub runtime_version: Option<String>,
    /// How often a line is in `rejects` for one more reason.
    pub more_reasons: i64,
}

impl Health {
    /// Counts a loss in the line `number`, whose text is `bytes`. The line counts once for each reason.
    pub fn reject(&mut self, reason: Reason, number: i64, bytes: &[u8]) {
        let is_known = self.rejects.iter().any(|it| it.last_line == number);
        match self.rejects.iter_mut().find(|it| it.reason == reason) {
            Some(known) if known.last_line == number => return,
            Some(known) => {
                known.lines += 1;
                known.last_line = number;
            }
            None => {
                let example = example(bytes);
                self.rejects.push(Reject { reason, lines: 1, first_line: number, example, last_line: number });
                self.rejects.sort_by_key(|it| it.reason);
            }
        }
        self.more_reasons += i64::from(is_known);
    }

    /// Adds the losses of another reader of the same log, which read other lines.
    pub fn add_losses(&mut self, other: Self) {
        self.more_reasons += other.more_reasons;
        other.rejects.into_iter().for_each(|reject| self.add(reject));
    }

    fn add(&mut self, other: Reject) {
        match self.rejects.iter_mut().find(|it| it.reason == other.reason) {
            None => self.rejects.push(other),
            Some(own) => {
                own.lines += other.lines;
                own.last_line = own.last_line.max(other.last_line);
                if other.first_line < own.first_line {
                    (own.first_line, own.example) = (other.first_line, other.example);
                }
            }
        }
        self.rejects.sort_by_key(|it| it.reason);
    }

    /// Forgets all losses.
    pub fn clear_losses(&mut self) {
        self.rejects.clear();
        self.more_reasons = 0;
    }

    /// Lines that were rejected whole or in part, each once.
    pub fn rejected_lines(&self) -> i64 {
        self.rejects.iter().map(|it| it.lines).sum::<i64>() - self.more_reasons
    }
}

/// The beginning of a line, fit for a terminal.
fn example(bytes: &[u8]) -> String {
    // At most four bytes a character, and some for control characters, which are dropped.
    let head = bytes.get(..EXAMPLE * 8).unwrap_or(bytes);
    String::from_utf8_lossy(head).chars().filter(|it| !it.is_control()).take(EXAMPLE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_counted_by_reason_with_a_harmless_example() {
        let mut health = Health::default();
        health.reject(Reason::CutShort, 7, b"{\"a");
        health.reject(Reason::NotJson, 2, format!("\x1b[31mred{}", "é".repeat(500)).as_bytes());
        health.reject(Reason::NotJson, 9, b"later");
        assert_eq!(health.rejected_lines(), 3);
        let first = &health.rejects[0];
        assert_eq!((first.reason, first.lines, first.first_line), (Reason::NotJson, 2, 2));
        assert!(first.example.starts_with("[31mredé") && first.example.chars().count() == EXAMPLE);
    }

    #[test]
    fn a_line_is_one_line_for_each_reason() {
        let mut health = Health::default();
        for (reason, line) in [
            (Reason::NotJson, 1),
            (Reason::CutShort, 3),
            (Reason::CutShort, 3),
            (Reason::NotJson, 3),
            (Reason::CutShort, 3),
            (Reason::CutShort, 4),
        ] {
            health.reject(reason, line, b"{");
        }
        let mut other = Health::default();
        other.reject(Reason::BadNumber, 7, b"{");
        other.reject(Reason::NoUsage, 7, b"{");
        health.add_losses(other);
        let lines: Vec<_> = health.rejects.iter().map(|it| (it.reason, it.lines)).collect();
        assert_eq!(lines, [(Reason::NotJson, 2), (Reason::CutShort, 2), (Reason::BadNumber, 1), (Reason::NoUsage, 1)]);
        assert_eq!(health.rejected_lines(), 4);
    }
}
