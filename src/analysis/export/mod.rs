//! Exports: the tables as files, or each session as a trajectory.

mod file;
mod tables;
mod trajectory;

pub use file::{Access, write_file};
pub use tables::{FileKind, in_scope, write};
pub use trajectory::{Trajectories, Trajectory};
