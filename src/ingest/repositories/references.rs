//! The references of a repository: branches, tags, the default branch, and the commits that `HEAD` pointed to.

use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::objs::{Kind, TagRef};
use gix::refs::TargetRef;
use gix::{ObjectId, Repository};

use super::message::name as name_of;
use super::objects::{MAX_TEXT, Unread, id_of, read};
use super::open::Opened;
use super::problems::{Problem, Problems};
use crate::input::open::read_file;

/// Names that default branches have.
const DEFAULTS: [&str; 4] = ["main", "master", "trunk", "develop"];
/// Tags of tags that are followed.
const MAX_TAGS: usize = 8;
/// The largest log of references that is read, in bytes.
const MAX_LOG: u64 = 1 << 26;

/// The references of a repository.
#[derive(Debug, Default)]
pub(super) struct References {
    pub default_branch: Option<String>,
    /// The ends of the default branch, that of the remote first.
    pub default_tips: Vec<ObjectId>,
    /// The other branches, without the names of remotes.
    pub branches: Vec<(String, ObjectId)>,
    pub tags: Vec<(String, ObjectId)>,
    /// The ends of pull requests, by their number, where the user fetches them.
    pub requests: Vec<(i64, ObjectId)>,
    /// Commits that the heads of worktrees point to or pointed to. They may be gone.
    pub former: Vec<ObjectId>,
    /// The trees of notes.
    pub notes: Vec<ObjectId>,
}

/// A branch: of a remote, or local.
struct Branch {
    remote: Option<String>,
    name: String,
    tip: ObjectId,
}

/// References with notes about the agents that wrote a commit: <https://github.com/git-ai-project/git-ai>, <https://agent-trace.dev>.
const NOTES: [&str; 4] = ["refs/notes/ai", "refs/notes/agent-trace", "refs/notes/agent_trace", "refs/notes/agent"];

/// Reads the references.
pub(super) fn read_references(opened: &Opened, problems: &mut Problems) -> References {
    let repository = &opened.repository;
    let remotes: Vec<String> = opened.remotes().into_iter().map(|(name, _)| name).collect();
    let mut found = References::default();
    let mut branches = Vec::new();
    let mut heads = Vec::new();
    let all = repository.references();
    let all = all.as_ref().ok().and_then(|platform| platform.all().ok());
    if all.is_none() {
        problems.add(Problem::Reference, || "the list of references".to_owned());
    }
    for reference in all.into_iter().flatten() {
        let Ok(reference) = reference else {
            problems.add(Problem::Reference, || "its file is damaged".to_owned());
            continue;
        };
        let name = name_of(reference.name().as_bstr());
        let target = match reference.target() {
            TargetRef::Object(id) => id.to_owned(),
            TargetRef::Symbolic(target) => {
                heads.push((name, name_of(target.as_bstr())));
                continue;
            }
        };
        if NOTES.contains(&name.as_str()) {
            found.notes.push(target);
        } else if let Some(number) = request_of(&name) {
            found.requests.push((number, target));
        } else if let Some(name) = name.strip_prefix("refs/heads/") {
            branches.push(Branch { remote: None, name: name.to_owned(), tip: target });
        } else if let Some(name) = name.strip_prefix("refs/remotes/") {
            branches.extend(of_remote(name, &remotes).map(|(remote, name)| Branch {
                remote: Some(remote.to_owned()),
                name: name.to_owned(),
                tip: target,
            }));
        } else if let Some(tag) = name.strip_prefix("refs/tags/") {
            match peeled(repository, target) {
                Ok(commit) => found.tags.extend(commit.map(|commit| (tag.to_owned(), commit))),
                Err(_) => problems.add(Problem::Reference, || name.clone()),
            }
        }
    }
    found.default_branch = default_branch(repository, &remotes, &heads, &branches);
    let (defaults, others): (Vec<_>, Vec<_>) =
        branches.into_iter().partition(|branch| Some(&branch.name) == found.default_branch.as_ref());
    // A fork has the default branches of several remotes: that of the first one counts.
    let remote = remotes.iter().find(|remote| defaults.iter().any(|branch| branch.remote.as_ref() == Some(remote)));
    let mut defaults: Vec<Branch> =
        defaults.into_iter().filter(|branch| branch.remote.is_none() || branch.remote.as_ref() == remote).collect();
    defaults.sort_by_key(|branch| branch.remote.is_none());
    found.default_tips = defaults.into_iter().map(|branch| branch.tip).collect();
    found.default_tips.dedup();
    found.branches = others.into_iter().map(|branch| (branch.name, branch.tip)).collect();
    found.branches.sort();
    found.branches.dedup();
    found.former = former(repository);
    found
}

