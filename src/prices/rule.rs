//! How a logged name led to a model, for `agentlogs prices explain`.

use std::fmt;

/// A step from a logged name to a name in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Another case, or dots and spaces for dashes.
    Spelling,
    /// The catalog contains it as another name of the model.
    Alias,
    /// A prefix was removed: a path, a vendor, a region.
    Without(String),
    /// A suffix was removed: a date, an effort, a mark.
    WithoutEnd(String),
    /// The provider's prices do not include the model: the price is that of the maker.
    MakersPrice,
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spelling => formatter.write_str("another spelling"),
            Self::Alias => formatter.write_str("another name"),
            Self::Without(it) => write!(formatter, "without `{it}` before it"),
            Self::WithoutEnd(it) => write!(formatter, "without `{it}` after it"),
            Self::MakersPrice => formatter.write_str("the maker's price"),
        }
    }
}
