//! The lines that edits add and remove: from patches, diffs and the texts that a call replaces.

use serde::Deserialize;

use crate::adapters::shared::changed_lines::ChangedLines;
use crate::base::split::lines;
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
    /// Its lines. A patch does not show those of a deleted file.
    pub lines: ChangedLines,
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
            files.push(PatchedFile { path: path.to_owned(), operation, lines: ChangedLines::none() });
        } else if let Some(file) = files.last_mut() {
            if let Some(path) = line.strip_prefix("*** Move to: ") {
                path.trim().clone_into(&mut file.path);
                file.operation = Operation::Move;
            } else if let Some(added) = line.strip_prefix('+') {
                file.lines.add(added.as_bytes());
            } else if line.starts_with('-') {
                file.lines.removed += 1;
            }
        }
    }
    files
}

/// Lines that a diff adds and removes. Its headers (`+++`, `---`) are not among them.
pub fn diff_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> ChangedLines {
    marked_lines(lines, |line| line)
}

/// The same of lines of which `text_of` returns the text, from what follows the mark.
pub(super) fn marked_lines<'a>(
    lines: impl IntoIterator<Item = &'a str>,
    text_of: impl Fn(&[u8]) -> &[u8],
) -> ChangedLines {
    let mut changed = ChangedLines::none();
    for line in lines {
        if line.starts_with("+++ ") || line.starts_with("--- ") {
            continue;
        }
        if let Some(added) = line.strip_prefix('+') {
            changed.add(text_of(added.as_bytes()));
        } else if line.starts_with('-') {
            changed.removed += 1;
        }
    }
    changed
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
pub fn lines_in_arguments(arguments: Raw<'_>) -> Option<ChangedLines> {
    let all: Replacement<'_> = arguments.read();
    let single = std::slice::from_ref(&all);
    let mut sum = ChangedLines::none();
    for replacement in if all.edits.is_empty() { single } else { all.edits.as_slice() } {
        let (old, new) = (replacement.old_string.0.as_deref()?, replacement.new_string.0.as_deref()?);
        // Arguments do not show how often the text occurs.
        if replacement.replace_all.is_true() {
            return None;
        }
        sum = sum.plus(changed_lines(old, new)?);
    }
    Some(sum)
}

/// Lines added and removed by the shortest line diff of two texts; `None` if they have too many lines to compare.
pub fn changed_lines(old: &str, new: &str) -> Option<ChangedLines> {
    /// The time grows with the square of the number.
    const MOST_LINES: usize = 2000;
    // An empty text has no line, not an empty one.
    let [old, new] = [old, new].map(|text| text.split('\n').filter(|_| !text.is_empty()).collect::<Vec<_>>());
    if old.len() + new.len() > MOST_LINES {
        return None;
    }
    let operations = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
    let mut changed = ChangedLines::none();
    for operation in operations.iter().filter(|operation| operation.tag() != similar::DiffTag::Equal) {
        new.get(operation.new_range())?.iter().for_each(|line| changed.add(line.as_bytes()));
        changed.removed += i64::try_from(operation.old_range().len()).ok()?;
    }
    Some(changed)
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
        let files = patched_files(patch);
        let files: Vec<_> = files.iter().map(|it| (it.path.as_str(), it.operation, it.lines.counts())).collect();
        assert_eq!(
            files,
            [("a", Operation::Create, (2, 0)), ("c", Operation::Move, (1, 1)), ("d", Operation::Delete, (0, 0)),]
        );
        assert_eq!(diff_lines(lines("--- a\n+++ b\n@@\n-x\n+y\n+z")).counts(), (2, 1));
    }

    #[test]
    fn a_last_line_without_its_end_counts() {
        assert_eq!(["", "a", "a\n", "a\nb", "\n\n"].map(line_count), [0, 1, 1, 2, 2]);
    }
}
