//! ATIF, the Agent Trajectory Interchange Format of Harbor: one document, converted from the log of any agent
//! (docs/formats/atif.md#atif).
//!
//! The schema is that of Harbor's own models (1.0 to 1.8). A step with metrics is one response. `prompt_tokens` is the whole
//! prompt, cached or not; cache writes are in `extra`, which the schema leaves open. Copied steps count in the trajectory
//! from which they were copied. `final_metrics` is the sum over all steps; its cost includes subagents, even if their
//! trajectories are in other documents.
//!
//! # `atif`
//!
//! Harbor's Agent Trajectory Interchange Format, one document, of any agent. Recognised by `schema_version` `ATIF-…`. From Harbor's
//! models, 1.0 to 1.8.
//!
//! | what | from |
//! | --- | --- |
//! | session, runtime, version | `session_id` (not "unknown", "harbor-session" or the name of the agent), else a hash of the first step with a time, else of all steps, and then a trajectory with which another one begins is an older copy of that; `agent.name`: Harbor's name of a known runtime becomes the name used here (`claude-code` → `claude`), others are kept; `agent.version` |
//! | turn | an agent's step with `metrics`: prompt minus cached minus cache writes, completion, cached; cache writes, 1h part and reasoning from `extra` |
//! | total | `final_metrics`, if they cover exactly this session: not in a part that another file continues, nor with subagents in other documents |
//! | cost | `cost_usd`, unless it is an estimate by its `cost_source` |
//! | subagent | nested `subagent_trajectories`; references to others |
//! | call | `tool_calls` with the results of their step's `observation` |
//! | status | the last step: an answer without calls, or with a call that ends the work (`mark_task_complete`, `finish`, `submit`), is `success`; else `incomplete` |
//!
//! Steps have no ids: in several documents of one session, steps with the same time, model, agent and tokens are one. If any other
//! log of the session is read, a trajectory adds nothing, whatever its id, if both are in the directory of one trial
//! ([several views of one session](accounting.md#several-views-of-one-session)).
//!
//! Copied steps (`is_copied_context`) count in the trajectory from which they were copied. Harbor's converters for opencode, mimo,
//! openclaw and rovodev exclude cache writes from the prompt; those for opencode and mimo exclude reasoning from the completion. Those
//! for trae-agent, cline-cli and junie copy the counts of the log: cached tokens are no part of the prompt if a step or the sum has more
//! of them than of it, and in trae-agent with a model of Anthropic. If a converter disagrees with the agent's own log, use that log.

use self::records::Document;
use self::session::{Place, Trajectory};
use crate::adapters::engine::{Adapter, FinishedSessions, RecordErrors, RecordKind, SessionRecords, session_records};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, ModelTotal, Tokens, Total, TotalKind};

pub(crate) use self::session::runtime_of;

mod records;
mod session;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "atif",
    runtime: "atif",
    about: "ATIF trajectories of any agent, as Harbor writes them",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::CONVERTED),
    places: &[],
    claims: |probe| 8 * u32::from(probe.text("schema_version").starts_with("ATIF-")),
    parse: session_records::<Trajectories>,
};

enum Trajectories {}

impl SessionRecords for Trajectories {
    type Record<'a> = Document<'a>;

    fn record(
        log: &mut FinishedSessions,
        line: Line<'_>,
        document: Document<'_>,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        if !document.steps.is_list() {
            return RecordKind::Unknown;
        }
        let mut read: Vec<Trajectory> = Vec::new();
        // Documents of subagents are nested in those of their parents, to any depth.
        let mut documents = vec![(document, None)];
        while let Some((document, parent)) = documents.pop() {
            let inner: Vec<Document<'_>> = document.subagent_trajectories.read();
            let place = Place { context: &log.context, line, read: &read, parent };
            let trajectory = Trajectory::read(&place, &document, &inner, damage);
            let own = read.len();
            read.push(trajectory);
            documents.extend(inner.into_iter().rev().map(|document| (document, Some(own))));
        }
        // A sum covers steps on all lines of the document.
        let last_line = line.last_number();
        let totals: Vec<_> = (0..read.len()).map(|index| total(&read, index, last_line)).collect();
        for (trajectory, total) in read.iter_mut().zip(totals) {
            trajectory.builder.session.totals.extend(total);
        }
        log.sessions.extend(read.into_iter().map(Trajectory::finish));
        RecordKind::Known
    }
}

