//! The runs of subagents: those in the log of a session, or the session itself if another one started it.

use std::collections::{BTreeMap, HashMap};

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
    pub turns: i64,
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

/// The runs in the log of a session.
pub(super) fn runs(session: Rows<'_>) -> Vec<Run> {
    let mut found: BTreeMap<&Agent, Run> = BTreeMap::new();
    let agents: HashMap<i64, &Agent> =
        session.turns.iter().filter_map(|turn| Some((turn.number, turn.agent.as_ref()?))).collect();
    for turn in session.turns {
        if let Some(agent) = &turn.agent {
            found.entry(agent).or_default().add_turn(turn);
        }
    }
    let read_before = first_reads(session.calls);
    for call in session.calls {
        let agent = call.turn.and_then(|turn| agents.get(&turn));
        if let Some(run) = agent.and_then(|agent| found.get_mut(agent)) {
            run.add_call(call, &read_before);
        }
    }
    let of = |(agent, run): (&Agent, Run)| {
        let start = agent.id.as_deref().and_then(|id| session.start_of(id));
        Run {
            name: agent.name.clone().or_else(|| start?.name.clone()),
            result_bytes: start.and_then(|start| session.returned_to(start)),
            ..run
        }
    };
    found.into_iter().map(of).collect()
}

/// A session as a run of the session that started it, whose rows are those of `parent`. `None` if the log of that one does not name it:
/// a fork has a parent, too.
pub(super) fn run_of_session(id: &str, name: Option<&str>, session: Rows<'_>, parent: Rows<'_>) -> Option<Run> {
    let start = parent.start_of(id)?;
    if session.turns.iter().all(|turn| turn.agent.is_some()) {
        // All of its responses are those of runs in its log.
        return None;
    }
    let name = name.map(str::to_owned).or_else(|| start.name.clone());
    let mut run = Run { name, result_bytes: parent.returned_to(start), ..Run::default() };
    // Its own subagents are runs of their own.
    session.turns.iter().filter(|turn| turn.agent.is_none()).for_each(|turn| run.add_turn(turn));
    let read_before = first_reads(parent.calls);
    session.calls.iter().filter(|call| !call.is_subagent).for_each(|call| run.add_call(call, &read_before));
    Some(run)
}

/// When the main agent read each file first.
fn first_reads(calls: &[Call]) -> HashMap<u64, i64> {
    let mut first: HashMap<u64, i64> = HashMap::new();
    for call in calls.iter().filter(|call| !call.is_subagent) {
        if let Some((file, time)) = call.read.zip(call.time) {
            let known = first.entry(file).or_insert(time);
            *known = time.min(*known);
        }
    }
    first
}

impl<'a> Rows<'a> {
    /// The start of an agent, if the log names it.
    fn start_of(self, agent_id: &str) -> Option<&'a Start> {
        self.starts.iter().find(|start| start.agent_id.as_deref() == Some(agent_id))
    }

    /// The bytes of the result of the call that started an agent.
    fn returned_to(self, start: &Start) -> Option<i64> {
        let id = start.call_id?;
        // Ids of calls repeat where an export masks them.
        let calls = || self.calls.iter().filter(|call| call.id == Some(id));
        calls().find(|call| call.is_start).or_else(|| calls().next())?.result_bytes
    }
}

impl Run {
    fn add_turn(&mut self, turn: &Turn) {
        self.turns += 1;
        self.tokens = match (self.tokens, turn.total_tokens) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.cost_usd = match (self.cost_usd, turn.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
    }

    fn add_call(&mut self, call: &Call, read_before: &HashMap<u64, i64>) {
        self.calls += 1;
        let Some((file, time)) = call.read.zip(call.time) else { return };
        self.reads += 1;
        self.repeated_reads += i64::from(read_before.get(&file).is_some_and(|first| *first < time));
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
                turns: 2,
                calls: 3,
                tokens: Some(200),
                cost_usd: Some(1.0),
                result_bytes: Some(640),
                reads: 3,
                repeated_reads: 1,
            },
            Run { name, turns: 1, tokens: Some(100), cost_usd: Some(0.5), ..Run::default() },
        ];
        assert_eq!(runs(Rows { turns: &turns, calls: &calls, starts: &starts }), expected);
    }

    #[test]
    fn a_child_session_is_a_run_without_its_own_subagents() {
        let parent_calls = [Call { id: Some(11), result_bytes: Some(20), ..read(1, 7, false) }];
        let starts = [Start { agent_id: Some("child".to_owned()), call_id: Some(11), ..Start::default() }];
        let parent = Rows { turns: &[], calls: &parent_calls, starts: &starts };
        let unknown = Turn { total_tokens: None, cost_usd: None, ..turn(2, None) };
        let turns = [unknown, turn(3, Some("inner"))];
        let calls = [read(2, 7, false), read(3, 7, true)];
        let session = Rows { turns: &turns, calls: &calls, starts: &[] };
        let expected =
            Run { turns: 1, calls: 1, result_bytes: Some(20), reads: 1, repeated_reads: 1, ..Run::default() };
        assert_eq!(run_of_session("child", None, session, parent), Some(expected));
        assert_eq!(run_of_session("fork", None, session, parent), None);
    }
}
