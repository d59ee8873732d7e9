//! The sessions of a database or file whose records name their session.

use std::ops::{Index, IndexMut};

use foldhash::{HashMap, HashMapExt as _};

use crate::base::rows::Rows;

/// Sessions in the order in which their first records were found, and by their ids.
#[derive(Debug)]
pub struct SessionsById<T> {
    sessions: Rows<T>,
    indexes: HashMap<String, usize>,
}

impl<T> Default for SessionsById<T> {
    fn default() -> Self {
        Self { sessions: Rows::default(), indexes: HashMap::new() }
    }
}

impl<T> SessionsById<T> {
    /// The number of sessions.
    pub const fn len(&self) -> usize {
        self.sessions.len()
    }

    /// The first session.
    pub fn first(&self) -> Option<&T> {
        self.sessions.first()
    }

    /// The index of the session of that id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.indexes.get(id).copied()
    }

    /// The session of that id. Adds `new` if there is no such session.
    pub fn find_or_add(&mut self, id: &str, new: impl FnOnce() -> T) -> &mut T {
        let index = self.find(id).unwrap_or_else(|| {
            self.indexes.insert(id.to_owned(), self.sessions.len());
            self.sessions.push(new());
            self.sessions.len() - 1
        });
        &mut self.sessions[index]
    }
}

impl<T> Index<usize> for SessionsById<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        &self.sessions[index]
    }
}

impl<T> IndexMut<usize> for SessionsById<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.sessions[index]
    }
}

impl<T> IntoIterator for SessionsById<T> {
    type Item = T;
    type IntoIter = <Rows<T> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.sessions.into_iter()
    }
}
