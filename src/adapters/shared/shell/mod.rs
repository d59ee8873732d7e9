//! Shell commands: which program a command runs first, and what the command is for.

mod arguments;
mod command;
mod kind;
mod programs;
mod redirections;
mod scan;
mod skip;
mod words;

pub use command::ShellCommand;
pub(super) use scan::shell_command_in;
pub use scan::{shell_command, shell_command_of_words};
