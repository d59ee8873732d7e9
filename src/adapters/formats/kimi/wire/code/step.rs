//! The end of a step, and the identity of its response.

use std::ops::Range;

use crate::adapters::shared::at::At;
use crate::adapters::shared::ids::counts_name;
use crate::base::time::Time;
use crate::model::session::{Identity, Tokens};

/// A response that ended, until its `usage.record` is found.
pub(super) struct Step {
    pub uuid: Option<String>,
    pub at: At,
    /// `None` if the step states only zeros.
    pub tokens: Option<Tokens>,
    pub span: Span,
}

/// What belongs to a step besides its usage.
#[derive(Debug, Clone, Default)]
pub(super) struct Span {
    pub began_at: Option<Time>,
    /// Indices of its calls.
    pub calls: Range<usize>,
}

impl Step {
    /// Its identity: that of its id, if it has one.
    pub fn identity(&self) -> Identity {
        let named = self.uuid.as_ref().map(|uuid| Identity::Global(format!("kimi step {uuid}").into()));
        named.unwrap_or_else(|| identity_of(self.at.time, self.tokens.unwrap_or(Tokens::UNKNOWN)))
    }
}

/// The identity of a response, equal in the files of a fork.
pub(super) fn identity_of(time: Option<Time>, tokens: Tokens) -> Identity {
    time.map_or(Identity::Unique, |time| {
        Identity::Global(format!("kimi {} {}", time.micros(), counts_name(tokens)).into())
    })
}
