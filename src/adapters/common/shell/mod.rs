//! Shell commands: which program a command runs.

mod grammar;
mod program;
mod words;

pub(super) use program::program_in;
pub use program::{program, program_of_words};
