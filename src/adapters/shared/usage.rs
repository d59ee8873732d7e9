//! Usage objects that a record may lack, or have in a form that cannot be read, and what follows from their counts.

use crate::adapters::engine::RecordErrors;
use crate::base::text::Symbol;
use crate::json::fields::Maybe;
use crate::model::health::Reason;
use crate::model::session::{ModelTotal, Tokens};

/// The usage of a record, if it has one. A value of another type is counted as [`Reason::NoUsage`].
pub fn present<'m, T>(usage: &'m Maybe<T>, damage: &mut RecordErrors) -> Option<&'m T> {
    match usage {
        Maybe::Present(usage) => Some(usage),
        Maybe::Absent => None,
        Maybe::Wrong => {
            damage.note(Reason::NoUsage);
            None
        }
    }
}

/// Adds tokens to the total of their model.
pub fn spend(spent: &mut Vec<ModelTotal>, model: Option<Symbol>, tokens: Tokens) {
    if let Some(known) = spent.iter_mut().find(|it| it.model == model) {
        known.tokens = known.tokens.plus(tokens);
    } else {
        spent.push(ModelTotal { model, tokens, ..ModelTotal::default() });
    }
}

/// When the input of a log that includes cached tokens includes them: what more cached tokens than input mean. Each runtime has
/// the rule that its logs or its source show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Included {
    /// Always. A part cannot exceed the whole: if it does, nothing of the input is uncached.
    Always,
    /// If reads and writes together are not more than the input. Otherwise the provider counts them apart from it.
    IfTheyFit,
    /// As [`Included::IfTheyFit`], but if only the reads fit, the input includes these.
    EachIfItFits,
}

/// The part of the input that is neither read from a cache nor written to one, by the rule of the runtime.
pub fn uncached(rule: Included, input: Option<i64>, read: Option<i64>, write: Option<i64>) -> Option<i64> {
    let input = input?;
    let read = read.unwrap_or(0);
    let cached = read + write.unwrap_or(0);
    Some(match rule {
        Included::Always => (input - cached).max(0),
        Included::IfTheyFit | Included::EachIfItFits if cached <= input => input - cached,
        Included::EachIfItFits if read <= input => input - read,
        Included::IfTheyFit | Included::EachIfItFits => input,
    })
}

/// The thoughts that the output does not include: all of them, unless the total is the sum of input and output without them. The total
/// of Gemini's API also contains the tokens of tools, which no other count does.
pub fn thoughts_beside(
    thoughts: Option<i64>,
    total: Option<i64>,
    input: Option<i64>,
    output: Option<i64>,
    tool: Option<i64>,
) -> Option<i64> {
    let sum = input.zip(output).map(|(input, output)| input + output);
    let is_complete = sum.is_some_and(|sum| total == Some(sum) || total == Some(sum + tool.unwrap_or(0)));
    thoughts.filter(|_| !is_complete)
}

/// What a total contains beyond input and output: reasoning. `apart` are cached tokens that the input does not include, reads and
/// writes; a total may include both or one of them. `None` if nothing is beyond them, or a count is unknown.
pub fn beyond(total: Option<i64>, input: Option<i64>, output: Option<i64>, apart: [Option<i64>; 2]) -> Option<i64> {
    let [read, write] = apart.map(|count| count.unwrap_or(0));
    let more = total?.saturating_sub(input?.saturating_add(output?));
    let more = match more {
        _ if more == write => 0,
        _ if more >= read + write => more - read - write,
        _ if more >= read => more - read,
        _ => more,
    };
    (more > 0).then_some(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_a_total_is_reasoning_and_not_the_cache() {
        for (total, input, output, apart, expected) in [
            (Some(130), Some(100), Some(20), [None, None], Some(10)),
            (Some(120), Some(100), Some(20), [None, None], None),
            (Some(110), Some(100), Some(20), [None, None], None),
            // The total includes the cached tokens that the input does not, or not.
            (Some(1120), Some(100), Some(20), [Some(1000), None], None),
            (Some(1130), Some(100), Some(20), [Some(1000), None], Some(10)),
            (Some(130), Some(100), Some(20), [Some(1000), None], Some(10)),
            // It includes reads, writes or both.
            (Some(1120), Some(100), Some(20), [Some(1000), Some(50)], None),
            (Some(170), Some(100), Some(20), [Some(1000), Some(50)], None),
            (Some(1180), Some(100), Some(20), [Some(1000), Some(50)], Some(10)),
            (Some(180), Some(100), Some(20), [Some(1000), Some(50)], Some(60)),
            (None, Some(100), Some(20), [None, None], None),
            (Some(130), None, Some(20), [None, None], None),
            (Some(130), Some(100), None, [None, None], None),
        ] {
            assert_eq!(beyond(total, input, output, apart), expected);
        }
    }

    #[test]
    fn more_cached_tokens_than_input_follow_the_rule() {
        let of = |input, read, write| {
            [Included::Always, Included::IfTheyFit, Included::EachIfItFits]
                .map(|rule| uncached(rule, Some(input), Some(read), Some(write)))
        };
        assert_eq!(of(100, 60, 30), [Some(10); 3]);
        assert_eq!(of(100, 60, 50), [Some(0), Some(100), Some(40)]);
        assert_eq!(of(100, 110, 0), [Some(0), Some(100), Some(100)]);
    }

    #[test]
    fn unknown_counts_remain_unknown() {
        assert_eq!(uncached(Included::Always, None, Some(1), None), None);
        assert_eq!(uncached(Included::Always, Some(7), None, None), Some(7));
    }
}
