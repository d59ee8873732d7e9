//! The records of GitHub Copilot.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::usage::{Included, uncached};
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Pairs, Text, When};
use crate::model::session::Tokens;

/// The last record of a recording, which has no `data`.
pub(super) const RESULT: &str = "result";

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) timestamp: When,
    /// The id of a subagent.
    pub(super) agent_id: Text<'a>,
    pub(super) data: Data<'a>,
    // result
    pub(super) session_id: Text<'a>,
    pub(super) exit_code: Number,
    pub(super) usage: Maybe<RunUsage>,
}

impl Record<'_> {
    /// Whether it is the last record of a recording. Other runtimes have records of this type, too.
    pub(super) fn is_result(&self) -> bool {
        self.kind.as_str() == RESULT && (self.session_id.is_some() || self.exit_code.0.is_some())
    }
}

/// What a recording states of its process.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RunUsage {
    pub(super) total_api_duration_ms: Number,
    pub(super) session_duration_ms: Number,
    pub(super) code_changes: CodeChanges,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Data<'a> {
    // session.start, session.resume, session.model_change
    pub(super) session_id: Text<'a>,
    pub(super) copilot_version: Text<'a>,
    pub(super) context: Checkout<'a>,
    pub(super) selected_model: Text<'a>,
    pub(super) new_model: Text<'a>,
    pub(super) reasoning_effort: Text<'a>,
    pub(super) detached_from_spawning_parent_session_id: Text<'a>,
    // user.message
    pub(super) source: Text<'a>,
    pub(super) is_autopilot_continuation: Flag,
    // session.skills_loaded, session.mcp_servers_loaded
    pub(super) skills: Raw<'a>,
    pub(super) servers: Raw<'a>,
    // user.message, assistant.message, system.message
    pub(super) content: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) message_id: Text<'a>,
    pub(super) api_call_id: Text<'a>,
    pub(super) request_id: Text<'a>,
    pub(super) output_tokens: Count,
    pub(super) tool_requests: Vec<Request<'a>>,
    // assistant.usage
    pub(super) input_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) reasoning_tokens: Count,
    /// The id of the request at GitHub, as `request_id` of other records.
    pub(super) provider_call_id: Text<'a>,
    pub(super) interaction_type: Text<'a>,
    pub(super) finish_reason: Text<'a>,
    pub(super) duration: Number,
    pub(super) copilot_usage: CopilotUsage,
    // assistant.fusion_phase_completed, assistant.fusion_phase_failed
    pub(super) fusion_id: Text<'a>,
    pub(super) phase_id: Text<'a>,
    pub(super) conversation_scope: Text<'a>,
    pub(super) usage: Maybe<PhaseUsage>,
    pub(super) duration_ms: Number,
    /// In older versions: the call that started the agent of the message.
    pub(super) parent_tool_call_id: Text<'a>,
    // tool.execution_start, tool.execution_complete, permission.completed, subagent.started
    pub(super) tool_call_id: Text<'a>,
    pub(super) tool_name: Text<'a>,
    pub(super) mcp_server_name: Text<'a>,
    pub(super) arguments: Raw<'a>,
    pub(super) success: Flag,
    pub(super) result: Outcome<'a>,
    /// An object, or a string.
    pub(super) error: Raw<'a>,
    // permission.requested
    pub(super) permission_request: PermissionRequest<'a>,
    // subagent.started, subagent.selected
    pub(super) agent_name: Text<'a>,
    // session.compaction_complete
    pub(super) trigger: Text<'a>,
    pub(super) pre_compaction_tokens: Count,
    pub(super) post_compaction_tokens: Count,
    pub(super) compaction_tokens_used: Maybe<CompactionUsage<'a>>,
    // session.error
    pub(super) error_type: Text<'a>,
    pub(super) error_code: Text<'a>,
    pub(super) message: Text<'a>,
    pub(super) status_code: Number,
    // abort
    pub(super) reason: Text<'a>,
    // session.shutdown
    pub(super) shutdown_type: Text<'a>,
    pub(super) error_reason: Text<'a>,
    pub(super) current_model: Text<'a>,
    pub(super) total_api_duration_ms: Number,
    pub(super) code_changes: CodeChanges,
    pub(super) model_metrics: Maybe<Pairs<'a, Metric>>,
    /// The same by agent, by the id of each.
    pub(super) agent_metrics: Maybe<Pairs<'a, AgentMetric<'a>>>,
    /// The credits of the session so far, also in session.usage_checkpoint.
    pub(super) total_nano_aiu: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Checkout<'a> {
    pub(super) cwd: Text<'a>,
    pub(super) branch: Text<'a>,
    pub(super) git_root: Text<'a>,
    /// `owner/name`.
    pub(super) repository: Text<'a>,
    pub(super) repository_host: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Request<'a> {
    pub(super) tool_call_id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) arguments: Raw<'a>,
    pub(super) mcp_server_name: Text<'a>,
}

