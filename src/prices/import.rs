//! Reads a user's own prices: LiteLLM's table, genai-prices' table, or a small TOML. See
//! docs/prices.md#your-own-prices.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::entry::Entry;
use super::spelling::provider_id;
use super::validate::find_problem;
use crate::base::byte_order_mark::without_mark;
use crate::base::time::Day;

/// Which kind of table was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// LiteLLM's `model_prices_and_context_window.json`.
    LiteLlm,
    /// genai-prices' `data.json`.
    GenaiPrices,
    /// The TOML of docs/prices.md.
    Toml,
    /// The output of [`Table::to_json_lines`].
    JsonLines,
}

impl TableKind {
    /// Its name in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LiteLlm => "LiteLLM",
            Self::GenaiPrices => "genai-prices",
            Self::Toml => "TOML",
            Self::JsonLines => "agentlogs",
        }
    }
}

/// A table of a user's own prices.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The kind of the file.
    pub kind: TableKind,
    /// Its models.
    pub entries: Vec<Entry>,
    /// The number of models without a price per token: images, speech, embeddings.
    pub skipped: usize,
}

/// The reason why a table cannot be used.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It is not UTF-8.
    #[error("it is not UTF-8 text")]
    NotText,
    /// It is broken JSON.
    #[error("line {line} is not the JSON of a price table: {error}")]
    Json {
        /// Counted from 1.
        line: usize,
        /// The error of the JSON reader.
        error: serde_json::Error,
    },
    /// It is broken TOML, or TOML with other keys.
    #[error("it is not a TOML of prices (docs/prices.md has its keys)")]
    Toml(#[from] toml::de::Error),
    /// It is JSON of another kind.
    #[error("it is neither LiteLLM's table of models (an object) nor genai-prices' (an array of providers)")]
    Unknown,
    /// It contains no price.
    #[error("it has no model with a price per token")]
    Empty,
    /// A price or name is invalid.
    #[error("{model}: {problem}")]
    Price {
        /// The model.
        model: String,
        /// The problem.
        problem: String,
    },
}

/// A user's own TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlTable {
    #[serde(default)]
    models: Vec<Entry>,
}

impl Table {
    /// Reads a table, and detects its kind. `today` decides which of several dated prices of a service tier applies.
    ///
    /// # Errors
    ///
    /// If the table is of an unknown kind, or contains an invalid price or name.
    pub fn parse(bytes: &[u8], today: Day) -> Result<Self, ImportError> {
        let text = text(bytes)?;
        let next = text.chars().skip(1).find(|it| !it.is_whitespace());
        let table = match text.chars().next() {
            Some('{') => Self::from_object(text, today)?,
            // A TOML table may begin with `[[models]]`.
            Some('[') if matches!(next, Some('{' | ']')) => {
                let value =
                    serde_json::from_str(text).map_err(|error| ImportError::Json { line: error.line(), error })?;
                Self::from_genai_prices(value, today)?
            }
            _ => return Self::of_user(toml::from_str::<TomlTable>(text)?.models),
        };
        table.checked()
    }

    /// Reads the output of [`Self::to_json_lines`].
    ///
    /// # Errors
    ///
    /// If a line is not an entry, or contains an invalid price or name.
    pub fn parse_json_lines(bytes: &[u8]) -> Result<Self, ImportError> {
        Self::from_lines(text(bytes)?)?.checked()
    }

    /// A table of models that a user wrote.
    ///
    /// # Errors
    ///
    /// If it is empty, or contains an invalid price or name.
    pub fn of_user(mut entries: Vec<Entry>) -> Result<Self, ImportError> {
        for entry in &mut entries {
            entry.provider = provider_id(&entry.provider).into_owned();
        }
        Self { kind: TableKind::Toml, entries, skipped: 0 }.checked()
    }

    fn checked(self) -> Result<Self, ImportError> {
        if self.entries.is_empty() {
            return Err(ImportError::Empty);
        }
        for entry in &self.entries {
            if let Some(problem) = find_problem(entry) {
                let model = [entry.provider.as_str(), &entry.model].join("/").trim_start_matches('/').to_owned();
                return Err(ImportError::Price { model, problem });
            }
        }
        Ok(self)
    }

    /// The table with one entry per line, as it is stored. [`Table::parse`] reads it, too.
    pub fn to_json_lines(&self) -> String {
        let mut text = String::new();
        for line in self.entries.iter().filter_map(|it| serde_json::to_string(it).ok()) {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn from_lines(text: &str) -> Result<Self, ImportError> {
        let entry =
            |(index, line)| serde_json::from_str(line).map_err(|error| ImportError::Json { line: index + 1, error });
        let entries = text.lines().enumerate().filter(|(_, it)| !it.trim().is_empty()).map(entry);
        Ok(Self { kind: TableKind::JsonLines, entries: entries.collect::<Result<_, _>>()?, skipped: 0 })
    }

    fn from_object(text: &str, today: Day) -> Result<Self, ImportError> {
        let first = text.lines().next().unwrap_or_default();
        if serde_json::from_str::<Entry>(first).is_ok() {
            return Self::from_lines(text);
        }
        let value: Value =
            serde_json::from_str(text).map_err(|error| ImportError::Json { line: error.line(), error })?;
        if value.get("providers").is_some_and(Value::is_array) {
            return Self::from_genai_prices(value.get("providers").cloned().unwrap_or_default(), today);
        }
        let Value::Object(models) = value else { return Err(ImportError::Unknown) };
        if !models.values().any(|it| it.get("litellm_provider").is_some()) {
            return Err(ImportError::Unknown);
        }
        let mut table = Self { kind: TableKind::LiteLlm, entries: Vec::new(), skipped: 0 };
        for (name, model) in &models {
            match Entry::from_litellm(name, model) {
                Some(entry) => table.entries.push(entry),
                None => table.skipped += usize::from(name != "sample_spec"),
            }
        }
        Ok(table)
    }

    fn from_genai_prices(value: Value, today: Day) -> Result<Self, ImportError> {
        let Value::Array(providers) = value else { return Err(ImportError::Unknown) };
        if !providers.iter().all(|it| it.get("models").is_some_and(Value::is_array)) {
            return Err(ImportError::Unknown);
        }
        let mut table = Self { kind: TableKind::GenaiPrices, entries: Vec::new(), skipped: 0 };
        for provider in &providers {
            let id = provider.get("id").and_then(Value::as_str).unwrap_or_default();
            for model in provider.get("models").and_then(Value::as_array).into_iter().flatten() {
                match Entry::from_genai_prices(id, model, today) {
                    Some(entry) => table.entries.push(entry),
                    None => table.skipped += 1,
                }
            }
        }
        Ok(table)
    }
}

/// The text of a table without a byte order mark.
fn text(bytes: &[u8]) -> Result<&str, ImportError> {
    let text = std::str::from_utf8(without_mark(bytes)).map_err(|_| ImportError::NotText)?;
    Ok(text.trim())
}
