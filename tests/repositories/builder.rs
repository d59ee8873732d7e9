//! Builds a repository: each commit is given with the files that it changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use agentlogs::store::archive::Archive;
use agentlogs::store::query;
use gix::ObjectId;
use gix::objs::tree::{Entry, EntryKind};
use gix::objs::{Commit, Tree};
use polars::prelude::*;

/// The files of a commit, by path.
type Files = BTreeMap<Vec<u8>, Vec<u8>>;

/// A change of a file: its path, and its content; `None` deletes it.
pub type Change<'a> = (&'a str, Option<&'a str>);

/// A repository with branches.
pub struct Builder {
    pub directory: PathBuf,
    /// The directory of objects and references.
    pub git: PathBuf,
    /// The author of the next commits.
    pub author: String,
    repository: gix::Repository,
    files: BTreeMap<String, Files>,
    /// Where each branch was forked.
    forks: BTreeMap<String, String>,
}

impl Builder {
    /// A repository with a worktree, whose `HEAD` is the branch `main`.
    pub fn new(directory: &Path) -> Self {
        Self::init(directory, gix::create::Kind::WithWorktree)
    }

    pub fn bare(directory: &Path) -> Self {
        Self::init(directory, gix::create::Kind::Bare)
    }

    fn init(directory: &Path, kind: gix::create::Kind) -> Self {
        let is_bare = matches!(kind, gix::create::Kind::Bare);
        fs::create_dir_all(directory).unwrap();
        let options = gix::create::Options::default();
        let isolated = gix::open::Options::isolated();
        let repository = gix::ThreadSafeRepository::init_opts(directory, kind, options, isolated).unwrap();
        let repository = repository.to_thread_local();
        let git = if is_bare { directory.to_owned() } else { directory.join(".git") };
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        Self {
            directory: directory.to_owned(),
            git,
            author: "Ann".to_owned(),
            repository,
            files: BTreeMap::new(),
            forks: BTreeMap::new(),
        }
    }

