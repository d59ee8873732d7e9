//! Gemini CLI's stdout: the object of `--output-format json` (docs/formats/gemini.md#gemini-json), and the events of
//! `--output-format stream-json` (in `stream.rs`).
//!
//! Both contain sums of one process only. The prompt includes cached tokens and excludes those of tools; candidates exclude
//! thoughts; the total is the sum of prompt, candidates, thoughts and tools. The sums of a process that resumes a session
//! begin at 0, so each object and each `init` is the recording of one process.
//!
//! # `gemini-json`
//!
//! `gemini --output-format json`. Recognised by `stats.models` with a `response` or an `error` and without a `type`, or if
//! there are no keys besides `session_id`, `response`, `stats`, `error` and `warnings`. From Gemini CLI's source. Rows of grain `session`, one for each model: `prompt` minus `cached` plus
//! `tool`, `candidates` plus `thoughts` unless `total` shows that they include them, `cached`. `turns` is requests minus errors; `tool_calls`, `tool_errors`, `lines_added` and
//! `lines_removed` are those of the stats. Status: `error` if there is one (`aborted` for a cancellation), else `success`. Counts
//! that are all 0 are unknown if there is an answer.
//!
//! # `gemini-stream-json`
//!
//! `gemini --output-format stream-json`. Recognised by `timestamp` with `init` (without `tools`), `message`, `tool_use`,
//! `tool_result`, `error` or `result` and their keys. Seen: 1 file.
//!
//! - `init` contains session and model. A prompt may precede the `init` of its session.
//! - Calls come from `tool_use` and `tool_result`; the lines of an edit from `old_string` and `new_string`, unknown with
//!   `allow_multiple` or more than one of `expected_replacements`.
//! - Tokens come from `result.stats`, in newer versions by model, in rows of grain `session`. Input is `input_tokens` minus
//!   `cached`. Output is `total_tokens` minus `input_tokens`: `output_tokens` excludes thoughts, and the tokens that tools add to
//!   the prompt cannot be separated from thoughts.
//! - The status is `result.status`; `error` records with the severity `warning` do not end a session.

use serde::Deserialize;

use crate::adapters::engine::{
    Adapter, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, fold, session_records,
};
use crate::adapters::formats::gemini::counts::Counts;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::adapters::shared::usage;
use crate::base::text::Symbol;
use crate::json::fields::{Count, Maybe, Number, Pairs, Text};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, EventKind, ModelTotal, Tokens, Total, TotalKind};

mod shared;
mod stream;

use shared::{Failure, doubt_zeros};

pub(crate) const JSON: Adapter = Adapter {
    id: "gemini-json",
    runtime: "gemini",
    about: "Gemini CLI, gemini --output-format json",
    // The stats contain the numbers of calls and lines, in versions that write stats.
    tested: None,
    capabilities: Capabilities::RESULT_ONLY,
    places: &[],
    claims: claims_output,
    parse: session_records::<Outputs>,
};

pub(crate) const STREAM: Adapter = Adapter {
    id: "gemini-stream-json",
    runtime: "gemini",
    about: "Gemini CLI, gemini --output-format stream-json",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS),
    places: &[],
    claims: stream::claims,
    parse: fold::<stream::Stream>,
};

