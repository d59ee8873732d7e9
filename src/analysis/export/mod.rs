//! Exports: the tables as files, or each session as a trajectory.

mod file;
mod lake;
mod tables;
mod trajectory;

pub use file::{Access, write_file};
pub use lake::{Error as LakeError, Facts, LakeExport};
pub use tables::{FileKind, in_scope, write};
pub use trajectory::{Trajectories, Trajectory};
