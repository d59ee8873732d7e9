//! The classes of failures.

/// Why a session failed. The order is that of the rules: a session belongs to the first class that it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The user stopped it.
    Stopped,
    /// The provider, the network, the container or the verifier did not work.
    Infrastructure,
    /// The provider refused the account: its key, its rights or its credit.
    Authentication,
    /// Too many requests, or the limit of a plan.
    RateLimit,
    /// The prompt was larger than the context of the model.
    ContextOverflow,
    /// A budget of time, turns or money was used up.
    Timeout,
    /// Each call of a tool failed, whatever its arguments.
    ToolBroken,
    /// The same calls or edits again and again.
    Loop,
    /// The log ends before the agent did.
    Unfinished,
    /// The agent ended without a change or an answer.
    GaveUp,
    /// An answer without a change was judged wrong.
    WrongAnswer,
    /// Nothing was tested, built or linted after the last change.
    Unverified,
    /// The last check after the last change failed.
    VerifiedRed,
    /// The last check passed, and the result was judged wrong.
    JudgedWrong,
    /// None of these.
    Unknown,
}

/// All classes, in the order of their rules.
pub const CLASSES: [Class; 15] = [
    Class::Stopped,
    Class::Infrastructure,
    Class::Authentication,
    Class::RateLimit,
    Class::ContextOverflow,
    Class::Timeout,
    Class::ToolBroken,
    Class::Loop,
    Class::Unfinished,
    Class::GaveUp,
    Class::WrongAnswer,
    Class::Unverified,
    Class::VerifiedRed,
    Class::JudgedWrong,
    Class::Unknown,
];

impl Class {
    /// The value of the dimension `failure_class`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Infrastructure => "infrastructure",
            Self::Authentication => "authentication",
            Self::RateLimit => "rate_limit",
            Self::ContextOverflow => "context_overflow",
            Self::Timeout => "timeout",
            Self::ToolBroken => "tool_broken",
            Self::Loop => "loop",
            Self::Unfinished => "unfinished",
            Self::GaveUp => "gave_up",
            Self::WrongAnswer => "wrong_answer",
            Self::Unverified => "unverified",
            Self::VerifiedRed => "verified_red",
            Self::JudgedWrong => "judged_wrong",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_in_their_order_and_documented() {
        assert!(CLASSES.is_sorted());
        let page = include_str!("../../../docs/failures.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        for (class, row) in CLASSES.iter().zip(&rows) {
            let expected = format!("| `{}` | ", class.as_str());
            assert!(row.starts_with(&expected), "{expected} {row}");
        }
    }
}
