//! What a scan finds in a repository. [`crate::ledger::history`] makes the rows of the tables of it.

use std::cmp::{Ordering, Reverse};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::base::line_sketch;
use crate::base::time::Time;
use crate::model::session::Operation;

/// A repository: what does not depend on its references, by commit, and the references of each of its copies on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// host/owner/name of the remote, else the name of the root directory.
    pub repository: String,
    /// Whether that is the name of a remote: other directories of the same name are then copies of the same repository.
    pub has_remote: bool,
    /// Commits before this time are not scanned.
    pub since: Option<Time>,
    /// The scanned copies.
    pub checkouts: Vec<Checkout>,
    /// The head that [`ChangedLines::surviving`] was computed with.
    pub head: Option<Head>,
    /// The scanned commits, by their hash.
    pub commits: BTreeMap<String, Commit>,
}

/// A copy of a repository, with the references that it had when it was scanned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkout {
    /// Its root directory, or its own directory if it is bare.
    pub directory: String,
    /// When it was scanned.
    pub scanned_at: Option<Time>,
    /// The name of the default branch, if there is one.
    pub default_branch: Option<String>,
    /// The commits at the end of the default branch: of the remote, and of the local branch of that name.
    pub default_tips: Vec<String>,
    /// The other branches, with the commits at their ends.
    pub branches: Vec<(String, String)>,
    /// Tags, with their commits.
    pub tags: Vec<(String, String)>,
    /// The sessions that notes name, by commit.
    pub notes: BTreeMap<String, Vec<String>>,
    /// Pull requests by their number, with the commits at their ends, where the user fetches them.
    pub requests: Vec<(i64, String)>,
}

/// The end of the default branch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The commit.
    pub commit: String,
    /// When it was committed.
    pub committed_at: Option<Time>,
    /// The content of the files that scanned commits changed, by path; files that are gone have none.
    pub files: BTreeMap<String, Option<String>>,
}

/// A commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Commit {
    /// The hashes of its parents.
    pub parents: Vec<String>,
    /// The author's name.
    pub author: Option<String>,
    /// When it was committed.
    pub committed_at: Option<Time>,
    /// When it was written.
    pub authored_at: Option<Time>,
    /// What its message states.
    pub message: Message,
    /// The changed files; `None` for merges, for the first commits of a shallow clone, and if trees are missing.
    pub files: Option<Vec<ChangedFile>>,
    /// The hash of the changes, and of those that would undo them.
    pub patch: Option<Patch>,
    /// Whether objects were missing or damaged: the next scan reads it again, once it finds `missing`.
    pub is_incomplete: bool,
    /// The first of these objects.
    pub missing: Option<String>,
}

/// What the message of a commit states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Message {
    /// The first line.
    pub subject: Option<String>,
    /// The number of a pull request that is merged or was squashed.
    pub pull_request: Option<i64>,
    /// The branch that is merged.
    pub source_branch: Option<String>,
    /// The hash of a commit that is reverted, perhaps shortened.
    pub reverts: Option<String>,
    /// Names of co-authors.
    pub coauthors: Vec<String>,
    /// Ids of sessions in trailers.
    pub session_ids: Vec<String>,
}

/// Hashes of changes, without the places of their lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// The changes.
    pub id: u64,
    /// The opposite changes.
    pub inverse: u64,
}

/// A file that a commit changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Its path; that before the commit if it is deleted.
    pub path: String,
    /// The path of a moved file before the commit.
    pub old_path: Option<String>,
    /// What was done to it.
    pub operation: Operation,
    /// Its lines; `None` for binary and very large files, submodules, and missing objects.
    pub lines: Option<ChangedLines>,
}

/// The lines of a file that a commit changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedLines {
    /// Lines that it added.
    pub added: Lines,
    /// Lines that it removed.
    pub removed: Lines,
    /// The added lines that the default branch has; `None` if that is not known.
    pub surviving: Option<u32>,
}

/// Some lines as hashes, without white space around them, in the order of the hashes: as often as the lines occur.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// See [`line_sketch::hash_of`].
    pub long: Vec<u32>,
    /// Shorter lines. So few bits do not reveal them: many lines have the same hash.
    pub short: Vec<u16>,
}

