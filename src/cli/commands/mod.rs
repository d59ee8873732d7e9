//! The commands: each resolves its arguments, calls the library, and prints.

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
