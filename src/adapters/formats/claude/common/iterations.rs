//! The parts of a response that its counts leave out (`docs/accounting.md#parts-of-a-response`).

use serde::Deserialize;

use crate::adapters::shared::builder::Builder;
use crate::json::fields::{Count, Text};
use crate::json::record::{Skip, record};
use crate::model::session::{Identity, Tokens};

/// A part of a response, as `usage.iterations` lists them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Iteration<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    model: Text<'a>,
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_creation: CacheCreation,
}

/// The type of an advisor's answer, which another model writes.
const ADVISOR: &str = "advisor_message";

/// The type of the request that summarises the conversation.
const COMPACTION: &str = "compaction";

/// The type of a request to the model of the response.
const MESSAGE: &str = "message";

/// The type of an answer that another model gave after one before it was declined.
const FALLBACK: &str = "fallback_message";

/// The parts of a response by `model` that are billed beside its counts, each with a name that is unique within the response: those
/// of an advisor, compactions, and the attempts that a fallback replaced, as the counts are those of the last attempt. An attempt
/// that was declined before any output is not billed. A compaction is in the counts if the `prompt`, their input and cached tokens, is
/// as large as those of compactions and messages together.
pub(super) fn billed_apart<'u, 'a>(
    iterations: &'u [Iteration<'a>],
    model: &str,
    prompt: Option<i64>,
) -> Vec<(String, &'u Iteration<'a>)> {
    let of_response = iterations.iter().filter(|it| matches!(it.kind.as_str(), MESSAGE | COMPACTION));
    let sum = of_response.filter_map(|it| it.tokens().context()).reduce(i64::saturating_add);
    let is_in_counts = |it: &Iteration<'_>| sum == prompt && it.tokens().context().unwrap_or(0) > 0;
    let is_attempt = |it: &Iteration<'_>| !matches!(it.kind.as_str(), ADVISOR | COMPACTION);
    let has_fallback = iterations.iter().any(|it| it.kind.as_str() == FALLBACK);
    let last_attempt = iterations.iter().rposition(is_attempt);
    let mut advisors = 0..;
    let name = |(index, it): (usize, &'u Iteration<'a>)| match it.kind.as_str() {
        ADVISOR => Some((format!("advisor{}", advisors.next()?), it)),
        COMPACTION if is_in_counts(it) => None,
        COMPACTION => Some((format!("compaction{index}"), it)),
        _ if Some(index) == last_attempt || it.output_tokens.get().unwrap_or(0) == 0 => None,
        _ => {
            let is_of_other = it.model.some().is_some_and(|other| other != model);
            (has_fallback || is_of_other).then(|| (format!("attempt{index}"), it))
        }
    };
    iterations.iter().enumerate().filter_map(name).collect()
}

impl Iteration<'_> {
    fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input_tokens.get(),
            output: self.output_tokens.get(),
            cache_read: self.cache_read_input_tokens.get(),
            cache_write: self.cache_creation_input_tokens.get(),
            cache_write_1h: self.cache_creation.ephemeral_1h_input_tokens.get(),
            reasoning: None,
        }
    }

    /// Adds the part as a turn of its own, under its own model. Returns the index of the turn.
    pub(super) fn add(&self, builder: &mut Builder, response: usize, identity: Identity, line: i64) -> usize {
        let response = builder.session.turns[response].clone();
        let index = builder.turn(identity, line);
        let turn = &mut builder.session.turns[index];
        turn.tokens = turn.tokens.get().max(self.tokens()).into();
        // The model of the conversation summarises it.
        let same = response.model.filter(|_| self.kind.as_str() == COMPACTION);
        turn.model = self.model.owned().or(same);
        turn.message_id = response.message_id;
        turn.request_id = response.request_id;
        turn.occurred_at = response.occurred_at;
        turn.service_tier = response.service_tier;
        turn.inference_geo = response.inference_geo;
        (turn.agent, turn.agent_id, turn.is_subagent) = (response.agent, response.agent_id, response.is_subagent);
        turn.details_mut().is_part = true;
        index
    }
}

record! {
    /// Tokens that were written to the cache, by how long it keeps them.
    pub(super) struct CacheCreation {
        "ephemeral_5m_input_tokens" => _ephemeral_5m_input_tokens: Skip,
        "ephemeral_1h_input_tokens" => pub(super) ephemeral_1h_input_tokens: Count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn parts_that_the_counts_leave_out_are_billed_apart() {
        let part = |kind: &str, model: &str, output: u32| {
            format!(r#"{{"type":"{kind}","model":"{model}","input_tokens":7,"output_tokens":{output}}}"#)
        };
        let without_model = r#"{"type":"compaction","input_tokens":7,"output_tokens":3}"#.to_owned();
        for (parts, expected) in [
            (vec![part("message", "m", 5)], vec![]),
            (vec![part("message", "m", 5), part("message", "m", 6)], vec![]),
            (vec![part("message", "other", 5), part("fallback_message", "m", 6)], vec!["attempt0"]),
            // Declined before any output.
            (vec![part("message", "other", 0), part("fallback_message", "m", 6)], vec![]),
            (
                vec![part("message", "a", 1), part("fallback_message", "b", 2), part("fallback_message", "m", 6)],
                vec!["attempt0", "attempt1"],
            ),
            (vec![part("declined", "other", 5), part("message", "m", 6)], vec!["attempt0"]),
            (vec![without_model, part("message", "m", 6)], vec!["compaction0"]),
            (vec![part("message", "m", 6), part("advisor_message", "a", 9)], vec!["advisor0"]),
        ] {
            let json = format!("[{}]", parts.join(","));
            let iterations: Vec<Iteration<'_>> = json::from_slice(json.as_bytes()).unwrap();
            let names: Vec<String> =
                billed_apart(&iterations, "m", Some(7)).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, expected, "{json}");
        }
    }
}
