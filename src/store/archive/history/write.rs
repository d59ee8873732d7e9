//! Writes what `history/` contains.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::Serialize;

use super::manifest::{FACTS, Files, MANIFEST, Manifest, SCANNER, Stored, StoredFile};
use super::read::{Histories, RepositoryFacts};
use crate::base::time::Time;
use crate::ledger::history;
use crate::model::history::{History, Identity};
use crate::model::repository::PullRequestRow;
use crate::model::tables::Tables;
use crate::store::archive::disk;
use crate::store::archive::error::{Error, Problem};
use crate::store::archive::facts::codec;
use crate::store::archive::hashed_file::write_file;
use crate::store::archive::layout::{self, HISTORY};
use crate::store::archive::open::{Archive, Lock};
use crate::store::archive::part::TableWriter;
use crate::store::frames::{commit_files, commits, pull_requests};

/// Where a damaged directory is moved.
const DAMAGED: &str = "history.damaged";

impl Archive {
    /// Replaces the histories of repositories, which follow from those in `known`. Returns `false` and changes nothing if another process
    /// changed the histories since they were read: the caller computes them again. `archive merge` adds to them: see [`History::add`].
    ///
    /// # Errors
    /// When there is no archive, or it cannot be written.
    pub fn write_histories(&self, known: &Histories, histories: &[History]) -> Result<bool, Error> {
        let _lock = self.lock_existing()?;
        if self.histories()?.manifest.number != known.manifest.number {
            return Ok(false);
        }
        self.change_locked(|change| histories.iter().try_for_each(|history| change.replace_history(history)))?;
        Ok(true)
    }

    /// Adds pull requests, in place of those with the same number.
    ///
    /// # Errors
    /// Those of [`Self::write_histories`].
    pub fn add_pull_requests(&self, rows: Vec<PullRequestRow>) -> Result<(), Error> {
        self.change_histories(|change| {
            let key = |row: &PullRequestRow| (row.repository.clone(), row.number);
            let known = change.before.pull_requests()?.into_iter().chain(rows);
            let by_number: BTreeMap<_, _> = known.map(|row| (key(&row), row)).collect();
            change.set_pull_requests(by_number.into_values().collect())
        })
    }

    /// Adds what another archive knows of repositories and pull requests.
    ///
    /// # Errors
    /// When one of them cannot be read, or this archive cannot be written.
    pub fn merge_repositories(&self, other: RepositoryFacts) -> Result<(), Error> {
        if !other.histories.is_empty() {
            self.change_histories(|change| {
                for mut history in other.histories {
                    if let Some(known) = change.known().load(&history.identity())? {
                        history.add(known);
                    }
                    change.replace_history(&history)?;
                }
                Ok(())
            })?;
        }
        let rows = other.pull_requests;
        if rows.is_empty() { Ok(()) } else { self.add_pull_requests(rows) }
    }

    /// Removes repositories with their pull requests, and returns their names.
    ///
    /// # Errors
    /// Those of [`Self::write_histories`].
    pub fn forget_repositories(&self, is_forgotten: impl Fn(&str) -> bool) -> Result<BTreeSet<String>, Error> {
        let is_gone = |identity: &Identity| {
            is_forgotten(&identity.repository) || identity.directories.iter().any(|directory| is_forgotten(directory))
        };
        let known = self.histories()?;
        let gone = known.identities().filter(|identity| is_gone(identity)).map(|identity| identity.repository.clone());
        let of_requests =
            known.pull_requests()?.into_iter().map(|row| row.repository).filter(|name| is_forgotten(name));
        let names: BTreeSet<String> = gone.chain(of_requests).collect();
        if !names.is_empty() {
            self.change_histories(|change| {
                change.next.repositories.retain(|stored| !is_gone(&stored.identity));
                let rows = change.before.pull_requests()?;
                change.set_pull_requests(rows.into_iter().filter(|row| !names.contains(&row.repository)).collect())
            })?;
        }
        Ok(names)
    }

    /// Removes the commits before a time, and the pull requests that were closed before it. Returns the number of commits.
    ///
    /// # Errors
    /// Those of [`Self::write_histories`].
    pub fn forget_commits_before(&self, time: Time) -> Result<usize, Error> {
        if self.histories()?.manifest.number == 0 {
            return Ok(0);
        }
        let mut count = 0;
        self.change_histories(|change| {
            for stored in std::mem::take(&mut change.next.repositories) {
                let mut history: History = change.before.facts(&stored.files)?;
                let before = history.commits.len();
                history.forget_before(time);
                count += before - history.commits.len();
                if history.commits.len() == before {
                    change.next.repositories.push(stored);
                } else {
                    change.add_history(&history)?;
                }
            }
            let rows = change.before.pull_requests()?.into_iter();
            let is_kept = |row: &PullRequestRow| row.closed_at.is_none_or(|closed| closed >= time);
            change.set_pull_requests(rows.filter(is_kept).collect())
        })?;
        Ok(count)
    }

