//! The runtimes that export telemetry, and the keys of their sessions.

use super::attributes::Attributes;
use crate::model::session::Capabilities;

pub(super) const METRICS: Capabilities = Capabilities::EXPORTED.and(Capabilities::RESULT_ONLY);

/// The runtime of telemetry of other programs.
pub(super) const RUNTIME: &str = "otlp";

/// Whose names the events of a runtime have.
#[derive(Debug, Clone, Copy)]
pub(super) enum Events {
    Claude,
    Codex,
    Gemini,
}

/// A runtime that exports telemetry of its own.
#[derive(Debug)]
pub(super) struct Product {
    /// The beginning of the names of its events, spans and metrics.
    pub(super) prefix: &'static str,
    pub(super) runtime: &'static str,
    pub(super) events: Events,
}

pub(super) const CLAUDE: Product = Product { prefix: "claude_code.", runtime: "claude", events: Events::Claude };

pub(super) const CODEX: Product = Product { prefix: "codex.", runtime: "codex", events: Events::Codex };

pub(super) const GEMINI: Product = Product { prefix: "gemini_cli.", runtime: "gemini", events: Events::Gemini };

pub(super) const QWEN: Product = Product { prefix: "qwen-code.", runtime: "qwen", events: Events::Gemini };

impl Product {
    /// The product that uses a name, and the rest of the name.
    pub(super) fn of(name: &str) -> Option<(&'static Self, &str)> {
        [&CLAUDE, &CODEX, &GEMINI, &QWEN].into_iter().find_map(|it| Some((it, name.strip_prefix(it.prefix)?)))
    }
}

/// Attributes with which VS Code names the chat that a span belongs to, as its own file of the chat does: that around a subagent, else
/// the span's own.
pub(super) const CHAT: [&str; 2] = ["copilot_chat.parent_chat_session_id", "copilot_chat.chat_session_id"];

/// Attributes that name the session. In VS Code, `session.id` is that of the window.
pub(super) const SESSION: [&str; 5] = [
    "copilot_chat.parent_chat_session_id",
    "copilot_chat.chat_session_id",
    "session.id",
    "conversation.id",
    "gen_ai.conversation.id",
];

/// The id of the session, of a record or of its resource.
pub(super) fn session_id(attributes: Attributes<'_, '_>) -> Option<String> {
    SESSION.iter().find_map(|key| attributes.shared_text(key)).map(std::borrow::Cow::into_owned)
}

/// The runtime and the id of a session.
pub(super) struct Key<'k> {
    pub(super) runtime: &'k str,
    pub(super) id: &'k str,
}

impl Key<'_> {
    /// The key of one signal of the session.
    pub(super) fn of_signal(&self, signal: Capabilities) -> String {
        format!("{signal:?} {} {}", self.runtime, self.id)
    }
}
