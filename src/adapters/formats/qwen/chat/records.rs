//! The records of Qwen Code.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::gemini::chat::Display;
use crate::adapters::shared::usage::{Included, uncached};
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, When};
use crate::model::session::Tokens;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    pub(super) uuid: Text<'a>,
    pub(super) session_id: Text<'a>,
    pub(super) timestamp: When,
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) subtype: Text<'a>,
    pub(super) cwd: Text<'a>,
    pub(super) version: Text<'a>,
    pub(super) git_branch: Text<'a>,
    pub(super) message: Message<'a>,
    pub(super) model: Text<'a>,
    pub(super) usage_metadata: Maybe<Usage>,
    pub(super) context_window_size: Count,
    pub(super) tool_call_result: Outcome<'a>,
    pub(super) system_payload: Payload<'a>,
    pub(super) agent_id: Text<'a>,
    pub(super) agent_name: Text<'a>,
    pub(super) is_sidechain: Flag,
    pub(super) forked_from: Fork<'a>,
    pub(super) managed_session: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Fork<'a> {
    pub(super) session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    pub(super) text: Text<'a>,
    pub(super) thought: Flag,
    pub(super) function_call: Maybe<FunctionCall<'a>>,
    pub(super) function_response: Maybe<FunctionResponse<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct FunctionCall<'a> {
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) args: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct FunctionResponse<'a> {
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) response: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Answer<'a> {
    pub(super) output: Text<'a>,
    pub(super) error: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Usage {
    pub(super) prompt_token_count: Count,
    pub(super) candidates_token_count: Count,
    pub(super) cached_content_token_count: Count,
    pub(super) thoughts_token_count: Count,
    pub(super) tool_use_prompt_token_count: Count,
    pub(super) total_token_count: Count,
}

/// The outcome of a call, besides the result that the model gets.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Outcome<'a> {
    pub(super) call_id: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) error_type: Text<'a>,
    pub(super) result_display: Display<'a>,
    pub(super) duration_ms: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Payload<'a> {
    // ui_telemetry
    pub(super) ui_event: UiEvent<'a>,
    // chat_compression
    pub(super) info: Compression,
    // parent_session
    pub(super) parent_session_id: Text<'a>,
    // turn_result
    pub(super) state: Text<'a>,
    pub(super) stop_reason: Text<'a>,
    pub(super) error: TurnError<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct TurnError<'a> {
    pub(super) message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Compression {
    pub(super) original_token_count: Count,
    pub(super) new_token_count: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct UiEvent<'a> {
    #[serde(rename = "event.name")]
    pub(super) name: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) duration_ms: Number,
    pub(super) subagent_name: Text<'a>,
    pub(super) subagent_id: Text<'a>,
    // api_response
    pub(super) response_id: Text<'a>,
    pub(super) input_token_count: Count,
    pub(super) output_token_count: Count,
    pub(super) cached_content_token_count: Count,
    pub(super) thoughts_token_count: Count,
    pub(super) tool_token_count: Count,
    pub(super) total_token_count: Count,
    // api_error
    pub(super) status_code: Number,
    pub(super) error_type: Text<'a>,
    pub(super) error_message: Text<'a>,
    pub(super) error: Text<'a>,
    // tool_call
    pub(super) call_id: Text<'a>,
    pub(super) mcp_server_name: Text<'a>,
}

impl Usage {
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let (cached, thoughts, tool) =
            (self.cached_content_token_count, self.thoughts_token_count, self.tool_use_prompt_token_count);
        let (prompt, candidates, total) =
            (self.prompt_token_count, self.candidates_token_count, self.total_token_count);
        damage.note_impossible(&[prompt, candidates, cached, thoughts, tool, total]);
        let (cached, thoughts, tool) = (cached.get(), thoughts.get(), tool.get().unwrap_or(0));
        let excludes_thoughts = |output: i64| {
            let sum = prompt.get().map(|it| it + tool + output + thoughts.unwrap_or(0));
            sum.is_some() && sum == total.get()
        };
        let output = candidates.get().map(|it| if excludes_thoughts(it) { it + thoughts.unwrap_or(0) } else { it });
        Tokens {
            input: uncached(Included::IfTheyFit, prompt.get(), cached, None).map(|it| it + tool),
            output,
            cache_read: cached,
            reasoning: thoughts.filter(|it| output.is_some_and(|output| *it <= output)),
            ..Tokens::UNKNOWN
        }
    }
}

impl UiEvent<'_> {
    pub(super) const fn usage(&self) -> Usage {
        Usage {
            prompt_token_count: self.input_token_count,
            candidates_token_count: self.output_token_count,
            cached_content_token_count: self.cached_content_token_count,
            thoughts_token_count: self.thoughts_token_count,
            tool_use_prompt_token_count: self.tool_token_count,
            total_token_count: self.total_token_count,
        }
    }
}
