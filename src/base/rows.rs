//! Rows that refer to each other by index.

use std::fmt;
use std::ops::{Index, IndexMut, RangeFrom};

use serde::{Deserialize, Serialize};

/// A list that may be indexed: indexes come from the list itself, never from a log. An index out of bounds is therefore an error
/// of this program, and panics here only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rows<T>(Vec<T>);

impl<T> Index<usize> for Rows<T> {
    type Output = T;

    #[expect(clippy::indexing_slicing, reason = "indexes come from this list: see Rows")]
    fn index(&self, index: usize) -> &T {
        &self.0[index]
    }
}

impl<T> IndexMut<usize> for Rows<T> {
    #[expect(clippy::indexing_slicing, reason = "indexes come from this list: see Rows")]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.0[index]
    }
}

impl<T> Index<RangeFrom<usize>> for Rows<T> {
    type Output = [T];

    /// The rows from an index on.
    fn index(&self, indexes: RangeFrom<usize>) -> &[T] {
        self.0.get(indexes).unwrap_or_default()
    }
}

impl<T> IndexMut<RangeFrom<usize>> for Rows<T> {
    fn index_mut(&mut self, indexes: RangeFrom<usize>) -> &mut [T] {
        self.0.get_mut(indexes).unwrap_or_default()
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: fmt::Debug> fmt::Debug for Rows<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

// No `Deref` to a slice: `rows[index]` would be that of the slice.
impl<T> Rows<T> {
    /// The number of rows.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a row at the end.
    pub fn push(&mut self, row: T) {
        self.0.push(row);
    }

    /// Releases unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }

    /// All rows, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// All rows, in order, mutable.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    /// All rows as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// All rows as a list, mutable.
    pub const fn as_list(&mut self) -> &mut Vec<T> {
        &mut self.0
    }

    /// The first row.
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// The last row.
    pub fn last(&self) -> Option<&T> {
        self.0.last()
    }

    /// The last row, mutable.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.0.last_mut()
    }

    /// Keeps some rows. Earlier indexes become invalid.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
    }

    /// As [`Self::retain`], with mutable rows.
    pub fn retain_mut(&mut self, keep: impl FnMut(&mut T) -> bool) {
        self.0.retain_mut(keep);
    }
}

impl<T> Extend<T> for Rows<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, rows: I) {
        self.0.extend(rows);
    }
}

impl<T> From<Vec<T>> for Rows<T> {
    fn from(rows: Vec<T>) -> Self {
        Self(rows)
    }
}

impl<T> FromIterator<T> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        Self(rows.into_iter().collect())
    }
}

impl<T> IntoIterator for Rows<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Rows<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Rows<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}
