//! The command line: its arguments and its commands.

pub mod args;
pub mod commands;
pub mod lines;
#[cfg(unix)]
pub mod memory;
pub mod panics;
mod prompt;
pub mod screen;
pub mod settings;
pub mod stderr;
pub mod terminal;