    /// Keeps the histories whose facts are intact, and writes their tables again. The caller has locked the archive.
    pub(in crate::store::archive) fn repair_histories(&self, problems: &mut Vec<Problem>) -> Result<(), Error> {
        let directory = self.directory().join(HISTORY);
        let known = match self.histories() {
            Ok(known) => known,
            Err(error) => {
                let kept = layout::unused(&self.directory().join(DAMAGED));
                disk::rename(&directory, &kept).map_err(Error::file(&directory))?;
                let name = kept.file_name().unwrap_or_default().display();
                let then = format!(
                    "the directory is renamed to {name}; scan the repositories, and import pull requests, again"
                );
                problems.push(Problem::of(error, &then));
                return Ok(());
            }
        };
        let (.., damage) = known.check();
        if damage.is_empty() {
            return Ok(());
        }
        self.change_locked(|change| {
            for stored in std::mem::take(&mut change.next.repositories) {
                match change.before.facts::<History>(&stored.files) {
                    Ok(history) => change.add_history(&history)?,
                    Err(error) => {
                        let then = format!("the commits of {} are lost; scan it again", stored.identity.repository);
                        problems.push(Problem::of(error, &then));
                    }
                }
            }
            let rows = change.before.pull_requests().unwrap_or_else(|error| {
                problems.push(Problem::of(error, "the pull requests are lost; import them again"));
                Vec::new()
            });
            change.set_pull_requests(rows)
        })
    }

    fn change_histories(&self, change: impl FnOnce(&mut Change) -> Result<(), Error>) -> Result<(), Error> {
        let _lock = self.lock_existing()?;
        self.change_locked(change)
    }

    /// Locks an archive that exists: one that does not is an error, and not created.
    fn lock_existing(&self) -> Result<Lock, Error> {
        self.snapshot()?;
        self.lock()
    }

    fn change_locked(&self, change: impl FnOnce(&mut Change) -> Result<(), Error>) -> Result<(), Error> {
        let before = self.histories()?;
        let directory = before.directory.clone();
        disk::create_directory(&directory).map_err(Error::file(&directory))?;
        let mut next = before.manifest.clone();
        next.number += 1;
        // Files of an interrupted write, and those of the state before the present one.
        remove_others(&directory, &before.manifest.names()).map_err(Error::file(&directory))?;
        let mut step = Change { before, next, directory, files: 0 };
        change(&mut step)?;
        let Change { next, directory, .. } = step;
        disk::sync_directory(&directory).map_err(Error::file(&directory))?;
        let text = next.text().map_err(Error::file(&directory))?;
        let replaced = self.replace(&format!("{HISTORY}/{MANIFEST}"), text.as_bytes());
        replaced.and_then(|()| disk::sync_directory(&directory)).map_err(Error::file(&directory))
    }
}

/// Removes the files that are not listed.
fn remove_others(directory: &std::path::Path, names: &BTreeSet<&str>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| names.contains(name)) {
            disk::remove_file(&entry.path())?;
        }
    }
    Ok(())
}

/// The next state of the directory.
struct Change {
    before: Histories,
    next: Manifest,
    directory: PathBuf,
    /// The number of files with facts that were written.
    files: usize,
}

impl Change {
    /// The histories of the next state, as far as they are written.
    fn known(&self) -> Histories {
        Histories { manifest: self.next.clone(), directory: self.directory.clone() }
    }

    fn replace_history(&mut self, history: &History) -> Result<(), Error> {
        let identity = history.identity();
        self.next.repositories.retain(|stored| !stored.identity.is_same(&identity));
        self.add_history(history)
    }

    fn add_history(&mut self, history: &History) -> Result<(), Error> {
        let mut tables = Tables::default();
        history::add_rows(history, &mut tables);
        let rows = history.commits.len();
        let files = self.write(history, rows, &tables, &[commits::TABLE, commit_files::TABLE])?;
        self.next.repositories.push(Stored { identity: history.identity(), scanner: SCANNER, files });
        Ok(())
    }

    fn set_pull_requests(&mut self, rows: Vec<PullRequestRow>) -> Result<(), Error> {
        self.next.pull_requests = None;
        if !rows.is_empty() {
            let tables = Tables { pull_requests: rows, ..Tables::default() };
            let rows = &tables.pull_requests;
            self.next.pull_requests = Some(self.write(rows, rows.len(), &tables, &[pull_requests::TABLE])?);
        }
        Ok(())
    }

    /// Writes facts and the tables that follow from them.
    fn write<T: Serialize>(
        &mut self,
        facts: &T,
        rows: usize,
        tables: &Tables,
        names: &[&'static str],
    ) -> Result<Files, Error> {
        self.files += 1;
        let prefix = format!("{}-{}", self.next.number, self.files);
        let name_of = |kind: &str| format!("{prefix}.{kind}");
        let mut files = Files::new();
        let path = self.directory.join(name_of(FACTS));
        let bytes = codec::encode(facts).map_err(Error::file(&path))?;
        let written = write_file(&path, rows, |file| file.write_all(&bytes));
        files.insert(
            FACTS.to_owned(),
            StoredFile { name: name_of(FACTS), checksum: written.map_err(Error::file(&path))? },
        );
        for table in names {
            let path = self.directory.join(name_of(table));
            let write = || {
                let mut writer = TableWriter::create(&path, table)?;
                writer.write(tables)?;
                writer.finish()
            };
            let checksum = write().map_err(Error::file(&path))?;
            files.insert((*table).to_owned(), StoredFile { name: name_of(table), checksum });
        }
        for file in files.values() {
            let path = self.directory.join(&file.name);
            disk::sync_closed(&path).map_err(Error::file(&path))?;
        }
        Ok(files)
    }
}
