//! The command line: its arguments and its commands.

#[cfg(unix)]
pub mod allocator;
pub mod args;
pub mod commands;
