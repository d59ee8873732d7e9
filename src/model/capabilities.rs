//! What a format can contain.

use serde::{Deserialize, Serialize, Serializer};

/// The set of facts that a format can contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Capabilities(u32);

/// Serialized as a number, and in human-readable formats as a list of words.
impl Serialize for Capabilities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const WORDS: [(Capabilities, &str); 18] = [
            (Capabilities::TURNS, "turns"),
            (Capabilities::TOOL_CALLS, "tool_calls"),
            (Capabilities::FILE_CHANGES, "file_changes"),
            (Capabilities::SUBAGENTS, "subagents"),
            (Capabilities::COMPACTIONS, "compactions"),
            (Capabilities::RETRIES, "retries"),
            (Capabilities::PERMISSION_DENIALS, "permission_denials"),
            (Capabilities::WEB_SEARCHES, "web_searches"),
            (Capabilities::USER_TURNS, "user_turns"),
            (Capabilities::KEPT_BY_RUNTIME, "kept_by_runtime"),
            (Capabilities::RUNS_ONLY, "runs_only"),
            (Capabilities::RESULT_ONLY, "result_only"),
            (Capabilities::CONVERTED, "converted"),
            (Capabilities::EXPORTED, "exported"),
            (Capabilities::TRACED, "traced"),
            (Capabilities::METERED, "metered"),
            (Capabilities::MIGRATED, "migrated"),
            (Capabilities::PART, "part"),
        ];
        if serializer.is_human_readable() {
            serializer.collect_seq(WORDS.iter().filter(|(shown, _)| self.has(*shown)).map(|(_, word)| word))
        } else {
            serializer.serialize_u32(self.0)
        }
    }
}

impl Capabilities {
    /// Only totals.
    pub const NOTHING: Self = Self(0);
    /// Tool calls and their results.
    pub const TOOL_CALLS: Self = Self(1);
    /// Changed files.
    pub const FILE_CHANGES: Self = Self(2);
    /// Agents besides the main one.
    pub const SUBAGENTS: Self = Self(4);
    /// Compactions of the context.
    pub const COMPACTIONS: Self = Self(8);
    /// Requests that were repeated.
    pub const RETRIES: Self = Self(16);
    /// Calls that the user or a rule refused.
    pub const PERMISSION_DENIALS: Self = Self(32);
    /// Searches that the provider ran.
    pub const WEB_SEARCHES: Self = Self(64);
    /// Prompts that a human typed.
    pub const USER_TURNS: Self = Self(128);
    /// The file is the runtime's own, with more details than a recording.
    pub const KEPT_BY_RUNTIME: Self = Self(256);
    /// Sums of runs, whose responses are in the runtime's own file.
    pub const RUNS_ONLY: Self = Self(512);
    /// The result of a run, without the responses.
    pub const RESULT_ONLY: Self = Self(1024);
    /// The file was converted from a log of the session, which contains all of it, by another program or by the runtime itself.
    pub const CONVERTED: Self = Self(2048);
    /// Each response of the model, with or without counts: a session without responses has 0 turns. Without this, the number of turns of such
    /// a session is unknown.
    pub const TURNS: Self = Self(4096);
    /// The runtime exported telemetry about a session whose own log has all that is billed to the conversation.
    pub const EXPORTED: Self = Self(8192);
    /// The telemetry is spans, beside which there may be events with more.
    pub const TRACED: Self = Self(16384);
    /// Each request of the session with all of its counts, which other logs of the session leave out.
    pub const METERED: Self = Self(32768);
    /// What the runtime converted from a log that an earlier version of it kept in another format. It counts where that log is absent.
    pub const MIGRATED: Self = Self(65536);
    /// The file is a part of a session, and the place of the file is the only record of which one: an equal file at the place of another
    /// session is not a copy of the file.
    pub const PART: Self = Self(131_072);
    /// A proxy between the agent and its provider counted each request: all of them, and nothing else. No other format has both.
    pub const PROXIED: Self = Self::CONVERTED.and(Self::EXPORTED);
    /// The runtime keeps the file, but with less than a recording of the session contains.
    pub const ABRIDGED: Self = Self::CONVERTED.and(Self::KEPT_BY_RUNTIME);

    /// The union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The difference of both sets.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` is in this set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
