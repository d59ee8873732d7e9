//! The prompt of `agentlogs query`: what a person writes, and what completes it. docs/sql.md describes it.
//!
//! ```text
//! statement   the text -> SQL or a command, and whether it is complete
//! command     the commands that begin with a dot or a backslash
//! completion  the beginning of a word -> the words that it may become
//! editor      all of them for the line editor
//! interrupt   Ctrl-C while a query runs
//! ```

mod command;
mod completion;
mod editor;
mod interrupt;
mod statement;

pub use command::{COMMANDS, Command};
pub use completion::Words;
pub use editor::{Read, editor, read};
pub use interrupt::Interrupts;
pub use statement::Statement;
