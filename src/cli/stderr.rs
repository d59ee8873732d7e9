//! Messages to stderr.

use std::fmt;
use std::io::{self, Write};

use agentlogs::analysis::present;
use agentlogs::input::discover;
use agentlogs::model::source::STDIN;

use crate::cli::screen;

/// Prints a message with the name of the program.
pub fn complain(message: fmt::Arguments<'_>) {
    say(&format!("agentlogs: {message}"));
}

/// Prints why a path cannot be read.
pub fn complain_of_path(error: &discover::Error) {
    match error {
        discover::Error::Unreadable { path, error } if path.as_os_str() == STDIN => {
            complain(format_args!("standard input: {error}"));
        }
        _ => complain(format_args!("{error}")),
    }
}

/// Prints a line to stderr, or keeps it while a command draws on all of the terminal. Write errors are ignored: stderr may be closed,
/// and `eprintln!` would panic.
pub fn say(line: &str) {
    let line = present::visible(line);
    if !screen::hold(&line) {
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Prints a message of several lines, such as that of a parser that points to a place in a file.
pub fn complain_in_lines(message: &str) {
    format!("agentlogs: {message}").trim_end().split('\n').for_each(say);
}
