//! The subagents of a session, and the models that they were started with.

use foldhash::HashMap;

use crate::adapters::formats::copilot::events::records::Record;
use crate::base::text::Symbol;
use crate::json::fields::Text;
use crate::model::session::Turn;

/// A subagent that messages or calls belong to.
#[derive(Debug, Clone, Default)]
pub(super) struct Agent {
    pub(super) id: Option<Symbol>,
    pub(super) name: Option<Symbol>,
    /// Its own settings, which are not those of the main agent.
    pub(super) model: Option<Symbol>,
    pub(super) effort: Option<Symbol>,
}

impl Agent {
    fn new(id: &str) -> Self {
        Self { id: Some(id.into()), ..Self::default() }
    }

    /// Sets the model and the effort that a record states. What it leaves out remains.
    fn set_model(&mut self, record: &Record<'_>) {
        self.model = record.data.model.owned().or(self.model.take());
        self.effort = record.data.reasoning_effort.owned().or(self.effort.take());
    }

    /// Makes a response that of the agent.
    pub(super) fn claim(&self, turn: &mut Turn) {
        turn.is_subagent = true;
        turn.agent_id.clone_from(&self.id);
        turn.agent.clone_from(&self.name);
    }
}

/// Agents that were started, by each id that their records may contain.
#[derive(Debug, Default)]
pub(super) struct Agents {
    by_id: HashMap<String, Agent>,
}

impl Agents {
    /// The agent of a record; `None` for the main one.
    pub(super) fn of(&self, record: &Record<'_>) -> Option<Agent> {
        let id = record.agent_id.some().or(record.data.parent_tool_call_id.some())?;
        Some(self.known(id))
    }

    fn known(&self, id: &str) -> Agent {
        self.by_id.get(id).cloned().unwrap_or_else(|| Agent::new(id))
    }

    /// Adds the agent that a record starts, unless the record has no id.
    pub(super) fn start(&mut self, record: &Record<'_>) -> Option<Agent> {
        let data = &record.data;
        let mut agent = self.known(record.agent_id.some().or(data.tool_call_id.some())?);
        agent.name = data.agent_name.owned();
        agent.set_model(record);
        for id in [&record.agent_id, &data.tool_call_id].into_iter().filter_map(Text::owned) {
            self.by_id.insert(id, agent.clone());
        }
        Some(agent)
    }

    /// Sets the model that an agent runs with, once it is known.
    pub(super) fn configure(&mut self, record: &Record<'_>) {
        let Some(id) = record.agent_id.some() else { return };
        self.by_id.entry(id.to_owned()).or_insert_with(|| Agent::new(id));
        // The call that started the agent is a second id.
        for agent in self.by_id.values_mut().filter(|agent| agent.id.as_deref() == Some(id)) {
            agent.set_model(record);
        }
    }
}
