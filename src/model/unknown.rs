//! Records, and parts of records, of types that the adapter does not know. They are counted by their types.

use serde::{Deserialize, Serialize};

/// The types that are counted for one log; further ones are counted together, without a name.
const MOST: usize = 64;

/// The records of one type that the adapter does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnknownType {
    /// The words of the record that name its type, from the outside in, such as `event_msg/new_event`; empty if it has none.
    #[serde(rename = "record_type")]
    pub name: String,
    /// Number of records.
    pub records: i64,
    /// The line of the first one, from 1.
    pub first_line: i64,
    /// What they contain.
    pub contents: Contents,
}

/// What unknown records contain, by the names of their members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Contents {
    /// Numbers above 0 that are token counts or costs.
    pub has_counts: bool,
    /// A model.
    pub has_model: bool,
    /// An error.
    pub has_error: bool,
}

impl Contents {
    /// What both contain.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            has_counts: self.has_counts || other.has_counts,
            has_model: self.has_model || other.has_model,
            has_error: self.has_error || other.has_error,
        }
    }
}

/// Why the records of a log may contain more of a session than was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// Its version is newer than those that the adapter was tested with, and it has records of unknown types.
    NewerVersion,
    /// It has records of unknown types with token counts or costs.
    Counts,
}

/// Adds records to the types of a log.
pub fn add(types: &mut Vec<UnknownType>, more: UnknownType) {
    let has_room = types.len() < MOST;
    let index = types.iter().position(|known| known.name == more.name).or_else(|| {
        // The types after these have no name.
        if has_room { None } else { types.iter().position(|known| known.name.is_empty()) }
    });
    match index.and_then(|index| types.get_mut(index)) {
        Some(known) => {
            known.records += more.records;
            known.first_line = known.first_line.min(more.first_line);
            known.contents = known.contents.and(more.contents);
        }
        None => types.push(UnknownType { name: if has_room { more.name } else { String::new() }, ..more }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_counted_and_bounded() {
        let mut types = Vec::new();
        for line in 1..=200 {
            let name = format!("type of {}", line % 100);
            let contents = Contents { has_counts: line == 150, ..Contents::default() };
            add(&mut types, UnknownType { name, records: 1, first_line: line, contents });
        }
        assert_eq!(types.len(), MOST + 1);
        assert_eq!((types[0].records, types[0].first_line), (2, 1));
        assert!(types[49].contents.has_counts && !types[48].contents.has_counts);
        let rest = &types[MOST];
        assert_eq!((rest.name.as_str(), rest.records, rest.first_line), ("", 200 - 2 * 64, 65));
    }
}
