//! Requests of a run of GitHub Agentic Workflows: `token-usage.jsonl` of the proxy between the agent and its provider
//! (docs/formats/gh_aw.md#gh-aw-token-usage).
//!
//! The rules are those of the proxy's source, `containers/api-proxy` of github/gh-aw-firewall, and of its JSON schema:
//!
//! - A record is a request that was answered with usage. Failed requests make no record.
//! - Counts are those of the provider. Anthropic's input excludes its caches; that of others includes cached tokens, unless the
//!   record has cache writes, or a flag states it: Copilot's split of the counts excludes both.
//! - The same records are in several directories of a run. `request_id` is the proxy's own.
//! - Credits are no dollars: the cost is unknown.
//!
//! # `gh-aw-token-usage`
//!
//! `token-usage.jsonl` of GitHub Agentic Workflows, also `usage/agent/token_usage.jsonl` of its artifacts: the proxy between the
//! agent and its provider writes a record for each request. Recognised by `event` `token_usage` or `_schema` `token-usage/…`, with
//! `provider`, `model` and counts. From the proxy's source and JSON schema, 0.26 to 0.28; no recorded file was at hand.
//!
//! | what | from |
//! | --- | --- |
//! | session | a hash of the first `request_id`: the proxy knows no session |
//! | turn | each `request_id`, once: the same records are in several directories of a run |
//! | input | `input_tokens` of the provider. Anthropic's (`provider` `anthropic`, `path` `/v1/messages`) exclude both caches, and so do those of Copilot in its newer split of the counts. Others include cached tokens. `input_tokens_include_cache` decides where it is; else a record with cache writes, or with more cached tokens than input, shows that the input of its provider excludes them |
//! | output, reasoning | `output_tokens`, which include `reasoning_tokens`; a reasoning of 0 is unknown |
//! | model, provider | as logged, except `unknown` |
//! | request duration | `duration_ms` |
//!
//! *Exact*: all requests that were answered with usage, also those for titles and summaries, which agents do not log. *Unknown*:
//! cost, as credits are not dollars; calls, prompts, and how the agent ended.
//!
//! *A view of another session.* The file `aw_info.json` in a directory around a log names its run. The requests belong to the
//! session of that run at the same time which no other session started; without `aw_info.json`, to a session whose first three
//! responses have the same sizes. What they have beyond that session's responses is a row of grain `session`, unless its own log
//! states a total. If there are several such sessions, and one has counts, the proxy's are dropped; if none is there, the requests
//! are a
//! session of their own, of the runtime `gh-aw`. `aw_info.json` and `agent_usage.json` are `auxiliary`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Number, Text, When};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, Identity, SessionResult, Status, Tokens};
use crate::model::trial::TrialResult;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "gh-aw-token-usage",
    runtime: "gh-aw",
    about: "GitHub Agentic Workflows, token-usage.jsonl of the proxy",
    tested: Some("0.28.7"),
    capabilities: Capabilities::TURNS.and(Capabilities::PROXIED),
    places: &[],
    claims: |probe| {
        let is_usage = probe.text("event") == "token_usage" || probe.text("_schema").starts_with("token-usage/");
        8 * u32::from(is_usage && probe.has_all(&["provider", "model", "input_tokens", "output_tokens"]))
    },
    parse: fold::<Requests>,
};

/// Whether a document describes a run, or contains sums of its requests.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    is_run(probe) || probe.has_all(&["ai_credits", "input_tokens", "primary_model"])
}

fn is_run(probe: &Probe<'_>) -> bool {
    probe.has_all(&["engine_id", "workflow_name"])
}

/// The run whose directory contains this file, `aw_info.json`: the logs around it are those of one run.
pub(crate) fn run_of(bytes: &[u8]) -> Option<TrialResult> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Run<'a> {
        repository: Text<'a>,
        run_id: Raw<'a>,
        run_attempt: Raw<'a>,
    }
    let bytes = bytes.trim_ascii();
    Probe::new(bytes, "").filter(is_run)?;
    let run: Run<'_> = Raw(bytes).read();
    let text = |raw: Raw<'_>| if raw.is_empty() { String::new() } else { raw.text().into_owned() };
    let name = format!("{} {} {}", run.repository.as_str(), text(run.run_id), text(run.run_attempt));
    // A run without a number is known by what describes it.
    let id = if run.run_id.is_empty() { hashed_id(bytes) } else { format!("{} {}", ADAPTER.runtime, name.trim()) };
    Some(TrialResult { id, ..TrialResult::default() })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "_schema")]
    schema: Text<'a>,
    event: Text<'a>,
    timestamp: When,
    request_id: Text<'a>,
    provider: Text<'a>,
    model: Text<'a>,
    path: Text<'a>,
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
    input_tokens_include_cache: Flag,
    duration_ms: Number,
}

struct Requests {
    context: Context,
    session: Option<Builder>,
    /// Requests whose input may include cached tokens: the provider, by the index of the turn.
    inclusive: BTreeMap<usize, Option<Symbol>>,
    /// Providers of which a record shows that their input excludes cached tokens.
    exclusive: BTreeSet<Option<Symbol>>,
}