impl Lines {
    /// The hashes of lines.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hashes = Self::default();
        for line in lines {
            match line_sketch::hash_of(line) {
                Some(hash) => hashes.long.push(hash),
                None => hashes.short.push((XxHash3_64::oneshot(line.trim_ascii()) >> 48) as u16),
            }
        }
        hashes.long.sort_unstable();
        hashes.short.sort_unstable();
        hashes
    }

    /// The number of lines.
    pub const fn count(&self) -> usize {
        self.long.len() + self.short.len()
    }

    /// Removes the lines that are also in `others` from both, each as often as it is in both, and returns their number.
    pub fn take_common(&mut self, others: &mut Self) -> usize {
        take_common(&mut self.long, &mut others.long) + take_common(&mut self.short, &mut others.short)
    }

    /// The number of lines that both have.
    pub fn count_common(&self, others: &Self) -> usize {
        count_common(&self.long, &others.long) + count_common(&self.short, &others.short)
    }
}

/// How much two sorted lists share.
fn count_common<T: Ord>(ours: &[T], theirs: &[T]) -> usize {
    let (mut our, mut their) = (ours.iter().peekable(), theirs.iter().peekable());
    let mut count = 0;
    while let (Some(left), Some(right)) = (our.peek(), their.peek()) {
        let order = left.cmp(right);
        count += usize::from(order.is_eq());
        if order.is_le() {
            our.next();
        }
        if order.is_ge() {
            their.next();
        }
    }
    count
}

/// Removes what two sorted lists share from both, and returns how much that is.
fn take_common<T: Ord + Copy>(ours: &mut Vec<T>, theirs: &mut Vec<T>) -> usize {
    let (mut our_rest, mut their_rest) = (Vec::new(), Vec::new());
    let (mut our, mut their) = (ours.iter().copied().peekable(), theirs.iter().copied().peekable());
    let mut count = 0;
    loop {
        let order = match (our.peek(), their.peek()) {
            (Some(our), Some(their)) => our.cmp(their),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        match order {
            Ordering::Less => our_rest.extend(our.next()),
            Ordering::Greater => their_rest.extend(their.next()),
            Ordering::Equal => {
                our.next();
                their.next();
                count += 1;
            }
        }
    }
    (*ours, *theirs) = (our_rest, their_rest);
    count
}

/// What distinguishes repositories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// See [`History::repository`].
    pub repository: String,
    /// See [`History::has_remote`].
    pub has_remote: bool,
    /// The directories of its copies.
    pub directories: Vec<String>,
}

impl Identity {
    /// Whether both are the same repository: in the same directory, or copies with the same remote.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_copy = self.has_remote && other.has_remote && self.repository == other.repository;
        is_copy || self.directories.iter().any(|directory| other.directories.contains(directory))
    }
}

impl History {
    /// What distinguishes it from others.
    pub fn identity(&self) -> Identity {
        Identity {
            repository: self.repository.clone(),
            has_remote: self.has_remote,
            directories: self.checkouts.iter().map(|checkout| checkout.directory.clone()).collect(),
        }
    }

    /// Adds what another scan of the same repository found, as on another machine.
    pub fn add(&mut self, other: Self) {
        for (hash, commit) in other.commits {
            match self.commits.entry(hash) {
                Entry::Vacant(entry) => drop(entry.insert(commit)),
                Entry::Occupied(mut entry) if entry.get().is_incomplete => drop(entry.insert(commit)),
                Entry::Occupied(_) => {}
            }
        }
        for checkout in other.checkouts {
            match self.checkouts.iter_mut().find(|known| known.directory == checkout.directory) {
                Some(known) if known.scanned_at < checkout.scanned_at => *known = checkout,
                Some(_) => {}
                None => self.checkouts.push(checkout),
            }
        }
        // The next scan reads what either of them lacks.
        self.since = self.since.max(other.since);
        if self.head.as_ref().map(|head| head.committed_at) < other.head.as_ref().map(|head| head.committed_at) {
            self.head = other.head;
        }
    }

    /// Removes the commits before a time.
    pub fn forget_before(&mut self, time: Time) {
        self.commits.retain(|_, commit| commit.committed_at.is_none_or(|at| at >= time));
        self.since = self.since.max(Some(time));
    }

