//! Lines that consist of numbers of tests: `1 failed, 2 passed in 0.12s`, `Tests run: 5, Failures: 1`.

use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// A word of such a line, or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Number(u64),
    /// Of tests that failed.
    Failed,
    /// Of errors, which are failed tests if the line is about tests.
    Errors,
    /// Of tests that passed.
    Passed,
    /// What makes a line one about tests.
    Tests,
    /// Any other word of such lines, or a time.
    Other,
}

/// The words of each token. A line with any other word is not a summary.
#[rustfmt::skip]
const WORDS: &[(Token, &[&str])] = &[
    (Token::Failed, &["fail", "failed", "failing", "fails", "failure", "failures"]),
    (Token::Errors, &["error", "errored", "errors"]),
    (Token::Passed, &["ok", "pass", "passed", "passes", "passing", "succeeded"]),
    (Token::Tests, &[
        "assertion", "assertions", "asserts", "case", "cases", "doctest", "doctests", "example", "examples", "runs", "scenario",
        "scenarios", "skipped", "spec", "specs", "subtest", "subtests", "suite", "suites", "test", "tests", "warning", "warnings",
        "xfailed", "xpassed",
    ]),
    (Token::Other, &[
        "across", "and", "broken", "calls", "canceled", "cancelled", "completed", "deprecations", "deselected", "done", "elapsed",
        "executed", "expect", "expectations", "expected", "features", "file", "files", "filtered", "finished", "flaky", "ignored",
        "in", "incomplete", "info", "leaky", "m", "measured", "min", "minutes", "ms", "notices", "of", "out", "pending", "ran",
        "rerun", "result", "results", "retried", "risky", "run", "s", "sec", "second", "seconds", "skip", "skips", "slow", "steps",
        "success", "summary", "time", "todo", "took", "total", "unexpected", "warn", "with", "ℹ",
    ]),
];

/// The same by word: most lines end at a word that is unknown.
static TOKENS: LazyLock<HashMap<&str, Token, RandomState>> =
    LazyLock::new(|| WORDS.iter().flat_map(|(token, words)| words.iter().map(|word| (*word, *token))).collect());

/// The most tokens of a line.
const MOST: usize = 64;

/// Whether the numbers of a line state that tests failed. `None` if the line has another form, or no test ran.
pub(super) fn of_line(line: &str) -> Option<bool> {
    if !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut tokens = [Token::Other; MOST];
    let (mut failed, mut errors, mut passed) = (None, None, None);
    let (mut is_about_tests, mut other_numbers) = (false, 0);
    for field in line.split([',', ';', '|', '(', ')']) {
        let mut length = 0;
        for word in field.split([' ', ':', '=', '[', ']']) {
            let word = word.trim_matches(|it: char| !it.is_alphanumeric());
            if word.is_empty() {
                continue;
            }
            *tokens.get_mut(length)? = token(word)?;
            length += 1;
        }
        let tokens = tokens.get(..length)?;
        is_about_tests |= tokens.iter().any(|it| matches!(it, Token::Tests | Token::Failed | Token::Passed));
        for (at, token) in tokens.iter().enumerate() {
            let sum = match token {
                Token::Failed => &mut failed,
                Token::Errors => &mut errors,
                Token::Passed => &mut passed,
                Token::Number(number) => {
                    other_numbers = number.saturating_add(other_numbers);
                    continue;
                }
                Token::Tests | Token::Other => continue,
            };
            if let Some(count) = count_of(tokens, at) {
                *sum = Some(count.saturating_add(sum.unwrap_or(0)));
            }
        }
    }
    // `1 error in 0.10s`
    is_about_tests |= line.contains(" in ");
    let errors = errors.filter(|_| is_about_tests);
    if failed.unwrap_or(0) > 0 || errors.unwrap_or(0) > 0 {
        return Some(true);
    }
    let has_run = match passed {
        Some(passed) => passed > 0,
        None => failed.is_some() && other_numbers > 0,
    };
    has_run.then_some(false)
}

/// The number that belongs to the word at a position: `1 failed`, `0 tests failed`, or `Failures: 1`.
fn count_of(tokens: &[Token], at: usize) -> Option<u64> {
    let before = || number(tokens.get(..at).unwrap_or_default().iter().rev());
    let after = || number(tokens.get(at + 1..).unwrap_or_default().iter());
    let are_names_first =
        !matches!(tokens.first(), Some(Token::Number(_))) && matches!(tokens.last(), Some(Token::Number(_)));
    if are_names_first { after() } else { before().or_else(after) }
}

/// The first number, unless it belongs to another word.
fn number<'t>(tokens: impl Iterator<Item = &'t Token>) -> Option<u64> {
    tokens
        .take_while(|token| !matches!(token, Token::Failed | Token::Errors | Token::Passed))
        .find_map(|token| if let Token::Number(number) = token { Some(*number) } else { None })
}

/// `None` for a word that such lines do not contain.
fn token(word: &str) -> Option<Token> {
    if word.starts_with(|it: char| it.is_ascii_digit()) {
        return match word.parse() {
            Ok(number) => Some(Token::Number(number)),
            Err(_) if is_time(word) => Some(Token::Other),
            Err(_) => None,
        };
    }
    let has_capitals = word.bytes().any(|byte| byte.is_ascii_uppercase());
    let found = if has_capitals { TOKENS.get(word.to_ascii_lowercase().as_str()) } else { TOKENS.get(word) };
    found.copied()
}

/// `0.12s`, `12ms`, `1m2s`, `0.1`.
fn is_time(word: &str) -> bool {
    let units = word.trim_matches(|it: char| it.is_ascii_digit() || it == '.');
    word.len() < 16
        && units.chars().all(|it| it.is_ascii_digit() || matches!(it, '.' | 'm' | 's' | 'h' | 'µ' | 'n' | 'i'))
}
