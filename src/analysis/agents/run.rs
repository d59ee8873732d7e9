//! The runs of subagents: those in the log of a session, or the session itself if another one started it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Add as _;

/// A response.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Turn {
    pub number: i64,
    /// The subagent that asked; `None` for the main agent.
    pub agent: Option<Agent>,
    pub time: Option<i64>,
    pub total_tokens: Option<i64>,
    pub cost_usd: Option<f64>,
}

/// A subagent in the log of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Agent {
    pub id: Option<String>,
    pub name: Option<String>,
}

/// A tool call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Call {
    /// The number of the response that made it.
    pub turn: Option<i64>,
    pub is_subagent: bool,
    pub time: Option<i64>,
    /// A hash of its id.
    pub id: Option<u64>,
    /// Whether its tool starts subagents.
    pub is_start: bool,
    /// A hash of the file that it read.
    pub read: Option<u64>,
    pub result_bytes: Option<i64>,
}

/// The start of a subagent.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    /// The id of the agent or of its session.
    pub agent_id: Option<String>,
    /// The index of its session, if it has one.
    pub session: Option<usize>,
    /// Its name or type.
    pub name: Option<String>,
    /// A hash of the id of the call.
    pub call_id: Option<u64>,
    pub time: Option<i64>,
}

/// The rows of a session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rows<'a> {
    /// By number.
    pub turns: &'a [Turn],
    /// By time.
    pub calls: &'a [Call],
    pub starts: &'a [Start],
}

/// A run of a subagent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Run {
    pub name: Option<String>,
    /// `None` if its log contains sums only.
    pub turns: Option<i64>,
    pub calls: i64,
    pub tokens: Option<i64>,
    pub cost_usd: Option<f64>,
    /// The bytes of the result of the call that started it: what it returned.
    pub result_bytes: Option<i64>,
    /// Calls that read a file that is known.
    pub reads: i64,
    /// Those of files that the agent which started it had read before.
    pub repeated_reads: i64,
}

/// What the log of a session states about the runs that it started.
#[derive(Default)]
pub(super) struct Started<'a> {
    /// The starts by the id of the agent.
    starts: HashMap<&'a str, &'a Start>,
    /// The bytes of the results of calls by their ids.
    returned: HashMap<u64, Option<i64>>,
    /// When the main agent read each file first.
    first_reads: HashMap<u64, i64>,
}

/// The runs in the log of a session. `started` is that of the same session.
pub(super) fn runs(session: Rows<'_>, started: &Started<'_>) -> Vec<Run> {
    let mut found: BTreeMap<&Agent, Run> = BTreeMap::new();
    let agents: HashMap<i64, &Agent> =
        session.turns.iter().filter_map(|turn| Some((turn.number, turn.agent.as_ref()?))).collect();
    for turn in session.turns {
        if let Some(agent) = &turn.agent {
            found.entry(agent).or_default().add_turn(turn);
        }
    }
    for call in session.calls {
        let agent = call.turn.and_then(|turn| agents.get(&turn));
        if let Some(run) = agent.and_then(|agent| found.get_mut(agent)) {
            run.add_call(call, started);
        }
    }
    let of = |(agent, run): (&Agent, Run)| {
        let start = agent.id.as_deref().and_then(|id| started.starts.get(id));
        Run {
            name: agent.name.clone().or_else(|| start?.name.clone()),
            result_bytes: start.and_then(|start| started.returned_to(start)),
            ..run
        }
    };
    found.into_iter().map(of).collect()
}

/// A session as a run of its parent, of which `parent` is. `None` if the log of the parent does not name it: a fork has a parent, too.
pub(super) fn run_of_session(id: &str, name: Option<&str>, session: Rows<'_>, parent: &Started<'_>) -> Option<Run> {
    let start = parent.starts.get(id)?;
    if !session.turns.is_empty() && session.turns.iter().all(|turn| turn.agent.is_some()) {
        // All of its responses are those of runs in its log.
        return None;
    }
    let name = name.map(str::to_owned).or_else(|| start.name.clone());
    let mut run = Run { name, result_bytes: parent.returned_to(start), ..Run::default() };
    // Its own subagents are runs of their own.
    session.turns.iter().filter(|turn| turn.agent.is_none()).for_each(|turn| run.add_turn(turn));
    session.calls.iter().filter(|call| !call.is_subagent).for_each(|call| run.add_call(call, parent));
    Some(run)
}

