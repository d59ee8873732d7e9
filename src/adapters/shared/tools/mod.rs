//! The common vocabulary of tool calls: the category of a tool, the target of a call, the lines that an edit changes.

mod arguments;
mod category;
mod edits;
mod escaped_lines;

pub use super::shell::{ShellCommand, shell_command, shell_command_of_words};
pub use arguments::{Arguments, Subject, ToolArguments, host};
pub use category::{
    asks_human, category, category_among, continues_command, is_category, loads_skill, mcp_server, polls,
};
pub use edits::{PatchedFile, changed_lines, diff_lines, line_count, lines_in_arguments, patched_files};
pub use escaped_lines::{diff_lines_in, numbered_diff_lines_in, written_lines_in};
