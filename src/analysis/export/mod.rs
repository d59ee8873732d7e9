//! Exports: the tables as files, a lake that a cluster writes, each session as a trajectory or a trace, all sessions as one trace for Perfetto, or costs by day in the columns of FOCUS.

mod by_session;
mod cluster;
mod file;
mod focus;
mod lake;
mod otlp;
mod perfetto;
mod tables;
mod trajectory;
mod verdicts;

pub use cluster::{
    Description, Layout, Reconciler, extracted, extracted_schema, fragment_schema, merge_fragments, written_schema,
};
pub use file::{Access, TEXTS, write_file};
pub use focus::{FOCUS_TABLES, FOCUS_VERSION, Focus, Unpriced};
pub use lake::{Error as LakeError, Facts, LakeExport};
pub use otlp::Traces;
#[cfg(feature = "cloud")]
pub use otlp::{Endpoint, EndpointError, Sent, Signal};
pub use perfetto::{Timeline, Written};
pub use tables::{FileKind, in_scope, write};
pub use trajectory::{Trajectories, Trajectory};
pub use verdicts::with_verdicts;
