//! The arguments of a command: which are operands, and options that change what a program is asked for: its version, a list of its
//! tests, a check in place of a change.

use std::borrow::Cow;

use crate::model::session::CommandKind;

/// Options whose value is the next word, of all programs that [`operand`] is used for.
#[rustfmt::skip]
const OPTIONS_WITH_VALUES: &[&str] = &[
    "-C", "-f", "-n", "-p", "-w", "-u", "-e", "-I", "-P", "-L", "-d", "-s", "-x", "--cwd", "--directory", "--dir", "--env",
    "--env-file", "--extra", "--file", "--filter", "--from", "--group", "--manifest-path", "--name", "--only-group",
    "--package",
    "--prefix", "--project", "--project-directory", "--python", "--user", "--with", "--with-editable",
    "--with-requirements", "--workdir",
    "--workspace", "--context", "--namespace",
];

/// The argument of a number, from 0, that is neither an option nor the value of one.
pub(super) fn operand<'w>(arguments: &'w [Cow<'_, str>], number: usize) -> Option<&'w str> {
    operands(arguments).nth(number).map(|(_, word)| word)
}

/// The arguments that are neither options nor values of options, with their indices.
pub(super) fn operands<'w>(arguments: &'w [Cow<'_, str>]) -> impl Iterator<Item = (usize, &'w str)> {
    let mut is_value = false;
    arguments.iter().enumerate().filter_map(move |(index, word)| {
        let word = word.as_ref();
        let takes_value = word.starts_with('-') && OPTIONS_WITH_VALUES.contains(&word);
        let was_value = std::mem::replace(&mut is_value, takes_value);
        let is_operand = !was_value && !word.is_empty() && !word.starts_with(['-', '+']);
        is_operand.then_some((index, word))
    })
}

/// Whether a command only asks a program for its version or its help.
pub(super) fn is_question(first: &str, arguments: &[Cow<'_, str>]) -> bool {
    let is_only = arguments.len() == 1;
    let has_options_only = || arguments.iter().skip(1).all(|it| it.starts_with('-'));
    matches!(first, "-V" | "-VV" | "-v" | "-h" | "-?" | "-version" | "-help" | "-dumpversion") && is_only
        || first == "help"
        || first == "version" && has_options_only()
        || arguments.iter().any(|it| matches!(it.as_ref(), "--version" | "--help"))
}

/// The kind of a call of a program for tests that runs none: it only compiles or lists them.
pub(super) fn without_tests(name: &str, kind: Option<CommandKind>, arguments: &[Cow<'_, str>]) -> Option<CommandKind> {
    let has = |options: &[&str]| arguments.iter().any(|it| options.contains(&it.as_ref()));
    let is_test = kind == Some(CommandKind::Test)
        || operand(arguments, 0).is_some_and(|it| matches!(it, "test" | "nextest" | "bench" | "t" | "vitest" | "jest"));
    if !is_test {
        return None;
    }
    if has(&["--no-run", "--build-only", "build-for-testing"]) || name == "go" && has(&["-c"]) {
        return Some(CommandKind::Build);
    }
    let lists = has(&[
        "--collect-only",
        "--co",
        "--list",
        "--list-tests",
        "--listTests",
        "--show-only",
        "--fixtures",
        "--markers",
    ]) || name == "ctest" && has(&["-N"])
        || name == "go" && has(&["-list"])
        || matches!(name, "vitest" | "nextest") && operand(arguments, 0) == Some("list");
    lists.then_some(CommandKind::Read)
}

/// A formatter that only checks is a linter.
pub(super) fn checking(kind: CommandKind, arguments: &[Cow<'_, str>]) -> CommandKind {
    let is_check = |it: &Cow<'_, str>| {
        matches!(
            it.as_ref(),
            "--check"
                | "--check-only"
                | "-l"
                | "--list-different"
                | "--diff"
                | "-d"
                | "--dry-run"
                | "-check"
                | "--verify"
                | "--verify-no-changes"
                | "--check-formatted"
                | "--lint"
                | "-n"
                | "--Werror"
        )
    };
    let writes = |it: &Cow<'_, str>| matches!(it.as_ref(), "-w" | "--write" | "-i");
    if arguments.iter().any(writes) {
        return kind;
    }
    if kind == CommandKind::Format && arguments.iter().any(is_check) { CommandKind::Lint } else { kind }
}

/// Whether an option makes `sed`, `perl` and others change files.
pub(super) fn is_in_place(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    if option == "inplace" || option.starts_with("--in-place") || option.starts_with("--inplace") {
        return true;
    }
    let before = letters.split('i').next().unwrap_or_default();
    before.len() < letters.len() && before.bytes().all(|it| b"nErsepw0".contains(&it))
}
