//! The usage of a request, whose sum decides what its counts include.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::usage::{Included, uncached};
use crate::json::fields::{Count, Number};
use crate::model::session::Tokens;

/// The usage of a request.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    total_tokens: Count,
    input_tokens_cache_read: Count,
    input_tokens_cache_write: Count,
    reasoning_tokens: Count,
    /// In US dollars.
    pub(super) total_cost: Number,
}

impl Usage {
    /// The counts, made disjoint. Input includes cached tokens in OpenAI's and older versions, and output excludes reasoning in
    /// Gemini's: of these conventions the one whose sum is the total applies. Without a total it is the documented one: cached
    /// tokens are outside, and reasoning inside.
    pub(super) fn tokens(self, damage: &mut RecordErrors) -> Tokens {
        let (read, write) = (self.input_tokens_cache_read, self.input_tokens_cache_write);
        damage.note_impossible(&[
            self.input_tokens,
            self.output_tokens,
            self.total_tokens,
            read,
            write,
            self.reasoning_tokens,
        ]);
        let (input, output) = (self.input_tokens.get(), self.output_tokens.get());
        let cached = read.get().unwrap_or(0) + write.get().unwrap_or(0);
        let reasoning = self.reasoning_tokens.get();
        let counted = input.unwrap_or(0) + output.unwrap_or(0);
        let outside = reasoning.unwrap_or(0);
        let total = self.total_tokens.get();
        // Each convention: whether cached tokens are inside of the input, and reasoning outside of the output.
        let conventions = [(true, false), (false, false), (true, true), (false, true)];
        let sum = |(is_inside, is_outside): (bool, bool)| {
            counted + if is_inside { 0 } else { cached } + if is_outside { outside } else { 0 }
        };
        let fits = |convention: &(bool, bool)| total == Some(sum(*convention));
        let (is_inside, is_outside) = conventions.into_iter().find(fits).unwrap_or((false, false));
        let without = if is_inside { uncached(Included::IfTheyFit, input, read.get(), write.get()) } else { input };
        let tokens = Tokens {
            input: without,
            output: output.map(|count| if is_outside { count + outside } else { count }),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning,
        };
        tokens.unless_all_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn the_total_decides_what_is_included() {
        let of = |json: &str| {
            let usage: Usage = json::from_slice(json.as_bytes()).unwrap();
            let tokens = usage.tokens(&mut RecordErrors::default());
            (tokens.input, tokens.cache_read, tokens.output, tokens.reasoning)
        };
        // OpenAI until 2025: cached tokens are a part of the input.
        let openai = r#"{"input_tokens":100,"output_tokens":20,"total_tokens":120,"input_tokens_cache_read":90,"reasoning_tokens":5}"#;
        assert_eq!(of(openai), (Some(10), Some(90), Some(20), Some(5)));
        let anthropic = r#"{"input_tokens":10,"output_tokens":20,"total_tokens":120,"input_tokens_cache_read":90}"#;
        assert_eq!(of(anthropic), (Some(10), Some(90), Some(20), None));
        // Gemini: reasoning is not a part of the output.
        let gemini = r#"{"input_tokens":100,"output_tokens":20,"total_tokens":170,"input_tokens_cache_read":40,"reasoning_tokens":50}"#;
        assert_eq!(of(gemini), (Some(60), Some(40), Some(70), Some(50)));
        let both = r#"{"input_tokens":60,"output_tokens":20,"total_tokens":170,"input_tokens_cache_read":40,"reasoning_tokens":50}"#;
        assert_eq!(of(both), (Some(60), Some(40), Some(70), Some(50)));
        let unknown = r#"{"input_tokens":60,"output_tokens":20,"input_tokens_cache_read":40}"#;
        assert_eq!(of(unknown), (Some(60), Some(40), Some(20), None));
        assert_eq!(of(r#"{"input_tokens":0,"output_tokens":0,"total_tokens":0}"#), (None, None, None, None));
    }
}
