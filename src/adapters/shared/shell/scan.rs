//! Finds the simple commands of a shell command: the first program that it runs, and the kind of the whole.

use std::borrow::Cow;
use std::iter::Peekable;

use super::command::ShellCommand;
use super::kind::{self, CommandPurpose, Nested};
use super::redirections::Redirections;
use super::skip::{options_with_values, skip_body, skip_change_of_directory, skip_command, skip_options, skip_pattern};
use super::words::{Token, Tokens, substitutions};
use crate::adapters::shared::history::{self, History};
use crate::adapters::shared::{names, signs};
use crate::base::split::base_name;
use crate::base::text::SharedStr;
use crate::json::Raw;
use crate::json::fields::Text;
use crate::model::session::{CommandKind, Sign};

/// The deepest shell within shells whose command is read.
const DEPTH: u32 = 4;

/// Parses a command.
pub fn shell_command(command: &str) -> ShellCommand {
    ShellCommand::from(scan_text(command, DEPTH)).with_skill([command])
}

/// Parses a command that is already split into words. Some models put a whole command into the only word.
pub fn shell_command_of_words(words: &[Text<'_>]) -> ShellCommand {
    if let [command] = words {
        return shell_command(command.as_str());
    }
    let mut found = Found::default();
    found.scan(words.iter().filter_map(Text::some).map(|word| Token::Word(Cow::Borrowed(word))), DEPTH);
    ShellCommand::from(found).with_skill(words.iter().filter_map(Text::some))
}

/// Parses a command as a log contains it.
pub fn shell_command_in(command: Raw<'_>) -> ShellCommand {
    shell_command(&command.text())
}

/// What the simple commands of a command contain.
#[derive(Debug, Default)]
struct Found {
    /// The name of the first program, if it is one: see [`is_program_name`].
    program: Option<SharedStr>,
    /// Whether there was a program.
    has_program: bool,
    /// Whether that program only prepares.
    is_preparation: bool,
    /// The most important purpose.
    purpose: Option<CommandPurpose>,
    /// The program of a substitution whose purpose is the most important one.
    substituted: Option<SharedStr>,
    /// Whether there was a word.
    has_words: bool,
    /// The sign of a simple command that proves most.
    sign: Option<Sign>,
    /// What the simple commands add to the history of a repository.
    history: History,
}

impl From<Found> for ShellCommand {
    fn from(found: Found) -> Self {
        let kind = found.purpose.map(|purpose| purpose.kind);
        let program = found.substituted.or(found.program);
        Self {
            program,
            kind: kind.or_else(|| found.has_words.then_some(CommandKind::Other)),
            skill: None,
            sign: found.sign,
            history: found.history,
        }
    }
}

/// How the commands within a command are read.
fn nested(depth: u32) -> Nested {
    Nested {
        depth,
        scan_text: |command, depth| scan_text(command, depth).purpose,
        scan_words: |words, depth| {
            let mut found = Found::default();
            found.scan(words.into_iter(), depth);
            found.purpose
        },
    }
}

/// Scans a command.
fn scan_text(command: &str, depth: u32) -> Found {
    let mut found = Found::default();
    found.scan(Tokens::new(command), depth);
    found
}

/// Where the next word of a command is.
#[derive(Default)]
struct Place {
    /// Whether its simple command reads the output of another one.
    is_piped: bool,
    /// The number of `case`s around it.
    cases: u32,
}

/// Whether a word can be the name of a program. Other words in its place may be text: a quoted sentence, a substitution.
fn is_program_name(word: &str) -> bool {
    names::is_name(word) && !word.contains(':')
}

impl Found {
    /// Adds the simple commands of a list of words and operators.
    fn scan<'a>(&mut self, tokens: impl Iterator<Item = Token<'a>>, depth: u32) {
        let mut tokens = tokens.peekable();
        let mut place = Place::default();
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(word) => self.add_word(word, &mut tokens, &mut place, depth),
                Token::Pipe => place.is_piped = true,
                Token::Open => {}
                // The redirections of a subshell.
                Token::Close => skip_command(&mut tokens),
                Token::Function => skip_body(&mut tokens),
                Token::EndOfBranch if place.cases > 0 => {
                    skip_pattern(&mut tokens);
                    place.is_piped = false;
                }
                Token::Or | Token::End | Token::EndOfBranch => place.is_piped = false,
            }
        }
    }

    /// Adds what begins with a word: a command or a reserved word of the shell, or a simple command.
    fn add_word<'a>(
        &mut self,
        word: Cow<'a, str>,
        tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>,
        place: &mut Place,
        depth: u32,
    ) {
        self.has_words = true;
        let name = base_name(&word);
        match name {
            "cd" | "pushd" => skip_change_of_directory(tokens),
            "export" | "local" | "declare" | "readonly" => self.skip_words(tokens, depth),
            "set" | "source" | "." | "exit" | "return" | "break" | "continue" => skip_command(tokens),
            "[[" => {
                self.add_test();
                // Its parentheses and operators are not those of commands.
                while tokens.next().is_some_and(|it| !matches!(it, Token::Word(word) if word == "]]")) {}
            }
            // `bin/test` is a program of the project.
            "[" | "test" if is_of_shell(&word) => {
                self.add_test();
                self.skip_words(tokens, depth);
            }
            // Searches for a program, but does not run it.
            "command" if tokens.next_if(is_lookup).is_some() => {
                self.add_purpose(CommandPurpose::of(CommandKind::Search));
                skip_command(tokens);
            }
            "sudo" | "env" | "nohup" | "time" | "command" | "exec" | "nice" | "timeout" | "gtimeout" => {
                skip_options(tokens, options_with_values(name));
                if name.ends_with("timeout") {
                    // Its duration.
                    tokens.next_if(|it| matches!(it, Token::Word(_)));
                }
                if name == "env" && !matches!(tokens.peek(), Some(Token::Word(_))) {
                    // Prints the environment.
                    self.add_purpose(CommandPurpose::of(CommandKind::Read).piped(place.is_piped));
                }
            }
            "case" => {
                while tokens.next_if(|it| !matches!(it, Token::Word(word) if word == "in")).is_some() {}
                place.cases += 1;
                skip_pattern(tokens);
            }
            "esac" => place.cases = place.cases.saturating_sub(1),
            "function" => {
                while tokens.next_if(|it| !matches!(it, Token::Word(word) if word == "{")).is_some() {}
                skip_body(tokens);
            }
            // `for NAME in WORDS`: its commands follow `do`.
            "for" | "select" => self.skip_words(tokens, depth),
            // Reserved words around commands.
            "{" | "}" | "!" | "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" => {}
            _ if is_assignment(&word) => self.add_substitutions(&word, depth),
            "" => {}
            // The name of a function.
            _ if matches!(tokens.peek(), Some(Token::Function)) => {}
            _ => self.add_command(word, tokens, place.is_piped, depth),
        }
    }

    /// Adds a simple command whose program is `program`, and whose other words follow.
    fn add_command<'a>(
        &mut self,
        program: Cow<'a, str>,
        tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>,
        is_piped: bool,
        depth: u32,
    ) {
        let mut words = Vec::with_capacity(8);
        words.push(program);
        let mut redirections = Redirections::default();
        while let Some(Token::Word(word)) = tokens.next_if(|it| matches!(it, Token::Word(_))) {
            if let Some(word) = redirections.argument(word) {
                words.push(word);
            }
        }
        let name = words.first().map_or("", |program| base_name(program));
        let inner = script(name, &words).filter(|_| depth > 0).map(|script| scan_text(script, depth - 1));
        let named = match &inner {
            Some(inner) if inner.has_program => inner.program.clone(),
            _ => is_program_name(name).then(|| name.into()),
        };
        let (purpose, sign, history) = if let Some(inner) = inner {
            (inner.purpose, inner.sign, inner.history)
        } else {
            let (purpose, arguments) = (kind::purpose(&words, nested(depth)), words.get(1..).unwrap_or_default());
            let sign = signs::of_command(name, arguments, purpose.kind);
            (Some(purpose), sign, history::of_command(name, arguments))
        };
        self.history = self.history.and(history);
        self.sign = [sign, redirections.sign].into_iter().fold(self.sign, Sign::stronger);
        let purpose = purpose.unwrap_or(CommandPurpose::of(CommandKind::Other)).piped(is_piped);
        // `echo $(…)` is about the command within it.
        if purpose.kind == CommandKind::Other && !redirections.writes_file {
            for word in words.iter().skip(1) {
                self.add_substitutions(word, depth);
            }
        }
        let purpose = if redirections.writes_file { purpose.writing() } else { purpose };
        // The first program may only prepare for an edit: `mkdir -p a && cat > a/b`.
        let is_edit = purpose.kind == CommandKind::Edit && !purpose.only_prepares();
        if !self.has_program || self.is_preparation && is_edit {
            (self.program, self.is_preparation) = (named, purpose.only_prepares());
        }
        self.has_program = true;
        self.add_purpose(purpose);
    }

    /// Adds a test of files or values. What depends on its result is more important.
    fn add_test(&mut self) {
        self.add_purpose(CommandPurpose::of(CommandKind::Read).piped(true));
    }

    /// Goes to the end of a command, of which only the substitutions matter.
    fn skip_words<'a>(&mut self, tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>, depth: u32) {
        while let Some(Token::Word(word)) = tokens.next_if(|it| matches!(it, Token::Word(_))) {
            self.add_substitutions(&word, depth);
        }
    }

    /// Adds the commands in the substitutions of a word.
    fn add_substitutions(&mut self, word: &str, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        if word.contains(['$', '`']) {
            for command in substitutions(word) {
                self.add_substituted(scan_text(command, depth));
            }
        }
    }

    /// Adds what a substitution contains.
    fn add_substituted(&mut self, inner: Self) {
        self.sign = Sign::stronger(self.sign, inner.sign);
        self.history = self.history.and(inner.history);
        let Some(purpose) = inner.purpose.map(CommandPurpose::substituted) else { return };
        if purpose.kind != CommandKind::Other && self.is_outweighed_by(purpose) {
            self.purpose = Some(purpose);
            self.substituted = inner.substituted.or(inner.program);
        }
    }

    /// Whether a purpose is more important than the known ones.
    fn is_outweighed_by(&self, purpose: CommandPurpose) -> bool {
        self.purpose.is_none_or(|known| purpose.weight() > known.weight())
    }

    fn add_purpose(&mut self, purpose: CommandPurpose) {
        if self.is_outweighed_by(purpose) {
            self.purpose = Some(purpose);
            self.substituted = None;
        }
    }
}

