//! Opens a log at a line in the user's editor.

use std::env;
use std::path::Path;
use std::process::Command;

use agentlogs::analysis::browse::Place;

/// Opens the line in `$VISUAL` or `$EDITOR`, and waits for its end.
///
/// # Errors
/// A message, when there is no editor, or the log is not a file here.
pub fn edit(place: &Place) -> Result<(), String> {
    let Place { path, line } = place;
    if !Path::new(path).is_file() {
        return Err(format!("{path} is not a file here (line {line})"));
    }
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let Some(editor) = variable("VISUAL").or_else(|| variable("EDITOR")) else {
        return Err(format!("set $EDITOR to open line {line} of {path}"));
    };
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words).args(arguments(program, path, *line));
    match command.status() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{editor}: {error}")),
    }
}

/// How an editor opens a file at a line. Of an unknown one only the file is certain.
fn arguments(program: &str, path: &str, line: i64) -> Vec<String> {
    // Not an option.
    let path = if path.starts_with(['-', '+']) { format!("./{path}") } else { path.to_owned() };
    match Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or_default() {
        "vi" | "vim" | "nvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient" | "micro" | "kak" | "joe"
        | "jed" | "ed" | "mg" | "ne" | "gedit" | "less" | "mcedit" => vec![format!("+{line}"), path],
        "code" | "code-insiders" | "codium" | "cursor" | "windsurf" => {
            vec!["--goto".to_owned(), format!("{path}:{line}")]
        }
        "hx" | "helix" | "subl" | "zed" => vec![format!("{path}:{line}")],
        "kate" | "mate" => vec!["-l".to_owned(), line.to_string(), path],
        _ => vec![path],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_opens_the_line_in_its_way() {
        assert_eq!(arguments("/usr/bin/vim", "/a b.jsonl", 7), ["+7", "/a b.jsonl"]);
        assert_eq!(arguments("code", "/a.jsonl", 7), ["--goto", "/a.jsonl:7"]);
        assert_eq!(arguments("hx", "/a.jsonl", 7), ["/a.jsonl:7"]);
        assert_eq!(arguments("kate", "-a.jsonl", 7), ["-l", "7", "./-a.jsonl"]);
        assert_eq!(arguments("unknown", "/a.jsonl", 7), ["/a.jsonl"]);
    }

    #[test]
    fn a_log_that_is_not_here_is_named() {
        let place = Place { path: "/no/such.tar!/a.jsonl".to_owned(), line: 3 };
        assert_eq!(edit(&place), Err("/no/such.tar!/a.jsonl is not a file here (line 3)".to_owned()));
    }
}
