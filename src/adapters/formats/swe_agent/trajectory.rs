//! SWE-agent's trajectories (`*.traj`), one document for each instance (docs/formats/swe_agent.md#swe-agent).
//!
//! - `trajectory` has one entry for each response of the model, with the command that was run. No record has a time or an id:
//!   the session's id is a hash of the first entry.
//! - `info.model_stats` are sums of the instance. The tokens are an estimate of SWE-agent's own tokenizer, without tool calls and
//!   reasoning; only the cost is the provider's. `total_cost` is the sum over other instances as well. Replays have zeros.
//! - `history` contains the arguments of calls, since 1.0. It can lack the last one.
//! - An agent that retries writes `attempts`. The outer `trajectory` is a copy of the chosen one; `model_stats` covers all, and the
//!   requests of the reviewer (`RetryAgent.get_trajectory_data` in `agent/agents.py`). Each attempt that has ended is also in
//!   `attempt_N/INSTANCE.traj` (`_setup_agent`, `_finalize_agent_run`): those files add nothing.
//!
//! # `swe-agent`
//!
//! SWE-agent's `*.traj`, one document for each instance. Recognised by `trajectory` and `history` (arrays) with `info`, without
//! `messages`. Seen: 7 files of 0.x and 1.x, 4 of them replays; retries (`attempts`) from its source.
//!
//! | what | from |
//! | --- | --- |
//! | session | a hash of the first entry of `trajectory`: no record has an id or a time. The name of the file is the label `instance_id` |
//! | model | `agent.model.name` in `replay_config`, since 1.0; else unknown |
//! | turn | an entry of `trajectory` that is a response, without counts. With `attempts`, those of all attempts: the files of the attempts, `attempt_N/INSTANCE.traj`, add nothing if their steps are those of the attempt, or begin it, and their sums are not larger |
//! | tokens, cost | `info.model_stats`: `tokens_sent`, `tokens_received`, `instance_cost`, in a row of grain `session`. `total_cost` is the sum of other instances as well |
//! | call | `action`: one of SWE-agent's own commands, else `bash`; its id, name and edited texts from `tool_calls` of the same action in `history`; duration `execution_time` |
//! | call status | `error` only where SWE-agent itself reports it: a refused edit, a time limit |
//! | file change | `edit` and its relatives change `open_file` of `state`; `create` and `str_replace_editor` the file that they name |
//! | status | `exit_status`: `submitted` is `success`; any other is `error`, also `submitted (exit_cost)`; none is `incomplete` |
//!
//! *Estimate*: SWE-agent counts with a tokenizer of its own, without tool calls and reasoning (source); the cost is that of the
//! provider's counts. *Unknown*: times; the counts of replays, whose zeros are not counts. Whether the task was solved is not logged.

use self::records::{Document, ModelStats, ReplayConfig};
use self::run::Run;
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{
    Adapter, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::session::{Attempt, Capabilities, Tokens};

mod records;
mod run;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "swe-agent",
    runtime: "swe-agent",
    about: "SWE-agent, trajectories (.traj)",
    tested: None,
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    // They are in the directory of SWE-agent itself, or where the user wants them.
    places: &[],
    claims,
    parse: session_records::<Trajectories>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    let is_run = probe.is_list("trajectory") && probe.is_list("history") && probe.has("info") && !probe.has("messages");
    let has_attempts = || probe.is_list("attempts") && probe.has("replay_config");
    6 * u32::from(is_run || has_attempts())
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
        let attempts: Vec<Document<'_>> = document.attempts.read();
        let parts: Vec<&Document<'_>> = if attempts.is_empty() { vec![&document] } else { attempts.iter().collect() };
        let steps: Vec<Vec<Raw<'_>>> = parts.iter().map(|part| part.trajectory.read()).collect();
        if steps.iter().all(Vec::is_empty) && document.info.model_stats.get().is_none() {
            return RecordKind::Unknown;
        }
        let id = hashed_id(steps.iter().flatten().next().map_or(line.bytes, |first| first.0));
        let mut run = Run::new(&log.context, id, line.number);
        let config = document.replay_config.text();
        let config: ReplayConfig<'_> = Raw(config.as_bytes()).read();
        run.describe(config.agent.model.name.some(), log.context.file_name.as_deref());
        let mut line_numbers = LineNumbers::new(line);
        for (part, steps) in parts.iter().zip(&steps) {
            run.begin(part.history.read());
            for step in steps {
                run.step(*step, line_numbers.line_of(*step));
            }
        }
        let all_stats: Vec<ModelStats> = match document.info.model_stats.get() {
            Some(stats) => vec![*stats],
            None => parts.iter().filter_map(|part| part.info.model_stats.get().copied()).collect(),
        };
        run.end(&document.info, &all_stats, line.last_number(), damage);
        let mut session = run.finish();
        session.attempts = parts.iter().zip(&steps).map(|(part, steps)| attempt(part, steps)).collect();
        if !attempts.is_empty() {
            // Each attempt is in a file of its own, too.
            let firsts = steps.iter().filter_map(|steps| steps.first());
            session.contains = firsts.map(|first| hashed_id(first.0)).collect();
        }
        log.sessions.push(session);
        RecordKind::Known
    }
}

/// What distinguishes an attempt from others that begin with the same step.
fn attempt(part: &Document<'_>, steps: &[Raw<'_>]) -> Attempt {
    let mut hash = 0;
    let mut extend = |step: &Raw<'_>| {
        hash = hash_of_document(&[u64::to_le_bytes(hash), u64::to_le_bytes(hash_of_document(step.0))].concat());
        hash
    };
    let stats = part.info.model_stats.get();
    let tokens = stats.map_or(Tokens::UNKNOWN, |stats| Tokens {
        input: stats.tokens_sent.get(),
        output: stats.tokens_received.get(),
        ..Tokens::UNKNOWN
    });
    Attempt {
        steps: steps.iter().map(&mut extend).collect(),
        tokens: tokens.unless_all_zero(),
        cost: stats.and_then(|stats| stats.instance_cost.money()).filter(|cost| *cost > 0.0),
    }
}
