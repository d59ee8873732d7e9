//! The prompt of `agentlogs query`: what a person writes, and what completes it. docs/sql.md describes it.
//!
//! ```text
//! statement   the text -> SQL or a command, and whether it is complete
//! command     the commands that begin with a dot or a backslash
//! completion  the beginning of a word -> the words that it may become
//! editor      all of them for the line editor
//! ```

mod command;
mod completion;
mod editor;
mod statement;

pub use command::{COMMANDS, Command};
pub use completion::Words;
pub use editor::{Read, editor, read};
pub use statement::Statement;
