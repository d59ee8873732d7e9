//! Choices about trials, and their number.

/// What trials count as that no verdict judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unjudged {
    /// As trials of their own kind, outside of pass rates.
    #[default]
    Apart,
    /// As failed trials.
    Failed,
}

/// How many of the trials in a scope are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Judged {
    /// The trials.
    pub trials: usize,
    /// Those of them without a verdict on whether they passed.
    pub unjudged: usize,
}
