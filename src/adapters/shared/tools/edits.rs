//! The lines that edits add and remove: from patches, diffs and the texts that a call replaces.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Flag, Text};
use crate::model::session::Operation;

/// One file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// The path; for a move the new one.
    pub path: String,
    /// What is done to it.
    pub operation: Operation,
    /// Lines added; `None` where the patch does not show them.
    pub lines_added: Option<i64>,
    /// Lines removed; `None` for a deleted file, whose lines a patch does not show.
    pub lines_removed: Option<i64>,
}

/// The files of a patch in the form `*** Begin Patch`, anywhere in `text`.
pub fn patched_files(text: &str) -> Vec<PatchedFile> {
    let mut files: Vec<PatchedFile> = Vec::new();
    let Some((_, patch)) = text.split_once("*** Begin Patch") else { return files };
    for line in lines(patch).skip(1) {
        let line = line.trim_end_matches('\r');
        if line.starts_with("*** End Patch") {
            break;
        }
        let header = [
            ("*** Add File: ", Operation::Create),
            ("*** Update File: ", Operation::Update),
            ("*** Delete File: ", Operation::Delete),
        ]
        .into_iter()
        .find_map(|(mark, operation)| line.strip_prefix(mark).map(|path| (path.trim(), operation)));
        if let Some((path, operation)) = header {
            let lines = (operation != Operation::Delete).then_some(0);
            files.push(PatchedFile { path: path.to_owned(), operation, lines_added: Some(0), lines_removed: lines });
        } else if let Some(file) = files.last_mut() {
            if let Some(path) = line.strip_prefix("*** Move to: ") {
                path.trim().clone_into(&mut file.path);
                file.operation = Operation::Move;
            } else if line.starts_with('+') {
                file.lines_added = file.lines_added.map(|it| it + 1);
            } else if line.starts_with('-') {
                file.lines_removed = file.lines_removed.map(|it| it + 1);
            }
        }
    }
    files
}

/// [`str::lines`] of a text of many short lines, which that takes twice as long for.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes())
        .chain((!text.is_empty() && !text.ends_with('\n')).then_some(text.len()));
    let mut start = 0;
    ends.filter_map(move |end| {
        let line = text.get(start..end)?;
        start = end + 1;
        let is_ended = end < text.len();
        Some(line.strip_suffix('\r').filter(|_| is_ended).unwrap_or(line))
    })
}

/// Lines that a diff adds and removes. Its headers (`+++`, `---`) are not among them.
pub fn diff_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> (i64, i64) {
    let (mut added, mut removed) = (0, 0);
    for line in lines {
        match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => {}
            [b'+', ..] => added += 1,
            [b'-', ..] => removed += 1,
            _ => {}
        }
    }
    (added, removed)
}
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Replacement<'a> {
    #[serde(alias = "oldText")]
    old_string: Text<'a>,
    #[serde(alias = "newText")]
    new_string: Text<'a>,
    replace_all: Flag,
    edits: Vec<Replacement<'a>>,
}

/// Lines added and removed, as the arguments of an edit show them; `None` if they do not.
///
/// In 778 of 781 edits of Claude Code these are the numbers of the patch that it logs.
pub fn lines_in_arguments(arguments: Raw<'_>) -> Option<(i64, i64)> {
    let all: Replacement<'_> = arguments.read();
    let single = std::slice::from_ref(&all);
    let mut sum = (0, 0);
    for replacement in if all.edits.is_empty() { single } else { all.edits.as_slice() } {
        let (old, new) = (replacement.old_string.0.as_deref()?, replacement.new_string.0.as_deref()?);
        // Arguments do not show how often the text occurs.
        if replacement.replace_all.is_true() {
            return None;
        }
        let (added, removed) = changed_lines(old, new)?;
        sum = (sum.0 + added, sum.1 + removed);
    }
    Some(sum)
}

/// Lines added and removed by the shortest line diff of two texts; `None` if they have too many lines to compare.
pub fn changed_lines(old: &str, new: &str) -> Option<(i64, i64)> {
    /// The time grows with the square of the number.
    const MOST_LINES: usize = 2000;
    // An empty text has no line, not an empty one.
    let [old, new] = [old, new].map(|text| text.split('\n').filter(|_| !text.is_empty()).collect::<Vec<_>>());
    if old.len() + new.len() > MOST_LINES {
        return None;
    }
    let operations = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
    let count = |range: fn(&similar::DiffOp) -> std::ops::Range<usize>| {
        let changed = operations.iter().filter(|operation| operation.tag() != similar::DiffTag::Equal);
        i64::try_from(changed.map(|operation| range(operation).len()).sum::<usize>()).ok()
    };
    Some((count(similar::DiffOp::new_range)?, count(similar::DiffOp::old_range)?))
}

/// Number of lines of a text; a last one without its newline counts.
pub fn line_count(text: &str) -> i64 {
    i64::try_from(lines(text).count()).unwrap_or(i64::MAX)
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files() {
        let patch = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+1\n+2\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y\n z\n*** Delete File: d\n*** End Patch\nE";
        let file = |path: &str, operation, lines_added, lines_removed| PatchedFile {
            path: path.into(),
            operation,
            lines_added,
            lines_removed,
        };
        assert_eq!(
            patched_files(patch),
            [
                file("a", Operation::Create, Some(2), Some(0)),
                file("c", Operation::Move, Some(1), Some(1)),
                file("d", Operation::Delete, Some(0), None),
            ]
        );
        assert_eq!(diff_lines(lines("--- a\n+++ b\n@@\n-x\n+y\n+z")), (2, 1));
    }

    /// Of all texts of up to six of these.
    #[test]
    fn lines_are_those_of_the_standard_library() {
        let letters = ["\n", "\r", "a", "é"];
        for number in 0..4_usize.pow(6) {
            for length in 0..=6 {
                let text: String = (0..length).map(|it| letters[number >> (2 * it) & 3]).collect();
                assert!(lines(&text).eq(text.lines()), "{text:?}");
                assert_eq!(line_count(&text), i64::try_from(text.lines().count()).unwrap());
            }
        }
    }
}
