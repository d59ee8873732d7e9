//! Formats of Aider.
//!
//! Aider's three logs, none of which contains a session id (docs/formats/aider.md#aider-chat):
//!
//! - [`chat`]: `.aider.chat.history.md`, Markdown, with rounded counts;
//! - [`analytics`]: the file of `--analytics-log`, with exact counts;
//! - [`llm_history`]: the file of `--llm-history-file`, with the times of requests, and without counts.
//!
//! Nothing connects the three: a chat that is in two of them is two sessions.

pub(crate) mod analytics;
pub(crate) mod chat;
pub(crate) mod llm_history;
