//! Inspect AI's logs: one JSON document, or `.eval`, a zip archive with a member for each sample (docs/formats/inspect.md#inspect-log).
//!
//! A sample in an epoch is a session. Its `events` contain each request and each call in order; `messages` repeat them. Events of
//! tools had nested events before version 0.3.9. The requests of a scorer are in the same list: they belong to a subagent.
//!
//! What input and output include depends on the version and the provider, so that the sum decides ([`usage`]). A member of
//! `.eval` does not contain the name of the task, but the name of the archive does.
//!
//! # `inspect-log`
//!
//! Inspect AI's logs of evaluations: one JSON document, or `.eval`, a zip archive whose members `samples/ID_epoch_N.json` are logs of
//! their own. Recognised by `version`, `eval` (with `task` and `run_id`) and `plan`; a sample by `id`, `epoch`, `input`, `target` and
//! `events`, before 0.3.42 `transcript.events`. The summaries and reductions of an `.eval` are `auxiliary`; its header contains no session. Seen: 4 logs with 18
//! samples, 0.3.42 to 0.3.95, and 2 before; Gemini's counts in 0.3.136.
//!
//! | what | from |
//! | --- | --- |
//! | session | a sample in an epoch: `uuid`, else a hash of the time of its first event with `id` and `epoch`, so that both forms of a log have the same; without events, of `eval.created` and `eval.task_id`, which are in the name of `.eval` as well. `id`, `epoch` and the task are labels (`sample`, `epoch`, also as `attempt`, `task`; in `.eval` the task is that of the archive's name) |
//! | model, version, repository | `eval.model`, `packages.inspect_ai`, `revision.origin`: not in the members of `.eval` |
//! | turn | each `model` event with output, unless `cache` is `read` (Inspect's own cache, not billed): `model` (`output.fallback.fallback_model` of a request that another model answered), `completed`, `working_time`, `stop_reason`, the effort of its `config` (`reasoning_effort`, else `effort`) |
//! | tokens | `output.usage`, by the convention whose sum is `total_tokens`: input with or without cached tokens (OpenAI until 2025 with, 5 of 5), output with or without reasoning (Gemini without). Without a total: cached tokens outside of the input, reasoning inside of the output |
//! | cost | `usage.total_cost` |
//! | attempts that failed | `error_retries`: their `events`, which begin with the last request of the attempt, and a retry with its `message`. In the log of an evaluation that was run again, they are those of samples of the log before: a request in both counts once, by its `uuid` |
//! | subagent | requests of a scorer (by its span or step, or `role` `grader`), with the agent `scorer`; events nested in a tool, in older versions |
//! | call | `tool_calls` of the output, and `tool` events; `error` with an `error`, `approval` is `denied` |
//! | file change | of `text_editor` and other known tools: the path, and the lines of their texts |
//! | events | `retries` of a request, `compaction`, `sample_limit` (error), requests that failed without usage (error, unless they were cancelled), `interrupt` by the user or the system (abort), refusals |
//! | user turns | the input of the sample, one prompt |
//! | status | `error` and `limit` of the sample: `error` (an `operator` limit is `aborted`); in an evaluation that was stopped, a sample without scores is `aborted` or `incomplete`; else `success`. Scores are no status |
//! | verdict | `scores` of the sample, one per scorer: see [docs/verdicts.md](verdicts.md#scores-of-inspect-ai) |
//!
//! *Exact*. *Lower bound*: a sample with attempts that failed, as their earlier requests are not kept, and one with a request that was
//! cancelled. `messages` and `model_usage` repeat the events and are not read. From Inspect's source: `error_retries`, `interrupt`,
//! `fallback` and the texts of cancelled requests.

use self::records::Document;
use self::sample::Sample;
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{
    Adapter, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod events;
mod records;
mod sample;
mod scores;
mod usage;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "inspect-log",
    runtime: "inspect",
    about: "Inspect AI, logs of evaluations (.eval, .json)",
    tested: Some("0.3.136"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::RETRIES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::only_variable("INSPECT_LOG_DIR", "")],
    claims: |probe| {
        let is_log = probe.has_all(&["version", "eval", "plan"]) && probe.object("eval").has_all(&["task", "run_id"]);
        let has_events = probe.is_list("events") || probe.object("transcript").is_list("events");
        let is_sample = probe.has_all(&["id", "epoch", "input", "target"]) && has_events;
        6 * u32::from(is_log || is_sample)
    },
    parse: session_records::<Logs>,
};

/// Whether a record is one of the other members of `.eval`, which repeat parts of samples.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    probe.has_all(&["id", "epoch", "input", "target"]) || probe.has("scorer") && probe.is_list("samples")
}

enum Logs {}

impl SessionRecords for Logs {
    type Record<'a> = Document<'a>;

    fn record(
        log: &mut FinishedSessions,
        line: Line<'_>,
        document: Document<'_>,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        let mut line_numbers = LineNumbers::new(line);
        let transcript = document.transcript.get().map_or(Raw::default(), |transcript| transcript.events);
        if let Some(eval) = document.eval.get() {
            // The header of `.eval` contains no samples.
            let samples: Vec<Raw<'_>> = document.samples.read();
            for raw in samples {
                let number = line_numbers.line_of(raw);
                let sample = Sample::new(&log.context, raw.read(), Some(eval), number);
                log.sessions.push(sample.read(Some(eval), document.status.as_str(), &mut line_numbers, damage));
            }
        } else if [document.events, transcript].iter().any(|events| events.is_list()) {
            let sample = Sample::new(&log.context, Raw(line.bytes).read(), None, line.number);
            log.sessions.push(sample.read(None, "", &mut line_numbers, damage));
        } else {
            return RecordKind::Unknown;
        }
        RecordKind::Known
    }
}
