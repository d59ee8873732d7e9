//! The records of mini-SWE-agent.

use std::borrow::Cow;

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::blocks::TextBlock;
use crate::adapters::shared::chat_completions::ToolCall;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Text, When};
use crate::model::session::Tokens;

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Document<'a> {
    pub(super) info: Info<'a>,
    /// Not parsed, as each one's line is needed.
    pub(super) messages: Vec<Raw<'a>>,
    pub(super) trajectory_format: Text<'a>,
    pub(super) instance_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Info<'a> {
    pub(super) model_stats: Maybe<ModelStats>,
    pub(super) config: Config<'a>,
    pub(super) mini_version: Text<'a>,
    pub(super) task: Text<'a>,
    pub(super) elapsed_seconds: Number,
    pub(super) exit_status: Text<'a>,
    pub(super) exception_str: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelStats {
    pub(super) instance_cost: Number,
    pub(super) api_calls: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Config<'a> {
    pub(super) agent: Limits,
    pub(super) model: Model<'a>,
    pub(super) environment: Environment<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limits {
    pub(super) step_limit: Number,
    pub(super) cost_limit: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Model<'a> {
    pub(super) model_name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Environment<'a> {
    pub(super) cwd: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) role: Text<'a>,
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    /// A string or blocks.
    pub(super) content: Raw<'a>,
    /// In version 1.
    pub(super) timestamp: When,
    pub(super) tool_calls: Vec<ToolCall<'a>>,
    pub(super) tool_call_id: Text<'a>,
    pub(super) extra: Extra<'a>,
    // With the Responses API, the message is the response, and the result of a call is an item.
    pub(super) object: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) created_at: When,
    pub(super) model: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) usage: Maybe<Usage>,
    pub(super) output: Raw<'a>,
    pub(super) call_id: Text<'a>,
}

/// An item of a response of the Responses API.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Item<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) call_id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) arguments: Raw<'a>,
    pub(super) content: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Extra<'a> {
    pub(super) response: Maybe<Response<'a>>,
    pub(super) actions: Option<Vec<Raw<'a>>>,
    pub(super) cost: Number,
    pub(super) timestamp: When,
    // The result of a command.
    pub(super) returncode: Number,
    pub(super) exception_info: Text<'a>,
    /// Why the agent was interrupted: by its own rules or by the user.
    pub(super) interrupt_type: Text<'a>,
    pub(super) exit_status: Text<'a>,
    /// The text of the exception that ended the run. In version 1 it is in `info`.
    pub(super) exception_str: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Response<'a> {
    pub(super) id: Text<'a>,
    pub(super) created: When,
    pub(super) model: Text<'a>,
    pub(super) provider: Text<'a>,
    pub(super) choices: Vec<Choice<'a>>,
    pub(super) usage: Maybe<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Choice<'a> {
    pub(super) finish_reason: Text<'a>,
}

/// Usage of chat completions, with Anthropic's cache counts beside it, or of the Responses API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) prompt_tokens: Count,
    pub(super) completion_tokens: Count,
    pub(super) prompt_tokens_details: InputDetails,
    pub(super) completion_tokens_details: OutputDetails,
    pub(super) cache_read_input_tokens: Count,
    pub(super) cache_creation_input_tokens: Count,
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) input_tokens_details: InputDetails,
    pub(super) output_tokens_details: OutputDetails,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: Count,
    pub(super) cache_creation_tokens: Count,
    pub(super) cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    pub(super) reasoning_tokens: Count,
}

impl Usage {
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let first = |counts: &[Count]| counts.iter().copied().find(|it| *it != Count::Unknown).unwrap_or_default();
        let (chat, responses) = (&self.prompt_tokens_details, &self.input_tokens_details);
        let prompt = first(&[self.prompt_tokens, self.input_tokens]);
        let output = first(&[self.completion_tokens, self.output_tokens]);
        let read = first(&[chat.cached_tokens, responses.cached_tokens, self.cache_read_input_tokens]);
        let write = first(&[
            self.cache_creation_input_tokens,
            chat.cache_creation_tokens,
            chat.cache_write_tokens,
            responses.cache_write_tokens,
        ]);
        let reasoning =
            first(&[self.completion_tokens_details.reasoning_tokens, self.output_tokens_details.reasoning_tokens]);
        damage.note_impossible(&[prompt, output, read, write, reasoning]);
        let tokens = Tokens {
            input: uncached(Included::IfTheyFit, prompt.get(), read.get(), write.get()),
            output: output.get(),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning: reasoning.get(),
        };
        tokens.unless_all_zero()
    }
}

/// How the user interrupted the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// The user rejected its commands.
    Rejection,
    /// The user stopped it.
    Stop,
    /// The user answered its submission: with a new task, or with commands.
    AfterSubmission,
}

impl<'a> Message<'a> {
    pub(super) fn time(&self) -> Option<Time> {
        self.extra.timestamp.0.or(self.timestamp.0)
    }

    /// Whether it contains a response. Of an answer in a wrong format the agent keeps the response in its complaint to the
    /// model.
    pub(super) fn is_answer(&self) -> bool {
        self.role.as_str() == "assistant" || self.object.as_str() == "response" || self.extra.response.get().is_some()
    }

    /// How the user interrupted the agent, if it states that. Up to version 1 only the text does (`agents/interactive.py`).
    pub(super) fn interrupt(&self) -> Option<Interrupt> {
        let text = self.text();
        let begins = |start: &str| text.starts_with(start);
        match self.extra.interrupt_type.as_str() {
            "UserRejection" => Some(Interrupt::Rejection),
            "UserNewTask" => Some(Interrupt::AfterSubmission),
            "UserInterruption" if begins("Switched to human mode") => Some(Interrupt::AfterSubmission),
            "" if self.role.as_str() != "user" || self.extra.returncode.0.is_some() => None,
            "" if begins("Command not executed. ") => Some(Interrupt::Rejection),
            "" if begins("Interrupted by user: ") => Some(Interrupt::Stop),
            "" if begins("The user added a new task: ") => Some(Interrupt::AfterSubmission),
            other => other.starts_with("User").then_some(Interrupt::Stop),
        }
    }

    /// Whether it is the result of a call that did not end: the submission, or one that was rejected, interrupted, or after such a one
    /// (`format_toolcall_observation_messages`, since 2.0). The next message decides which.
    pub(super) fn is_without_result(&self) -> bool {
        self.extra.exception_info.as_str() == "action was not executed"
    }

    /// Whether it has a time, so that it differs between runs.
    pub(super) fn is_unique(&self) -> bool {
        let created = self.extra.response.get().and_then(|it| it.created.0);
        self.time().or(created).or(self.created_at.0).is_some()
    }

    pub(super) fn text(&self) -> Cow<'a, str> {
        text_of(self.content)
    }
}

/// A string's text, or the first of blocks.
pub(super) fn text_of(content: Raw<'_>) -> Cow<'_, str> {
    if content.is_string() {
        return content.text();
    }
    let blocks: Vec<TextBlock<'_>> = content.read();
    blocks.into_iter().find_map(|it| it.text.into_inner()).unwrap_or_default()
}
