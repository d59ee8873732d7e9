//! Removing rows to which other rows refer by index.

use crate::base::rows::Rows;

/// The new index of each row after some were removed.
pub(super) struct NewIndexes(Rows<Option<usize>>);

impl NewIndexes {
    /// Removes the rows for which `keep` returns `false`.
    pub fn after_removal<T>(rows: &mut Rows<T>, mut keep: impl FnMut(&mut T) -> bool) -> Self {
        let mut kept = 0;
        let mut indexes = Rows::default();
        rows.retain_mut(|row| {
            let stays = keep(row);
            indexes.push(stays.then_some(kept));
            kept += usize::from(stays);
            stays
        });
        Self(indexes)
    }

    /// Updates a reference to a row; if the row was removed, it becomes `None`. Returns whether a row that the
    /// reference named is still there.
    pub fn update(&self, reference: &mut Option<usize>) -> bool {
        let Some(index) = *reference else { return true };
        *reference = self.0[index];
        reference.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_follow_their_rows() {
        let mut rows = Rows::from(vec!["a", "b", "c"]);
        let indexes = NewIndexes::after_removal(&mut rows, |row| *row != "b");
        assert_eq!(rows, Rows::from(vec!["a", "c"]));
        for (old, new, is_there) in
            [(None, None, true), (Some(0), Some(0), true), (Some(1), None, false), (Some(2), Some(1), true)]
        {
            let mut reference = old;
            assert_eq!((indexes.update(&mut reference), reference), (is_there, new), "{old:?}");
        }
    }
}
