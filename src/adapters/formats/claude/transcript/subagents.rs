//! Subagents in a transcript: who started them, and their messages inside progress records.

use super::records::Record;
use super::session::Session;
use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::claude::common::{Origin, ToolUseResult};
use crate::base::text::SharedStr;
use crate::json::lines::Line;
use crate::model::session::{CallStatus, EventKind, Identity};

/// How the ids of agents begin that Claude Code runs for itself: for compactions and side questions.
const OWN_AGENTS: [&str; 2] = ["acompact-", "aside_question-"];

impl Session {
    /// Adds a subagent, unless Claude Code runs it for itself.
    pub(super) fn subagent(&mut self, agent_id: &str, call_id: Option<&str>, origin: &Origin<'_>) {
        if OWN_AGENTS.iter().any(|own| agent_id.starts_with(own)) {
            return;
        }
        let builder = &mut self.conversation.builder;
        if builder.session.subagents.insert(agent_id.into()) {
            let event = builder.event(EventKind::Subagent, origin.at);
            event.key = Some(format!("agent {agent_id}").into());
            event.code = Some(agent_id.into());
            event.call_id = call_id.map(SharedStr::from);
        } else if let Some(call_id) = call_id {
            // Its own records, which do not name the call, may be before the result of the call.
            let mut events = builder.session.events.iter_mut();
            let start = events.find(|it| it.kind == EventKind::Subagent && it.code.as_deref() == Some(agent_id));
            if let Some(start) = start.filter(|it| it.call_id.is_none()) {
                start.call_id = Some(call_id.into());
            }
        }
    }

    /// The result of a call that runs a subagent contains the usage of the subagent's last response.
    pub(super) fn agent_result(&mut self, call_id: &str, origin: &Origin<'_>, damage: &mut RecordErrors) {
        let Some(call) = self.conversation.builder.call_index(call_id) else { return };
        if self.conversation.builder.session.tool_calls[call].category != "subagent" {
            return;
        }
        let none = ToolUseResult::default();
        let result = origin.tool_use_result.unwrap_or(&none);
        let agent_id = result.agent_id.some().unwrap_or(call_id);
        if let Some(kind) = self.conversation.agents.get(call_id) {
            self.types.insert(agent_id.to_owned(), kind.clone());
        }
        if result.agent_id.some().is_some()
            && self.conversation.builder.session.tool_calls[call].status == CallStatus::Ok
        {
            self.subagent(agent_id, Some(call_id), origin);
        }
        let Some(usage) = result.usage.get() else { return };
        let tokens = usage.tokens(damage);
        if tokens.total().unwrap_or(0) == 0 {
            return;
        }
        // Servers other than Anthropic's use ids of calls again, in a session and in others. Copies of the record have its id.
        let name = match origin.uuid {
            Some(uuid) if !call_id.starts_with("toolu_") => format!("last of {call_id} in {uuid}"),
            _ => format!("last of {call_id}"),
        };
        let builder = &mut self.conversation.builder;
        let index = builder.turn(Identity::Global(name.into()), origin.at.line);
        let model = builder.session.turns.iter().rev().find(|it| it.agent_id.as_deref() == Some(agent_id));
        let model = model.and_then(|it| it.model.clone());
        let turn = &mut builder.session.turns[index];
        turn.is_echo = true;
        // The last response made no call: calls were made by earlier responses.
        turn.has_predecessors = result.total_tool_use_count.get().unwrap_or(0) > 0;
        turn.tokens = tokens.into();
        turn.model = model;
        turn.is_subagent = true;
        turn.agent_id = Some(agent_id.into());
        turn.occurred_at = origin.at.time;
    }

    /// Adds the messages of a subagent without an own file.
    pub(super) fn progress(&mut self, record: &Record<'_>, outer: &Origin<'_>, damage: &mut RecordErrors) {
        let Some(data) = record.data.as_ref().filter(|it| it.kind.as_str() == "agent_progress") else { return };
        let inner = &data.message;
        let origin = record.inner_origin(inner, Line { number: outer.at.line, bytes: outer.bytes });
        if let Some(agent_id) = origin.agent_id {
            // The result of the call repeats it, if there is one.
            let call_id = record.parent_tool_use_id.some();
            if let Some(kind) = call_id.and_then(|call_id| self.conversation.agents.get(call_id)) {
                self.types.entry(agent_id.to_owned()).or_insert_with(|| kind.clone());
            }
            self.subagent(agent_id, call_id, &origin);
        }
        match inner.kind.as_str() {
            "assistant" if inner.message.model.as_str() != "<synthetic>" && inner.message.id.some().is_some() => {
                self.response(&inner.message, &origin, true, damage);
                self.early_results(damage);
            }
            "user" => {
                self.conversation.results(&inner.message, &origin);
            }
            _ => {}
        }
    }
}
