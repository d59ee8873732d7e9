//! The counts of `cn`: those of its answers, and the sums of the session.
//!
//! Each adds its API's own numbers to the sums. Anthropic's prompts exclude cached tokens; those of OpenAI include them, and so do
//! those of the AI SDK. Only `cache_read_tokens`, of Anthropic and the AI SDK, reach the sum of cached tokens. If the sums have cached
//! tokens and an answer states no details, the part of its prompt that was cached is known for the session only.

use super::records::{SessionUsage, Usage};
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::usage::{Included, beyond, uncached};
use crate::json::fields::Count;
use crate::model::session::{Tokens, add};

/// The counts of the answers of a session.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The sum of their tokens.
    tokens: Tokens,
    /// The same as the sums of the session count it.
    prompt: i64,
    completion: i64,
    cache_read: i64,
    cache_write: i64,
    /// Whether the sums have cached tokens.
    has_cached: bool,
    /// Whether prompts exclude cached tokens, as far as answers show it.
    excludes: Option<bool>,
}

impl Counts {
    pub(super) fn new(sums: Option<&SessionUsage>) -> Self {
        let cached = |sums: &SessionUsage| {
            let details = &sums.prompt_tokens_details;
            add(details.cached_tokens.get(), details.cache_write_tokens.get())
        };
        Self { has_cached: sums.and_then(cached).unwrap_or(0) > 0, ..Self::default() }
    }

    /// Adds the usage of an answer. Returns its tokens.
    pub(super) fn add(&mut self, usage: &Usage<'_>, model: Option<&str>, damage: &mut RecordErrors) -> Tokens {
        let details = &usage.prompt_tokens_details;
        let reasoning = usage.completion_tokens_details.reasoning_tokens;
        let counts = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens, reasoning];
        damage.note_impossible(&counts);
        damage.note_impossible(&[details.cached_tokens, details.cache_read_tokens, details.cache_write_tokens]);
        let [prompt, completion, total, reasoning] = counts.map(Count::get);
        if prompt == Some(0) && completion == Some(0) {
            return Tokens::UNKNOWN;
        }
        let excludes = details.cache_read_tokens.get().map(|_| !is_of_sdk(model));
        let read = details.cache_read_tokens.get().or(details.cached_tokens.get());
        let write = details.cache_write_tokens.get();
        let counted = prompt.filter(|_| read.is_some() || !self.has_cached);
        let input = input(excludes == Some(true), counted, read, write);
        let apart = if input == prompt { [read, write] } else { [None; 2] };
        let beyond = beyond(total, prompt, completion, apart);
        let tokens = Tokens {
            input,
            output: completion.map(|count| count + beyond.unwrap_or(0)),
            cache_read: read,
            cache_write: write,
            reasoning: beyond.or(reasoning),
            ..Tokens::UNKNOWN
        };
        self.excludes = self.excludes.max(excludes);
        self.prompt += counted.unwrap_or(0);
        self.completion += completion.unwrap_or(0);
        self.cache_read += details.cache_read_tokens.get().unwrap_or(0);
        self.cache_write += write.unwrap_or(0);
        self.tokens = self.tokens.plus(tokens);
        tokens
    }

    /// The tokens of the session: those of its answers, and what the sums contain beyond them.
    pub(super) fn of_session(&self, usage: &SessionUsage, model: Option<&str>, damage: &mut RecordErrors) -> Tokens {
        let details = &usage.prompt_tokens_details;
        let counts = [usage.prompt_tokens, usage.completion_tokens, details.cached_tokens, details.cache_write_tokens];
        damage.note_impossible(&counts);
        let [prompt, completion, read, write] = counts.map(Count::get);
        let rest = |sum: Option<i64>, known: i64| sum.map(|sum| sum - known);
        let (prompt, completion) = (rest(prompt, self.prompt), rest(completion, self.completion));
        let (read, write) = (rest(read, self.cache_read), rest(write, self.cache_write));
        // Without details in an answer the name of the model decides.
        let is_claude = || model.is_some_and(|name| name.to_ascii_lowercase().contains("claude"));
        let excludes = self.excludes.unwrap_or_else(|| is_claude() && !is_of_sdk(model));
        Tokens {
            input: input(excludes, prompt, read, write).and_then(|input| add(self.tokens.input, Some(input))),
            output: completion.and_then(|output| add(self.tokens.output, Some(output))),
            cache_read: add(self.tokens.cache_read, read),
            cache_write: add(self.tokens.cache_write, write),
            ..Tokens::UNKNOWN
        }
    }
}

/// The part of a prompt that is neither read from the cache nor written to it.
fn input(excludes: bool, prompt: Option<i64>, read: Option<i64>, write: Option<i64>) -> Option<i64> {
    if excludes { prompt } else { uncached(Included::IfTheyFit, prompt, read, write) }
}

/// Whether a model is one of the AI SDK, which Continue names `PROVIDER/MODEL`.
fn is_of_sdk(model: Option<&str>) -> bool {
    model.is_some_and(|model| model.contains('/'))
}