impl<'a> Started<'a> {
    pub(super) fn of(session: Rows<'a>) -> Self {
        let mut started = Self::default();
        for start in session.starts {
            if let Some(id) = start.agent_id.as_deref() {
                started.starts.entry(id).or_insert(start);
            }
        }
        // Ids of calls repeat where an export masks them: a call that starts subagents is preferred, then the first one.
        let (starts, others): (Vec<&Call>, Vec<&Call>) = session.calls.iter().partition(|call| call.is_start);
        for call in starts.into_iter().chain(others) {
            if let Some(id) = call.id {
                started.returned.entry(id).or_insert(call.result_bytes);
            }
        }
        for call in session.calls.iter().filter(|call| !call.is_subagent) {
            if let Some((file, time)) = call.read.zip(call.time) {
                let known = started.first_reads.entry(file).or_insert(time);
                *known = time.min(*known);
            }
        }
        started
    }

    /// The bytes of the result of the call that started an agent.
    fn returned_to(&self, start: &Start) -> Option<i64> {
        *self.returned.get(&start.call_id?)?
    }

    /// Whether the main agent had read a file before a time.
    fn had_read(&self, file: u64, time: i64) -> bool {
        self.first_reads.get(&file).is_some_and(|first| *first < time)
    }
}

impl Run {
    fn add_turn(&mut self, turn: &Turn) {
        *self.turns.get_or_insert(0) += 1;
        self.tokens = self.tokens.into_iter().chain(turn.total_tokens).reduce(i64::saturating_add);
        self.cost_usd = self.cost_usd.into_iter().chain(turn.cost_usd).reduce(f64::add);
    }

    /// Adds a call. `started` is that of the session of the agent that started the run.
    fn add_call(&mut self, call: &Call, started: &Started<'_>) {
        self.calls += 1;
        let Some((file, time)) = call.read.zip(call.time) else { return };
        self.reads += 1;
        self.repeated_reads += i64::from(started.had_read(file, time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: i64, agent: Option<&str>) -> Turn {
        let agent = agent.map(|id| Agent { id: Some(id.to_owned()), name: Some("scout".to_owned()) });
        Turn { number, agent, time: Some(number), total_tokens: Some(100), cost_usd: Some(0.5) }
    }

    fn read(turn: i64, file: u64, is_subagent: bool) -> Call {
        Call { turn: Some(turn), is_subagent, time: Some(turn), read: Some(file), ..Call::default() }
    }

    #[test]
    fn runs_have_their_responses_reads_and_result() {
        let turns = [turn(1, None), turn(2, Some("a")), turn(3, Some("a")), turn(4, Some("b")), turn(5, None)];
        let calls = [
            read(1, 7, false),
            Call { id: Some(11), result_bytes: Some(9), ..read(1, 8, false) },
            Call { id: Some(11), result_bytes: Some(640), is_start: true, ..Call::default() },
            // The file was read before, another one was not, and one is read later by the main agent.
            read(2, 7, true),
            read(3, 9, true),
            read(3, 5, true),
            read(5, 5, false),
        ];
        let starts = [
            Start { agent_id: Some("a".to_owned()), call_id: Some(11), ..Start::default() },
            Start { agent_id: Some("b".to_owned()), call_id: Some(12), ..Start::default() },
        ];
        let name = Some("scout".to_owned());
        let expected = [
            Run {
                name: name.clone(),
                turns: Some(2),
                calls: 3,
                tokens: Some(200),
                cost_usd: Some(1.0),
                result_bytes: Some(640),
                reads: 3,
                repeated_reads: 1,
            },
            Run { name, turns: Some(1), tokens: Some(100), cost_usd: Some(0.5), ..Run::default() },
        ];
        let session = Rows { turns: &turns, calls: &calls, starts: &starts };
        assert_eq!(runs(session, &Started::of(session)), expected);
    }

    #[test]
    fn a_child_session_is_a_run_without_its_own_subagents() {
        let parent_calls = [Call { id: Some(11), result_bytes: Some(20), ..read(1, 7, false) }];
        let starts = [Start { agent_id: Some("child".to_owned()), call_id: Some(11), ..Start::default() }];
        let parent = Started::of(Rows { turns: &[], calls: &parent_calls, starts: &starts });
        let unknown = Turn { total_tokens: None, cost_usd: None, ..turn(2, None) };
        let turns = [unknown, turn(3, Some("inner"))];
        let calls = [read(2, 7, false), read(3, 7, true)];
        let session = Rows { turns: &turns, calls: &calls, starts: &[] };
        let expected =
            Run { turns: Some(1), calls: 1, result_bytes: Some(20), reads: 1, repeated_reads: 1, ..Run::default() };
        assert_eq!(run_of_session("child", None, session, &parent), Some(expected));
        assert_eq!(run_of_session("fork", None, session, &parent), None);
        // A log with sums only.
        let of_sums = Run { result_bytes: Some(20), ..Run::default() };
        assert_eq!(run_of_session("child", None, Rows::default(), &parent), Some(of_sums));
    }
}
