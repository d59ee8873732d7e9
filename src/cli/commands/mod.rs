//! The commands: each resolves its arguments, calls the library, and prints. A file that is not listed here is the command of its name.
//!
//! ```text
//! places        where this user's logs are
//! reading       options of the commands that read logs
//! files         the files that an ingest read or skipped
//! progress      the bar of an ingest
//! summary       what an ingest read, and what an archive contains
//! source        the tables that a command works on: of an archive, a lake or logs
//! reopened      the same for a command that runs for a long time
//! resolve       arguments that several commands share, as types of the library; messages about what they exclude
//! output        prints rows and messages
//! outcome       how a command ends
//!
//! first_look    overview: the newest logs first
//! watcher       watch: waits for changes of files
//! editor        browse, show: opens a log
//! sql           query: what it and query_prompt have in common
//! explain       prices: the cost of a session
//! forget        archive: deletes data
//! otlp          export: OpenTelemetry; receiver or no_receiver sends it
//! lists         schema, man
//! ```

pub mod archive;
pub mod bench;
pub mod bill;
pub mod browse;
pub mod check;
pub mod compare;
pub mod completions;
pub mod config;
pub mod dashboard;
mod editor;
mod explain;
pub mod export;
pub mod extract;
mod files;
mod first_look;
mod forget;
pub mod git;
mod hints;
pub mod ingest;
pub mod inspect;
pub mod lists;
pub mod mcp;
mod otlp;
mod outcome;
mod output;
pub mod overview;
mod places;
pub mod prices;
mod progress;
pub mod query;
mod query_prompt;
mod reading;
#[cfg(feature = "cloud")]
mod receiver;
#[cfg(not(feature = "cloud"))]
#[path = "no_receiver.rs"]
mod receiver;
mod reopened;
pub mod report;
mod resolve;
pub mod runtimes;
pub mod sessions;
pub mod show;
mod source;
mod sql;
pub mod statusline;
mod summary;
pub mod verdicts;
pub mod watch;
mod watcher;

pub use outcome::{Outcome, WrongCommandLine};
pub use output::{complain, complain_in_lines, wrong_arguments};
