//! The usage of a message: counts with the names of pi, or with those of a provider, and the cost.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::builder::money;
use crate::adapters::shared::usage::{Included, uncached};
use crate::json::fields::{Count, Maybe, Number};
use crate::json::record::{Skip, record};
use crate::model::session::{Cost, CostParts, Tokens};

record! {
    /// Usage with the names of pi, whose counts are disjoint, or with those of a provider, which openclaw's runtimes write. The names are
    /// those of openclaw's `normalizeUsage` (2026.9).
    pub(crate) struct Usage {
        "input" => input: Count,
        "output" => output: Count,
        "cacheRead" => cache_read: Count,
        "cacheWrite" => cache_write: Count,
        "reasoning" => reasoning: Count,
        "totalTokens" => _total_tokens: Skip,
        "cost" => cost: Maybe<Price>,
        "cacheWrite1h" => cache_write_1h: Count,
        "reasoningTokens" => reasoning_tokens: Count,
        "input_tokens" => input_tokens: Count,
        "output_tokens" => output_tokens: Count,
        "cache_read_input_tokens" => cache_read_input_tokens: Count,
        "cache_creation_input_tokens" => cache_creation_input_tokens: Count,
        "inputTokens" => input_tokens_in_camel_case: Count,
        "outputTokens" => output_tokens_in_camel_case: Count,
        "promptTokens" => prompt_tokens_in_camel_case: Count,
        "completionTokens" => completion_tokens_in_camel_case: Count,
        "prompt_tokens" => prompt_tokens: Count,
        "completion_tokens" => completion_tokens: Count,
        "cache_read" => cache_read_in_snake_case: Count,
        "cache_write" => cache_write_in_snake_case: Count,
        "cached_tokens" => cached_tokens: Count,
        "cached_input_tokens" => cached_input_tokens: Count,
        "cached" => cached: Count,
        "cache_write_input_tokens" => cache_write_input_tokens: Count,
        "reasoning_tokens" => reasoning_tokens_in_snake_case: Count,
        "input_tokens_details" => input_details: Maybe<InputDetails>,
        "prompt_tokens_details" => prompt_details: Maybe<InputDetails>,
        "output_tokens_details" => output_details: Maybe<OutputDetails>,
        "completion_tokens_details" => completion_details: Maybe<OutputDetails>,
        "prompt_n" => prompt_n: Count,
        "predicted_n" => predicted_n: Count,
        "timings" => timings: Maybe<Timings>,
    }
}

/// Parts of the input, as OpenAI counts them.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
    cache_creation_input_tokens: Count,
}

/// Parts of the output, as OpenAI counts them.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
    thinking_tokens: Count,
}

/// What llama.cpp processed.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Timings {
    prompt_n: Count,
    predicted_n: Count,
}

record! {
    struct Price {
        "input" => input: Number,
        "output" => output: Number,
        "cacheRead" => cache_read: Number,
        "cacheWrite" => cache_write: Number,
        "total" => total: Number,
    }
}

/// Whether one of the counts is known.
fn is_any_known(names: &[Count]) -> bool {
    names.iter().any(|count| count.get().is_some())
}

/// Whether a count is above 0.
fn is_positive(count: Count) -> bool {
    count.get().is_some_and(|count| count > 0)
}

/// The count of several names. The first one that is above 0: an object may have zeros under the names of pi beside the counts of a
/// provider, and versions of openclaw chose so, too.
fn count(names: &[Count], damage: &mut RecordErrors) -> Option<i64> {
    damage.note_impossible(names);
    let known = || names.iter().filter_map(|count| count.get());
    known().find(|count| *count > 0).or_else(|| known().next())
}

