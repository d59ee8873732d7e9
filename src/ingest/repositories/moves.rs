//! Files that were moved: a deleted file and a new one with the same content, or with at least half of their lines in common.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::BString;

use super::changes::{Change, Item};
use crate::model::history::Lines;

/// Pairs of files that are compared by their lines in one commit.
const MAX_PAIRS: usize = 200_000;

/// A deleted or new file with its lines, if they are known.
pub(super) struct Side<'a> {
    pub path: &'a BString,
    pub item: Item,
    pub lines: Option<&'a Lines>,
}

/// The new paths with the old ones of the files that were moved.
pub(super) fn moves(deleted: &[Side<'_>], created: &[Side<'_>]) -> HashMap<BString, BString> {
    let mut moved: HashMap<BString, BString> = HashMap::new();
    let mut by_content: HashMap<ObjectId, Vec<usize>> = HashMap::new();
    for (index, side) in deleted.iter().enumerate().rev() {
        by_content.entry(side.item.id).or_default().push(index);
    }
    let mut is_taken = vec![false; deleted.len()];
    let mut take = |index: usize, new: &Side<'_>, old: &Side<'_>, moved: &mut HashMap<BString, BString>| {
        if let Some(taken) = is_taken.get_mut(index).filter(|taken| !**taken) {
            *taken = true;
            moved.insert(new.path.clone(), old.path.clone());
        }
    };
    for new in created {
        let index = by_content.get_mut(&new.item.id).and_then(Vec::pop);
        if let Some((index, old)) = index.and_then(|index| Some((index, deleted.get(index)?))) {
            take(index, new, old, &mut moved);
        }
    }
    if deleted.len().saturating_mul(created.len()) > MAX_PAIRS {
        return moved;
    }
    let rest = created.iter().filter(|new| !moved.contains_key(new.path)).collect::<Vec<_>>();
    let mut similar: Vec<(usize, usize, &Side<'_>)> = Vec::new();
    for new in rest {
        for (index, old) in deleted.iter().enumerate() {
            similar.extend(similarity(old, new).map(|percent| (percent, index, new)));
        }
    }
    // The most similar first; of equal ones in the order of their paths.
    similar.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)).then(left.2.path.cmp(right.2.path)));
    for (_, index, new) in similar {
        if let Some(old) = deleted.get(index).filter(|_| !moved.contains_key(new.path)) {
            take(index, new, old, &mut moved);
        }
    }
    moved
}

/// The common lines of two files in percent of the larger one; `None` if they are less than half.
fn similarity(old: &Side<'_>, new: &Side<'_>) -> Option<usize> {
    let (old, new) = (old.lines?, new.lines?);
    let (smallest, largest) = (old.count().min(new.count()), old.count().max(new.count()));
    // Lines that are too short are in many files.
    if old.long.is_empty() || new.long.is_empty() || smallest * 2 < largest {
        return None;
    }
    let common = old.count_common(new);
    (common * 2 >= largest).then(|| common * 100 / largest)
}

/// Changes whose moved files are one change each, by path.
pub(super) struct Joined {
    pub path: BString,
    pub old_path: Option<BString>,
    pub old: Option<Item>,
    pub new: Option<Item>,
}

/// Joins the two changes of each moved file.
pub(super) fn join(changes: Vec<Change>, moved: &HashMap<BString, BString>) -> Vec<Joined> {
    let mut sources: HashMap<BString, Option<Item>> = HashMap::new();
    for change in &changes {
        if change.new.is_none() {
            sources.insert(change.path.clone(), change.old);
        }
    }
    let sources_of_moves: std::collections::HashSet<&BString> = moved.values().collect();
    let mut joined: Vec<Joined> = changes
        .into_iter()
        .filter(|change| change.new.is_some() || !sources_of_moves.contains(&change.path))
        .map(|Change { path, old, new }| {
            let old_path = moved.get(&path).filter(|_| old.is_none()).cloned();
            let old = old_path.as_ref().and_then(|old| sources.get(old).copied().flatten()).or(old);
            Joined { path, old_path, old, new }
        })
        .collect();
    joined.sort_by(|left, right| left.path.cmp(&right.path));
    joined
}
