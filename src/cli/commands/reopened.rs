//! Tables for a command that runs for a long time.

use std::sync::Arc;

use agentlogs::prices::Catalog;
use agentlogs::store::frames::Frames;
use agentlogs::store::lake::Lake;

use super::source::{Opened, catalog, some_tables, tables};
use crate::cli::args::DataSource;
use crate::cli::settings::Settings;

/// Where rows are from. An archive is opened at each reading, so that its newest state is shown, and so that no file of it is kept
/// meanwhile; logs are read once.
pub struct Reopened<'s> {
    source: DataSource,
    settings: &'s Settings,
    /// The tables that were opened last. They keep writers from removing the files that are being read.
    opened: Option<Opened>,
    /// The names of tables that were opened and not yet read.
    unread: Vec<&'static str>,
    /// The state of the archive when it was opened last.
    stamp: Option<String>,
}

impl<'s> Reopened<'s> {
    /// Reads the logs, or finds the archive: which one is stated once. `names` are the tables that are read first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn new(source: DataSource, settings: &'s Settings, names: &[&'static str]) -> anyhow::Result<Self> {
        let mut reopened = Self { source, settings, opened: None, unread: names.to_vec(), stamp: None };
        reopened.stamp = reopened.stamp();
        if reopened.source.logs.is_empty() {
            reopened.opened = Some(some_tables(reopened.source.clone(), settings, names)?);
            let name = settings.archive_name(reopened.source.archive.archive.as_deref())?;
            reopened.source.archive.archive = Some(name);
        } else {
            reopened.opened = Some(tables(reopened.source.clone(), settings)?);
        }
        Ok(reopened)
    }

    /// Tables, which stay readable until the next call or the next [`Self::close`].
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn tables(&mut self, names: &[&'static str]) -> anyhow::Result<Frames> {
        let are_unread = names.iter().all(|name| self.unread.contains(name));
        self.unread.clear();
        if let Some(opened) = self.opened.as_ref().filter(|_| are_unread || !self.source.logs.is_empty()) {
            return Ok(opened.frames.clone());
        }
        self.stamp = self.stamp();
        let opened = some_tables(self.source.clone(), self.settings, names)?;
        let frames = opened.frames.clone();
        self.opened = Some(opened);
        Ok(frames)
    }

    /// Whether an archive was written, or damaged, since its tables were opened last. A lake and logs are not checked.
    pub fn has_changed(&self) -> bool {
        self.stamp() != self.stamp
    }

    /// The state of the archive; for one that cannot be read, the error.
    fn stamp(&self) -> Option<String> {
        let name = self.settings.archive_name(self.source.archive.archive.as_deref()).ok()?;
        if !self.source.logs.is_empty() || Lake::is_at(&name) {
            return None;
        }
        let archive = self.settings.archive(self.source.archive.archive.clone()).ok()?;
        archive.stamp().unwrap_or_else(|error| Some(error.to_string()))
    }

    /// Lets writers remove the files that were read last.
    pub fn close(&mut self) {
        if self.source.logs.is_empty() {
            self.opened = None;
            self.unread.clear();
        }
    }

    /// The prices of the archive.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn catalog(&self) -> anyhow::Result<Arc<Catalog>> {
        Ok(Arc::new(catalog(&self.source.clone(), self.settings)?.into_owned()))
    }
}
