//! The commands: each resolves its arguments, calls the library, and prints.

pub mod archive;
pub mod bench;
pub mod check;
pub mod compare;
pub mod completions;
pub mod config;
pub mod dashboard;
mod explain;
pub mod export;
pub mod extract;
mod files;
pub mod ingest;
pub mod inspect;
pub mod lists;
mod numbers;
mod outcome;
mod output;
pub mod overview;
mod places;
pub mod prices;
mod progress;
pub mod query;
mod reading;
pub mod report;
mod resolve;
pub mod runtimes;
pub mod sessions;
pub mod show;
mod source;
pub mod statusline;
mod summary;
pub mod verdicts;
pub mod watch;
mod watcher;

pub use outcome::{Outcome, WrongCommandLine};
pub use output::{complain, complain_in_lines, wrong_arguments};