fn claims_output(probe: &Probe<'_>) -> u32 {
    const KEYS: [&str; 5] = ["session_id", "response", "stats", "error", "warnings"];
    let has_end = probe.has("response") || probe.has("error");
    let has_only_known = probe.keys().all(|it| KEYS.contains(&it));
    // A newer version may add a key. Results in the formats of others have a type.
    let is_newer = has_end && !probe.has("type");
    if probe.object("stats").has("models") && (has_only_known || is_newer) {
        return 5;
    }
    if !has_only_known {
        return 0;
    }
    // Many programs and all providers return errors as objects: only one with a session is Gemini CLI's.
    u32::from(probe.has("session_id") && has_end)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Output<'a> {
    session_id: Text<'a>,
    response: Text<'a>,
    stats: Maybe<Stats<'a>>,
    error: Maybe<Failure<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Stats<'a> {
    models: Pairs<'a, Model>,
    tools: Tools,
    files: Files,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Model {
    api: Api,
    tokens: Maybe<ModelCounts>,
    /// In newer versions: the requests by their purpose.
    roles: Roles,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Roles {
    main: Maybe<Role>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Role {
    #[serde(rename = "totalRequests")]
    requests: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Api {
    #[serde(rename = "totalRequests")]
    requests: Count,
    #[serde(rename = "totalErrors")]
    errors: Count,
    #[serde(rename = "totalLatencyMs")]
    latency_ms: Number,
}

/// The counts as stats name them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelCounts {
    prompt: Count,
    candidates: Count,
    total: Count,
    cached: Count,
    thoughts: Count,
    tool: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tools {
    total_calls: Count,
    total_fail: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Files {
    total_lines_added: Count,
    total_lines_removed: Count,
}

impl ModelCounts {
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&[self.total]);
        let Self { prompt, candidates, total, cached, thoughts, tool } = *self;
        Counts { input: prompt, output: candidates, cached, thoughts, tool, total }.tokens(damage)
    }
}

/// The objects of `--output-format json`.
enum Outputs {}

impl SessionRecords for Outputs {
    type Record<'a> = Output<'a>;

    fn record(log: &mut FinishedSessions, line: Line<'_>, output: Output<'_>, damage: &mut RecordErrors) -> RecordKind {
        if !output.response.is_some() && matches!((&output.stats, &output.error), (Maybe::Absent, Maybe::Absent)) {
            return RecordKind::Unknown;
        }
        let id = output.session_id.owned().unwrap_or_else(|| hashed_id(line.bytes));
        let mut builder = Builder::new(&log.context, id, line.number);
        let hash = hash_of_document(line.bytes);
        builder.session.recording = Some(vec![hash]);
        builder.set_answer(output.response.as_str());
        if let Some(stats) = usage::present(&output.stats, damage) {
            let (added, removed) = (stats.files.total_lines_added.get(), stats.files.total_lines_removed.get());
            builder.session.stated_tool_calls = stats.tools.total_calls.get();
            builder.session.stated_tool_errors = stats.tools.total_fail.get();
            builder.session.stated_lines = added.zip(removed);
            builder.session.model = stats.main_model();
            builder.session.totals.push(stats.total(line, hash, output.response.some().is_some(), damage));
        }
        if let Some(error) = output.error.get() {
            error.end(&mut builder, None);
            let event = builder.event(EventKind::Error, At { line: line.number, time: None });
            event.code = error.kind.owned();
            event.message = error.message.some().map(brief);
        } else {
            builder.succeed();
        }
        log.sessions.push(builder.finish());
        RecordKind::Known
    }
}

impl Stats<'_> {
    /// The model with the most requests of the main agent, the later on a tie; without roles, with the most requests.
    fn main_model(&self) -> Option<Symbol> {
        let requests =
            |model: &Model| (model.roles.main.get().map(|role| role.requests.get()), model.api.requests.get());
        self.models.0.iter().max_by_key(|(_, usage)| requests(usage)).map(|(model, _)| Symbol::new(model))
    }

    fn total(&self, line: Line<'_>, hash: u64, has_answer: bool, damage: &mut RecordErrors) -> Total {
        let mut total = Total {
            line: line.number,
            key: format!("{hash:016x}"),
            kind: TotalKind::Process,
            covers_subagents: true,
            ..Total::default()
        };
        for (model, model_usage) in &self.models.0 {
            let counts = usage::present(&model_usage.tokens, damage);
            let tokens = counts.map_or(Tokens::UNKNOWN, |counts| counts.tokens(damage));
            total.models.push(ModelTotal { model: Some(Symbol::new(model)), tokens, ..ModelTotal::default() });
        }
        doubt_zeros(&mut total.models, has_answer);
        let sum = |of: fn(&Api) -> Option<i64>| {
            self.models.0.iter().filter_map(|(_, model)| of(&model.api)).reduce(i64::saturating_add)
        };
        // The requests include those that failed, which are not turns.
        total.turns = sum(|it| it.requests.get().map(|all| (all - it.errors.get().unwrap_or(0)).max(0)));
        total.api_duration_ms = sum(|it| it.latency_ms.rounded());
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::SessionResult;

    fn read(log: &str) -> SessionResult {
        parse(log.as_bytes(), Hints::default(), Retention::Text).sessions.swap_remove(0)
    }

    #[test]
    fn the_total_shows_whether_the_candidates_include_the_thoughts() {
        for (total, tool, output) in [(1140, 0, 140), (1100, 0, 100), (1190, 50, 140), (1150, 50, 100)] {
            let tokens =
                format!(r#"{{"prompt":1000,"candidates":100,"total":{total},"cached":0,"thoughts":40,"tool":{tool}}}"#);
            let log =
                format!(r#"{{"response":"Yes.","stats":{{"models":{{"m":{{"tokens":{tokens}}}}},"tools":{{}}}}}}"#);
            let tokens = read(&log).totals[0].models[0].tokens;
            assert_eq!((tokens.output, tokens.reasoning), (Some(output), Some(40)));
        }
    }

    #[test]
    fn zeros_beside_an_answer_are_unknown() {
        let log = |response: &str| {
            let tokens = r#"{"prompt":0,"candidates":0,"total":0,"cached":0,"thoughts":0,"tool":0}"#;
            format!(
                r#"{{"response":"{response}","stats":{{"models":{{"gemini-2.5-pro":{{"tokens":{tokens}}}}},"tools":{{}}}}}}"#
            )
        };
        assert_eq!(read(&log("Yes.")).totals[0].models[0].tokens, Tokens::UNKNOWN);
        assert_eq!(read(&log("")).totals[0].models[0].tokens.total(), Some(0));
        assert_eq!(read(&log("")).stated_tool_calls, None);
        // A newer version may add a key.
        assert_eq!(read(&log("Yes.").replace("{\"response", "{\"trace_id\":\"x\",\"response")).totals.len(), 1);
    }
}
