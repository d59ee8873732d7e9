//! The files that tool calls change.

use foldhash::{HashMap, HashMapExt as _};

use super::at::At;
use super::builder::Builder;
use super::changed_lines::{ChangedLines, Sketch};
use super::row_index::RowIndex;
use super::{signs, tools};
use crate::model::session::{FileChange, Operation};

impl Builder {
    /// Adds a file that a call changes, if the call ends well: one row for each path and call. Returns the index of the row.
    pub fn change(
        &mut self,
        call: usize,
        path: &str,
        operation: Option<Operation>,
        lines: Option<ChangedLines>,
        at: At,
    ) -> usize {
        self.add_sign(call, signs::of_change(path, operation));
        let changes = &mut self.session.file_changes;
        let is_it = |row: usize| changes[row].call == Some(call) && changes[row].path == path;
        let index = self.changes.find_or_add(&(call, path), changes.len(), is_it);
        if index == changes.len() {
            changes.push(FileChange {
                line: at.line,
                call: Some(call),
                occurred_at: at.time,
                path: path.into(),
                ..FileChange::default()
            });
        }
        let change = &mut changes[index];
        change.operation = operation.or(change.operation);
        if let Some(lines) = lines {
            set_lines(change, lines);
        }
        index
    }

    /// Adds the lines of a change of which the log does not show how many it adds.
    pub fn sketch(&mut self, change: usize, sketch: Option<Sketch>) {
        if let Some(sketch) = sketch {
            self.session.file_changes[change].line_sketch = Some(sketch.text());
        }
    }

    /// Removes the files that a call changes.
    pub fn forget_changes(&mut self, call: usize) {
        let changes = &mut self.session.file_changes;
        let before = changes.len();
        changes.retain(|change| change.call != Some(call));
        if changes.len() < before {
            self.changes = RowIndex::default();
            for (index, change) in changes.iter().enumerate() {
                if let Some(call) = change.call {
                    self.changes.find_or_add(&(call, change.path.as_str()), index, |_| false);
                }
            }
        }
    }

    /// Adds the files that a call changes by a patch, if the call ends well.
    pub fn patch(&mut self, call: usize, patch: &str, at: At) {
        // The lines of several sections for one file are added up. The same patch in a later record replaces them.
        let mut sections: HashMap<usize, (ChangedLines, bool)> = HashMap::new();
        for file in tools::patched_files(patch) {
            let index = self.change(call, &file.path, Some(file.operation), None, at);
            self.add_sign(call, signs::of_patch(&file.path, patch));
            let change = &mut self.session.file_changes[index];
            let (lines, is_removal_shown) = sections.entry(index).or_insert((ChangedLines::none(), true));
            *lines = lines.plus(file.lines);
            *is_removal_shown &= file.operation != Operation::Delete;
            set_lines(change, *lines);
            change.lines_removed = change.lines_removed.filter(|_| *is_removal_shown);
        }
    }
}

/// Sets the lines of a change.
pub fn set_lines(change: &mut FileChange, lines: ChangedLines) {
    change.lines_added = Some(lines.added);
    change.lines_removed = Some(lines.removed);
    if let Some(sketch) = lines.sketch {
        change.line_sketch = Some(sketch.text());
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::shared::at::At;
    use crate::adapters::shared::builder::tests::builder;

    #[test]
    fn sections_of_one_file_add() {
        let mut builder = builder();
        let at = At { line: 1, time: None };
        let call = builder.call("c", "apply_patch", at);
        let patch = "*** Begin Patch\n*** Update File: a\n+1\n*** Update File: b\n+1\n+2\n+3\n+4\n+5\n-1\n*** Update File: a\n+1\n+2\n*** End Patch";
        for _ in 0..2 {
            builder.patch(call, patch, at);
            let lines: Vec<_> = builder.session.file_changes.iter().map(|it| (&*it.path, it.lines_added)).collect();
            assert_eq!(lines, [("a", Some(3)), ("b", Some(5))]);
        }
    }
}
