//! What a shell command runs.

use crate::adapters::shared::history::History;
use crate::adapters::shared::names;
use crate::base::text::{SharedStr, Symbol};
use crate::model::session::{CommandKind, Sign};

/// What a shell command runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// Base name of the first program, after `bash -lc`, `env`, `sudo`, `timeout`, assignments and `cd … &&`, and after programs such as
    /// `mkdir` that only prepare for an edit.
    pub program: Option<SharedStr>,
    /// The kind of its most important simple command; `None` for an empty command.
    pub kind: Option<CommandKind>,
    /// The skill whose instructions it prints.
    pub skill: Option<Symbol>,
    /// A sign that the result of the session should not be trusted.
    pub sign: Option<Sign>,
    /// What it adds to the history of a repository.
    pub history: History,
}

impl ShellCommand {
    /// Adds the skill of a command that prints its instructions. `texts` are the command, or its words.
    pub(super) fn with_skill<'t>(mut self, texts: impl IntoIterator<Item = &'t str>) -> Self {
        if self.kind == Some(CommandKind::Read) {
            self.skill = texts.into_iter().filter_map(names::skill_in_command).last();
        }
        self
    }
}
