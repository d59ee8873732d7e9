//! The records of a transcript.

use serde::Deserialize;

use crate::adapters::formats::claude::common::prompts::PromptOrigin;
use crate::adapters::formats::claude::common::{Message, NotRun, Origin, ToolUseResult};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::TextBlock;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::names;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Number, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::json::record::{Skip, record};
use crate::model::session::Details;

record! {
    /// The members are in the order of responses. Other records contain their `type` before the message.
    pub(super) struct Record<'a> {
        "parentUuid" => _parent_uuid: Skip,
        "isSidechain" => pub(super) is_sidechain: Flag,
        "agentId" => pub(super) agent_id: Text<'a>,
        "userType" => _user_type: Skip,
        "entrypoint" => pub(super) entrypoint: Text<'a>,
        "cwd" => pub(super) cwd: Text<'a>,
        "sessionId" => pub(super) session_id: Text<'a>,
        "version" => pub(super) version: Text<'a>,
        "gitBranch" => pub(super) git_branch: Text<'a>,
        "slug" => _slug: Skip,
        "message" => pub(super) message: Message<'a>,
        "requestId" => pub(super) request_id: Text<'a>,
        // of responses, in newer versions
        "effort" => pub(super) effort: Text<'a>,
        "attributionAgent" => pub(super) attribution_agent: Text<'a>,
        "attributionSkill" => pub(super) attribution_skill: Text<'a>,
        "attributionPlugin" => pub(super) attribution_plugin: Text<'a>,
        "type" => pub(super) kind: Text<'a>,
        // progress
        "data" => pub(super) data: Option<Box<Progress<'a>>>,
        "isMeta" => pub(super) is_meta: Flag,
        "parentToolUseID" => pub(super) parent_tool_use_id: Text<'a>,
        "toolUseID" => _tool_use_id: Skip,
        "uuid" => pub(super) uuid: Text<'a>,
        "timestamp" => pub(super) timestamp: When,
        // of prompts, in newer versions
        "origin" => pub(super) origin: PromptOrigin<'a>,
        "promptSource" => pub(super) prompt_source: Text<'a>,
        "turnOrigin" => pub(super) turn_origin: Text<'a>,
        "toolUseResult" => pub(super) tool_use_result: Option<Box<ToolUseResult<'a>>>,
        "toolDenialKind" => pub(super) tool_denial_kind: Text<'a>,
        "sourceToolAssistantUUID" => _source_tool_assistant_uuid: Skip,
        "session_id" => pub(super) origin_session_id: Text<'a>,
        "sessionKind" => pub(super) session_kind: Text<'a>,
        "forkedFrom" => pub(super) forked_from: ForkedFrom<'a>,
        "attachment" => pub(super) attachment: Option<Box<Attachment<'a>>>,
        "isAbortedMidStream" => pub(super) is_aborted_mid_stream: Flag,
        "apiErrorStatus" => pub(super) api_error_status: Number,
        "isCompactSummary" => pub(super) is_compact_summary: Flag,
        "isApiErrorMessage" => pub(super) is_api_error_message: Flag,
        "costUSD" => pub(super) cost_usd: Number,
        // of a limit that was reached
        "quotaLimits" => pub(super) quota_limits: Raw<'a>,
        // system
        "subtype" => pub(super) subtype: Text<'a>,
        "error" => pub(super) error: Raw<'a>,
        "content" => pub(super) content: Text<'a>,
        "compactMetadata" => pub(super) compact_metadata: CompactMetadata<'a>,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct CompactMetadata<'a> {
    pub(super) trigger: Text<'a>,
    pub(super) pre_tokens: Count,
    pub(super) post_tokens: Count,
}

/// The session whose history a fork copies.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ForkedFrom<'a> {
    pub(super) session_id: Text<'a>,
    /// The record that this one is a copy of, which may have another `uuid`.
    pub(super) message_uuid: Text<'a>,
}

