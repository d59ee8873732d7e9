//! The threads of a session: the first one is the main agent's, each other one that of a subagent.

use std::collections::BTreeMap;

use super::records::Model;
use super::requests::Thread;
use crate::base::text::Symbol;
use crate::model::session::SessionResult;

/// What is known of the threads of a session.
#[derive(Default)]
pub(super) struct Threads {
    /// The thread of the log's own events, if its object is in the log.
    stated: Thread,
    /// The threads that changed their status, in the order of the log, with the names of their agents.
    changed: Vec<(Symbol, Option<Symbol>)>,
    /// Their positions.
    positions: BTreeMap<Symbol, usize>,
    /// The position of the first of them that is in no event as a subagent's.
    first_unnamed: usize,
    /// The first thread, if the log is that of a subagent's.
    parent: Thread,
    /// The agents of subagents' threads.
    names: BTreeMap<Symbol, Symbol>,
    models: BTreeMap<Symbol, Model>,
    /// The models of the agents that may be started, by their names.
    roster: BTreeMap<Symbol, Model>,
}

impl Threads {
    /// The thread of the log's own events: the first one that changed its status and that no other event names as a subagent's.
    fn own(&self) -> Option<&(Symbol, Option<Symbol>)> {
        let position = match &self.stated {
            Some(stated) => *self.positions.get(stated)?,
            None => self.first_unnamed,
        };
        self.changed.get(position)
    }

    fn find_first_unnamed(&mut self) {
        while self.changed.get(self.first_unnamed).is_some_and(|(id, _)| self.names.contains_key(id)) {
            self.first_unnamed += 1;
        }
    }

    /// The thread of an event: `None` for the log's own one.
    pub(super) fn of_event(&self, id: Option<&str>) -> Thread {
        id.filter(|id| self.own().is_none_or(|(own, _)| own != id)).map(Symbol::new)
    }

    /// A thread changed its status. Returns whether it is the log's own one.
    pub(super) fn change(&mut self, id: &str, name: Option<&str>) -> bool {
        if !id.is_empty() && !self.positions.contains_key(id) {
            self.positions.insert(Symbol::new(id), self.changed.len());
            self.changed.push((Symbol::new(id), name.map(Symbol::new)));
            self.find_first_unnamed();
        }
        self.own().is_some_and(|(own, _)| own == id)
    }

    /// The thread is the log's own one.
    pub(super) fn set_own(&mut self, id: &str, name: Option<&str>) {
        self.stated = Some(Symbol::new(id));
        self.change(id, name);
    }

    /// A message came from the first agent, in this thread, so that the log is that of a subagent's.
    pub(super) fn set_parent(&mut self, id: &str) {
        self.parent = Some(Symbol::new(id));
    }

    /// The log is not that of a subagent's thread: the user wrote to it.
    pub(super) fn forget_parent(&mut self) {
        self.parent = None;
    }

    pub(super) const fn is_of_subagent(&self) -> bool {
        self.parent.is_some()
    }

    /// The id of the session's first thread, and the name of its agent.
    pub(super) fn first(&self) -> Option<(Symbol, Option<Symbol>)> {
        match &self.parent {
            Some(parent) => Some((parent.clone(), None)),
            None => self.own().cloned(),
        }
    }

    /// Names the thread of a subagent. Returns whether it is one.
    pub(super) fn add(&mut self, id: &str, name: Option<&str>) -> bool {
        if self.stated.as_ref().is_some_and(|own| *own == id) || id.is_empty() {
            return false;
        }
        let known = self.names.entry(Symbol::new(id)).or_insert_with(|| Symbol::new(""));
        if let Some(name) = name {
            *known = Symbol::new(name);
        }
        self.find_first_unnamed();
        true
    }

    pub(super) fn set_model(&mut self, id: &str, model: Model) {
        self.models.insert(Symbol::new(id), model);
    }

    pub(super) fn add_to_roster(&mut self, name: &str, model: Model) {
        self.roster.insert(Symbol::new(name), model);
    }

    /// The name of the agent of a thread.
    pub(super) fn name(&self, thread: Option<&Symbol>) -> Option<Symbol> {
        self.names.get(thread?).filter(|name| !name.is_empty()).cloned()
    }

    /// The model of a thread, by the thread or by its agent.
    pub(super) fn model(&self, thread: Option<&Symbol>) -> Option<&Model> {
        self.models.get(thread?).or_else(|| self.roster.get(&self.name(thread)?))
    }

    /// The rows of a log of a subagent's thread are those of the subagent.
    pub(super) fn attribute(&self, session: &mut SessionResult) {
        let Some((id, name)) = self.own().filter(|_| self.is_of_subagent()) else { return };
        session.agent = None;
        session.subagents.insert(id.clone());
        for turn in session.turns.iter_mut().filter(|turn| !turn.is_subagent) {
            (turn.is_subagent, turn.agent_id, turn.agent) = (true, Some(id.clone()), name.clone());
        }
        for call in session.tool_calls.iter_mut().filter(|call| !call.is_subagent) {
            (call.is_subagent, call.agent) = (true, name.clone());
        }
        for event in session.events.iter_mut().filter(|event| !event.is_subagent) {
            (event.is_subagent, event.agent) = (true, name.clone());
        }
    }
}
