//! Counts of tokens: of one request, and running totals of a session.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Text};
use crate::model::session::{ModelTotal, Tokens, Total, TotalKind};

/// The usage of a request, or of a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Usage<'a> {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    /// Of a request.
    cache_creation_input_tokens: Count,
    /// Of a session.
    cache_creation: Maybe<CacheCreation>,
    pub(super) speed: Text<'a>,
    list_cost: Maybe<Amount<'a>>,
    server_tool_use: Maybe<ServerToolUse>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CacheCreation {
    ephemeral_1h_input_tokens: Count,
    ephemeral_5m_input_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Amount<'a> {
    amount: Raw<'a>,
    currency: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServerToolUse {
    web_search_requests: Count,
}

impl Usage<'_> {
    /// The counts, which are disjoint. Zeros beside an answer are unknown.
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let none = CacheCreation::default();
        let creation = self.cache_creation.get().unwrap_or(&none);
        let (hour, minutes) = (creation.ephemeral_1h_input_tokens, creation.ephemeral_5m_input_tokens);
        let counts = [self.input_tokens, self.output_tokens, self.cache_read_input_tokens];
        damage.note_impossible(&counts);
        damage.note_impossible(&[self.cache_creation_input_tokens, hour, minutes]);
        let [input, output, cache_read] = counts.map(Count::get);
        let parts = hour.get().into_iter().chain(minutes.get()).reduce(|sum, count| sum + count);
        let cache_write = self.cache_creation_input_tokens.get().or(parts);
        let cache_write_1h = hour.get().filter(|hour| cache_write.is_some_and(|all| *hour <= all));
        let tokens = Tokens { input, output, cache_read, cache_write, cache_write_1h, reasoning: None };
        tokens.unless_all_zero()
    }

    /// The cost at list prices, in US dollars.
    fn cost(&self) -> Option<f64> {
        let amount = self.list_cost.get()?;
        if amount.currency.some().is_some_and(|currency| currency != "USD") {
            return None;
        }
        let text = amount.amount.text();
        // A whole number is one of cents. Until 2026-08-04 the amounts were dollars, such as `0.02`.
        let units = if text.contains('.') { 1.0 } else { 100.0 };
        Number(text.parse::<f64>().ok().map(|number| number / units)).money()
    }

    /// The usage as a total of the session. It contains all threads, and the grader.
    pub(super) fn total(&self, key: String, damage: &mut RecordErrors) -> Option<Total> {
        let tokens = self.tokens(damage);
        tokens.total()?;
        let cost = self.cost();
        let web_searches = self.server_tool_use.get().and_then(|used| used.web_search_requests.get());
        let none = Some(0);
        Some(Total {
            key,
            kind: TotalKind::Process,
            cost,
            models: vec![ModelTotal { tokens, web_searches, cost, ..ModelTotal::default() }],
            covers_subagents: true,
            // It is that of the session, so that any larger one contains it.
            own: Tokens { input: none, output: none, cache_read: none, cache_write: none, ..Tokens::UNKNOWN },
            ..Total::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn usage(text: &str) -> Usage<'_> {
        json::from_slice(text.as_bytes()).unwrap()
    }

    #[test]
    fn amounts_are_cents_unless_they_have_a_point() {
        for (amount, expected) in [
            (r#"{"amount":"1079","currency":"USD"}"#, Some(10.79)),
            (r#"{"amount":"0.02","currency":"USD"}"#, Some(0.02)),
            (r#"{"amount":"3","currency":"EUR"}"#, None),
            (r#"{"amount":"-3"}"#, None),
            (r#"{"amount":"x"}"#, None),
            ("null", None),
        ] {
            assert_eq!(usage(&format!(r#"{{"list_cost":{amount}}}"#)).cost(), expected, "{amount}");
        }
    }

    #[test]
    fn writes_are_those_of_both_lifetimes() {
        let damage = &mut RecordErrors::default();
        let total = usage(
            r#"{"output_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":2,"ephemeral_5m_input_tokens":5}}"#,
        );
        let tokens = total.tokens(damage);
        assert_eq!((tokens.cache_write, tokens.cache_write_1h), (Some(7), Some(2)));
        let request = usage(r#"{"input_tokens":2,"output_tokens":1,"cache_creation_input_tokens":4}"#).tokens(damage);
        assert_eq!((request.input, request.cache_write, request.cache_write_1h), (Some(2), Some(4), None));
        assert_eq!(usage(r#"{"input_tokens":0,"output_tokens":0}"#).tokens(damage), Tokens::UNKNOWN);
    }
}
