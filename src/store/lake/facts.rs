//! The facts of sources in a lake, which `archive merge` reads.

use super::error::Error;
use super::layout::{FACTS, FACTS_OF_REPOSITORIES, MANIFEST, PULL_REQUESTS, is_in};
use super::reader::Lake;
use crate::input::open::{open_file, read_file};
use crate::model::source::Source;
use crate::store::archive::{self, RepositoryFacts, decode_value, scan_sources};

impl Lake {
    /// Whether it has facts of sources or repositories.
    pub fn has_facts(&self) -> bool {
        self.manifest().is_some_and(|manifest| manifest.files.keys().any(|path| is_facts(path)))
    }

    /// Compares the files of its facts with their checksums.
    ///
    /// # Errors
    /// When the lake has no facts, or those of a later version, or a file is damaged.
    pub fn verify_facts(&self) -> Result<(), Error> {
        drop(self.facts()?);
        let files = self.manifest().into_iter().flat_map(|manifest| &manifest.files);
        let mut facts = files.filter(|(path, _)| is_facts(path));
        facts.try_for_each(|(path, entry)| entry.verify(&self.path_of(path)))
    }

    /// The facts of its sources, file by file.
    ///
    /// # Errors
    /// When the lake has none, or those of a later version. The iterator returns errors of files.
    pub fn facts(&self) -> Result<impl Iterator<Item = Result<Vec<Source>, Error>>, Error> {
        if self.manifest().is_none() && self.path_of(FACTS).is_dir() {
            let what = format!("{MANIFEST} is missing: the lake is not complete; export or sync it again");
            return Err(Error::wrong(&self.name(), what));
        }
        let Some(manifest) = self.manifest().filter(|_| self.has_facts()) else {
            let what =
                "the lake has no facts, which `archive merge` needs: only `agentlogs export --as lake` writes them";
            return Err(Error::wrong(&self.name(), what));
        };
        if !(archive::OLDEST_VERSION..=archive::VERSION).contains(&manifest.facts) {
            let what = format!(
                "its facts have version {}, this program reads versions {} to {}",
                manifest.facts,
                archive::OLDEST_VERSION,
                archive::VERSION
            );
            return Err(Error::wrong(&self.name(), what));
        }
        let is_of_sources = |path: &str| is_facts(path) && !is_of_repositories(path);
        let files: Vec<_> = manifest.files.iter().filter(|(path, _)| is_of_sources(path)).collect();
        Ok(files.into_iter().map(|(path, entry)| {
            let path = self.path_of(path);
            entry.verify(&path)?;
            open_file(&path).and_then(|mut file| scan_sources(&mut file)).map_err(Error::file(&path))
        }))
    }

    /// The facts of its repositories.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn repositories(&self) -> Result<RepositoryFacts, Error> {
        let mut found = RepositoryFacts::default();
        let files = self.manifest().into_iter().flat_map(|manifest| &manifest.files);
        for (path, entry) in files.filter(|(path, _)| is_of_repositories(path)) {
            let file = self.path_of(path);
            entry.verify(&file)?;
            let bytes = read_file(&file, entry.bytes).map_err(Error::file(&file))?;
            if path == PULL_REQUESTS {
                found.pull_requests = decode_value(&bytes).map_err(Error::file(&file))?;
            } else {
                found.histories.push(decode_value(&bytes).map_err(Error::file(&file))?);
            }
        }
        Ok(found)
    }
}

fn is_facts(path: &str) -> bool {
    is_in(FACTS, path)
}

fn is_of_repositories(path: &str) -> bool {
    is_in(FACTS_OF_REPOSITORIES, path)
}
