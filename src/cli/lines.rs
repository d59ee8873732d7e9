//! Lines of messages, wrapped between words.

use std::io::{self, Write};

use agentlogs::base::width::{packed, width};

use crate::cli::terminal;

/// Writes a line to stderr. On a terminal it is wrapped between words.
pub fn write_line(line: &str) {
    let lines = terminal::width_of_messages().map_or_else(|| vec![line.to_owned()], |columns| wrapped(line, columns));
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// A message in lines of at most `columns`, which end between words, and not within a command in backticks that fits a line. All of
/// them are indented as the message is. A longer word, such as a path, and a line with a layout of its own stay whole.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let text = line.trim_start_matches(' ');
    let indent = " ".repeat(line.len() - text.len());
    let has_layout = text.contains("  ") || (!indent.is_empty() && !text.starts_with(char::is_alphabetic));
    if width(line) <= columns || has_layout {
        return vec![line.to_owned()];
    }
    let columns = columns.saturating_sub(indent.len());
    let mut is_command = false;
    let parts = text.split(|char| {
        is_command ^= char == '`';
        char == ' ' && !is_command
    });
    let words = |part: &'_ str| {
        let is_wide = width(part) > columns;
        part.split(move |char| char == ' ' && is_wide).map(str::to_owned).collect::<Vec<_>>()
    };
    packed(parts.flat_map(words), columns).into_iter().map(|line| format!("{indent}{line}")).collect()
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
        assert_eq!(wrapped("  fixed: one, two", 13), ["  fixed: one,", "  two"]);
        for own in ["  | ^^^^^^^^^ here", "1 |  a = b and more"] {
            assert_eq!(wrapped(own, 8), [own]);
        }
    }
}
