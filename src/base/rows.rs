//! Rows that name each other by their place.

use std::fmt;
use std::ops::{Index, IndexMut, RangeFrom};

use serde::{Deserialize, Serialize};

/// A list whose places are names: whoever adds a row keeps its place, and nothing from outside is one. So a place that no
/// row has is an error of this program and of no log, and this is the one type that ends it there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rows<T>(Vec<T>);

impl<T> Index<usize> for Rows<T> {
    type Output = T;

    #[expect(clippy::indexing_slicing, reason = "places come from this list: see Rows")]
    fn index(&self, place: usize) -> &T {
        &self.0[place]
    }
}

impl<T> IndexMut<usize> for Rows<T> {
    #[expect(clippy::indexing_slicing, reason = "places come from this list: see Rows")]
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.0[place]
    }
}

impl<T> Index<RangeFrom<usize>> for Rows<T> {
    type Output = [T];

    /// Those from a place on.
    fn index(&self, places: RangeFrom<usize>) -> &[T] {
        self.0.get(places).unwrap_or_default()
    }
}

impl<T> IndexMut<RangeFrom<usize>> for Rows<T> {
    fn index_mut(&mut self, places: RangeFrom<usize>) -> &mut [T] {
        self.0.get_mut(places).unwrap_or_default()
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

// What a list offers, except what makes a list of it again: `rows[place]` would be a slice's.
impl<T> Rows<T> {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one at the end.
    pub fn push(&mut self, row: T) {
        self.0.push(row);
    }

    /// Gives back the memory of rows that are gone.
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }

    /// All, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// All, in their order, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    /// All as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// All as a list, to be changed.
    pub const fn as_list(&mut self) -> &mut Vec<T> {
        &mut self.0
    }

    /// The first.
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// The last.
    pub fn last(&self) -> Option<&T> {
        self.0.last()
    }

    /// The last, to be changed.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.0.last_mut()
    }

    /// Keeps some. Places that are known from before mean others then.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
    }

    /// As [`Self::retain`], and changes them.
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
