//! Labels in the path of a log: `{experiment}/{task}/{trial}.jsonl`.

use std::fmt;
use std::str::FromStr;

/// A pattern for the end of a path, which names its parts.
///
/// A part between slashes consists of text, `{name}` and `*`, in any mixture. `{name}` matches at least one character, `*` any
/// number, and neither matches a slash; the first of them matches as much as possible. A compressed log matches by its name
/// without `.gz` or `.zst` as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    /// The parts between slashes, from the last one on.
    segments: Vec<Vec<Piece>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Label(String),
    Anything,
}

/// Why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It would set no label.
    #[error(
        "it contains no label; write {{NAME}} where a path has one, as in '{{experiment}}/{{task}}/{{trial}}.jsonl'"
    )]
    NoLabel,
    /// A brace without its counterpart.
    #[error("{{ and }} have to come in pairs: they cannot be matched as text")]
    Brace,
    /// A name that no filter could use.
    #[error("{0:?} is not a name of a label: use letters, digits, _ and - only")]
    Name(String),
    /// Two labels of one name.
    #[error("it contains the label {0:?} twice")]
    Twice(String),
    /// It is undefined where the first ends and the second begins.
    #[error("between {{{0}}} and {{{1}}} there has to be some text")]
    Adjacent(String, String),
    /// A part that no path has.
    #[error("a part between two slashes is empty")]
    Empty,
}

impl FromStr for PathPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut names: Vec<String> = Vec::new();
        // Any directories may come before the pattern, so a slash at its beginning means nothing.
        let relative = text.strip_prefix('/').unwrap_or(text);
        let mut segments = relative.split('/').map(|part| pieces(part, &mut names)).collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() {
            return Err(Error::NoLabel);
        }
        segments.reverse();
        Ok(Self { text: text.to_owned(), segments })
    }
}

fn pieces(mut text: &str, names: &mut Vec<String>) -> Result<Vec<Piece>, Error> {
    if text.is_empty() {
        return Err(Error::Empty);
    }
    let mut pieces = Vec::new();
    while let Some(at) = text.find(['{', '}', '*']) {
        let (before, rest) = text.split_at(at);
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        if let Some(rest) = rest.strip_prefix('*') {
            pieces.push(Piece::Anything);
            text = rest;
            continue;
        }
        let (name, rest) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).ok_or(Error::Brace)?;
        if name.contains('{') {
            return Err(Error::Brace);
        }
        let is_of_name = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
        if name.is_empty() || !name.chars().all(is_of_name) {
            return Err(Error::Name(name.to_owned()));
        }
        if names.iter().any(|known| known == name) {
            return Err(Error::Twice(name.to_owned()));
        }
        if let Some(Piece::Label(before)) = pieces.last() {
            return Err(Error::Adjacent(before.clone(), name.to_owned()));
        }
        names.push(name.to_owned());
        pieces.push(Piece::Label(name.to_owned()));
        text = rest;
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
    Ok(pieces)
}

impl fmt::Display for PathPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl PathPattern {
    /// The pattern as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The labels in a path, as `key=value`; none if its end does not match.
    pub fn labels(&self, path: &str) -> Vec<String> {
        let is_separator = |char: char| char == '/' || cfg!(windows) && char == '\\';
        let parts: Vec<&str> = path.rsplit(is_separator).collect();
        let Some((file, directories)) = parts.split_first() else { return Vec::new() };
        let decompressed = [".gz", ".zst"].into_iter().find_map(|extension| file.strip_suffix(extension));
        let mut names = [Some(*file), decompressed].into_iter().flatten();
        names.find_map(|name| self.match_path(name, directories)).unwrap_or_default()
    }

    fn match_path(&self, file: &str, directories: &[&str]) -> Option<Vec<String>> {
        let mut labels = Vec::new();
        for (index, pieces) in self.segments.iter().enumerate() {
            let part = if index == 0 { file } else { directories.get(index - 1)? };
            if !matches(pieces, part, &mut labels) {
                return None;
            }
        }
        Some(labels)
    }
}

/// Whether a text matches the parts of the pattern; then its labels are added.
fn matches(pieces: &[Piece], text: &str, labels: &mut Vec<String>) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return text.is_empty() };
    let (name, shortest) = match piece {
        Piece::Text(own) => return text.strip_prefix(own.as_str()).is_some_and(|after| matches(rest, after, labels)),
        Piece::Label(name) => (Some(name), 1),
        Piece::Anything => (None, 0),
    };
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let known = labels.len();
    for end in ends.rev().filter(|end| *end >= shortest) {
        let (value, after) = text.split_at(end);
        labels.extend(name.map(|name| format!("{name}={value}")));
        if matches(rest, after, labels) {
            return true;
        }
        labels.truncate(known);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels, or why the pattern is invalid.
    fn labels(pattern: &str, path: &str) -> String {
        let pattern = pattern.parse::<PathPattern>();
        pattern.map_or_else(|error| error.to_string(), |pattern| pattern.labels(path).join(" "))
    }

    #[test]
    fn labels_are_at_the_end_of_a_path() {
        for (pattern, path, expected) in [
            ("{experiment}/{task}/{trial}.jsonl", "/runs/base/fix-bug/3.jsonl", "trial=3 task=fix-bug experiment=base"),
            (
                "{experiment}/{task}/{trial}.jsonl",
                "/runs/base/fix-bug/3.jsonl.zst",
                "trial=3 task=fix-bug experiment=base",
            ),
            ("{name}.jsonl.gz", "/a.jsonl.gz", "name=a"),
            ("{experiment}/{task}/{trial}.jsonl", "task/3.jsonl", ""),
            ("{experiment}/{task}/{trial}.jsonl", "/runs/base/fix-bug/3.json", ""),
            ("/{task}/out.jsonl", "/runs/x/out.jsonl", "task=x"),
            // The first part matches as much as possible, and leaves enough for the others.
            ("{task}-{trial}.jsonl", "/fix-the-bug-12.jsonl", "task=fix-the-bug trial=12"),
            ("run_{date}_*.jsonl", "/run_2026-10-05_a_b.jsonl", "date=2026-10-05_a"),
            ("{task}/*/*", "/base/fix/agent/trajectory.json", "task=fix"),
            ("{t}-x", "/-x", ""),
            ("{ä}é", "/ßéé", "ä=ßé"),
        ] {
            assert_eq!(labels(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn an_invalid_pattern_has_a_reason() {
        for (pattern, why) in [
            ("*.jsonl", "it contains no label"),
            ("", "a part between two slashes is empty"),
            ("{a}//b", "a part between two slashes is empty"),
            ("{a", "{ and } have to come in pairs"),
            ("a}", "{ and } have to come in pairs"),
            ("{a{b}}", "{ and } have to come in pairs"),
            ("{a b}", "\"a b\" is not a name of a label"),
            ("{}", "\"\" is not a name of a label"),
            ("{a}/{a}", "it contains the label \"a\" twice"),
            ("{a}{b}", "between {a} and {b} there has to be some text"),
        ] {
            let message = labels(pattern, "/x/y");
            assert!(message.starts_with(why), "{pattern}: {message}");
        }
    }
}
