//! The first program that a shell command runs.

use std::borrow::Cow;
use std::iter::Peekable;

use super::grammar::{self, Found};
use super::words::{Token, Tokens};
use crate::base::text::SharedStr;
use crate::json::Raw;
use crate::json::fields::Text;

/// The deepest shell within shells whose command is read.
const DEPTH: u32 = 4;

/// Base name of the first program that a shell command runs, after `bash -lc`, `env`, `sudo`, `timeout`, assignments and
/// `cd … &&`.
pub fn program(command: &str) -> Option<SharedStr> {
    program_within(command, DEPTH)
}

/// [`program`] of a command that is already split into words.
pub fn program_of_words(words: Vec<Text<'_>>) -> Option<SharedStr> {
    program_of(words.into_iter().filter_map(Text::into_inner).map(Token::Word), DEPTH)
}

/// [`program`] of a command as a log contains it. Only the start of a long command is unescaped, unless more is needed.
pub fn program_in(command: Raw<'_>) -> Option<SharedStr> {
    const HEAD: usize = 256;
    let head = command.head(HEAD);
    let mut tokens = Tokens::new(&head);
    let first = program_of(tokens.by_ref(), DEPTH);
    let needs_grammar = needs_grammar(&tokens, first.as_deref());
    if head.len() >= HEAD && (tokens.is_at_end() || needs_grammar) {
        return program(&command.text());
    }
    if needs_grammar { program_by_grammar(&head, first, DEPTH) } else { first }
}

fn program_within(command: &str, depth: u32) -> Option<SharedStr> {
    let mut tokens = Tokens::new(command);
    let first = program_of(tokens.by_ref(), depth);
    if needs_grammar(&tokens, first.as_deref()) { program_by_grammar(command, first, depth) } else { first }
}

/// Whether the words alone do not show which program is `first`.
fn needs_grammar(tokens: &Tokens<'_>, first: Option<&str>) -> bool {
    tokens.needs_grammar() || matches!(first, Some("case" | "function"))
}

/// The program that the grammar finds; `first`, which the words show, where the grammar does not understand the command.
fn program_by_grammar(command: &str, first: Option<SharedStr>, depth: u32) -> Option<SharedStr> {
    let program = |words: &[&str]| {
        program_of(words.iter().filter_map(|word| unquoted(word)).map(Token::Word), depth.saturating_sub(1))
    };
    match grammar::first_command(command, program) {
        Found::Command(program) => Some(program),
        Found::Nothing => None,
        Found::Unknown => first,
    }
}

/// A word without its quotes.
fn unquoted(word: &str) -> Option<Cow<'_, str>> {
    match Tokens::new(word).next() {
        Some(Token::Word(text)) if word.starts_with(['"', '\'']) => Some(text),
        _ => Some(Cow::Borrowed(word)).filter(|word| !word.is_empty()),
    }
}

fn program_of<'a>(tokens: impl Iterator<Item = Token<'a>>, depth: u32) -> Option<SharedStr> {
    let mut tokens = tokens.peekable();
    while let Some(token) = tokens.next() {
        let Token::Word(word) = token else { continue };
        let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
        match name {
            "cd" | "pushd" => {
                skip_command(&mut tokens);
                // `cd … || exit 1`, `cd … || { echo no; exit 1; }`: the alternative is not the command.
                while tokens.next_if(|it| matches!(it, Token::Or)).is_some() {
                    let is_group = matches!(tokens.peek(), Some(Token::Word(word)) if word == "{");
                    skip_command(&mut tokens);
                    while is_group && tokens.next().is_some_and(|it| !matches!(it, Token::Word(word) if word == "}")) {}
                }
            }
            "export" | "set" | "source" | "." | "exit" | "return" | "break" | "continue" | "[" | "[[" | "test" => {
                skip_command(&mut tokens);
            }
            // Searches for a program, but does not run it.
            "command" if tokens.next_if(is_lookup).is_some() => skip_command(&mut tokens),
            "sudo" | "env" | "nohup" | "time" | "command" | "exec" | "nice" | "timeout" | "gtimeout" => {
                skip_options(&mut tokens, options_with_values(name));
                if name.ends_with("timeout") {
                    // Its duration.
                    tokens.next_if(|it| matches!(it, Token::Word(_)));
                }
            }
            // `for NAME in WORDS`: its commands follow `do`.
            "for" | "select" => skip_command(&mut tokens),
            // Reserved words around commands.
            "(" | "{" | "}" | "!" | "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" => {}
            "bash" | "sh" | "zsh" | "dash" if depth > 0 => {
                let runs_text = skip_options(&mut tokens, options_with_values(name));
                if runs_text && let Some(Token::Word(script)) = tokens.next() {
                    return program_within(&script, depth - 1).or_else(|| Some(name.into()));
                }
                return Some(name.into());
            }
            _ if is_assignment(&word) => {}
            "" => {}
            name => return Some(name.trim_start_matches('(')).filter(|it| !it.is_empty()).map(SharedStr::from),
        }
    }
    None
}

