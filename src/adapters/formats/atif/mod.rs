//! Formats of ATIF, the trajectories of Harbor.

pub(crate) mod trajectory;
