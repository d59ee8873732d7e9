//! Exports: the tables as files, a lake that a cluster writes, or each session as a trajectory.

mod cluster;
mod file;
mod lake;
mod tables;
mod trajectory;

pub use cluster::{
    Description, Layout, Reconciler, extracted, extracted_schema, fragment_schema, merge_fragments, written_schema,
};
pub use file::{Access, write_file};
pub use lake::{Error as LakeError, Facts, LakeExport};
pub use tables::{FileKind, in_scope, write};
pub use trajectory::{Trajectories, Trajectory};
