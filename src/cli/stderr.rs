//! Messages to stderr.

use std::fmt;
use std::io::{self, Write};

use agentlogs::analysis::present;
use agentlogs::base::width::{packed, width};
use agentlogs::input::discover;
use agentlogs::model::source::STDIN;

use crate::cli::{screen, terminal};

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

/// Writes a line to stderr. On a terminal it is wrapped between words.
pub fn write_line(line: &str) {
    let lines = terminal::width_of_messages().map_or_else(|| vec![line.to_owned()], |columns| wrapped(line, columns));
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// A message in lines of at most `columns`, which end between words, and not within a command in backticks that fits a line. A longer
/// word, such as a path, and a line with a layout of its own stay whole.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    if width(line) <= columns || line.starts_with(' ') || line.contains("  ") {
        return vec![line.to_owned()];
    }
    let mut is_command = false;
    let parts = line.split(|char| {
        is_command ^= char == '`';
        char == ' ' && !is_command
    });
    let words = |part: &'_ str| {
        let is_wide = width(part) > columns;
        part.split(move |char| char == ' ' && is_wide).map(str::to_owned).collect::<Vec<_>>()
    };
    packed(parts.flat_map(words), columns)
}

/// Prints a message of several lines, such as that of a parser that points to a place in a file.
pub fn complain_in_lines(message: &str) {
    format!("agentlogs: {message}").trim_end().split('\n').for_each(say);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_wrapped_between_words() {
        let message = "costs are lower bounds; `agentlogs report health` lists them";
        assert_eq!(wrapped(message, 60), [message]);
        assert_eq!(wrapped(message, 42), ["costs are lower bounds;", "`agentlogs report health` lists them"]);
        assert_eq!(wrapped("run `a b c d` or e", 6), ["run `a", "b c d`", "or e"]);
        assert_eq!(wrapped("see /home/ann/a/long/path now", 8), ["see", "/home/ann/a/long/path", "now"]);
        assert_eq!(wrapped("an odd ` mark", 8), ["an odd", "` mark"]);
        for own in ["  | ^^^^^^^^^ here", "1 |  a = b and more"] {
            assert_eq!(wrapped(own, 8), [own]);
        }
    }

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
