//! Finds rows by the names that they contain, without a second copy of the names.

use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The indexes of rows by the hashes of their names.
#[derive(Debug, Default)]
pub struct RowIndex {
    rows: HashTable<(u64, usize)>,
    hasher: RandomState,
}

impl RowIndex {
    /// The index of the row of that name. `has_name` returns whether it is the name of a row.
    pub fn find<N: Hash + ?Sized>(&self, name: &N, has_name: impl Fn(usize) -> bool) -> Option<usize> {
        let hash = self.hasher.hash_one(name);
        self.rows.find(hash, |(known, row)| *known == hash && has_name(*row)).map(|(_, row)| *row)
    }

    /// As [`Self::find`]; if there is no such row, adds `new` and returns it.
    pub fn find_or_add<N: Hash + ?Sized>(&mut self, name: &N, new: usize, has_name: impl Fn(usize) -> bool) -> usize {
        let hash = self.hasher.hash_one(name);
        let is_it = |(known, row): &(u64, usize)| *known == hash && has_name(*row);
        self.rows.entry(hash, is_it, |(known, _)| *known).or_insert((hash, new)).get().1
    }
}
