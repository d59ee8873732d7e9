//! The simple commands of a shell command, by the grammar of bash: for commands whose words alone do not show them.
//!
//! The grammar is tree-sitter's. It reads damaged commands as well, and never recurses, so that no nesting exhausts the
//! stack. Its input and its work are bounded here.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Bytes of a command that are parsed. The rest is mostly arguments and heredocs.
const LONGEST: usize = 4096;

/// Steps of the parser, in hundreds, after which a command is given up. Real commands of that length need far fewer.
const MOST_STEPS: usize = 200;

/// A simple command.
pub struct Simple<'a> {
    /// Its words as they are in the text, without assignments and redirections before them, then the redirections of its
    /// output.
    pub words: Vec<&'a str>,
    /// Whether it reads the output of another command.
    pub is_piped: bool,
    /// Whether it is in a substitution: `x=$(…)`, `echo $(…)`.
    pub is_substituted: bool,
}

/// Calls `visit` with each simple command that the shell runs, in the order of the text, also with those within `$(…)`. Commands
/// within heredocs and functions are none of these. Returns whether the whole command was understood.
pub fn simple_commands<'a>(command: &'a str, mut visit: impl FnMut(&Simple<'a>)) -> bool {
    let command = command.get(..command.floor_char_boundary(LONGEST)).unwrap_or_default();
    let Some(tree) = parse(command) else { return false };
    let mut cursor = tree.walk();
    let mut substitutions = 0;
    loop {
        let node = cursor.node();
        if node.kind() == "command" {
            let simple = simple_command(node, command);
            visit(&Simple { is_substituted: substitutions > 0, ..simple });
        }
        if contains_commands(node.kind()) && cursor.goto_first_child() {
            substitutions += u32::from(is_substitution(node));
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return !tree.root_node().has_error();
            }
            substitutions -= u32::from(is_substitution(cursor.node()));
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

/// Whether a node is `$(…)`, backquotes, `<(…)` or `>(…)`.
fn is_substitution(node: Node<'_>) -> bool {
    matches!(node.kind(), "command_substitution" | "process_substitution")
}

/// Whether nodes of this kind contain commands that the shell runs.
fn contains_commands(kind: &str) -> bool {
    !matches!(kind, "function_definition" | "heredoc_body")
}

fn simple_command<'a>(node: Node<'_>, command: &'a str) -> Simple<'a> {
    let is_redirection = |child: &Node<'_>| {
        matches!(child.kind(), "variable_assignment" | "file_redirect" | "heredoc_redirect" | "herestring_redirect")
    };
    let mut cursor = node.walk();
    let children = node.named_children(&mut cursor).filter(|child| !is_redirection(child));
    let mut words: Vec<&str> = children.filter_map(|child| command.get(child.byte_range())).collect();
    let mut parent = node.parent();
    if let Some(redirected) = parent.filter(|parent| parent.kind() == "redirected_statement") {
        let redirections = redirected.named_children(&mut cursor).filter(|child| child.kind() == "file_redirect");
        words.extend(redirections.filter_map(|child| command.get(child.byte_range())));
        parent = redirected.parent();
    }
    let is_pipeline = |parent: &Node<'_>| parent.kind() == "pipeline";
    let is_first = |parent: Node<'_>| parent.start_byte() == node.start_byte();
    Simple {
        words,
        is_piped: parent.filter(is_pipeline).is_some_and(|parent| !is_first(parent)),
        is_substituted: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first command that is not `cd`, and whether the whole was understood.
    fn first(command: &str) -> (Option<String>, bool) {
        let mut first = None;
        let is_understood = simple_commands(command, |simple| {
            if first.is_none() && simple.words[0] != "cd" && !simple.is_substituted {
                first = Some(simple.words.join("|"));
            }
        });
        (first, is_understood)
    }

    #[test]
    fn commands_are_found_within_compounds() {
        for (command, expected) in [
            ("tmp=$(mktemp -d) && cd \"$tmp\" && make -j 2", "make|-j|2"),
            ("A=$(date +%s) B='x y' run 'a b' >log 2>&1", "run|'a b'|>log|2>&1"),
            ("(cd x && cargo build)", "cargo|build"),
            ("for f in $(ls); do rustfmt \"$f\"; done", "rustfmt|\"$f\""),
            ("case $x in a) one;; *) two;; esac", "one"),
            ("export A=$(date); f() { no; }; [ -f x ] && [[ -n $(no) ]] && ls", "ls"),
            ("cat <<'E' >f\n$(no)\nE", "cat"),
        ] {
            assert_eq!(first(command), (Some(expected.to_owned()), true), "{command}");
        }
        assert_eq!(first("x=$(cat f)"), (None, true));
        assert_eq!(first("x=$("), (None, false));
        assert_eq!(first(""), (None, true));
    }

    #[test]
    fn pipes_and_redirections_are_found() {
        let mut found = Vec::new();
        simple_commands("a <i | b 'x' | (c) >f; d 2>&1 >>g && e | f", |simple| {
            found.push((simple.words.join(" "), simple.is_piped));
        });
        let expected =
            [("a <i", false), ("b 'x'", true), ("c", false), ("d 2>&1 >>g", false), ("e", false), ("f", true)];
        assert_eq!(found, expected.map(|(words, is_piped)| (words.to_owned(), is_piped)));
    }

    /// Whatever a log contains, the work for one command is bounded.
    #[test]
    fn nesting_without_end_is_given_up() {
        for part in
            ["(", "$(", "`", "<<a ", "((", "{ ", "${", "if ", "\"$(", "a=(", "[[ ", "<(", "case a in ", "((a", "$(("]
        {
            assert!(!first(&part.repeat(100_000)).1, "{part}");
        }
        first(&"é".repeat(1000));
        assert_eq!(first("ls"), (Some("ls".to_owned()), true));
    }
}