/// The result of a call; that of a permission request has a kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Outcome<'a> {
    pub(super) content: Raw<'a>,
    /// What the user sees; of an edit its diff.
    pub(super) detailed_content: Text<'a>,
    pub(super) contents: Vec<Block>,
    pub(super) kind: Text<'a>,
    pub(super) feedback: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Block {
    pub(super) exit_code: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    pub(super) message: Raw<'a>,
    pub(super) code: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct PermissionRequest<'a> {
    pub(super) tool_call_id: Text<'a>,
}

/// Arguments of edits that the common arguments do not include.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct EditArguments<'a> {
    /// The command of the tool `str_replace_editor`.
    pub(super) command: Text<'a>,
    pub(super) file_text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metric {
    pub(super) requests: Requests,
    pub(super) usage: Maybe<Usage>,
    pub(super) total_nano_aiu: Number,
}

/// The part of one agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct AgentMetric<'a> {
    pub(super) agent_name: Text<'a>,
    pub(super) model_metrics: Maybe<Pairs<'a, Metric>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Requests {
    pub(super) count: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Usage {
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) reasoning_tokens: Count,
}

/// The credits of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CopilotUsage {
    pub(super) total_nano_aiu: Number,
}

/// The usage of a phase of `HydraFusion`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PhaseUsage {
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cached_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) request_count: Count,
    pub(super) total_nano_aiu: Number,
}

/// The usage of the response that summarises the conversation, under the names of newer and of older versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct CompactionUsage<'a> {
    pub(super) model: Text<'a>,
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) input: Count,
    pub(super) output: Count,
    pub(super) cached_input: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CodeChanges {
    pub(super) lines_added: Count,
    pub(super) lines_removed: Count,
}

impl<'a> Data<'a> {
    /// The call of a `tool.execution_start`.
    pub(super) fn request(&self) -> Request<'a> {
        Request {
            tool_call_id: self.tool_call_id.clone(),
            name: self.tool_name.clone(),
            arguments: self.arguments,
            mcp_server_name: self.mcp_server_name.clone(),
        }
    }

    /// The counts of an `assistant.usage`.
    pub(super) fn usage_of_request(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens,
            reasoning_tokens: self.reasoning_tokens,
        }
    }
}

impl PhaseUsage {
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let usage = Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cached_tokens,
            cache_write_tokens: self.cache_write_tokens,
            reasoning_tokens: Count::Unknown,
        };
        usage.tokens(damage)
    }
}

impl Usage {
    /// The disjoint tokens: the input includes cache reads and cache writes. If all counts are 0, the provider stated none.
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let (read, write) = (self.cache_read_tokens, self.cache_write_tokens);
        damage.note_impossible(&[self.input_tokens, self.output_tokens, read, write, self.reasoning_tokens]);
        let tokens = Tokens {
            input: uncached(Included::Always, self.input_tokens.get(), read.get(), write.get()),
            output: self.output_tokens.get(),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning: self.reasoning_tokens.get(),
        };
        tokens.unless_all_zero()
    }
}

impl CompactionUsage<'_> {
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let first = |newer: Count, older: Count| if newer == Count::Unknown { older } else { newer };
        let usage = Usage {
            input_tokens: first(self.input_tokens, self.input),
            output_tokens: first(self.output_tokens, self.output),
            cache_read_tokens: first(self.cache_read_tokens, self.cached_input),
            cache_write_tokens: self.cache_write_tokens,
            reasoning_tokens: Count::Unknown,
        };
        usage.tokens(damage)
    }
}