/// Goes to the end of a command.
fn skip_command<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) {
    while tokens.next_if(|it| matches!(it, Token::Word(_))).is_some() {}
}

/// The options whose value is the next word: the letters of short ones, and long ones.
fn options_with_values(program: &str) -> (&'static str, &'static [&'static str]) {
    match program {
        "sudo" => (
            "ugpCDRTUrth",
            &["--user", "--group", "--prompt", "--chdir", "--chroot", "--host", "--role", "--type", "--other-user"],
        ),
        "env" => ("uC", &["--unset", "--chdir"]),
        "timeout" | "gtimeout" => ("sk", &["--signal", "--kill-after"]),
        "nice" => ("n", &["--adjustment"]),
        "time" => ("fo", &["--format", "--output"]),
        "exec" => ("a", &[]),
        "bash" | "sh" | "zsh" | "dash" => ("oO", &["--rcfile", "--init-file"]),
        _ => ("", &[]),
    }
}

/// Skips options and their values. Returns whether `-c` was among them.
fn skip_options<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>, (letters, names): (&str, &[&str])) -> bool {
    let mut has_c = false;
    while let Some(Token::Word(option)) =
        tokens.next_if(|it| matches!(it, Token::Word(word) if word.len() > 1 && word.starts_with(['-', '+'])))
    {
        if option == "--" {
            break;
        }
        let takes_value = if option.starts_with("--") {
            names.contains(&option.as_ref())
        } else {
            // The rest of the word is the value of the letter.
            has_c |= option.contains('c');
            option.find(|it| letters.contains(it)).is_some_and(|at| at + 1 == option.len())
        };
        if takes_value {
            tokens.next_if(|it| matches!(it, Token::Word(_)));
        }
    }
    has_c
}

