//! The steps of a document. A session may have a million steps: each is made when it is written.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use serde::{Serialize, Serializer};

use super::atif::{Call, Observation, Outcome, Reference, Step};
use super::tables::Tables;
use crate::base::time::Time;
use crate::store::frames::tool_calls;

/// The content of a step.
pub enum Content {
    /// The first prompt of the user.
    Prompt(String),
    /// The row of a turn, and the rows of its calls.
    Turn(usize, Vec<usize>),
    /// The row of a call that belongs to no turn.
    Call(usize),
    /// The row of an event.
    Event(usize),
    /// The last answer of a session that has no step of its agent.
    Answer(String),
    /// The only step of a session without any content.
    Empty,
}

impl Content {
    /// Whether the step is one of the agent.
    pub fn is_of_agent(&self) -> bool {
        matches!(self, Self::Turn(..) | Self::Call(_) | Self::Answer(_))
    }
}

/// The steps of a document.
pub struct Steps<'a> {
    pub tables: &'a Tables,
    pub steps: Vec<(Option<Time>, Content)>,
    /// The index of the step with the last answer, and the answer.
    pub answer: Option<(usize, String)>,
    /// The ids of the trajectories that are embedded in the document.
    pub agents: Rc<BTreeSet<String>>,
    /// The subagent that a call started, by the id of the call.
    pub started: Rc<HashMap<String, String>>,
}

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.steps.len()).filter_map(|index| self.step(index)))
    }
}

impl Steps<'_> {
    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    fn step(&self, index: usize) -> Option<Step> {
        let (time, content) = self.steps.get(index)?;
        let mut step = match content {
            Content::Prompt(text) => Step { source: "user", message: text.clone(), ..Step::default() },
            Content::Turn(row, calls) => {
                let mut step = self.tables.turns.step(*row);
                fill(&mut step, calls.iter().map(|row| self.call(*row)));
                step
            }
            Content::Call(row) => {
                let mut step = Step { source: "agent", ..Step::default() };
                fill(&mut step, [self.call(*row)]);
                step
            }
            Content::Event(row) => self.tables.events.step(*row),
            Content::Answer(text) => Step { source: "agent", message: text.clone(), ..Step::default() },
            Content::Empty => Step { source: "system", ..Step::default() },
        };
        if let Some((_, text)) = self.answer.as_ref().filter(|(place, _)| *place == index) {
            step.message.clone_from(text);
        }
        step.step_id = index + 1;
        step.timestamp = time.map(|time| time.to_string());
        Some(step)
    }

    fn call(&self, row: usize) -> (Call, Option<Outcome>) {
        let (call, mut outcome) = self.tables.calls.call(row);
        // Only embedded trajectories are referenced. A subagent with its own session has its own file.
        let agent = self.started.get(&call.tool_call_id).filter(|agent| self.agents.contains(*agent));
        if let (Some(outcome), Some(agent)) = (&mut outcome, agent) {
            outcome.subagent_trajectory_ref = vec![Reference { trajectory_id: agent.clone() }];
        }
        (call, outcome)
    }
}

/// Adds calls and their results to a step. If an id occurs again within the step, a number is appended to it.
fn fill(step: &mut Step, calls: impl IntoIterator<Item = (Call, Option<Outcome>)>) {
    let mut results = Vec::new();
    let mut times: HashMap<String, usize> = HashMap::new();
    for (mut call, mut outcome) in calls {
        let times = times.entry(call.tool_call_id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            let id = format!("{}#{times}", call.tool_call_id);
            call.extra.insert(tool_calls::CALL_ID, std::mem::replace(&mut call.tool_call_id, id.clone()).into());
            if let Some(outcome) = &mut outcome {
                outcome.source_call_id.clone_from(&id);
            }
        }
        results.extend(outcome);
        step.tool_calls.push(call);
    }
    step.observation = (!results.is_empty()).then_some(Observation { results });
}

/// A step, and its place in the log.
pub struct PlacedStep {
    pub time: Option<Time>,
    pub line: i64,
    pub content: Content,
}

/// Steps sorted by time. A step without a time follows the previous step of the log.
pub fn sorted(placed: Vec<PlacedStep>) -> Vec<(Option<Time>, Content)> {
    let has_times = placed.iter().any(|step| step.time.is_some());
    let mut last = None;
    let mut keyed: Vec<_> = placed
        .into_iter()
        .map(|step| {
            last = step.time.or(last);
            ((last.filter(|_| has_times), step.line), step)
        })
        .collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, step)| (step.time, step.content)).collect()
}
