//! mini-swe-agent's trajectories: one document that the agent rewrites after every step (docs/formats/mini_swe_agent.md#mini-swe-agent).
//!
//! The billed tokens are in the provider's responses, which the messages contain. The prompt includes cached tokens, the
//! completion includes reasoning. `instance_id` is the id of the task, which many runs share, so a run's id is a hash of its
//! first message with a time. In version 1 the commands are in the text of the answers, and only the cost of the run is logged.
//!
//! Since 2.0, calls without an output get the result "action was not executed" (`models/utils/actions_toolcall.py`): the one that submits,
//! those that the user rejects or interrupts, and those after them. The next message states which (`agents/interactive.py`).
//!
//! # `mini-swe-agent`
//!
//! `*.traj.json`, rewritten after every step. Recognised by `trajectory_format`, or `messages` with `info.model_stats`. Seen: 19
//! files, format 1.
//!
//! | what | from |
//! | --- | --- |
//! | session | a hash of the first message with a time; `instance_id`, the task that many runs share, is a label |
//! | turn | each answer: `extra.response.usage` (or the message's own with the Responses API): prompt minus both caches, completion, cached, cache writes, reasoning |
//! | cost | `extra.cost`; `info.model_stats.instance_cost` if the costs of the responses do not add up to it, in a row of grain `session` |
//! | call | `tool_calls`, `extra.actions`, or the one `bash` block of the text; exit code `returncode` |
//! | call status | `returncode`, `exception_info`. A call that was "not executed": `denied` before a `UserRejection`, `ok` if it is the one that submitted, `error` if it raised the exception that ended the run, else `cancelled` |
//! | status | `exit_status`: `Submitted` is `success`, any other is `error` with the text of the exception, none is `incomplete` |
//!
//! *Exact* unless `api_calls` is larger than the number of logged responses; else *lower bound*. Changes of files are not logged,
//! as they are made by shell commands.

use self::records::{Document, Message};
use self::run::Run;
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{
    Adapter, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::adapters::shared::ids::hashed_id;
use crate::json::fields::Maybe;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod records;
mod run;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "mini-swe-agent",
    runtime: "mini-swe-agent",
    about: "mini-swe-agent, trajectories (.traj.json)",
    // Files are changed by shell commands, so changes are not logged.
    tested: Some("2.3.1"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("MSWEA_GLOBAL_CONFIG_DIR", ".config/mini-swe-agent", "last_mini_run.traj.json"),
        Place::application("mini-swe-agent/last_mini_run.traj.json"),
    ],
    claims,
    parse: session_records::<Trajectories>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    let is_own = probe.text("trajectory_format").starts_with("mini-swe-agent")
        || (probe.has("messages") && probe.object("info").has("model_stats"));
    5 * u32::from(is_own)
}

enum Trajectories {}

impl SessionRecords for Trajectories {
    type Record<'a> = Document<'a>;

    fn record(
        log: &mut FinishedSessions,
        line: Line<'_>,
        document: Document<'_>,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        let is_own = document.trajectory_format.as_str().starts_with("mini-swe-agent")
            || matches!(document.info.model_stats, Maybe::Present(_));
        if !is_own {
            return RecordKind::Unknown;
        }
        let first = document.messages.iter().find(|it| it.read::<Message<'_>>().is_unique());
        let id = hashed_id(first.map_or(line.bytes, |it| it.0));
        let mut run = Run::new(&log.context, id, line.number);
        run.describe(&document);
        let (mut line_numbers, mut last) = (LineNumbers::new(line), line.number);
        for (index, raw) in document.messages.iter().enumerate() {
            last = line_numbers.line_of(*raw);
            run.message(index, &raw.read(), last, damage);
        }
        run.end(&document, last, damage);
        log.sessions.push(run.finish());
        RecordKind::Known
    }
}