    /// Adds a remote with a default branch.
    pub fn remote(&self, url: &str) {
        let path = self.git.join("config");
        let config = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{config}\n[remote \"origin\"]\n\turl = {url}\n")).unwrap();
    }

    /// Sets a reference, such as `refs/heads/main`, to a commit.
    pub fn set(&self, reference: &str, hash: &str) {
        let path = self.git.join(reference);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{hash}\n")).unwrap();
    }

    pub fn delete(&self, reference: &str) {
        fs::remove_file(self.git.join(reference)).unwrap();
    }

    /// The commit of a branch.
    pub fn tip(&self, branch: &str) -> Option<String> {
        let text = fs::read_to_string(self.git.join("refs/heads").join(branch)).ok()?;
        Some(text.trim().to_owned())
    }

    /// Creates a branch at the tip of another one.
    pub fn branch(&mut self, name: &str, from: &str) {
        let tip = self.tip(from).unwrap();
        self.set(&format!("refs/heads/{name}"), &tip);
        self.forks.insert(name.to_owned(), tip);
    }

    /// Commits changes to a branch.
    pub fn commit(&mut self, branch: &str, time: &str, message: &str, changes: &[Change<'_>]) -> String {
        let parent = self.tip(branch);
        let mut files = parent.as_ref().map(|parent| self.files[parent].clone()).unwrap_or_default();
        for (path, content) in changes {
            match content {
                Some(content) => drop(files.insert(path.as_bytes().to_vec(), content.as_bytes().to_vec())),
                None => assert!(files.remove(path.as_bytes()).is_some(), "{path}"),
            }
        }
        self.add(branch, &parent.into_iter().collect::<Vec<_>>(), time, message, files)
    }

    /// Merges a branch into another one: each file is from the branch that changed it.
    pub fn merge(&mut self, branch: &str, other: &str, time: &str, message: &str) -> String {
        let parents = [self.tip(branch).unwrap(), self.tip(other).unwrap()];
        let files = self.merged(&parents[0], &self.forks[other].clone(), &parents[1]);
        self.add(branch, &parents, time, message, files)
    }

    /// Commits all changes of a branch to another one, as one commit.
    pub fn squash(&mut self, branch: &str, other: &str, time: &str, message: &str) -> String {
        let (tip, other_tip) = (self.tip(branch).unwrap(), self.tip(other).unwrap());
        let files = self.merged(&tip, &self.forks[other].clone(), &other_tip);
        self.add(branch, &[tip], time, message, files)
    }

    /// Commits the changes of a commit to another branch, as after a rebase or a cherry-pick.
    pub fn pick(&mut self, branch: &str, hash: &str, time: &str, message: &str) -> String {
        let id = ObjectId::from_hex(hash.as_bytes()).unwrap();
        let parent = self.repository.find_commit(id).unwrap().parent_ids().next().unwrap().to_string();
        let tip = self.tip(branch).unwrap();
        let files = self.merged(&tip, &parent, hash);
        self.add(branch, &[tip], time, message, files)
    }

    /// The files of a commit, with the changes between two others.
    fn merged(&self, ours: &str, base: &str, theirs: &str) -> Files {
        let (mut files, base, theirs) = (self.files[ours].clone(), &self.files[base], &self.files[theirs]);
        for path in base.keys().chain(theirs.keys()) {
            if base.get(path) != theirs.get(path) {
                match theirs.get(path) {
                    Some(content) => drop(files.insert(path.clone(), content.clone())),
                    None => drop(files.remove(path)),
                }
            }
        }
        files
    }

    /// Commits files to a branch.
    pub fn add(&mut self, branch: &str, parents: &[String], time: &str, message: &str, files: Files) -> String {
        let tree = self.tree(&files);
        let seconds = time.parse::<jiff::Timestamp>().unwrap().as_second();
        let signature = gix::actor::Signature {
            name: self.author.clone().into(),
            email: "someone@example.com".into(),
            time: gix::date::Time { seconds, offset: 0 },
        };
        let commit = Commit {
            tree,
            parents: parents.iter().map(|parent| ObjectId::from_hex(parent.as_bytes()).unwrap()).collect(),
            author: signature.clone(),
            committer: signature,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let hash = self.repository.write_object(&commit).unwrap().to_string();
        self.set(&format!("refs/heads/{branch}"), &hash);
        self.files.insert(hash.clone(), files);
        hash
    }

    /// Writes a tree with directories.
    fn tree(&self, files: &Files) -> ObjectId {
        let mut entries: Vec<Entry> = Vec::new();
        let mut directories: BTreeMap<&[u8], Files> = BTreeMap::new();
        for (path, content) in files {
            if let Some(at) = path.iter().position(|byte| *byte == b'/') {
                directories.entry(&path[..at]).or_default().insert(path[at + 1..].to_vec(), content.clone());
                continue;
            }
            let submodule = content.strip_prefix(b"submodule ");
            let (mode, oid) = match submodule {
                Some(hash) => (EntryKind::Commit, ObjectId::from_hex(hash).unwrap()),
                None => (EntryKind::Blob, self.repository.write_blob(content).unwrap().detach()),
            };
            entries.push(Entry { mode: mode.into(), filename: path.as_slice().into(), oid });
        }
        for (name, files) in directories {
            entries.push(Entry { mode: EntryKind::Tree.into(), filename: name.into(), oid: self.tree(&files) });
        }
        entries.sort();
        self.repository.write_object(&Tree { entries }).unwrap().detach()
    }

    /// Adds notes to commits below a reference, such as `refs/notes/ai`.
    pub fn notes(&mut self, reference: &str, notes: &[(&str, &str)]) {
        let files = notes.iter().map(|(hash, text)| (hash.as_bytes().to_vec(), text.as_bytes().to_vec())).collect();
        let hash = self.add("notes-of-test", &[], "2026-01-01T00:00:00Z", "Notes", files);
        self.delete("refs/heads/notes-of-test");
        self.set(reference, &hash);
    }

    /// The file of an object.
    pub fn object(&self, hash: &str) -> PathBuf {
        self.git.join("objects").join(&hash[..2]).join(&hash[2..])
    }

    /// The hash of the content of a file in a commit.
    pub fn blob(&self, commit: &str, path: &str) -> String {
        let id = ObjectId::from_hex(commit.as_bytes()).unwrap();
        let tree = self.repository.find_commit(id).unwrap().tree().unwrap();
        tree.lookup_entry_by_path(path).unwrap().unwrap().object_id().to_string()
    }
}

/// An archive in a directory, with the program that changes it.
pub struct Scans {
    pub directory: tempfile::TempDir,
}

impl Scans {
    /// A new archive, with one session that ran elsewhere.
    pub fn new() -> Self {
        let scans = Self { directory: tempfile::tempdir().unwrap() };
        scans.run(&["ingest", crate::root().join("sample-logs/drover-events").to_str().unwrap()]);
        scans
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn archive(&self) -> PathBuf {
        self.path("archive")
    }

    /// Runs the program.
    pub fn output(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(arguments).arg("--archive").arg(self.archive());
        command.env("NO_COLOR", "1").env_remove("GIT_DIR").output().unwrap()
    }

    /// Runs the program, which succeeds, and returns what it prints.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let text = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {text}");
        text
    }

    /// Scans a repository since 2026.
    pub fn scan(&self, directory: &Path) -> String {
        self.run(&["git", "scan", directory.to_str().unwrap(), "--since", "2026-01-01"])
    }

    /// The rows of a query, the values of each separated by spaces.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        rows(&self.archive(), sql)
    }
}

