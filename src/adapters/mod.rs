//! The formats, and one record loop for all.
//!
//! An adapter performs no I/O and uses neither clock nor environment. It decides whether a record is one of its own
//! ([`Adapter::claims`]), and folds typed records into sessions ([`Fold`]). Parsing cannot fail: what cannot be used is
//! counted in [`Health`](crate::model::health::Health).
//!
//! docs/new-runtime.md describes how to add a format. Each of these imports only those above it:
//!
//! ```text
//! engine       what an adapter is, and the loops that run it; the same for all formats
//! shared       what several adapters use: the builder of sessions, tools, the shell
//! described    formats that are described by data, as those of the user
//! formats      a directory per family, and in it a file per format
//! registry     all adapters
//! vocabulary   the words that an adapter uses
//! unread       sessions that may be incomplete because of unknown records
//! detect       which adapters claim a log
//! driver       one log from its first byte to its sessions, in steps
//! ```

pub mod described;
mod detect;
mod driver;
mod engine;
#[allow(clippy::doc_markdown, reason = "the comments of formats are pages")]
mod formats;
mod registry;
pub mod shared;
mod unread;
pub mod vocabulary;

pub use described::UserFormat;
pub use detect::{Claims, detect, is_auxiliary, is_auxiliary_database, is_plain_text};
pub use driver::{Driver, Step, parse};
pub use engine::{Adapter, Context, Fold, Hints, Parsed, Probe, RecordErrors, RecordKind, unknown};
pub use formats::gemini::project_root::{has_chat, project_root};
pub use formats::trials::results::{run_of, trial_of, trials_of};
pub use formats::trials::verifier::{failed_tests, message_of_failed};
pub use registry::{ADAPTERS, TABLES, WITH_UNLOGGED_WINDOWS, maker_with_known_prices};
pub use unread::{newest_version, tested_version};
