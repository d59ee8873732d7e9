//! The root directories of git repositories on this machine.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::open::read_file;

/// Finds the root directory of the repository that a working directory is in, and remembers it.
#[derive(Debug, Default)]
pub struct GitRoots(Mutex<HashMap<PathBuf, Option<PathBuf>>>);

impl GitRoots {
    /// The root directory of the repository around `directory`, of its main worktree if it is in another one. `None` if the
    /// directory is relative, no longer exists, or is in no repository.
    pub fn of(&self, directory: &Path) -> Option<PathBuf> {
        if !directory.is_absolute() {
            return None;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(directory.to_owned()).or_insert_with(|| find(directory)).clone()
    }
}

fn find(directory: &Path) -> Option<PathBuf> {
    if !directory.is_dir() {
        return None;
    }
    directory.ancestors().find_map(|root| {
        let git = root.join(".git");
        let kind = fs::metadata(&git).ok()?;
        if kind.is_dir() { Some(root.to_owned()) } else { Some(main_worktree(&git).unwrap_or_else(|| root.to_owned())) }
    })
}

/// The main worktree of another one, whose file `.git` contains `gitdir: MAIN/.git/worktrees/NAME`. A bare repository has none: its
/// own directory is returned (`shop.git`), or that around it if it is hidden (`.bare`, `.repo.git`).
fn main_worktree(git: &Path) -> Option<PathBuf> {
    /// More than a path can have.
    const LONGEST: u64 = 64 << 10;
    let content = String::from_utf8(read_file(git, LONGEST).ok()?).ok()?;
    // Worktrees of newer versions of git have relative links.
    let link = git.parent()?.join(content.strip_prefix("gitdir:")?.trim());
    let mut parents = link.ancestors().skip(1);
    let is_worktree = parents.next()?.file_name()? == "worktrees";
    let git_directory = parents.next().filter(|_| is_worktree)?;
    let is_inside = git_directory.file_name()?.to_string_lossy().starts_with('.');
    let root = if is_inside { git_directory.parent()? } else { git_directory };
    // Without the parts of the relative link that lead up.
    Some(dunce::canonicalize(root).unwrap_or_else(|_| root.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_belongs_to_the_main_worktree_around_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = &dunce::canonicalize(directory.path()).unwrap();
        for path in ["shop/.git/worktrees/fix", "shop/src", "fix/src", "module", "plain"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let link = format!("gitdir: {}\n", root.join("shop/.git/worktrees/fix").display());
        fs::write(root.join("fix/.git"), link).unwrap();
        fs::write(root.join("module/.git"), "gitdir: ../shop/.git/modules/module\n").unwrap();
        for path in [
            "cafe/.bare/worktrees/one",
            "cafe/one",
            "tool.git/worktrees/two",
            "tool-two",
            "cafe/near",
            "rig/.repo.git/worktrees/three",
            "rig/three",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let link = |path: &str| format!("gitdir: {}\n", root.join(path).display());
        fs::write(root.join("cafe/one/.git"), link("cafe/.bare/worktrees/one")).unwrap();
        fs::write(root.join("cafe/near/.git"), "gitdir: ../.bare/worktrees/one\n").unwrap();
        fs::write(root.join("tool-two/.git"), link("tool.git/worktrees/two")).unwrap();
        fs::write(root.join("rig/three/.git"), link("rig/.repo.git/worktrees/three")).unwrap();
        let roots = GitRoots::default();
        let cases = [
            ("shop", Some("shop")),
            ("shop/src", Some("shop")),
            ("fix/src", Some("shop")),
            ("module", Some("module")),
            ("cafe/one", Some("cafe")),
            ("cafe/near", Some("cafe")),
            ("tool-two", Some("tool.git")),
            ("rig/three", Some("rig")),
            ("gone", None),
        ];
        for (path, expected) in cases {
            let expected = expected.map(|name| root.join(name));
            assert_eq!(roots.of(&root.join(path)), expected, "{path}");
            assert_eq!(roots.of(&root.join(path)), expected, "{path} again");
        }
        assert_eq!(roots.of(Path::new("relative")), None);
    }
}