/// The rows of a query: values separated by spaces, lists in brackets, `-` for NULL. Times are in UTC without seconds.
pub fn rows(archive: &Path, sql: &str) -> Vec<String> {
    let mut frame = query::query(Archive::at(archive).tables().unwrap(), sql).unwrap();
    frame.align_chunks_par();
    let row = |row| frame.columns().iter().map(|column| cell(column, row)).collect::<Vec<_>>().join(" ");
    (0..frame.height()).map(row).collect()
}

fn cell(column: &Column, row: usize) -> String {
    match column.get(row).unwrap() {
        AnyValue::Null => "-".to_owned(),
        AnyValue::List(values) => {
            let texts = values.str().unwrap().iter().flatten().collect::<Vec<_>>();
            format!("[{}]", texts.join(","))
        }
        AnyValue::Datetime(micros, ..) | AnyValue::DatetimeOwned(micros, ..) => {
            let time = jiff::Timestamp::from_microsecond(micros).unwrap().to_string();
            time.replace(":00Z", "")
        }
        value => value.str_value().into_owned(),
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The repository and the pull requests of docs/git.md.
#[cfg(unix)]
pub fn demo(directory: &Path) {
    let mut shop = Builder::new(&directory.join("shop"));
    let cart = "let total = price * count;\nlet taxes = total / 10;\n";
    let fixed = "let total = price * count;\nlet taxes = total / 5;\nlet sum = total + taxes;\n";
    let summed = "let total = price * count;\nlet taxes = total / 5;\nlet sum = (total + taxes).round();\n";
    shop.commit("main", "2026-11-02T10:00:00Z", "Add a cart", &[("src/cart.rs", Some(cart))]);
    shop.branch("fix", "main");
    shop.commit("fix", "2026-11-03T10:00:00Z", "Fix the taxes", &[("src/cart.rs", Some(fixed))]);
    shop.merge("main", "fix", "2026-11-04T10:00:00Z", "Merge pull request #12 from ann/fix-taxes");
    shop.commit("main", "2026-11-06T10:00:00Z", "Round the sum (#13)", &[("src/cart.rs", Some(summed))]);
    let requests = r#"[{"number": 12, "url": "https://github.com/acme/shop/pull/12", "state": "MERGED", "headRefName": "fix-taxes",
        "mergedAt": "2026-11-04T10:00:00Z"}]"#;
    fs::write(directory.join("requests.json"), requests).unwrap();
}
