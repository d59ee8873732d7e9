//! The records of Qwen Code.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::gemini::chat::Display;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, When};
use crate::model::session::Tokens;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    pub(super) uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
    pub(super) timestamp: When,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) subtype: Text<'a>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) version: Text<'a>,
    #[serde(borrow)]
    pub(super) git_branch: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Message<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    pub(super) usage_metadata: Maybe<Usage>,
    pub(super) context_window_size: Count,
    #[serde(borrow)]
    pub(super) tool_call_result: Outcome<'a>,
    #[serde(borrow)]
    pub(super) system_payload: Payload<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_name: Text<'a>,
    pub(super) is_sidechain: Flag,
    #[serde(borrow)]
    pub(super) forked_from: Fork<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Fork<'a> {
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    pub(super) thought: Flag,
    #[serde(borrow)]
    pub(super) function_call: Maybe<FunctionCall<'a>>,
    #[serde(borrow)]
    pub(super) function_response: Maybe<FunctionResponse<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) args: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionResponse<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) response: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer<'a> {
    #[serde(borrow)]
    pub(super) output: Text<'a>,
    #[serde(borrow)]
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
#[serde(default, rename_all = "camelCase")]
pub(super) struct Outcome<'a> {
    #[serde(borrow)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) error_type: Text<'a>,
    #[serde(borrow)]
    pub(super) result_display: Display<'a>,
    pub(super) duration_ms: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Payload<'a> {
    // ui_telemetry
    #[serde(borrow)]
    pub(super) ui_event: UiEvent<'a>,
    // chat_compression
    pub(super) info: Compression,
    // parent_session
    #[serde(borrow)]
    pub(super) parent_session_id: Text<'a>,
    // turn_result
    #[serde(borrow)]
    pub(super) state: Text<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) error: TurnError<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TurnError<'a> {
    #[serde(borrow)]
    pub(super) message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Compression {
    pub(super) original_token_count: Count,
    pub(super) new_token_count: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UiEvent<'a> {
    #[serde(borrow, rename = "event.name")]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    pub(super) duration_ms: Number,
    #[serde(borrow)]
    pub(super) subagent_name: Text<'a>,
    #[serde(borrow)]
    pub(super) subagent_id: Text<'a>,
    // api_response
    #[serde(borrow)]
    pub(super) response_id: Text<'a>,
    pub(super) input_token_count: Count,
    pub(super) output_token_count: Count,
    pub(super) cached_content_token_count: Count,
    pub(super) thoughts_token_count: Count,
    pub(super) tool_token_count: Count,
    pub(super) total_token_count: Count,
    // api_error
    pub(super) status_code: Number,
    #[serde(borrow)]
    pub(super) error_type: Text<'a>,
    #[serde(borrow)]
    pub(super) error_message: Text<'a>,
    #[serde(borrow)]
    pub(super) error: Text<'a>,
    // tool_call
    #[serde(borrow)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) mcp_server_name: Text<'a>,
}

impl Usage {
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let (cached, thoughts, tool) =
            (self.cached_content_token_count, self.thoughts_token_count, self.tool_use_prompt_token_count);
        let (prompt, candidates, total) =
            (self.prompt_token_count, self.candidates_token_count, self.total_token_count);
        damage.refuses(&[prompt, candidates, cached, thoughts, tool, total]);
        let (cached, thoughts, tool) = (cached.get(), thoughts.get(), tool.get().unwrap_or(0));
        let excludes_thoughts = |output: i64| {
            let sum = prompt.get().map(|it| it + tool + output + thoughts.unwrap_or(0));
            sum.is_some() && sum == total.get()
        };
        let output = candidates.get().map(|it| if excludes_thoughts(it) { it + thoughts.unwrap_or(0) } else { it });
        Tokens {
            // A cached count above the prompt cannot be a part of it.
            input: prompt.get().map(|it| it - cached.filter(|cached| *cached <= it).unwrap_or(0) + tool),
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
