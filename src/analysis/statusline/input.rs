//! What Claude Code writes to the standard input of a status line command.

use std::io::{BufReader, Read};
use std::path::PathBuf;

use serde_json::Value;

use crate::base::time::Time;

/// Claude Code writes a few kilobytes.
const LONGEST: u64 = 1 << 20;

/// What Claude Code states about the session. Versions differ in their fields, so that each of them may be missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The id of the session.
    pub session_id: Option<String>,
    /// The log of the session.
    pub transcript: Option<PathBuf>,
    /// The name of the model for people, else its id.
    pub model: Option<String>,
    /// The cost of the session, as Claude Code estimates it.
    pub cost_usd: Option<f64>,
    /// The used part of the model's context window, in percent.
    pub context_percent: Option<f64>,
    /// The size of the last request.
    pub context_tokens: Option<i64>,
    /// The size of the model's context window.
    pub context_window: Option<i64>,
    /// The window of five hours of the subscription's limit.
    pub five_hour: Option<Limit>,
    /// The week of the subscription's limit.
    pub seven_day: Option<Limit>,
}

/// The state of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The used part in percent.
    pub used_percent: f64,
    /// When it resets.
    pub resets_at: Option<Time>,
}

impl Input {
    /// Reads the first JSON value; `None` without one. It does not wait for the end of the stream.
    pub fn read(stream: impl Read) -> Option<Self> {
        let stream = BufReader::new(stream.take(LONGEST));
        let value: Value = serde_json::Deserializer::from_reader(stream).into_iter().next()?.ok()?;
        value.is_object().then(|| Self::of(&value))
    }

    fn of(value: &Value) -> Self {
        let text = |path: &str| Some(value.pointer(path)?.as_str()?.to_owned()).filter(|text| !text.is_empty());
        let number = |path: &str| value.pointer(path)?.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
        let tokens = |path: &str| value.pointer(path)?.as_i64().filter(|tokens| *tokens >= 0);
        let limit = |name: &str| {
            let resets_at = value.pointer(&format!("/rate_limits/{name}/resets_at"));
            Some(Limit {
                used_percent: number(&format!("/rate_limits/{name}/used_percentage"))?,
                resets_at: resets_at.and_then(|time| match time.as_str() {
                    Some(text) => Time::parse(text),
                    None => Time::from_number(time.as_f64()?),
                }),
            })
        };
        let usage = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        let usage = usage.map(|name| tokens(&format!("/context_window/current_usage/{name}")));
        Self {
            session_id: text("/session_id"),
            transcript: text("/transcript_path").map(PathBuf::from),
            model: text("/model/display_name").or_else(|| text("/model/id")),
            cost_usd: number("/cost/total_cost_usd"),
            context_percent: number("/context_window/used_percentage"),
            context_tokens: usage.into_iter().flatten().reduce(i64::saturating_add),
            context_window: tokens("/context_window/context_window_size").filter(|size| *size > 0),
            five_hour: limit("five_hour"),
            seven_day: limit("seven_day"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_may_be_missing_or_have_another_type() {
        assert_eq!(Input::read(&b""[..]), None);
        assert_eq!(Input::read(&b"[1]"[..]), None);
        assert_eq!(Input::read(&b"{\"session_id\":\"a\""[..]), None);
        assert_eq!(Input::read(&b"{}"[..]), Some(Input::default()));
        let wrong = br#"{"session_id":7,"model":"x","cost":{"total_cost_usd":"1"},"context_window":null,
            "rate_limits":{"five_hour":{"used_percentage":-1,"resets_at":{}}}}"#;
        assert_eq!(Input::read(&wrong[..]), Some(Input::default()));
    }

    #[test]
    fn the_fields_of_a_new_version() {
        let text = br#"{"session_id":"a","transcript_path":"/t.jsonl","model":{"id":"claude-opus-4-5","display_name":"Opus 4.5"},
            "cost":{"total_cost_usd":1.5},"context_window":{"context_window_size":200000,"used_percentage":31.4,
            "current_usage":{"input_tokens":10,"output_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":30}},
            "rate_limits":{"five_hour":{"used_percentage":42,"resets_at":1790000000},"seven_day":{"used_percentage":7}}} rest"#;
        let input = Input::read(&text[..]).unwrap();
        assert_eq!(input.model.as_deref(), Some("Opus 4.5"));
        assert_eq!(
            (input.context_percent, input.context_tokens, input.context_window),
            (Some(31.4), Some(60), Some(200_000))
        );
        let resets_at = Time::from_number(1_790_000_000.0);
        assert_eq!(input.five_hour, Some(Limit { used_percent: 42.0, resets_at }));
        assert_eq!(input.seven_day, Some(Limit { used_percent: 7.0, resets_at: None }));
    }

    /// A pipe that stays open does not block the line.
    #[test]
    fn the_end_of_the_stream_is_not_awaited() {
        struct Open(bool);
        impl Read for Open {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                assert!(!std::mem::replace(&mut self.0, true), "read again");
                let text = b"{\"session_id\":\"a\"}\n";
                buffer[..text.len()].copy_from_slice(text);
                Ok(text.len())
            }
        }
        assert_eq!(Input::read(Open(false)).unwrap().session_id.as_deref(), Some("a"));
    }
}
