//! The redirections between the words of a simple command.

use std::borrow::Cow;

use crate::adapters::shared::signs;
use crate::model::session::Sign;

/// Separates the arguments of a command from its redirections.
#[derive(Debug, Default)]
pub(super) struct Redirections {
    /// Whether standard output goes to a file.
    pub writes_file: bool,
    /// The sign of such a file.
    pub sign: Option<Sign>,
    /// The redirection whose target is the next word.
    open: Option<Direction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// To standard input, or from another stream than standard output.
    Ignored,
    /// From standard output.
    Output,
}

impl Redirections {
    /// The word, if it is an argument.
    pub(super) fn argument<'a>(&mut self, word: Cow<'a, str>) -> Option<Cow<'a, str>> {
        if let Some(direction) = self.open.take() {
            self.close(direction, &word);
            return None;
        }
        let Some((direction, target)) = redirection(&word) else { return Some(word) };
        if target.is_empty() {
            self.open = Some(direction);
        } else {
            self.close(direction, target);
        }
        None
    }

    fn close(&mut self, direction: Direction, target: &str) {
        let is_file = !target.starts_with(['&', '(']) && !target.starts_with("/dev/");
        if direction == Direction::Output && is_file && target != "NUL" && target != "$null" {
            self.writes_file = true;
            self.sign = Sign::stronger(self.sign, signs::of_output(target));
        }
    }
}

/// The direction of a redirection, and its target if it is part of the word.
fn redirection(word: &str) -> Option<(Direction, &str)> {
    let (stream, rest) = match word.strip_prefix('&') {
        Some(rest) => ("1", rest),
        None => word.split_at_checked(word.find(|it: char| !it.is_ascii_digit())?)?,
    };
    let is_blank = |it: char| it == ' ' || it == '\t';
    if let Some(rest) = rest.strip_prefix('<') {
        let rest = rest.trim_start_matches(['<', '-']);
        return Some((Direction::Ignored, rest.trim_start_matches(is_blank)));
    }
    let rest = rest.strip_prefix('>')?;
    let rest = rest.strip_prefix(['>', '|']).unwrap_or(rest);
    let direction = if matches!(stream, "" | "1") { Direction::Output } else { Direction::Ignored };
    Some((direction, rest.trim_start_matches(is_blank)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_redirections_are_separated() {
        for (words, expected, writes_file) in [
            ("-n 2>&1", "-n", false),
            ("a >f b", "a b", true),
            ("a > f b", "a b", true),
            ("a >>f 2>/dev/null", "a", true),
            ("a &>/dev/null", "a", false),
            ("a &> log", "a", true),
            ("a >/dev/null 2>log", "a", false),
            ("a < f", "a", false),
            ("<<'E' >f", "", true),
            ("<<< text a", "a", false),
            ("1 22 3a", "1 22 3a", false),
            ("> $null", "", false),
            ("a >", "a", false),
        ] {
            let mut redirections = Redirections::default();
            let arguments: Vec<_> = words.split(' ').filter_map(|word| redirections.argument(word.into())).collect();
            assert_eq!((arguments.join(" ").as_str(), redirections.writes_file), (expected, writes_file), "{words}");
        }
    }
}