/// Whether a word after `command` asks only where the program is.
fn is_lookup(token: &Token<'_>) -> bool {
    matches!(token, Token::Word(word) if word == "-v" || word == "-V")
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
            && !name.starts_with(|it: char| it.is_ascii_digit())
    })
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_is_found_after_its_wrappers() {
        for (command, expected) in [
            ("ls -la", "ls"),
            ("/usr/bin/git status", "git"),
            ("/bin/bash -lc 'cargo test'", "cargo"),
            ("/bin/bash -lc false", "false"),
            (r#"bash -lc "cd /work && FOO=1 npm test | tail""#, "npm"),
            ("cd /work/demo && make", "make"),
            ("cd /a; cd /b\npytest -q", "pytest"),
            ("FOO='a b' BAR=2 python3 x.py", "python3"),
            ("sudo -E timeout 30 env A=b node x", "node"),
            ("# say hi\necho hi", "echo"),
            ("bash script.sh", "bash"),
            ("(cargo build)", "cargo"),
            ("git commit -m \"it's\"", "git"),
            ("'unbalanced", "unbalanced"),
            ("sudo -u root ls", "ls"),
            ("sudo -nu root --group wheel -- ls", "ls"),
            ("env -u FOO make", "make"),
            ("timeout -s KILL 30 cargo test", "cargo"),
            ("timeout --signal=KILL $LIMIT cargo test", "cargo"),
            ("nice -n 10 make", "make"),
            ("bash -o pipefail -c 'npm test'", "npm"),
            ("bash -euo pipefail -c 'npm test'", "npm"),
            ("bash -x script.sh", "bash"),
            ("[ -f x ] && make", "make"),
            ("[[ -f x ]] || exit 1; make", "make"),
            ("if test -f x; then make; fi", "make"),
            ("cd /x || exit 1; make", "make"),
            ("cd /x 2>&1 || { echo no; exit 1; }; make", "make"),
            ("cd /x &>/dev/null && make", "make"),
            ("cd /x || exit; cd /y || exit\nmake", "make"),
            ("tmp=$(mktemp -d) && cd \"$tmp\" && make", "make"),
            ("A=$(date +%s) FOO=`pwd -P` ./run.sh x", "run.sh"),
            ("(cd x && make)", "make"),
            ("cd x && (sudo -u root make)", "make"),
            ("for f in *.rs; do rustfmt $f; done", "rustfmt"),
            ("case $1 in a) make;; esac", "make"),
            ("for f in *; do case $f in a) continue;; esac; cat $f; done", "cat"),
            ("command -v cargo >/dev/null && cargo build", "cargo"),
            ("command cargo build", "cargo"),
            ("bash -lc 'x=$(pwd) && make \"$x\"'", "make"),
            ("x=$(cat a) bash -lc 'y=$(pwd); npm test'", "npm"),
            ("echo $(date)", "echo"),
            ("cat <<E\n$(make)\nE", "cat"),
            ("x=$(cat a", "a"),
            ("f=\"$(mktemp -d)/a b\".md; cat $f", "cat"),
            ("x=$(echo ')') make", "make"),
            ("for f in $(ls *.rs); do rustfmt $f; done", "rustfmt"),
            ("for i in 1 2\ndo\n  make $i\ndone", "make"),
            ("until test -f x; do sleep 1; done", "sleep"),
            ("if [ -f x ]; then A=$(cat x); else A=; fi; make", "make"),
            ("for f in *; do [ -f $f ]; done; { cd a; }; make", "make"),
        ] {
            assert_eq!(program(command).as_deref(), Some(expected), "{command}");
        }
        assert_eq!(program(""), None);
        assert_eq!(program("cd /work"), None);
        assert_eq!(program("x=$(cat a b)"), None);
        assert_eq!(program("command -v cargo"), None);
        assert_eq!(program("cd /work || { exit 1"), None);
    }

    /// Where the words are enough, the grammar finds the same program.
    #[test]
    fn words_and_grammar_agree() {
        let starts = ["", "A=$(pwd) ", "A=\"$(git rev-parse HEAD)\".x;", "cd \"$(pwd)\" && ", "export A=$(ls|wc -l)\n"];
        let compounds = ["X", "for f in a $(ls b); do X; done", "if [ -f x ]; then X; fi", "until X; do sleep 1; done"];
        let commands = ["make -j 2", "sudo -u root make", "./make \"$(pwd)\" >log 2>&1", "B='a b' make | tail -n 1"];
        for start in starts {
            for compound in compounds {
                for command in commands {
                    let command = format!("{start}{}", compound.replace('X', command));
                    let mut tokens = Tokens::new(&command);
                    let by_words = program_of(tokens.by_ref(), DEPTH);
                    assert!(!needs_grammar(&tokens, by_words.as_deref()), "{command}");
                    assert_eq!(by_words.as_deref(), Some("make"), "{command}");
                    assert_eq!(program_by_grammar(&command, None, DEPTH), by_words, "{command}");
                }
            }
        }
    }

    /// Of any length, with any commands before the program.
    #[test]
    fn a_long_command_has_the_program_of_its_text() {
        for command in
            ["cd X && make", "cat X", "bash -c 'cd X; make'", "A=X make", "# X\nmake", "X", "cd X|| exit 1; make"]
        {
            for length in 0..600 {
                let command = command.replace('X', &"é\" \\ ".repeat(length / 5)[..length / 5 * 6]);
                let json = serde_json::to_string(&command).unwrap();
                assert_eq!(program_in(Raw(json.as_bytes())), program(&command), "{command}");
                let command = format!("{}{command}", "A=1 ".repeat(length));
                let json = serde_json::to_string(&command).unwrap();
                assert_eq!(program_in(Raw(json.as_bytes())), program(&command), "{command}");
            }
        }
    }
}
