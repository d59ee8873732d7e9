//! The models of a session: the user's names for them, and the names of the provider.

use foldhash::HashMap;

use super::records::Record;
use crate::base::text::Symbol;
use crate::json::fields::Text;

/// The current model, and what the user's aliases are names of.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// The provider's name, else the alias.
    current: Option<Symbol>,
    by_alias: HashMap<String, Symbol>,
}

impl Models {
    /// Reads a record of settings, or of a request. Only that of a request has both names (`llmRequestSchema` in `llmRequestOps.ts`).
    pub(super) fn settings(&mut self, record: &Record<'_>) {
        if let (Some(alias), Some(model)) = (record.model_alias.owned(), record.model.some()) {
            self.by_alias.insert(alias, model.into());
        }
        let name = if record.model_alias.is_some() { &record.model_alias } else { &record.model };
        self.set(name);
    }

    /// Sets the model by either of its names: a record of usage has the alias in `model` (`llmRequesterService.ts`).
    pub(super) fn set(&mut self, name: &Text<'_>) {
        let Some(name) = name.some() else { return };
        self.current = Some(self.by_alias.get(name).cloned().unwrap_or_else(|| name.into()));
    }

    pub(super) fn current(&self) -> Option<Symbol> {
        self.current.clone()
    }
}
