//! The records `item_completed`, of which paginated histories consist: an item is what a client shows.

use serde::Deserialize;

use crate::adapters::formats::codex::common::{Duration, Edit};
use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Number, Pairs, Text, by_type};
use crate::json::record::{Skip, record};

record! {
    pub(super) struct ItemCompleted<'a> {
        "type" => _type: Skip,
        "thread_id" => _thread_id: Skip,
        "turn_id" => _turn_id: Skip,
        "item" => pub(super) item: Item<'a>,
        "started_at_ms" => pub(super) started_at_ms: Count,
    }
}

by_type! {
    /// An item of a turn.
    #[expect(dead_code, reason = "an item of an unknown type is not read")]
    pub(super) enum Item<'a> {
        "UserMessage" => UserMessage(MessageItem<'a>),
        "AgentMessage" => AgentMessage(MessageItem<'a>),
        "CommandExecution" => Command(CommandItem<'a>),
        "FileChange" => FileChange(FileChangeItem<'a>),
        "McpToolCall" => McpCall(ToolItem<'a>),
        "DynamicToolCall" => DynamicCall(ToolItem<'a>),
        "CollabAgentToolCall" => Collaboration(CollaborationItem<'a>),
        "SubAgentActivity" => SubagentActivity(ActivityItem<'a>),
        "WebSearch" => WebSearch(SearchItem<'a>),
        "Extension" => Extension(ExtensionItem<'a>),
        "ContextCompaction" => Compaction,
        // Items whose calls are response items, and items that are not calls.
        "FunctionCallOutput" | "HookPrompt" | "Plan" | "Reasoning" | "ImageView" | "ImageGeneration" | "Sleep" | "EnteredReviewMode"
        | "ExitedReviewMode" => Unread,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct MessageItem<'a> {
    pub(super) id: Text<'a>,
    content: Vec<Block<'a>>,
}

impl MessageItem<'_> {
    /// Its texts, as the event of the same message joins them.
    pub(super) fn text(&self) -> String {
        self.content.iter().map(|it| it.text.as_str()).collect()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CommandItem<'a> {
    pub(super) id: Text<'a>,
    pub(super) command: Raw<'a>,
    pub(super) source: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) aggregated_output: Raw<'a>,
    pub(super) exit_code: Number,
    pub(super) duration: Duration,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct FileChangeItem<'a> {
    pub(super) id: Text<'a>,
    pub(super) changes: Pairs<'a, Edit<'a>>,
    pub(super) status: Text<'a>,
}

/// A call of an MCP tool, or of a tool of the client.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ToolItem<'a> {
    pub(super) id: Text<'a>,
    pub(super) server: Text<'a>,
    pub(super) tool: Text<'a>,
    pub(super) arguments: Raw<'a>,
    pub(super) status: Text<'a>,
    pub(super) result: Raw<'a>,
    pub(super) content_items: Raw<'a>,
    pub(super) success: Flag,
    pub(super) error: Raw<'a>,
    pub(super) duration: Duration,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CollaborationItem<'a> {
    pub(super) id: Text<'a>,
    pub(super) tool: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) receiver_thread_ids: Vec<Text<'a>>,
}

/// What an agent of another thread did.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ActivityItem<'a> {
    id: Text<'a>,
    event_id: Text<'a>,
    pub(super) kind: Text<'a>,
    pub(super) agent_thread_id: Text<'a>,
}

impl ActivityItem<'_> {
    /// The id of the call, under the name of an item or of an event.
    pub(super) fn call_id(&self) -> &str {
        self.id.some().or(self.event_id.some()).unwrap_or_default()
    }
}

/// What a tool of an extension did, since 0.159.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ExtensionItem<'a> {
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) query: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct SearchItem<'a> {
    pub(super) id: Text<'a>,
    pub(super) query: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Block<'a> {
    pub(super) text: LazyText<'a>,
}