    /// The commits that these ones contain, themselves included, as far as they are scanned.
    pub fn reachable<'a>(&'a self, tips: impl IntoIterator<Item = &'a String>) -> HashSet<&'a str> {
        let mut waiting: Vec<&String> = tips.into_iter().collect();
        let mut found = HashSet::new();
        while let Some(hash) = waiting.pop() {
            if let Some((hash, commit)) = self.commits.get_key_value(hash)
                && found.insert(hash.as_str())
            {
                waiting.extend(&commit.parents);
            }
        }
        found
    }

    /// The ends of the default branches of all copies.
    pub fn default_tips(&self) -> impl Iterator<Item = &String> {
        self.checkouts.iter().flat_map(|checkout| &checkout.default_tips)
    }

    /// Whether a default branch is known.
    pub fn has_default_branch(&self) -> bool {
        self.default_tips().next().is_some()
    }

    /// The names of default branches.
    pub fn default_branches(&self) -> BTreeSet<&str> {
        self.checkouts.iter().filter_map(|checkout| checkout.default_branch.as_deref()).collect()
    }

    /// Commits in the order in which they were committed: parents before their children, whatever their clocks showed.
    pub fn in_order<'a>(&'a self, commits: &HashSet<&'a str>) -> Vec<&'a str> {
        let mut children: HashMap<&str, Vec<&'a str>> = HashMap::new();
        let mut waiting: HashMap<&'a str, usize> = HashMap::new();
        let mut ready = BinaryHeap::new();
        let time = |hash: &str| self.commits.get(hash).and_then(|commit| commit.committed_at);
        for hash in commits {
            let parents = self.commits.get(*hash).into_iter().flat_map(|commit| &commit.parents);
            let parents: BTreeSet<&str> = parents.map(String::as_str).filter(|it| commits.contains(it)).collect();
            if parents.is_empty() {
                ready.push(Reverse((time(hash), *hash)));
            } else {
                waiting.insert(hash, parents.len());
                for parent in parents {
                    children.entry(parent).or_default().push(hash);
                }
            }
        }
        let mut ordered = Vec::with_capacity(commits.len());
        while let Some(Reverse((_, hash))) = ready.pop() {
            ordered.push(hash);
            for child in children.remove(hash).unwrap_or_default() {
                if let Some(count) = waiting.get_mut(child) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(Reverse((time(child), child)));
                    }
                }
            }
        }
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        Lines::of(text.lines().map(str::as_bytes))
    }

    #[test]
    fn common_lines_are_counted_as_often_as_both_have_them() {
        let ours = lines("let total = 1;\n}\n}\n\nlet total = 1;");
        assert_eq!((ours.count(), ours.long.len()), (5, 2));
        let theirs = lines("    let total = 1;\n}\nlet other = 2;\n}\n}");
        assert_eq!(ours.count_common(&theirs), 3);
        let (mut left, mut right) = (ours, theirs);
        assert_eq!(left.take_common(&mut right), 3);
        assert_eq!((left.count(), right.count()), (2, 2));
        assert_eq!(left.count_common(&right), 0);
    }

    #[test]
    fn parents_are_before_children_whose_clocks_were_wrong() {
        let at = |seconds: i64| Some(Time::from_micros(seconds * 1_000_000));
        let commit = |parents: &[&str], seconds| Commit {
            parents: parents.iter().map(ToString::to_string).collect(),
            committed_at: at(seconds),
            ..Commit::default()
        };
        let commits = [
            ("a", commit(&["before"], 100)),
            ("b", commit(&["a"], 50)),
            ("c", commit(&["a"], 120)),
            ("d", commit(&["b", "c"], 110)),
            ("other", commit(&[], 1)),
        ];
        let commits = commits.map(|(hash, commit)| (hash.to_owned(), commit)).into();
        let history = History { commits, ..History::default() };
        let tips = ["d".to_owned()];
        let found = history.reachable(&tips);
        assert_eq!(found, HashSet::from(["a", "b", "c", "d"]));
        assert_eq!(history.in_order(&found), ["a", "b", "c", "d"]);
    }
}
