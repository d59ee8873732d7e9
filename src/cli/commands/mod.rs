//! The commands: each resolves its arguments, calls the library, and prints.

pub mod archive;
pub mod bench;
pub mod compare;
pub mod dashboard;
mod explain;
pub mod export;
mod files;
pub mod ingest;
pub mod inspect;
pub mod lists;
mod outcome;
mod output;
pub mod prices;
pub mod query;
mod reading;
pub mod report;
mod resolve;
mod source;
mod summary;

pub use outcome::{Outcome, WrongCommandLine};
pub use output::complain;