impl Usage {
    /// The disjoint counts.
    pub(crate) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let prompts = [&self.prompt_details, &self.input_details].map(|it| it.get().copied().unwrap_or_default());
        let answers = [&self.completion_details, &self.output_details].map(|it| it.get().copied().unwrap_or_default());
        let ([prompt, input], [completion, output]) = (prompts, answers);
        let timings = self.timings.get().copied().unwrap_or_default();
        let cached_of_openai = [self.cached_tokens, input.cached_tokens, prompt.cached_tokens];
        let cached_of_programs = [self.cached_input_tokens, self.cached];
        let written_of_openai = [
            self.cache_write_input_tokens,
            input.cache_write_tokens,
            prompt.cache_write_tokens,
            prompt.cache_creation_input_tokens,
        ];
        let [cached, input_cached, prompt_cached] = cached_of_openai;
        let reads = [
            self.cache_read,
            self.cache_read_in_snake_case,
            self.cache_read_input_tokens,
            self.cached_input_tokens,
            self.cached,
            cached,
            input_cached,
            prompt_cached,
        ];
        let [written, input_written, prompt_written, prompt_created] = written_of_openai;
        let writes = [
            self.cache_write,
            self.cache_write_in_snake_case,
            self.cache_creation_input_tokens,
            written,
            input_written,
            prompt_written,
            prompt_created,
        ];
        let inputs = [
            self.input,
            self.input_tokens_in_camel_case,
            self.input_tokens,
            self.prompt_tokens_in_camel_case,
            self.prompt_tokens,
            self.prompt_n,
            timings.prompt_n,
        ];
        let outputs = [
            self.output,
            self.output_tokens_in_camel_case,
            self.output_tokens,
            self.completion_tokens_in_camel_case,
            self.completion_tokens,
            self.predicted_n,
            timings.predicted_n,
        ];
        let reasoning = [
            self.reasoning,
            self.reasoning_tokens,
            self.reasoning_tokens_in_snake_case,
            completion.reasoning_tokens,
            output.reasoning_tokens,
            output.thinking_tokens,
        ];
        let (cache_read, cache_write) = (count(&reads, damage), count(&writes, damage));
        damage.note_impossible(&[self.cache_write_1h]);
        // Which names mean a part of the input, as openclaw reads them. Under pi's own names the counts are always disjoint.
        let is_of_pi = is_positive(self.input);
        let has_read = !is_of_pi && is_any_known(&cached_of_programs)
            || !(is_of_pi && is_positive(self.cache_read)) && is_any_known(&cached_of_openai);
        let has_written = !is_of_pi && is_any_known(&written_of_openai);
        let (read, written) = (cache_read.filter(|_| has_read), cache_write.filter(|_| has_written));
        Tokens {
            // Some providers leave out what was cached: then it may be more than the input.
            input: uncached(Included::IfTheyFit, count(&inputs, damage), read, written),
            output: count(&outputs, damage),
            cache_read,
            cache_write,
            cache_write_1h: self.cache_write_1h.get(),
            reasoning: count(&reasoning, damage),
        }
    }

    pub(crate) fn cost(&self, damage: &mut RecordErrors) -> Option<Cost> {
        let price = self.cost.get()?;
        let parts = match (price.input.money(), price.output.money()) {
            (Some(input), Some(output)) => Some(CostParts {
                input,
                output,
                cache_read: price.cache_read.money().unwrap_or(0.0),
                cache_write: price.cache_write.money().unwrap_or(0.0),
                web_search: 0.0,
            }),
            _ => None,
        };
        Some(Cost { total: money(price.total, damage)?, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    /// Input, output, cache reads and cache writes.
    fn kinds(usage: &str) -> [Option<i64>; 4] {
        let usage: Usage = json::from_slice(usage.as_bytes()).unwrap();
        usage.tokens(&mut RecordErrors::default()).kinds()
    }

    #[test]
    fn counts_of_providers_are_made_disjoint() {
        let read = [Some(400), Some(50), Some(600), None];
        let both = [Some(300), Some(50), Some(600), Some(100)];
        for (usage, expected) in [
            (
                r#"{"input":400,"output":50,"cacheRead":600,"cacheWrite":100}"#,
                [Some(400), Some(50), Some(600), Some(100)],
            ),
            (r#"{"input":400,"output":50,"cacheRead":600,"cached_tokens":600,"prompt_tokens":1000}"#, read),
            (r#"{"input_tokens":400,"output_tokens":50,"cache_read_input_tokens":600}"#, read),
            (r#"{"prompt_tokens":1000,"completion_tokens":50,"cached_tokens":600,"total_tokens":1050}"#, read),
            (r#"{"prompt_tokens":1000,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":600}}"#, read),
            (r#"{"input_tokens":1000,"output_tokens":50,"input_tokens_details":{"cached_tokens":600}}"#, read),
            (r#"{"input_tokens":1000,"output_tokens":50,"cached_input_tokens":600}"#, read),
            (r#"{"inputTokens":1000,"outputTokens":50,"cached":600}"#, read),
            (r#"{"input":400,"output":50,"cached":600}"#, read),
            (
                r#"{"prompt_tokens":1000,"completion_tokens":50,"cache_read_input_tokens":600,"prompt_tokens_details":{"cached_tokens":600}}"#,
                read,
            ),
            (
                r#"{"input_tokens":1000,"output_tokens":50,"input_tokens_details":{"cached_tokens":600,"cache_write_tokens":100}}"#,
                both,
            ),
            (
                r#"{"input_tokens":1000,"output_tokens":50,"cached_input_tokens":600,"cache_write_input_tokens":100}"#,
                both,
            ),
            // The provider left the cached tokens out of the prompt.
            (r#"{"prompt_tokens":400,"completion_tokens":50,"cached_tokens":600}"#, read),
            (
                r#"{"input":0,"output":0,"cacheRead":0,"prompt_tokens":1000,"completion_tokens":50,"cached_tokens":600}"#,
                read,
            ),
            (r#"{"timings":{"prompt_n":1000,"predicted_n":50}}"#, [Some(1000), Some(50), None, None]),
            (
                r#"{"prompt_tokens":1000,"completion_tokens":50,"prompt_tokens_details":7}"#,
                [Some(1000), Some(50), None, None],
            ),
        ] {
            assert_eq!(kinds(usage), expected, "{usage}");
        }
    }
}
