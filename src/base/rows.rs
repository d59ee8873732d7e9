//! Lists whose rows refer to each other by index, such as the turn of a tool call.
//!
//! Code outside of tests may not index a `Vec` (clippy's `indexing_slicing`), as an index from a log would panic. Indexes of rows
//! come from the list itself, when a row is added or found: an index out of bounds is an error of this program. [`Rows`] is a
//! `Vec` that may be indexed, so that each of the 200 uses needs neither an exception of the lint nor code for a missing row.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A `Vec` that may be indexed, by its own indexes only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

// The methods of a `Vec` that are used. With `Deref` to it, clippy would report each index here too.
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

    /// A row, mutable; `None` if the index is out of bounds.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.0.get_mut(index)
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
