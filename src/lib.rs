//! agentlogs: offline analytics of the session logs of AI coding agents: cost, tokens, tools, turns and outcomes.
//!
//! The library is the program without its command line. Other programs use these functions: [`parse`] reads a log into
//! [`SessionResult`](model::session::SessionResult)s, [`read`] all logs of directories, [`reconcile`] makes one ledger of them,
//! [`open`] reads an archive, and [`report`] runs a report. These functions and the types of [`model`] change only with a new minor
//! version before 1.0, and `CHANGELOG.md` states it. All else is hidden from the documentation, and may change at any time.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let log = std::fs::read("sample-logs/pi-session/compaction-and-failed-test.jsonl")?;
//! let parsed = agentlogs::parse(&log);
//! assert_eq!(parsed.runtime, Some("pi"));
//! for session in &parsed.sessions {
//!     println!("{}: {} turns, {} tool calls", session.session_id, session.turns.len(), session.tool_calls.len());
//! }
//!
//! // Copies of a session, forks and subagents count once, and all rows have a cost.
//! let logs = agentlogs::read(["sample-logs/pi-session"]);
//! let tables = agentlogs::reconcile(logs.sources);
//! assert!(tables.turns.iter().any(|turn| turn.money.cost.is_some()));
//!
//! # #[cfg(feature = "archive")] {
//! let options = agentlogs::ReportOptions { by: vec!["model".into()], ..Default::default() };
//! let answer = agentlogs::report("cost", &agentlogs::frames(&tables)?, &options)?;
//! println!("{}", answer.rows);
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! # Layers
//!
//! Each directory of `src/` is a layer, and a layer imports only layers to its left (`tests/layers.rs`):
//!
//! ```text
//! base ← {json, model} ← {input, prices, adapters} ← {ledger, ingest} ← store ← analysis ← cli
//! ```
//!
//! `ARCHITECTURE.md` describes each layer, the path of an ingest, the invariants, and where to add a runtime, a column, a report or a
//! price. The first lines of a module state its purpose. From `store` on, all needs the feature `archive` (polars).
//!
//! Further invariants: adapters perform no I/O and do not use the clock, the environment or polars; the name of a format
//! occurs only in `adapters`; no local time below `analysis::rows`; the library never prints; `unsafe` occurs only in
//! `input::mapped`, `json::scan`, `json::short`, `json::simd` and `store::archive::disk`, and in the program's `cli::memory`.

// No input may cause a panic; tests may panic.
#![cfg_attr(
    not(test),
    warn(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

#[doc(hidden)]
pub mod adapters;
#[cfg(feature = "archive")]
#[doc(hidden)]
pub mod analysis;
#[doc(hidden)]
pub mod base;
#[doc(hidden)]
pub mod ingest;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod ledger;
pub mod model;
#[doc(hidden)]
pub mod prices;
#[cfg(feature = "archive")]
#[doc(hidden)]
pub mod store;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::model::retention::Retention;
use crate::model::source::Source;
use crate::model::tables::Tables;

pub use adapters::Parsed;
#[cfg(feature = "archive")]
pub use analysis::reports::{Answer, Error as ReportError, Options as ReportOptions};
pub use ingest::ReadSummary;
#[cfg(feature = "archive")]
pub use store::archive::Error as ArchiveError;
#[cfg(feature = "archive")]
pub use store::frames::Frames;

/// Reads a log of any known format into its sessions, with the texts of prompts and answers. Bytes that are not a log have no
/// sessions; damage is counted in [`Parsed::health`].
pub fn parse(log: &[u8]) -> Parsed {
    adapters::parse(log, adapters::Hints::default(), Retention::Text)
}

/// Reads all logs at and below these paths, in parallel. Paths that cannot be read are in [`ReadSummary::errors`].
pub fn read<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> ReadSummary {
    let roots = paths.into_iter().map(Into::into).collect();
    let options = ingest::Options { roots, ..ingest::Options::default() };
    ingest::read(&options, &BTreeMap::new(), &ingest::Progress::default())
}

/// Reconciles the sessions of all sources: what several logs contain counts once, and each row has its cost by the built-in
/// prices, or the one that its log reports.
pub fn reconcile(sources: Vec<Source>) -> Tables {
    let mut tables = ledger::reconcile(sources);
    ledger::find_sessions_in(&mut tables);
    ledger::costs::price(&mut tables, prices::Catalog::built_in());
    tables
}

/// Reconciled tables as frames, for [`report`].
///
/// # Errors
/// When polars refuses a column, which would be a bug.
#[cfg(feature = "archive")]
pub fn frames(tables: &Tables) -> Result<Frames, polars::error::PolarsError> {
    use polars::prelude::IntoLazy;

    let frames = store::frames::frames(tables)?;
    Ok(frames.into_iter().map(|(name, frame)| (name, frame.lazy())).collect())
}

/// The tables of the archive in a directory, which `agentlogs ingest` writes. They are read when a report needs them.
///
/// # Errors
/// When the directory contains no archive, or one of another version, or a table is damaged.
#[cfg(feature = "archive")]
pub fn open(archive: impl Into<PathBuf>) -> Result<Frames, ArchiveError> {
    store::archive::Archive::at(archive).tables()
}

/// The rows of a report, such as `cost` or `tools`: those of `agentlogs report NAME`.
///
/// # Errors
/// When a name of the report, of its dimensions or of a filter does not exist, or the tables cannot be read.
#[cfg(feature = "archive")]
pub fn report(name: &str, tables: &Frames, options: &ReportOptions) -> Result<Answer, ReportError> {
    analysis::reports::find(name)?.run(tables, options)
}
