//! The first program of a shell command, by the grammar of bash: for commands in which it is not simply the first word.
//!
//! The grammar is tree-sitter's. It reads damaged commands as well, and never recurses, so that no nesting exhausts the
//! stack. Its input and its work are bounded here.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Bytes of a command that are parsed. The rest is arguments, or programs after the first one.
const LONGEST: usize = 4096;

/// Steps of the parser, in hundreds, after which a command is given up. Real commands of that length need far fewer.
const MOST_STEPS: usize = 200;

/// The result of parsing a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// The first simple command for which there was an answer.
    Command(T),
    /// The command contains no simple command with an answer.
    Nothing,
    /// The command was not understood.
    Unknown,
}

/// The first simple command for which `answer` returns something. It is given the words of each simple command that the
/// shell runs, in the order of the text, as they are in it: without assignments and redirections before them. Commands
/// within `$(…)`, heredocs and functions are none of these.
pub fn first_command<T>(command: &str, answer: impl Fn(&[&str]) -> Option<T>) -> Found<T> {
    let command = command.get(..command.floor_char_boundary(LONGEST)).unwrap_or_default();
    let Some(tree) = parse(command) else { return Found::Unknown };
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "command"
            && let Some(found) = answer(&words(node, command))
        {
            return Found::Command(found);
        }
        if contains_commands(node.kind()) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return if tree.root_node().has_error() { Found::Unknown } else { Found::Nothing };
            }
        }
    }
}

fn parse(command: &str) -> Option<Tree> {
    thread_local! {
        static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
    }
    PARSER.with_borrow_mut(|parser| {
        if parser.is_none() {
            let mut new = Parser::new();
            new.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *parser = Some(new);
        }
        let parser = parser.as_mut()?;
        let mut steps = 0;
        let mut count = |_: &_| {
            steps += 1;
            if steps > MOST_STEPS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut count);
        let mut text = |offset: usize, _| command.as_bytes().get(offset..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut text, None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// Whether nodes of this kind contain commands that the shell runs one after the other.
fn contains_commands(kind: &str) -> bool {
    !matches!(
        kind,
        "command"
            | "command_substitution"
            | "declaration_command"
            | "file_redirect"
            | "function_definition"
            | "heredoc_body"
            | "herestring_redirect"
            | "process_substitution"
            | "string"
            | "test_command"
            | "variable_assignment"
            | "variable_assignments"
    )
}

/// The words of a simple command.
fn words<'a>(node: Node<'_>, command: &'a str) -> Vec<&'a str> {
    let mut cursor = node.walk();
    let children = node.named_children(&mut cursor);
    let is_word = |child: &Node<'_>| {
        !matches!(child.kind(), "variable_assignment" | "file_redirect" | "heredoc_redirect" | "herestring_redirect")
    };
    children.filter(is_word).filter_map(|child| command.get(child.byte_range())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(command: &str) -> Found<String> {
        first_command(command, |words| (words[0] != "cd").then(|| words.join("|")))
    }

    #[test]
    fn commands_are_found_within_compounds() {
        for (command, expected) in [
            ("tmp=$(mktemp -d) && cd \"$tmp\" && make -j 2", "make|-j|2"),
            ("A=$(date +%s) B='x y' run 'a b' >log 2>&1", "run|'a b'"),
            ("(cd x && cargo build)", "cargo|build"),
            ("for f in $(ls); do rustfmt \"$f\"; done", "rustfmt|\"$f\""),
            ("case $x in a) one;; *) two;; esac", "one"),
            ("export A=$(date); f() { no; }; [ -f x ] && [[ -n $(no) ]] && ls", "ls"),
            ("cat <<'E' >f\n$(no)\nE", "cat"),
        ] {
            assert_eq!(first(command), Found::Command(expected.to_owned()), "{command}");
        }
        assert_eq!(first("x=$(cat f)"), Found::Nothing);
        assert_eq!(first("x=$("), Found::Unknown);
        assert_eq!(first(""), Found::Nothing);
    }

    /// Whatever a log contains, the time for one command is bounded.
    #[test]
    fn nesting_without_end_is_given_up() {
        for part in
            ["(", "$(", "`", "<<a ", "((", "{ ", "${", "if ", "\"$(", "a=(", "[[ ", "<(", "case a in ", "((a", "$(("]
        {
            let started = std::time::Instant::now();
            first(&part.repeat(100_000));
            assert!(started.elapsed().as_secs() < 5, "{part}");
        }
        first(&"é".repeat(1000));
        assert_eq!(first("ls"), Found::Command("ls".to_owned()));
    }
}