/// The sum that a trajectory states, in disjoint tokens, if it covers exactly the trajectory's session: it is not a part of
/// another sum that counts, and it includes no subagents in other documents.
fn total(read: &[Trajectory], index: usize, line: i64) -> Option<Total> {
    let own = read.get(index)?;
    let stated = own.stated?;
    let members = || read.iter().filter(|it| it.session == own.session);
    let spent: Tokens = members().map(|it| it.spent).sum();
    // Counts that the sum does not separate are those of the steps.
    let tokens = own.counting.tokens(
        stated.prompt,
        stated.completion,
        stated.cached.or(spent.cache_read),
        stated.written.or(spent.cache_write),
        spent.reasoning,
    );
    let counts = if spent.total().is_none() {
        // Only the sums are known. The sum of the outermost trajectory includes the others.
        own.session == index || read.get(own.session).is_none_or(|it| it.stated.is_none())
    } else {
        own.session == index
            && !members().any(|it| it.has_agents_elsewhere)
            && (members().count() == 1 || tokens.context() >= spent.context())
    };
    let is_known = tokens.input.is_some() || tokens.output.is_some();
    if !counts || !is_known && stated.cost.is_none() {
        return None;
    }
    let tokens = if is_known && !tokens.is_all_zero() { tokens } else { Tokens::UNKNOWN };
    let ended_at = own.builder.session.ended_at;
    let trajectory = own.trajectory_id.as_deref().unwrap_or_default();
    Some(Total {
        line,
        key: format!("{trajectory} {:?} {:?}", tokens.kinds(), stated.cost),
        kind: TotalKind::Process,
        occurred_at: ended_at,
        cost: stated.cost,
        models: vec![ModelTotal { tokens, cost: stated.cost, ..ModelTotal::default() }],
        covers_subagents: true,
        ..Total::default()
    })
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::{Hints, Parsed};
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;

    fn read(agent: &str, steps: &str, more: &str) -> Parsed {
        let document =
            format!(r#"{{"schema_version":"ATIF-v1.7","session_id":"s","agent":{{{agent}}},"steps":[{steps}]{more}}}"#);
        let parsed = parse(document.as_bytes(), Hints::default(), Retention::None);
        assert_eq!(parsed.format, Some("atif"));
        parsed
    }

    /// The schema's prompt is the whole prompt; some converters exclude cache writes, or the reasoning.
    #[test]
    fn tokens_are_disjoint() {
        let step = r#"{"step_id":1,"source":"agent","message":"","metrics":{"prompt_tokens":100,"completion_tokens":10,"cached_tokens":60,"extra":{"cache_write_tokens":15,"reasoning_tokens":4}}}"#;
        for (agent, input, output) in [
            (r#""name":"claude-code""#, 25, 10),
            (r#""name":"pi","version":"0.60.0""#, 25, 10),
            (r#""name":"opencode","version":"1.4.0""#, 40, 14),
            (r#""name":"opencode","version":"1.2.16""#, 40, 10),
        ] {
            let tokens = read(agent, step, "").sessions[0].turns[0].tokens;
            assert_eq!(tokens.get().kinds(), [Some(input), Some(output), Some(60), Some(15)], "{agent}");
        }
    }

    /// Some converters copy counts that exclude cached tokens: more of them than of the prompt in one step prove it for all.
    #[test]
    fn a_prompt_without_cached_tokens_is_the_input() {
        let step = |prompt: i64, cached: i64| {
            format!(
                r#"{{"step_id":1,"source":"agent","message":"","metrics":{{"prompt_tokens":{prompt},"completion_tokens":10,"cached_tokens":{cached},"extra":{{"cache_write_tokens":15}}}}}}"#
            )
        };
        let steps = [step(100, 60), step(100, 3000)].join(",");
        for (agent, expected) in [
            (r#""name":"trae-agent","model_name":"gpt-5""#, [Some(100), Some(100)]),
            (r#""name":"cline-cli""#, [Some(100), Some(100)]),
            (r#""name":"junie""#, [Some(100), Some(100)]),
            (r#""name":"claude-code""#, [Some(25), Some(0)]),
        ] {
            let inputs = |steps: &str| {
                let session = read(agent, steps, "").sessions.swap_remove(0);
                session.turns.iter().map(|turn| turn.tokens.get().input).collect::<Vec<_>>()
            };
            assert_eq!(inputs(&steps), expected, "{agent}");
            assert_eq!(inputs(&step(100, 60)), [Some(25)], "{agent}");
        }
        // Anthropic's counts exclude them always.
        let parsed = read(r#""name":"trae-agent","model_name":"claude-sonnet-4-5""#, &step(100, 60), "");
        assert_eq!(parsed.sessions[0].turns[0].tokens.get().input, Some(100));
        // The sum alone proves it, too.
        let sum =
            r#","final_metrics":{"total_prompt_tokens":900,"total_completion_tokens":50,"total_cached_tokens":3000}"#;
        let bare = r#"{"step_id":1,"source":"agent","message":""}"#;
        let parsed = read(r#""name":"trae-agent""#, bare, sum);
        assert_eq!(parsed.sessions[0].totals[0].tokens().input, Some(900));
    }

    /// A stated sum counts if it covers exactly its session.
    #[test]
    fn sums_of_other_sessions_are_left_out() {
        let step =
            r#"{"step_id":1,"source":"agent","message":"","metrics":{"prompt_tokens":100,"completion_tokens":10}}"#;
        let bare = r#"{"step_id":1,"source":"agent","message":""}"#;
        let sum = r#","final_metrics":{"total_prompt_tokens":300,"total_completion_tokens":30}"#;
        let inner = |id: &str| {
            let agent = r#""agent":{"name":"x"}"#;
            format!(r#"{sum},"subagent_trajectories":[{{{id}"trajectory_id":"t",{agent},"steps":[{step}]{sum}}}]"#)
        };
        for (steps, more, sessions, totals) in [
            (step, sum.to_owned(), 1, 1),
            (step, format!(r#"{sum},"continued_trajectory_ref":"next.json""#), 1, 0),
            (step, inner(""), 2, 1),
            (bare, sum.to_owned(), 1, 1),
            // The sum of the other session is in its own trajectory.
            (step, inner(r#""session_id":"other","#), 2, 1),
        ] {
            let parsed = read(r#""name":"a""#, steps, &more);
            let stated = parsed.sessions.iter().map(|it| it.totals.len()).sum::<usize>();
            assert_eq!((parsed.sessions.len(), stated), (sessions, totals), "{more}");
        }
    }
}
