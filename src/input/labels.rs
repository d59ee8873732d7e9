//! Labels that stand in the path of a log: `{experiment}/{task}/{trial}.jsonl`.

use std::fmt;
use std::str::FromStr;

/// What the end of a path looks like, with the names of its parts.
///
/// A part between slashes is text, `{name}` or `*`, in any mixture. `{name}` stands for one character at least, `*` for any
/// number, neither for a slash; what stands first takes as much as it can. A compressed log is known by its name without
/// `.gz` or `.zst` as well.
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

/// Why a pattern is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It would say nothing of any path.
    #[error(
        "it names no label; write {{NAME}} where a path tells one, as in '{{experiment}}/{{task}}/{{trial}}.jsonl'"
    )]
    NoLabel,
    /// A brace without the other one.
    #[error("{{ and }} have to come in pairs; they cannot stand for themselves")]
    Brace,
    /// A name that no filter could be asked by.
    #[error("{0:?} is no name of a label: letters, digits, _ and - only")]
    Name(String),
    /// Two labels of one name.
    #[error("the label {0:?} stands in it twice")]
    Twice(String),
    /// Where one ends and the next one begins cannot be told.
    #[error("between {{{0}}} and {{{1}}} there has to be some text")]
    Adjacent(String, String),
    /// A part of a path that is never there.
    #[error("a part between two slashes is empty")]
    Empty,
}

impl FromStr for PathPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut names: Vec<String> = Vec::new();
        // What stands before it in a path does not matter, so neither does a slash at its beginning.
        let relative = text.strip_prefix('/').unwrap_or(text);
        let mut segments = relative.split('/').map(|it| pieces(it, &mut names)).collect::<Result<Vec<_>, _>>()?;
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
        let (name, rest) = rest.strip_prefix('{').and_then(|it| it.split_once('}')).ok_or(Error::Brace)?;
        if name.contains('{') {
            return Err(Error::Brace);
        }
        let is_name = |it: char| it.is_alphanumeric() || it == '_' || it == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(Error::Name(name.to_owned()));
        }
        if names.iter().any(|it| it == name) {
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
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The labels that a path tells, `key=value`; none if its end does not look like this.
    pub fn labels(&self, path: &str) -> Vec<String> {
        let is_separator = |it: char| it == '/' || cfg!(windows) && it == '\\';
        let parts: Vec<&str> = path.rsplit(is_separator).collect();
        let Some((file, folders)) = parts.split_first() else { return Vec::new() };
        let stored = [".gz", ".zst"].into_iter().find_map(|it| file.strip_suffix(it));
        [Some(*file), stored].into_iter().flatten().find_map(|file| self.fit(file, folders)).unwrap_or_default()
    }

    fn fit(&self, file: &str, folders: &[&str]) -> Option<Vec<String>> {
        let mut labels = Vec::new();
        for (index, pieces) in self.segments.iter().enumerate() {
            let part = if index == 0 { file } else { folders.get(index - 1)? };
            if !fits(pieces, part, &mut labels) {
                return None;
            }
        }
        Some(labels)
    }
}

/// Whether a text looks like the pieces; then its labels are added.
fn fits(pieces: &[Piece], text: &str, labels: &mut Vec<String>) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return text.is_empty() };
    let (name, shortest) = match piece {
        Piece::Text(own) => return text.strip_prefix(own.as_str()).is_some_and(|it| fits(rest, it, labels)),
        Piece::Label(name) => (Some(name), 1),
        Piece::Anything => (None, 0),
    };
    let ends = text.char_indices().map(|it| it.0).chain([text.len()]);
    let known = labels.len();
    for end in ends.rev().filter(|it| *it >= shortest) {
        let (value, after) = text.split_at(end);
        labels.extend(name.map(|it| format!("{it}={value}")));
        if fits(rest, after, labels) {
            return true;
        }
        labels.truncate(known);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pattern: &str, path: &str) -> String {
        pattern.parse::<PathPattern>().map_or_else(|it| it.to_string(), |it| it.labels(path).join(" "))
    }

    #[test]
    fn the_end_of_a_path_tells_labels() {
        for (pattern, path, labels) in [
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
            // What stands first takes as much as it can, and leaves something for what follows.
            ("{task}-{trial}.jsonl", "/fix-the-bug-12.jsonl", "task=fix-the-bug trial=12"),
            ("run_{date}_*.jsonl", "/run_2026-10-05_a_b.jsonl", "date=2026-10-05_a"),
            ("{task}/*/*", "/base/fix/agent/trajectory.json", "task=fix"),
            ("{t}-x", "/-x", ""),
            ("{ä}é", "/ßéé", "ä=ßé"),
        ] {
            assert_eq!(told(pattern, path), labels, "{pattern} {path}");
        }
    }

    #[test]
    fn a_bad_pattern_says_why() {
        for (pattern, why) in [
            ("*.jsonl", "it names no label"),
            ("", "a part between two slashes is empty"),
            ("{a}//b", "a part between two slashes is empty"),
            ("{a", "{ and } have to come in pairs"),
            ("a}", "{ and } have to come in pairs"),
            ("{a{b}}", "{ and } have to come in pairs"),
            ("{a b}", "\"a b\" is no name of a label"),
            ("{}", "\"\" is no name of a label"),
            ("{a}/{a}", "the label \"a\" stands in it twice"),
            ("{a}{b}", "between {a} and {b} there has to be some text"),
        ] {
            let told = told(pattern, "/x/y");
            assert!(told.starts_with(why), "{pattern}: {told}");
        }
    }
}
