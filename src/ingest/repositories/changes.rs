//! The files that differ between two trees.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use gix::bstr::{BString, ByteSlice, ByteVec};
use gix::objs::tree::{EntryKind, EntryMode};
use gix::objs::{Kind, TreeRefIter};
use gix::{ObjectId, Repository};

use super::objects::{MAX_TREE, Unread, read};

/// The most files of a commit. A tree can name itself in many places, so that few objects have more files than fit on a disk.
pub(super) const MAX_FILES: usize = 50_000;
/// The most trees of a commit, and the most bytes of a path: see [`MAX_FILES`].
const MAX_TREES: usize = 200_000;
const MAX_PATH: usize = 1 << 12;

/// A file of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    pub id: ObjectId,
    pub mode: EntryMode,
}

impl Item {
    /// Whether it has lines: it is not a submodule.
    pub const fn is_blob(self) -> bool {
        self.mode.is_blob_or_symlink()
    }
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub path: BString,
    pub old: Option<Item>,
    pub new: Option<Item>,
}

/// Why files are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failed {
    Unread(Unread),
    TooMany,
}

impl From<Unread> for Failed {
    fn from(unread: Unread) -> Self {
        Self::Unread(unread)
    }
}

/// The entries of a tree, in the order of git: a directory as if its name ended in a slash.
struct Entries(Vec<(BString, Item)>);

impl Entries {
    fn read(repository: &Repository, tree: Option<ObjectId>) -> Result<Self, Failed> {
        let Some(id) = tree else { return Ok(Self(Vec::new())) };
        let data = read(repository, id, Kind::Tree, MAX_TREE)?;
        let mut entries = Vec::new();
        for entry in TreeRefIter::from_bytes(&data, id.kind()) {
            let entry = entry.map_err(|_| Unread::Damaged(id))?;
            let mut name = entry.filename.to_owned();
            if entry.mode.is_tree() {
                name.push(b'/');
            }
            entries.push((name, Item { id: entry.oid.to_owned(), mode: entry.mode }));
        }
        // Those of a damaged tree may have another order.
        if !entries.is_sorted_by(|(left, _), (right, _)| left <= right) {
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        }
        Ok(Self(entries))
    }

    /// The entry of this name.
    fn find(&self, name: &str) -> Option<Item> {
        let position = self.0.binary_search_by(|(other, _)| other.as_slice().cmp(name.as_bytes())).ok()?;
        self.0.get(position).map(|(_, item)| *item)
    }
}

/// Finds the files that differ, in no particular order. Without an old tree, all files are new.
pub(super) fn changes(
    repository: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
) -> Result<Vec<Change>, Failed> {
    let mut found = Vec::new();
    let mut trees = 0;
    let mut waiting = vec![(BString::default(), old, new)];
    while let Some((prefix, old, new)) = waiting.pop() {
        trees += 1;
        if trees > MAX_TREES || found.len() > MAX_FILES {
            return Err(Failed::TooMany);
        }
        let old = Entries::read(repository, old)?;
        let new = Entries::read(repository, new)?;
        for (name, old, new) in pairs(&old, &new) {
            let mut path = prefix.clone();
            path.push_str(name);
            if path.len() > MAX_PATH {
                return Err(Failed::TooMany);
            }
            if name.ends_with_str("/") {
                waiting.push((path, old.map(|item| item.id), new.map(|item| item.id)));
            } else {
                found.push(Change { path, old, new });
            }
        }
    }
    Ok(found)
}

/// The entries that differ, by name.
fn pairs<'a>(old: &'a Entries, new: &'a Entries) -> Vec<(&'a BString, Option<Item>, Option<Item>)> {
    let (mut old, mut new) = (old.0.iter().peekable(), new.0.iter().peekable());
    let mut found = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (Some((old, _)), Some((new, _))) => old.cmp(new),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return found,
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        let (Some((name, _)), is_same) = (before.or(after), before.map(|it| it.1) == after.map(|it| it.1)) else {
            continue;
        };
        if !is_same {
            found.push((name, before.map(|it| it.1), after.map(|it| it.1)));
        }
    }
}

/// The content of some files of a tree, by path; `None` for those that it does not have.
pub(super) fn find_files<'a>(
    repository: &Repository,
    tree: ObjectId,
    paths: impl Iterator<Item = &'a str>,
) -> Result<Vec<(&'a str, Option<ObjectId>)>, Failed> {
    let mut read: HashMap<ObjectId, Entries> = HashMap::new();
    let mut found = Vec::new();
    for path in paths {
        let mut directory = Some(tree);
        let mut item = None;
        let mut names = path.split('/').peekable();
        while let (Some(id), Some(name)) = (directory, names.next()) {
            let is_last = names.peek().is_none();
            let entries = match read.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Entries::read(repository, Some(id))?),
            };
            let entry = entries.find(&if is_last { name.to_owned() } else { format!("{name}/") });
            if is_last {
                item = entry.filter(|item| item.is_blob()).map(|item| item.id);
            }
            directory = entry.filter(|item| item.mode.kind() == EntryKind::Tree).map(|item| item.id);
        }
        found.push((path, item));
    }
    Ok(found)
}
