//! Choices about trials, and their number.

use crate::analysis::present::{counted, grouped};

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

impl Judged {
    /// A sentence about the trials without a verdict: `1 of 12 trials is not judged`. `None` if there are no such trials.
    pub fn stated(self) -> Option<String> {
        let verb = if self.unjudged == 1 { "is" } else { "are" };
        let stated = || format!("{} of {} {verb} not judged", grouped(self.unjudged), counted(self.trials, "trial"));
        (self.unjudged > 0).then(stated)
    }
}
