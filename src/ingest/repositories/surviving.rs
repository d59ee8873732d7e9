//! The added lines that the default branch still has: those that are in the same file of its head, whatever the name of the file is
//! there. A line of the head counts for one commit of the default branch only: for the last one that added it.

use std::collections::{BTreeMap, HashMap, HashSet};

use gix::{ObjectId, Repository, ThreadSafeRepository};
use rayon::prelude::*;

use super::changes::{Failed, find_files};
use super::commit::read_commit;
use super::lines::{all, text};
use super::open::of_thread;
use crate::model::history::{ChangedFile, ChangedLines, Head, History, Lines};
use crate::model::session::Operation;

/// A changed file of a commit.
struct Member {
    commit: String,
    /// Its index among the files of the commit.
    file: usize,
    is_on_default: bool,
}

/// Members of a group with the lines that survived of each.
type Counts = Vec<(String, usize, u32)>;

/// Counts the lines of the scanned commits in the files of the default branch's head, as far as these files changed.
pub(super) fn count(
    repository: &Repository,
    shared: &ThreadSafeRepository,
    history: &mut History,
    tip: ObjectId,
) -> Result<(), Failed> {
    let head = read_commit(repository, tip)?;
    let is_older =
        |known: &Head| known.committed_at > head.commit.committed_at && history.commits.contains_key(&known.commit);
    if history.head.as_ref().is_some_and(is_older) {
        return Ok(());
    }
    let groups = groups(history);
    let found = find_files(repository, head.tree, groups.keys().map(String::as_str))?;
    let contents: BTreeMap<String, Option<String>> =
        found.into_iter().map(|(path, id)| (path.to_owned(), id.map(|id| id.to_string()))).collect();
    let is_known = |path: &String, members: &[Member]| {
        let before = history.head.as_ref().and_then(|head| head.files.get(path));
        before.is_some()
            && before == contents.get(path)
            && members.iter().all(|member| added_of(history, member).is_none_or(|lines| lines.surviving.is_some()))
    };
    let changed: Vec<(&String, &Vec<Member>)> =
        groups.iter().filter(|(path, members)| !is_known(path, members)).collect();
    let counts: Vec<Counts> = changed
        .par_iter()
        .map_init(
            || of_thread(shared),
            |repository, (path, members)| {
                let id = contents.get(*path).and_then(Option::as_deref).and_then(super::objects::id_of);
                let lines = match id {
                    None => Lines::default(),
                    // A file that is not text has no lines; one that cannot be read is tried again.
                    Some(id) => match text(repository, id) {
                        Ok(text) => text.map(|text| all(&text)).unwrap_or_default(),
                        Err(_) => return Counts::new(),
                    },
                };
                surviving(history, members, &lines)
            },
        )
        .collect();
    for (commit, file, count) in counts.into_iter().flatten() {
        let files = history.commits.get_mut(&commit).and_then(|commit| commit.files.as_mut());
        if let Some(lines) = files.and_then(|files| files.get_mut(file)?.lines.as_mut()) {
            lines.surviving = Some(count);
        }
    }
    history.head = Some(Head { commit: tip.to_string(), committed_at: head.commit.committed_at, files: contents });
    Ok(())
}

/// The changed files of the commits by their path in the head, the newest first.
fn groups(history: &History) -> BTreeMap<String, Vec<Member>> {
    let on_default: HashSet<&str> = history.reachable(history.default_tips());
    let mut groups: BTreeMap<String, Vec<Member>> = BTreeMap::new();
    // The later names of the files that are moved after the commits that follow.
    let mut names: HashMap<String, String> = HashMap::new();
    let mut add = |hash: &str, names: &mut HashMap<String, String>, is_on_default: bool| {
        let files = history.commits.get(hash).and_then(|commit| commit.files.as_deref()).unwrap_or_default();
        let later = |path: &String, names: &HashMap<String, String>| names.get(path).unwrap_or(path).clone();
        let mut moved = Vec::new();
        for (file, changed) in files.iter().enumerate() {
            let path = later(&changed.path, names);
            if let ChangedFile { operation: Operation::Move, old_path: Some(old), .. } = changed {
                moved.push((old.clone(), path.clone()));
            }
            groups.entry(path).or_default().push(Member { commit: hash.to_owned(), file, is_on_default });
        }
        if is_on_default {
            names.extend(moved);
        }
    };
    for hash in history.in_order(&on_default).into_iter().rev() {
        add(hash, &mut names, true);
    }
    for hash in history.commits.keys().filter(|hash| !on_default.contains(hash.as_str())) {
        add(hash, &mut names, false);
    }
    groups
}

fn added_of<'a>(history: &'a History, member: &Member) -> Option<&'a ChangedLines> {
    history.commits.get(&member.commit)?.files.as_ref()?.get(member.file)?.lines.as_ref()
}

/// The surviving lines of each member in the lines of the head.
fn surviving(history: &History, members: &[Member], head: &Lines) -> Counts {
    let mut rest = head.clone();
    let count = |member: &Member| {
        let mut added = added_of(history, member)?.added.clone();
        let count = if member.is_on_default { added.take_common(&mut rest) } else { added.count_common(head) };
        Some((member.commit.clone(), member.file, u32::try_from(count).unwrap_or(u32::MAX)))
    };
    members.iter().filter_map(count).collect()
}
