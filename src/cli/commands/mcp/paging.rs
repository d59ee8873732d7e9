//! The size of an answer, and the cursor to the part after it: arguments that all tools have.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use anyhow::bail;
use serde_json::{Map, Value};

/// The bytes of an answer, unless a call asks for more or less.
pub(super) const DEFAULT_BYTES: usize = 2_000;
pub(super) const MIN_BYTES: usize = 500;
pub(super) const MAX_BYTES: usize = 100_000;

/// What all tools accept.
#[derive(Debug)]
pub(super) struct Paging {
    /// The size of the answer in bytes.
    pub max_bytes: usize,
    pub cursor: Option<String>,
    /// The hash of the other arguments, so that a cursor is used only for the same question.
    pub question: u32,
}

impl Paging {
    /// Removes these arguments from those of a call.
    ///
    /// # Errors
    /// When they are wrong.
    pub(super) fn take(tool: &str, arguments: &mut Map<String, Value>) -> anyhow::Result<Self> {
        let max_bytes = match arguments.remove("max_bytes") {
            None | Some(Value::Null) => DEFAULT_BYTES,
            Some(value) => match value.as_u64().and_then(|bytes| usize::try_from(bytes).ok()) {
                Some(bytes) if (MIN_BYTES..=MAX_BYTES).contains(&bytes) => bytes,
                _ => bail!("max_bytes is a whole number from {MIN_BYTES} to {MAX_BYTES}"),
            },
        };
        let cursor = match arguments.remove("cursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => Some(cursor),
            Some(_) => bail!("cursor is the text that the answer before ended with"),
        };
        let question = format!("{tool}\n{}", Value::Object(arguments.clone()));
        let mut hasher = DefaultHasher::new();
        question.hash(&mut hasher);
        let question = u32::try_from(hasher.finish() >> 32).unwrap_or_default();
        Ok(Self { max_bytes, cursor, question })
    }
}
