//! Builds the document of a session from its rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde::Serialize;

use super::atif::{Agent, EXPORTED_BY, Extra, FinalMetrics, VERSION, extra};
use super::spent::Spent;
use super::steps::{Content, PlacedStep, Steps, sorted};
use super::tables::{CallPlace, Session, Tables};
use crate::analysis::rows::Key;
use crate::base::time::Time;

/// A trajectory, as the schema of ATIF defines it.
#[derive(Serialize)]
pub struct Document<'a> {
    schema_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trajectory_id: Option<String>,
    agent: Agent,
    steps: Steps<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_metrics: Option<FinalMetrics>,
    extra: Extra,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagent_trajectories: Vec<Document<'a>>,
}

impl<'a> Document<'a> {
    /// The document of a session.
    pub fn new(session: Session, tables: &'a Tables, key: &Key) -> Self {
        let mut builder = Builder::new(tables);
        let calls_without_turn = builder.add_turns(key);
        builder.add_calls(calls_without_turn);
        builder.add_events(key);
        builder.finish(session)
    }
}

/// The steps and the usage of one agent.
#[derive(Default)]
struct AgentPart {
    agent: Option<String>,
    model: Option<String>,
    steps: Vec<PlacedStep>,
    spent: Spent,
}

/// A document under construction.
struct Builder<'a> {
    tables: &'a Tables,
    main: AgentPart,
    /// The parts of subagents, by the ids of their trajectories.
    subagents: BTreeMap<String, AgentPart>,
    /// The usage of the whole session.
    spent: Spent,
    /// The subagent that a call started, by the id of the call.
    started: HashMap<String, String>,
}

impl<'a> Builder<'a> {
    fn new(tables: &'a Tables) -> Self {
        Self {
            tables,
            main: AgentPart::default(),
            subagents: BTreeMap::new(),
            spent: Spent::default(),
            started: HashMap::new(),
        }
    }

    /// Step 1: a step for each turn, with its calls. Returns the calls that belong to no turn.
    fn add_turns(&mut self, key: &Key) -> Vec<CallPlace> {
        let mut turns = self.tables.turns.of_session(key);
        turns.sort_by_key(|turn| (turn.number.is_none(), turn.number, turn.line));
        let numbers: BTreeSet<i64> = turns.iter().filter_map(|turn| turn.number).collect();
        let mut calls_by_turn: HashMap<i64, Vec<usize>> = HashMap::new();
        let mut calls_without_turn = Vec::new();
        for call in self.tables.calls.of_session(key) {
            match call.turn.filter(|number| numbers.contains(number)) {
                Some(number) => calls_by_turn.entry(number).or_default().push(call.row),
                None => calls_without_turn.push(call),
            }
        }
        for turn in turns {
            self.spent = self.spent.plus(turn.spent);
            let part = if turn.is_subagent {
                let id = trajectory_id(turn.agent_id.as_ref(), turn.agent.as_ref());
                self.subagents.entry(id).or_default()
            } else {
                &mut self.main
            };
            part.spent = part.spent.plus(turn.spent);
            // A row without a number is a total, not a step.
            let Some(number) = turn.number else { continue };
            part.agent = part.agent.take().or(turn.agent);
            part.model = part.model.take().or_else(|| self.tables.turns.step(turn.row).model_name);
            let content = Content::Turn(turn.row, calls_by_turn.remove(&number).unwrap_or_default());
            part.steps.push(PlacedStep { time: turn.time, line: turn.line, content });
        }
        calls_without_turn
    }

    /// Step 2: a step for each call that belongs to no turn.
    fn add_calls(&mut self, calls: Vec<CallPlace>) {
        for call in calls {
            let part = if call.is_subagent {
                let known = self.subagents.iter().find(|(_, part)| part.agent == call.agent).map(|(id, _)| id.clone());
                let id = known.unwrap_or_else(|| trajectory_id(None, call.agent.as_ref()));
                let part = self.subagents.entry(id).or_default();
                part.agent = part.agent.take().or(call.agent);
                part
            } else {
                &mut self.main
            };
            part.steps.push(PlacedStep { time: call.time, line: call.line, content: Content::Call(call.row) });
        }
    }

    /// Step 3: a step for each event, except that the start of a subagent is noted for the call that started it.
    fn add_events(&mut self, key: &Key) {
        let events = &self.tables.events;
        for row in events.of_session(key) {
            if events.is_start(row) {
                self.started.extend(events.start(row));
            } else {
                let (time, line) = events.place(row);
                self.main.steps.push(PlacedStep { time, line, content: Content::Event(row) });
            }
        }
    }

    /// Step 4: sorts the steps, adds the prompt and the last answer, and embeds the subagents.
    fn finish(self, session: Session) -> Document<'a> {
        let tables = self.tables;
        let agents: Rc<BTreeSet<String>> = Rc::new(self.subagents.keys().cloned().collect());
        let started = Rc::new(self.started);
        let steps_of = |steps: Vec<(Option<Time>, Content)>, answer: Option<(usize, String)>| Steps {
            tables,
            steps,
            answer,
            agents: Rc::clone(&agents),
            started: Rc::clone(&started),
        };
        let embedded = self.subagents.into_iter().map(|(id, part)| {
            let agent = Agent {
                name: part.agent.unwrap_or_else(|| "subagent".to_owned()),
                version: session.agent.version.clone(),
                model_name: part.model,
                extra: Extra::new(),
            };
            let steps = sorted(part.steps);
            Document {
                schema_version: VERSION,
                session_id: None,
                trajectory_id: Some(id),
                agent,
                final_metrics: part.spent.total(steps.len()),
                steps: steps_of(steps, None),
                extra: extra([("exported_by", EXPORTED_BY.into())]),
                subagent_trajectories: Vec::new(),
            }
        });
        let embedded: Vec<Document> = embedded.collect();
        let mut steps = Vec::new();
        if session.has_prompt || session.prompt.is_some() {
            steps.push((session.started_at, Content::Prompt(session.prompt.unwrap_or_default())));
        }
        steps.append(&mut sorted(self.main.steps));
        let answer = match (session.text, steps.iter().rposition(|(_, content)| content.is_of_agent())) {
            (Some(text), Some(last)) => Some((last, text)),
            (Some(text), None) => {
                steps.push((None, Content::Answer(text)));
                None
            }
            (None, _) => None,
        };
        if steps.is_empty() {
            // The schema requires at least one step.
            steps.push((None, Content::Empty));
        }
        let total_steps = steps.len() + embedded.iter().map(|document| document.steps.len()).sum::<usize>();
        Document {
            schema_version: VERSION,
            session_id: Some(session.id),
            trajectory_id: None,
            agent: session.agent,
            steps: steps_of(steps, answer),
            final_metrics: self.spent.total(total_steps),
            extra: session.extra,
            subagent_trajectories: embedded,
        }
    }
}

/// The id of a subagent's trajectory: the id of the agent, or else its name.
fn trajectory_id(agent_id: Option<&String>, agent: Option<&String>) -> String {
    agent_id.or(agent).map_or("subagent", |id| id).to_owned()
}
