//! Opens the repository around a directory, and names it.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::{Repository, ThreadSafeRepository};

use super::check::check;
use super::error::Error;
use crate::adapters::shared::repository::{of_remote, of_root};

/// The memory that one object may take, in bytes: see [`super::objects`].
const MAX_OBJECT: u64 = 1 << 28;

/// Trees that a thread keeps, in bytes: consecutive commits have most of their trees in common.
const CACHE: usize = 1 << 24;

/// A repository that can be read.
pub(super) struct Opened {
    pub repository: Repository,
    /// The directory that names it: see [`root_of`].
    pub directory: PathBuf,
}

/// The root directory of the worktree around a directory, or the directory of the bare repository around it.
pub fn root_of(directory: &Path) -> Option<PathBuf> {
    let is_root = |root: &&Path| root.join(".git").exists() || is_bare(root);
    directory.ancestors().find(is_root).map(Path::to_owned)
}

/// Whether a directory contains what a repository does.
fn is_bare(directory: &Path) -> bool {
    directory.join("HEAD").is_file() && directory.join("objects").is_dir() && directory.join("refs").is_dir()
}

/// Opens the repository with this root. Of its configuration only its own file is read, and no programs of it are run.
pub(super) fn open(root: &Path) -> Result<Opened, Error> {
    check(root)?;
    let limit = format!("gitoxide.objects.allocLimit={MAX_OBJECT}");
    let options = gix::open::Options::isolated().with(gix::sec::Trust::Full).config_overrides([limit]);
    let options = options.open_path_as_is(!root.join(".git").exists());
    let repository = options.open(root).map_err(|error| Error::unreadable(root, &error))?;
    let mut repository = repository.to_thread_local();
    // Otherwise each missing object would search for new packs.
    repository.objects.refresh_never();
    let directory = main_directory(&repository).unwrap_or_else(|| root.to_owned());
    Ok(Opened { repository, directory })
}

/// A repository for one thread.
pub(super) fn of_thread(shared: &ThreadSafeRepository) -> Repository {
    let mut repository = shared.to_thread_local();
    repository.object_cache_size_if_unset(CACHE);
    repository.objects.refresh_never();
    repository
}

/// The root directory of the main worktree, or the repository's own directory: equal for all worktrees.
fn main_directory(repository: &Repository) -> Option<PathBuf> {
    let common = dunce::canonicalize(repository.common_dir()).ok()?;
    let is_inside = common.file_name()?.to_string_lossy().starts_with('.');
    let is_module = common.ancestors().skip(1).any(|parent| parent.file_name().is_some_and(|name| name == "modules"));
    let workdir = || dunce::canonicalize(repository.workdir()?).ok();
    match () {
        () if is_inside => common.parent().map(Path::to_owned),
        () if is_module => workdir().or(Some(common)),
        () => Some(common),
    }
}

impl Opened {
    /// `host/owner/name` of the remote and true, else the name of the root directory.
    pub fn name(&self) -> (String, bool) {
        let remote = self.remotes().into_iter().find_map(|(_, url)| of_remote(&url).filter(|name| name.contains('/')));
        if let Some(name) = remote {
            return (name, true);
        }
        let root = self.directory.to_string_lossy();
        (of_root(root.strip_suffix(".git").unwrap_or(&root)).unwrap_or_else(|| root.into_owned()), false)
    }

    /// The names of remotes with their addresses: `origin` first, then `upstream`.
    pub fn remotes(&self) -> Vec<(String, String)> {
        let config = self.repository.config_snapshot();
        let sections = config.plumbing().sections_by_name("remote");
        let mut remotes: Vec<(String, String)> = sections
            .into_iter()
            .flatten()
            .filter_map(|section| {
                let name = section.header().subsection_name()?.to_str_lossy().into_owned();
                let url = section.value("url").map(|url| url.to_str_lossy().into_owned())?;
                Some((name, url))
            })
            .collect();
        remotes.sort_by_key(|(name, _)| match name.as_str() {
            "origin" => 0,
            "upstream" => 1,
            _ => 2,
        });
        remotes
    }

    /// The repository's own directory, which all worktrees share.
    pub fn common_directory(&self) -> PathBuf {
        let common = self.repository.common_dir();
        dunce::canonicalize(common).unwrap_or_else(|_| common.to_owned())
    }
}