/// The number in the reference of a pull request of GitHub or GitLab, or in the usual name of its copy.
fn request_of(name: &str) -> Option<i64> {
    let head =
        ["refs/pull/", "refs/merge-requests/"].iter().find_map(|start| name.strip_prefix(start)?.strip_suffix("/head"));
    let copy =
        || ["refs/remotes/origin/pr/", "refs/remotes/origin/pull/"].iter().find_map(|start| name.strip_prefix(start));
    head.or_else(copy)?.parse().ok()
}

/// The name of a remote, which may contain slashes, and that of its branch.
fn of_remote<'a>(name: &'a str, remotes: &'a [String]) -> Option<(&'a str, &'a str)> {
    let known =
        remotes.iter().find_map(|remote| Some((remote.as_str(), name.strip_prefix(remote)?.strip_prefix('/')?)));
    known.or_else(|| name.split_once('/'))
}

/// The name of the default branch: as the remote states, else the branch of a bare repository, else a branch with a usual name, else
/// the only one.
fn default_branch(
    repository: &Repository,
    remotes: &[String],
    heads: &[(String, String)],
    branches: &[Branch],
) -> Option<String> {
    let is_there = |name: &&str| branches.iter().any(|branch| branch.name == *name);
    let of_remotes = remotes.iter().find_map(|remote| {
        let head = format!("refs/remotes/{remote}/HEAD");
        let (_, target) = heads.iter().find(|(name, _)| *name == head)?;
        target.strip_prefix(&format!("refs/remotes/{remote}/")).filter(is_there)
    });
    let head = repository.head_name().ok().flatten().map(|name| name_of(name.as_bstr()));
    let head = head.as_deref().and_then(|name| name.strip_prefix("refs/heads/")).filter(is_there);
    let of_bare = || head.filter(|_| repository.is_bare());
    let usual = || DEFAULTS.into_iter().find(is_there);
    let only = || head.filter(|head| branches.iter().all(|branch| branch.name == *head));
    of_remotes.or_else(of_bare).or_else(usual).or_else(only).map(str::to_owned)
}

/// The commit of a tag; `None` if it is the tag of another object.
fn peeled(repository: &Repository, mut id: ObjectId) -> Result<Option<ObjectId>, Unread> {
    for _ in 0..MAX_TAGS {
        match repository.try_find_header(id).map_err(|_| Unread::Damaged(id))?.ok_or(Unread::Missing(id))?.kind() {
            Kind::Commit => return Ok(Some(id)),
            Kind::Tag => {
                let data = read(repository, id, Kind::Tag, MAX_TEXT)?;
                id = TagRef::from_bytes(&data, id.kind()).map_err(|_| Unread::Damaged(id))?.target();
            }
            _ => return Ok(None),
        }
    }
    Err(Unread::Damaged(id))
}

/// The commits of the heads of all worktrees, detached ones too, and those before them in their logs.
fn former(repository: &Repository) -> Vec<ObjectId> {
    let common = repository.common_dir();
    let worktrees = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let directories: Vec<PathBuf> = worktrees.map(|entry| entry.path()).chain([common.to_owned()]).collect();
    let mut found: Vec<ObjectId> = directories.iter().flat_map(|directory| of_head(directory)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The hashes in a file `HEAD` and in its log.
fn of_head(directory: &Path) -> Vec<ObjectId> {
    let text = |path: &str| read_file(&directory.join(path), MAX_LOG).unwrap_or_default();
    let (head, log) = (text("HEAD"), text("logs/HEAD"));
    let hashes = head.lines().chain(log.lines().flat_map(|line| line.splitn_str(3, " ").take(2)));
    hashes.filter_map(|hash| id_of(hash.to_str().ok()?)).filter(|id| !id.is_null()).collect()
}
