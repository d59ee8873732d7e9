//! The clauses by which genai-prices recognises the names of a model.

use regex::Regex;
use serde_json::Value;

/// A condition on a name in lower case.
#[derive(Debug)]
pub enum Clause {
    Any(Vec<Self>),
    All(Vec<Self>),
    Equals(String),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Matches(Regex),
    DoesNotBegin(Regex),
}

impl Clause {
    /// The clause `{"or": […]}`, `{"equals": "…"}` and so on. Fails if it is of another kind, so that none is ignored.
    pub fn parse(clause: &Value) -> Result<Self, String> {
        let unknown = || format!("not a clause about names: {clause}");
        let (kind, value) = clause.as_object().and_then(|it| it.iter().next()).ok_or_else(unknown)?;
        let parts = || value.as_array().ok_or_else(unknown)?.iter().map(Self::parse).collect::<Result<Vec<_>, _>>();
        let text = || value.as_str().map(str::to_lowercase).ok_or_else(unknown);
        Ok(match kind.as_str() {
            "or" => Self::Any(parts()?),
            "and" => Self::All(parts()?),
            "equals" => Self::Equals(text()?),
            "starts_with" => Self::StartsWith(text()?),
            "ends_with" => Self::EndsWith(text()?),
            "contains" => Self::Contains(text()?),
            "regex" => {
                Self::pattern(value.as_str().ok_or_else(unknown)?).map_err(|error| format!("{clause}: {error}"))?
            }
            _ => return Err(unknown()),
        })
    }

    /// The crate `regex` has no patterns for what must not follow. The table has them only for whole names: `^(?!…)`.
    fn pattern(text: &str) -> Result<Self, regex::Error> {
        match text.strip_prefix("^(?!").and_then(|rest| rest.strip_suffix(')')) {
            Some(start) => Regex::new(start).map(Self::DoesNotBegin),
            None => Regex::new(text).map(Self::Matches),
        }
    }

    /// Whether the clause applies to a name in lower case.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|it| it.matches(name)),
            Self::All(parts) => parts.iter().all(|it| it.matches(name)),
            Self::Equals(text) => name == text,
            Self::StartsWith(text) => name.starts_with(text),
            Self::EndsWith(text) => name.ends_with(text),
            Self::Contains(text) => name.contains(text),
            Self::Matches(pattern) => pattern.is_match(name),
            Self::DoesNotBegin(pattern) => pattern.find(name).is_none_or(|found| found.start() > 0),
        }
    }
}
