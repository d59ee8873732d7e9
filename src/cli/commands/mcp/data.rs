//! The tables of the archive, as the server may show them.

use std::path::PathBuf;
use std::time::Duration;

use agentlogs::analysis::export::{Access, TEXTS};
use agentlogs::analysis::reports::Frames;
use agentlogs::store::frames::{events, rejects, sessions};
use polars::prelude::*;

use crate::cli::args::{ArchiveDirectory, DataSource, McpLimits};
use crate::cli::commands::source::{Opened, some_tables};
use crate::cli::settings::Settings;

/// What all calls share.
pub(super) struct Data {
    archive: Option<PathBuf>,
    pub(super) allow_text: bool,
    /// The longest time of a call.
    pub(super) timeout: Duration,
    pub(super) settings: Settings,
}

/// Columns that contain whole messages and lines, if the archive contains text.
const MESSAGES: [(&str, [&str; 1]); 3] = [
    (sessions::TABLE, [sessions::ERROR_MESSAGE]),
    (events::TABLE, [events::MESSAGE]),
    (rejects::TABLE, [rejects::EXAMPLE]),
];

impl Data {
    pub(super) fn new(archive: Option<PathBuf>, limits: &McpLimits, settings: Settings) -> Self {
        Self { archive, allow_text: limits.allow_text, timeout: Duration::from_secs(limits.timeout), settings }
    }

    /// The archive on the command line, else the user's own: clients start the server in any directory, whose archive may be for
    /// something else.
    ///
    /// # Errors
    /// When the user has no home directory.
    pub(super) fn source(&self) -> anyhow::Result<DataSource> {
        let archive = match &self.archive {
            Some(archive) => archive.clone(),
            None => self.settings.users_directory()?.value,
        };
        Ok(DataSource { archive: ArchiveDirectory { archive: Some(archive) }, logs: Vec::new() })
    }

    /// Some tables of the archive as it is now, without text unless it is allowed.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn tables(&self, names: &[&'static str]) -> anyhow::Result<Opened> {
        let of_texts = TEXTS.map(|(table, _)| table);
        let names: Vec<&'static str> = names.iter().copied().chain(of_texts).collect();
        let mut opened = some_tables(self.source()?, &self.settings, &names)?;
        if !self.allow_text {
            opened.frames = without_text(opened.frames)?;
        }
        Ok(opened)
    }
}

/// The tables with NULL in place of text.
fn without_text(tables: Frames) -> PolarsResult<Frames> {
    if Access::of(&tables)? == Access::Umask {
        return Ok(tables);
    }
    let hidden = |table: &str| -> Vec<Expr> {
        let texts = TEXTS.iter().filter(|(name, _)| *name == table).flat_map(|(_, columns)| columns);
        let messages = MESSAGES.iter().filter(|(name, _)| *name == table).flat_map(|(_, columns)| columns);
        texts.chain(messages).map(|column| lit(NULL).cast(DataType::String).alias(*column)).collect()
    };
    Ok(tables.map(|table, frame| match hidden(table) {
        columns if columns.is_empty() => frame,
        columns => frame.with_columns(columns),
    }))
}