/// The text that a shell runs, as after `bash -lc`.
fn script<'w>(name: &str, words: &'w [Cow<'_, str>]) -> Option<&'w str> {
    if !matches!(name, "bash" | "sh" | "zsh" | "dash") {
        return None;
    }
    let mut words = words.iter().skip(1).map(|word| Token::Word(Cow::Borrowed(word.as_ref()))).peekable();
    match skip_options(&mut words, options_with_values(name)).then(|| words.next()).flatten() {
        Some(Token::Word(Cow::Borrowed(script))) => Some(script),
        _ => None,
    }
}

/// Whether a program that has the name of a command of the shell is that command, by its path.
fn is_of_shell(program: &str) -> bool {
    matches!(program.rsplit_once('/'), None | Some(("/bin" | "/usr/bin", _)))
}

/// Whether a word after `command` asks only where the program is.
fn is_lookup(token: &Token<'_>) -> bool {
    matches!(token, Token::Word(word) if word == "-v" || word == "-V")
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty()
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
            && !name.starts_with(|it: char| it.is_ascii_digit())
    })
}
#[cfg(test)]
mod tests {
    use super::*;

    fn program(command: &str) -> Option<SharedStr> {
        shell_command(command).program
    }

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
            ("echo $(date)", "date"),
            ("code=$(curl -s x); echo $code", "curl"),
            ("for u in a b; do code=$(curl -s $u); echo $code; done", "curl"),
            ("x=$(gh pr view 1) && echo $x", "gh"),
            ("y=$(gh pr view $(cat z)) && echo $y", "gh"),
            ("x=$(curl a) && ls", "curl"),
            ("x=$(cat a b)", "cat"),
            ("cat <<E\n$(make)\nE", "cat"),
            ("x=$(cat a", "cat"),
            ("x=`cat a", "cat"),
            ("x=`cat a; echo \\`b\\``; make", "make"),
            ("f=\"$(mktemp -d)/a b\".md; cat $f", "cat"),
            ("x=$(echo ')') make", "make"),
            ("for f in $(ls *.rs); do rustfmt $f; done", "rustfmt"),
            ("for i in 1 2\ndo\n  make $i\ndone", "make"),
            ("until test -f x; do sleep 1; done", "sleep"),
            ("if [ -f x ]; then A=$(cat x); else A=; fi; make", "make"),
            ("for f in *; do [ -f $f ]; done; { cd a; }; make", "make"),
            ("bin/test a.py", "test"),
            // A program that only prepares does not count if an edit follows.
            ("mkdir -p a && cat > a/b <<E\nx\nE", "cat"),
            ("cp a b && cargo test", "cp"),
            ("rm -rf x; ls", "rm"),
            ("mkdir a && rm b", "mkdir"),
            ("ls && mkdir a && cat > a/b <<E\nx\nE", "ls"),
        ] {
            assert_eq!(program(command).as_deref(), Some(expected), "{command}");
        }
        assert_eq!(shell_command(""), ShellCommand::default());
        assert_eq!(program(""), None);
        assert_eq!(program("cd /work"), None);
        assert_eq!(program("command -v cargo"), None);
        // Only a short word of safe characters is a name. What follows is not the first program.
        for command in [
            "\"`pwd`/run (1).sh\" && make",
            "\"some private words\" && make",
            "'some private words'",
            "$(cat secret) && make",
            "`cat secret` x",
            "$SECRET x",
            "bash -lc '\"some private words\"'",
            "env A=b \"some private words\"",
            "some\\ private\\ words",
            "\"é\"",
        ] {
            assert_eq!(program(command), None, "{command}");
        }
        assert_eq!(program(&"x".repeat(65)), None);
        assert_eq!(program("cd /work || { exit 1"), None);
    }

    /// Subshells, branches, functions and arithmetic contain commands, or do not.
    #[test]
    fn compounds_contain_commands() {
        for (command, expected) in [
            ("(cd /tmp && echo a | make 2>&1)", "echo"),
            ("cd x && (command -v make && make -j 2) 2>&1 | tail", "make"),
            ("cd x || (echo no; exit 1); make", "make"),
            ("for f in *.ts; do case \"$f\" in *.test.ts) continue;; esac; make $f; done", "make"),
            ("case $x in (a|b) true;;\n c)\n make;; esac", "true"),
            ("case $x in\n a) ;;\n b) make ;;\nesac", "make"),
            ("x=$(case $y in a) echo 1;; esac) make", "make"),
            ("f() { no; }; make", "make"),
            ("f() (no); make", "make"),
            ("function f { no { a; }; }; make", "make"),
            ("a=(x y); make", "make"),
            ("a+=(x\n y)\nmake", "make"),
            ("((i = 1 + (2))); make", "make"),
            ("for ((i = 0; i < 3; i++)); do make; done", "make"),
            ("[[ $x =~ (a|b) && -n y ]] && make", "make"),
            ("x=$(ls | # all of them\n wc -l) make", "make"),
            ("x=$(echo `pwd` ${#a}) make", "make"),
            ("shopt -s extglob; ls !(a|b)", "shopt"),
            ("(a; b) >f; make", "a"),
            ("diff <(sort a) <(sort b)", "diff"),
            ("find . \\( -name a -o -name b \\) -delete", "find"),
        ] {
            assert_eq!(program(command).as_deref(), Some(expected), "{command}");
        }
        assert_eq!(shell_command("ls && (LC_ALL=C sed -i s/a/b/ x || true)").kind, Some(CommandKind::Edit));
        assert_eq!(program("f() { no; }"), None);
    }

    /// Whatever a log contains, the work for one command is linear.
    #[test]
    fn nesting_without_end_takes_linear_time() {
        for part in [
            "(",
            "$(",
            "`",
            "<<a ",
            "((",
            "{ ",
            "${",
            "if ",
            "\"$(",
            "a=(",
            "[[ ",
            "<(",
            "case a in ",
            "((a",
            "$((",
            "f() {",
            ")",
            ";;",
        ] {
            shell_command(&part.repeat(20_000));
        }
    }

    /// A command of any length takes linear time.
    #[test]
    fn a_long_command_has_the_program_of_its_start() {
        for command in ["cd X && make", "make X", "bash -c 'cd X; make'", "A=X make", "# X\nmake", "make <<E\nX\nE"] {
            for length in [0, 10, 1000, 30_000] {
                let command = command.replace('X', &"é\"é \\ é\"".repeat(length));
                assert_eq!(program(&command).as_deref(), Some("make"), "{length}");
            }
        }
    }
}
