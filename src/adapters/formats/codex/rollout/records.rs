//! The records of a rollout: `{timestamp, type, payload}`.

use serde::Deserialize;

use super::items::{ActivityItem, ItemCompleted};
use crate::adapters::formats::codex::common::{Duration, Edit, Invocation};
use crate::adapters::formats::codex::counts::{Info, Usage};
use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Maybe, Number, Pairs, Text, When, by_type};
use crate::json::record::{Skip, record};

record! {
    pub(super) struct Record<'a> {
        "timestamp" => pub(super) timestamp: When,
        "ordinal" => pub(super) ordinal: Count,
        "type" => pub(super) kind: Text<'a>,
        "payload" => pub(super) payload: Payload<'a>,
        "record_type" => pub(super) record_type: Text<'a>,
        "id" => pub(super) id: Text<'a>,
        "git" => pub(super) git: Git<'a>,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Git<'a> {
    pub(super) branch: Text<'a>,
    pub(super) repository_url: Text<'a>,
}

by_type! {
    /// The payload of an item or an event. Payloads of other records have another `type`, or none.
    pub(super) enum Payload<'a> {
        // Items.
        "message" => Message(Message<'a>),
        "function_call" => FunctionCall(Call<'a>),
        "custom_tool_call" => CustomToolCall(Call<'a>),
        "local_shell_call" => LocalShellCall(Call<'a>),
        "tool_search_call" => ToolSearchCall(Call<'a>),
        "web_search_call" => WebSearchCall(Call<'a>),
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => CallOutput(CallOutput<'a>),
        "reasoning"
        | "ghost_snapshot"
        | "compaction"
        | "compaction_summary"
        | "context_compaction"
        | "additional_tools"
        | "image_generation_call" => UnreadItem,
        // Events.
        "token_count" => TokenCount(TokenCount<'a>),
        "user_message" => UserMessage(MessageEvent<'a>),
        "agent_message" => AgentMessage(MessageEvent<'a>),
        "task_started" | "turn_started" => TaskStarted(TaskStarted<'a>),
        "task_complete" | "turn_complete" => TaskComplete(TaskComplete<'a>),
        "turn_aborted" => TurnAborted(TurnAborted<'a>),
        "error" => Error(MessageEvent<'a>),
        "stream_error" => StreamError(MessageEvent<'a>),
        "thread_settings_applied" => ThreadSettings(ThreadSettings<'a>),
        "context_compacted" => ContextCompacted,
        "entered_review_mode" => ReviewBegin,
        "exited_review_mode" => ReviewEnd,
        "patch_apply_end" => PatchEnd(PatchEnd<'a>),
        "exec_command_end" => ExecEnd(ExecEnd<'a>),
        "mcp_tool_call_end" => McpEnd(McpEnd<'a>),
        "web_search_end" => WebSearchEnd(WebSearchEnd<'a>),
        "item_completed" => ItemCompleted(ItemCompleted<'a>),
        "guardian_assessment" => Assessment(Assessment<'a>),
        "sub_agent_activity" => SubagentActivity(ActivityItem<'a>),
        "collab_agent_spawn_end" => SpawnEnd(SpawnEnd<'a>),
        // Events that repeat items, and events that are not used.
        "agent_reasoning"
        | "agent_reasoning_raw_content"
        | "agent_reasoning_section_break"
        | "item_started"
        | "thread_name_updated"
        | "thread_rolled_back"
        | "view_image_tool_call"
        | "image_generation_end"
        | "plan_update"
        | "turn_diff"
        | "undo_completed"
        | "warning"
        | "model_reroute"
        | "deprecation_notice"
        | "background_event"
        | "dynamic_tool_call_request"
        | "dynamic_tool_call_response"
        | "guardian_warning"
        | "world_state"
        | "security_risk_score"
        | "realtime_item"
        | "collab_agent_interaction_end"
        | "collab_waiting_end"
        | "collab_close_end"
        | "collab_resume_end"
        | "thread_goal_updated" => UnreadEvent,
    }
}

/// `session_meta`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Meta<'a> {
    pub(super) id: Text<'a>,
    /// The id of the root of the agents, if it has another one.
    pub(super) session_id: Text<'a>,
    pub(super) forked_from_id: Text<'a>,
    pub(super) parent_thread_id: Text<'a>,
    /// The file begins where another one ends, whose records it does not repeat.
    pub(super) history_base: Maybe<HistoryBase>,
    /// The records before this one are copies of the parent's.
    pub(super) subagent_history_start_ordinal: Count,
    /// Who the prompts are from.
    pub(super) thread_source: Text<'a>,
    pub(super) cwd: Text<'a>,
    pub(super) originator: Text<'a>,
    pub(super) cli_version: Text<'a>,
    pub(super) model_provider: Text<'a>,
    pub(super) source: Raw<'a>,
    pub(super) git: Git<'a>,
    /// Since 0.80.
    pub(super) base_instructions: BaseInstructions<'a>,
    /// In older versions.
    pub(super) instructions: LazyText<'a>,
    pub(super) dynamic_tools: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct BaseInstructions<'a> {
    pub(super) text: LazyText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HistoryBase {
    #[serde(alias = "end_ordinal")]
    pub(super) end_ordinal_exclusive: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct TurnContext<'a> {
    pub(super) cwd: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) effort: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Compacted<'a> {
    pub(super) compaction_response_id: Text<'a>,
}

/// `token_usage_record`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct UsageRecord<'a> {
    pub(super) response_id: Text<'a>,
    pub(super) usage: Maybe<Usage>,
}

record! {
    pub(super) struct Message<'a> {
        "type" => _type: Skip,
        "id" => _id: Skip,
        "role" => pub(super) role: Text<'a>,
        "content" => pub(super) content: Raw<'a>,
        "phase" => _phase: Skip,
        "metadata" => _metadata: Skip,
        "internal_chat_message_metadata_passthrough" => _passthrough: Skip,
    }
}

record! {
    pub(super) struct Call<'a> {
        "type" => _type: Skip,
        "id" => pub(super) id: Text<'a>,
        "status" => _status: Skip,
        "name" => pub(super) name: Text<'a>,
        "namespace" => pub(super) namespace: Text<'a>,
        "arguments" => pub(super) arguments: Raw<'a>,
        "call_id" => pub(super) call_id: Text<'a>,
        "input" => pub(super) input: Raw<'a>,
        "action" => pub(super) action: Raw<'a>,
        "metadata" => _metadata: Skip,
        "internal_chat_message_metadata_passthrough" => _passthrough: Skip,
    }
}

record! {
    pub(super) struct CallOutput<'a> {
        "type" => _type: Skip,
        "call_id" => pub(super) call_id: Text<'a>,
        "output" => pub(super) output: Raw<'a>,
        "metadata" => _metadata: Skip,
        "internal_chat_message_metadata_passthrough" => _passthrough: Skip,
    }
}

record! {
    pub(super) struct TokenCount<'a> {
        "type" => _type: Skip,
        /// Absent in events that only contain rate limits.
        "info" => pub(super) info: Info,
        "rate_limits" => pub(super) rate_limits: Raw<'a>,
    }
}

record! {
    pub(super) struct MessageEvent<'a> {
        "type" => _type: Skip,
        "message" => pub(super) message: LazyText<'a>,
        "codex_error_info" => pub(super) codex_error_info: Raw<'a>,
        "phase" => _phase: Skip,
        "memory_citation" => _memory_citation: Skip,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct TaskStarted<'a> {
    pub(super) turn_id: Text<'a>,
    pub(super) model_context_window: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct TaskComplete<'a> {
    pub(super) last_agent_message: LazyText<'a>,
    pub(super) duration_ms: Number,
    /// The error that ended the task.
    pub(super) error: Maybe<MessageEvent<'a>>,
}

/// What the guardian, an agent that reviews calls, decided.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Assessment<'a> {
    pub(super) target_item_id: Text<'a>,
    pub(super) status: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct SpawnEnd<'a> {
    pub(super) call_id: Text<'a>,
    pub(super) new_thread_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct TurnAborted<'a> {
    pub(super) reason: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ThreadSettings<'a> {
    pub(super) thread_settings: Settings<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct PatchEnd<'a> {
    pub(super) call_id: Text<'a>,
    pub(super) success: Flag,
    pub(super) status: Text<'a>,
    pub(super) changes: Pairs<'a, Edit<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ExecEnd<'a> {
    pub(super) call_id: Text<'a>,
    pub(super) command: Raw<'a>,
    pub(super) source: Text<'a>,
    pub(super) exit_code: Number,
    pub(super) duration: Duration,
    pub(super) status: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct McpEnd<'a> {
    pub(super) call_id: Text<'a>,
    pub(super) duration: Duration,
    pub(super) invocation: Invocation<'a>,
    pub(super) result: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WebSearchEnd<'a> {
    pub(super) call_id: Text<'a>,
    pub(super) query: Raw<'a>,
}

/// The user's settings for the responses after this record.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Settings<'a> {
    pub(super) service_tier: Text<'a>,
}

/// `{"subagent":…}`, or the name of a client.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Source<'a> {
    /// The name of the program that started it, or `{"thread_spawn":{"parent_thread_id":…}}`, or `{"other":"guardian"}`.
    pub(super) subagent: Raw<'a>,
    /// A thread of the client's own.
    pub(super) internal: Raw<'a>,
}

impl Source<'_> {
    /// Whether the thread is a review that another one started.
    pub(super) fn is_review(&self) -> bool {
        self.subagent.text() == "review"
    }

    /// Whether a program writes its prompts.
    pub(super) fn is_program(&self) -> bool {
        !self.subagent.is_empty() || !self.internal.is_empty()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Subagent<'a> {
    pub(super) thread_spawn: Spawn<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Spawn<'a> {
    pub(super) parent_thread_id: Text<'a>,
    pub(super) agent_role: Text<'a>,
}

/// Arguments of Codex's own tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Arguments<'a> {
    pub(super) session_id: Raw<'a>,
    pub(super) cell_id: Raw<'a>,
    pub(super) cmd: Text<'a>,
    pub(super) command: Raw<'a>,
}

/// The output in older versions: `{"output":…,"metadata":{"exit_code":…}}`, or `{"content":…,"success":…}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Output {
    pub(super) metadata: Metadata,
    pub(super) success: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) exit_code: Number,
    pub(super) duration_seconds: Number,
}
