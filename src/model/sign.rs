//! Signs that a result should not be trusted. docs/integrity.md states what each sign proves, and what it does not.

use serde::{Deserialize, Serialize};

/// A sign that a result should not be trusted, the ones that prove most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// A file of the verifier or grader was changed.
    VerifierChanged,
    /// A file of the verifier or grader was read.
    VerifierRead,
    /// A test was deleted.
    TestDeleted,
    /// A test was changed so that it is skipped, or may fail.
    TestSkipped,
    /// The clock of the system, or that of a program, was set.
    ClockSet,
    /// The history of the repository was searched for versions that are not the present one.
    HistorySearched,
    /// Versions of a repository were fetched from another machine.
    UpstreamFetched,
    /// The web was searched or read.
    WebUsed,
}

impl Sign {
    /// All signs, in their order.
    pub const ALL: [Self; 8] = [
        Self::VerifierChanged,
        Self::VerifierRead,
        Self::TestDeleted,
        Self::TestSkipped,
        Self::ClockSet,
        Self::HistorySearched,
        Self::UpstreamFetched,
        Self::WebUsed,
    ];

    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VerifierChanged => "verifier_changed",
            Self::VerifierRead => "verifier_read",
            Self::TestDeleted => "test_deleted",
            Self::TestSkipped => "test_skipped",
            Self::ClockSet => "clock_set",
            Self::HistorySearched => "history_searched",
            Self::UpstreamFetched => "upstream_fetched",
            Self::WebUsed => "web_used",
        }
    }

    /// The one of two that proves more.
    pub fn stronger(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        a.into_iter().chain(b).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_in_their_order_and_documented() {
        assert!(Sign::ALL.is_sorted());
        let page = include_str!("../../docs/integrity.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        assert!(rows.len() >= Sign::ALL.len());
        for (sign, row) in Sign::ALL.iter().zip(&rows) {
            let expected = format!("| `{}` | ", sign.as_str());
            assert!(row.starts_with(&expected), "{expected} {row}");
        }
    }

    #[test]
    fn the_one_that_proves_more_is_kept() {
        let (changed, web) = (Some(Sign::VerifierChanged), Some(Sign::WebUsed));
        assert_eq!(Sign::stronger(web, changed), changed);
        assert_eq!(Sign::stronger(None, web), web);
        assert_eq!(Sign::stronger(None, None), None);
    }
}
