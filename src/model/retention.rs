//! How much of the conversations is kept.

/// How much of the conversation is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retention {
    /// Numbers only.
    #[default]
    None,
    /// The first prompt and the last answer.
    Text,
    /// Arguments and results of tool calls as well.
    Full,
}
