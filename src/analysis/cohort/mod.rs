//! Cohorts of sessions and their means, with tests by permutation: what comparisons and trends share.
//!
//! ```text
//! read         the sessions and the trials of a cohort
//! groups       sessions divided by the values of dimensions
//! means        the means that are compared
//! permutation  whether a mean differs between two groups
//! changes      when the values of a sequence changed
//! ```

pub(super) mod changes;
pub(super) mod groups;
pub(super) mod means;
pub(super) mod permutation;
pub(super) mod read;
