//! Edits per file, and lines that were removed again.

use foldhash::HashMap;

use super::rows::Change;

/// A file that is edited three times is edited often.
const OFTEN: i64 = 3;

/// The edits of the files of a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Edits {
    /// Changes other than deletions.
    pub edits: i64,
    /// Files with such changes.
    pub files: i64,
    /// Files with three or more of them.
    pub files_edited_often: i64,
    /// Lines added to files of which all changed lines are known; `None` without such files.
    pub lines_added: Option<i64>,
    /// The most of these that later changes can have removed.
    pub lines_removed_again: Option<i64>,
}

#[derive(Default)]
struct File {
    edits: i64,
    /// Whether the lines of all changes are known.
    is_known: bool,
    added: i64,
    /// Lines of the session that are in the file, at most.
    own: i64,
    removed_again: i64,
}

impl Edits {
    /// The edits of changes in the order of their times.
    pub(super) fn of(changes: &[Change]) -> Self {
        let mut files: HashMap<u64, File> = HashMap::default();
        for change in changes {
            let file = files.entry(change.path).or_insert_with(|| File { is_known: true, ..File::default() });
            file.edits += i64::from(!change.is_deletion);
            let (Some(added), Some(removed)) = (change.lines_added, change.lines_removed) else {
                file.is_known = false;
                continue;
            };
            let again = removed.clamp(0, file.own);
            file.removed_again = file.removed_again.saturating_add(again);
            file.own = file.own.saturating_sub(again).saturating_add(added.max(0));
            file.added = file.added.saturating_add(added.max(0));
        }
        let count =
            |is_counted: fn(&File) -> bool| i64::try_from(files.values().filter(|file| is_counted(file)).count());
        let sum = |value: fn(&File) -> i64| {
            let values = files.values().filter(|file| file.is_known).map(value);
            values.fold(None, |sum: Option<i64>, value| Some(sum.unwrap_or(0).saturating_add(value)))
        };
        Self {
            edits: files.values().map(|file| file.edits).sum(),
            files: count(|file| file.edits > 0).unwrap_or(i64::MAX),
            files_edited_often: count(|file| file.edits >= OFTEN).unwrap_or(i64::MAX),
            lines_added: sum(|file| file.added),
            lines_removed_again: sum(|file| file.removed_again),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: u64, lines: Option<(i64, i64)>) -> Change {
        let (lines_added, lines_removed) = lines.unzip();
        Change { path, lines_added, lines_removed, ..Change::default() }
    }

    #[test]
    fn lines_are_removed_again_as_far_as_the_session_added_them() {
        let edits = Edits::of(&[
            change(1, Some((10, 4))),
            change(2, Some((5, 0))),
            // 6 of the 10.
            change(1, Some((1, 6))),
            // The other 4, the new one, and 3 older lines.
            change(1, Some((0, 8))),
            Change { is_deletion: true, ..change(2, Some((0, 5))) },
        ]);
        let expected = Edits {
            edits: 4,
            files: 2,
            files_edited_often: 1,
            lines_added: Some(16),
            lines_removed_again: Some(6 + 5 + 5),
        };
        assert_eq!(edits, expected);
    }

    #[test]
    fn files_with_unknown_lines_are_left_out() {
        let edits =
            Edits::of(&[change(1, Some((3, 0))), change(1, None), change(1, Some((0, 3))), change(2, Some((2, 1)))]);
        assert_eq!((edits.lines_added, edits.lines_removed_again, edits.files_edited_often), (Some(2), Some(0), 1));
        let edits = Edits::of(&[change(1, None)]);
        assert_eq!((edits.edits, edits.lines_added, edits.lines_removed_again), (1, None, None));
        assert_eq!(Edits::of(&[]), Edits::default());
    }
}
