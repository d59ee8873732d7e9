//! Messages to stderr.

use std::fmt;

use agentlogs::analysis::present;
use agentlogs::input::discover;
use agentlogs::model::source::STDIN;

use crate::cli::lines::write_line;
use crate::cli::screen;

/// Prints a message with the name of the program.
pub fn complain(message: fmt::Arguments<'_>) {
    say(&format!("agentlogs: {}", in_words(&message.to_string())));
}

/// A message with the words of the system as those of this program: `no such file or directory` for `No such file or directory (os error 2)`.
fn in_words(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        let (number, after) = after.split_once(')').unwrap_or((after, ""));
        if !number.bytes().all(|it| it.is_ascii_digit()) {
            break;
        }
        let (start, words) = before.rsplit_once(": ").map_or(("", before), |(start, words)| (start, words));
        let mut chars = words.chars();
        let first = chars.next().map(|char| char.to_ascii_lowercase());
        out.extend([start, if start.is_empty() { "" } else { ": " }]);
        out.extend(first);
        out.push_str(chars.as_str());
        rest = after;
    }
    out + rest
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
        write_line(&line);
    }
}

/// Prints a message of several lines, such as that of a parser that points to a place in a file.
pub fn complain_in_lines(message: &str) {
    format!("agentlogs: {message}").trim_end().split('\n').for_each(say);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_system_have_no_numbers() {
        for (message, expected) in [
            ("a.sql: No such file or directory (os error 2)", "a.sql: no such file or directory"),
            ("a: Is a directory (os error 21); see b", "a: is a directory; see b"),
            ("Permission denied (os error 13)", "permission denied"),
            ("a (os error x)", "a (os error x)"),
            ("a: b", "a: b"),
        ] {
            assert_eq!(in_words(message), expected);
        }
    }
}