impl Fold for Requests {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), session: None, inclusive: BTreeMap::new(), exclusive: BTreeSet::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if record.event.as_str() != "token_usage" && !record.schema.as_str().starts_with("token-usage/") {
            return RecordKind::Unknown;
        }
        let name = record.request_id.owned().unwrap_or_else(|| hashed_id(line.bytes));
        let context = &self.context;
        let builder = self.session.get_or_insert_with(|| {
            let mut builder = Builder::new(context, hashed_id(name.as_bytes()), line.number);
            // The proxy does not know how the agent ended.
            builder.session.status = Status::Unknown;
            builder
        });
        builder.extend_to(record.timestamp.0);
        let index = builder.turn(Identity::Session(name.into()), line.number);
        let counts = [record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_write_tokens];
        damage.note_impossible(&counts);
        damage.note_impossible(&[record.reasoning_tokens]);
        let [input, output, cache_read, cache_write] = counts.map(Count::get);
        let reasoning = record.reasoning_tokens.get().filter(|count| *count > 0);
        let tokens = Tokens { input, output, cache_read, cache_write, cache_write_1h: None, reasoning };
        let turn = &mut builder.session.turns[index];
        turn.request_id = record.request_id.owned();
        turn.provider = record.provider.owned().filter(|provider: &Symbol| provider != "unknown");
        turn.model = record.model.owned().filter(|model: &Symbol| model != "unknown");
        turn.occurred_at = record.timestamp.0;
        turn.duration_ms = record.duration_ms.rounded().into();
        turn.tokens = tokens.unless_all_zero().into();
        let provider = turn.provider.clone();
        if shows_exclusion(&record, &tokens) {
            self.exclusive.insert(provider);
        } else if cache_read.unwrap_or(0) > 0 && record.input_tokens_include_cache.0 != Some(false) {
            let provider = provider.filter(|_| record.input_tokens_include_cache.0.is_none());
            self.inclusive.insert(index, provider);
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let Some(mut builder) = self.session else { return Vec::new() };
        for (turn, provider) in self.inclusive {
            if provider.is_some() && self.exclusive.contains(&provider) {
                continue;
            }
            let turn = &mut builder.session.turns[turn];
            let mut tokens = turn.tokens.get();
            tokens.input = uncached(Included::Always, tokens.input, tokens.cache_read, tokens.cache_write);
            turn.tokens = tokens.into();
        }
        vec![builder.finish()]
    }
}

/// Whether a record shows that the input of its provider excludes cached tokens.
fn shows_exclusion(record: &Record<'_>, tokens: &Tokens) -> bool {
    if let Some(includes) = record.input_tokens_include_cache.0 {
        return !includes;
    }
    let cached = tokens.cache_read.unwrap_or(0);
    record.provider.as_str() == "anthropic"
        || record.path.as_str().starts_with("/v1/messages")
        || tokens.cache_write.unwrap_or(0) > 0
        || cached > tokens.input.unwrap_or(cached)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;

    fn read(lines: &[String]) -> SessionResult {
        parse(lines.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0)
    }

    fn line(id: &str, provider: &str, counts: [i64; 4], more: &str) -> String {
        let [input, output, read, write] = counts;
        format!(
            r#"{{"_schema":"token-usage/v0.28.7","timestamp":"2026-10-01T10:00:00Z","event":"token_usage","request_id":"{id}","provider":"{provider}","model":"m","path":"/chat/completions","status":200,"streaming":true,"input_tokens":{input},"output_tokens":{output},"cache_read_tokens":{read},"cache_write_tokens":{write},"duration_ms":1200{more}}}"#
        )
    }

    fn inputs(lines: &[String]) -> Vec<Option<i64>> {
        read(lines).turns.iter().map(|turn| turn.tokens.get().input).collect()
    }

    #[test]
    fn input_has_no_cached_tokens() {
        let openai = line("a", "openai", [100, 5, 60, 0], "");
        let anthropic = line("b", "anthropic", [100, 5, 60, 0], "");
        assert_eq!(inputs(&[openai, anthropic]), [Some(40), Some(100)]);
        // One record with a cache write shows how Copilot counts.
        let copilot = line("c", "copilot", [100, 5, 60, 0], "");
        assert_eq!(inputs(std::slice::from_ref(&copilot)), [Some(40)]);
        assert_eq!(inputs(&[copilot, line("d", "copilot", [3, 5, 60, 7], "")]), [Some(100), Some(3)]);
        let stated =
            |flag: bool| line("e", "copilot", [100, 5, 60, 7], &format!(r#","input_tokens_include_cache":{flag}"#));
        assert_eq!(inputs(&[stated(true)]), [Some(33)]);
        assert_eq!(inputs(&[stated(false)]), [Some(100)]);
    }

    #[test]
    fn a_run_is_named_by_its_description() {
        let id = |text: &str| run_of(text.as_bytes()).map(|run| run.id);
        let run =
            r#"{"engine_id":"copilot","workflow_name":"Triage","run_id":123,"run_attempt":"1","repository":"a/b"}"#;
        assert_eq!(id(run).as_deref(), Some("gh-aw a/b 123 1"));
        let without_number = r#"{"engine_id":"copilot","workflow_name":"Triage"}"#;
        assert_eq!(id(without_number), Some(hashed_id(without_number.as_bytes())));
        assert_eq!((id("{}"), id("[1]"), id("")), (None, None, None));
    }

    #[test]
    fn a_request_counts_once() {
        let session = read(&[line("a", "openai", [100, 5, 60, 0], ""), line("a", "openai", [100, 5, 60, 0], "")]);
        let turn = &session.turns[0];
        assert_eq!((session.turns.len(), turn.duration_ms.get()), (1, Some(1200)));
        assert_eq!(turn.tokens.get().kinds(), [Some(40), Some(5), Some(60), Some(0)]);
        let zero = read(&[line("z", "openai", [0, 0, 0, 0], "")]);
        assert_eq!(zero.turns[0].tokens.get(), Tokens::UNKNOWN);
    }
}