/// Context that was added to a request. A prompt that the user typed while a tool ran is one of the type `queued_command`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Attachment<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) command_mode: Text<'a>,
    pub(super) prompt: TextOrBlocks<'a, TextBlock<'a>>,
    pub(super) origin: PromptOrigin<'a>,
    /// The id that the prompt has elsewhere.
    #[serde(rename = "source_uuid")]
    pub(super) source_uuid: Text<'a>,
    pub(super) is_meta: Flag,
    // skill_listing
    pub(super) content: Raw<'a>,
    pub(super) names: Raw<'a>,
    // deferred_tools_delta, mcp_instructions_delta
    pub(super) added_names: Raw<'a>,
}

impl Attachment<'_> {
    /// Whether it is a prompt of the queue.
    pub(super) fn is_prompt(&self) -> bool {
        self.kind.as_str() == "queued_command" && self.command_mode.as_str() == "prompt" && !self.is_meta.is_true()
    }

    /// Whether it lists what the model can use.
    pub(super) fn is_offer(&self) -> bool {
        matches!(self.kind.as_str(), "skill_listing" | "deferred_tools_delta" | "mcp_instructions_delta")
    }

    /// Adds what it lists to a session.
    pub(super) fn offer(&self, builder: &mut Builder) {
        match self.kind.as_str() {
            // Older versions have no `names`.
            "skill_listing" if self.names.is_empty() => builder.offer_skills_in_text(&self.content.text()),
            "skill_listing" => {
                builder.offer_skills(self.names);
                builder.offer_list_of_skills(self.content.text().len());
            }
            "deferred_tools_delta" => builder.offer_tools(self.added_names),
            _ => builder.offer_mcp_servers(self.added_names),
        }
    }
}

/// A report of a running tool; of a subagent, its messages.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Progress<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) agent_id: Text<'a>,
    pub(super) message: Inner<'a>,
}

/// A record of a subagent inside a progress record.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Inner<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) uuid: Text<'a>,
    pub(super) timestamp: When,
    pub(super) request_id: Text<'a>,
    pub(super) message: Message<'a>,
    pub(super) tool_use_result: Option<Box<ToolUseResult<'a>>>,
}

/// The error of an `api_error` record, in one of its forms.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ApiError<'a> {
    pub(super) status: Count,
    pub(super) message: Text<'a>,
}

impl Record<'_> {
    /// What the record states about the purpose of a response. The members for MCP servers are not read: they remain after a call.
    pub(super) fn attribution(&self) -> Option<Details> {
        let attribution = Details {
            skill: self.attribution_skill.some().and_then(names::name),
            plugin: self.attribution_plugin.some().and_then(names::name),
            agent_type: self.attribution_agent.owned(),
            ..Details::default()
        };
        (attribution != Details::default()).then_some(attribution)
    }

    /// Its id, which copies in forks share.
    pub(super) fn id(&self) -> Option<&str> {
        self.forked_from.message_uuid.some().or(self.uuid.some())
    }

    /// Where it is, and the agent that wrote it.
    pub(super) fn origin<'a>(&'a self, line: Line<'a>) -> Origin<'a> {
        Origin {
            at: At { line: line.number, time: self.timestamp.0 },
            uuid: self.id(),
            request_id: self.request_id.some(),
            forked_from: self.forked_from.session_id.some(),
            is_subagent: self.is_sidechain.is_true(),
            agent_id: self.agent_id.some(),
            tool_use_result: self.tool_use_result.as_deref(),
            not_run: self.tool_denial_kind.some().map_or(NotRun::Unstated, NotRun::All),
            bytes: line.bytes,
        }
    }

    /// The origin of a record of a subagent inside a progress record.
    pub(super) fn inner_origin<'a>(&'a self, inner: &'a Inner<'a>, line: Line<'a>) -> Origin<'a> {
        let agent_id = self.data.as_ref().and_then(|data| data.agent_id.some());
        Origin {
            at: At { line: line.number, time: inner.timestamp.0.or(self.timestamp.0) },
            uuid: inner.uuid.some(),
            request_id: inner.request_id.some(),
            forked_from: self.forked_from.session_id.some(),
            is_subagent: true,
            agent_id: agent_id.or(self.parent_tool_use_id.some()),
            tool_use_result: inner.tool_use_result.as_deref(),
            not_run: NotRun::Unstated,
            bytes: line.bytes,
        }
    }
}
