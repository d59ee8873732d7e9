//! What all formats use: the definition of an adapter, and the loops that fold the records of a log into sessions.
//! Nothing here depends on a format.

pub(crate) mod api;
pub(crate) mod document;
mod file_id;
pub(crate) mod probe;
mod record_loop;
mod session_records;
pub(crate) mod sessions;
pub(crate) mod text_loop;
pub mod unknown;

pub use api::{Adapter, Context, Fold, Hints, Parsed, RecordErrors, RecordKind};
pub use probe::Probe;
pub(crate) use record_loop::{fold, fold_from};
pub(crate) use session_records::{FinishedSessions, SessionRecords, session_records};
