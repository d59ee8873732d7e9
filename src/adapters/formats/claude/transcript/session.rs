//! A session while the records of its transcript are read.

use std::collections::BTreeMap;

use super::records::{ApiError, Record};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::formats::claude::common::prompts::{Author, SKILL, slash_command, text_of_prompt};
use crate::adapters::formats::claude::common::{Conversation, Message, Origin, limits};
use crate::adapters::shared::builder::{Last, brief, money};
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Maybe, Text};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{Cost, Event, EventKind, Identity, SessionResult};

/// The last of the main agent's records so far.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Nothing,
    /// A response, by the index of its turn.
    Response(usize),
    Error,
    Interruption,
    /// A prompt after an interruption.
    Prompt,
}

/// The beginning of the text that Claude Code adds when the user interrupts it.
const INTERRUPTION: &str = "[Request interrupted by user";

pub(super) struct Session {
    pub(super) conversation: Conversation,
    /// The type of each agent, from the call that started it.
    pub(super) types: BTreeMap<String, Symbol>,
    /// The responses, each by its turn, and whether only progress records contain it so far.
    responses: Vec<(usize, bool)>,
    /// The indexes of the events of subagents, each with the id of the agent.
    events_of_agents: Vec<(usize, String)>,
    /// Whether a response was aborted while it was streamed.
    has_aborted_response: bool,
    last: Ending,
}

/// A response of a subagent without a stop reason has at most so many output tokens if only the count from the start of its stream
/// was logged.
const STUB: i64 = 32;

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            conversation: Conversation::new(context, id, line),
            types: BTreeMap::new(),
            responses: Vec::new(),
            events_of_agents: Vec::new(),
            has_aborted_response: false,
            last: Ending::Nothing,
        }
    }

    pub(super) fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let session = &mut self.conversation.builder.session;
        let fill = |known: &mut Option<String>, text: &Text<'_>| {
            if known.is_none() {
                *known = text.owned();
            }
        };
        fill(&mut session.cwd, &record.cwd);
        fill(&mut session.git_branch, &record.git_branch);
        fill(&mut session.entrypoint, &record.entrypoint);
        if let Some(version) = record.version.some()
            && session.runtime_version.as_deref() != Some(version)
        {
            session.runtime_version = Some(version.to_owned());
        }
        if let Some(parent) = record.forked_from.session_id.some() {
            self.set_parent(parent);
            let session = &mut self.conversation.builder.session;
            if session.continues.is_none() && session.session_id != parent {
                session.continues = Some(parent.to_owned());
            }
        }
        // A job in the background has the id of the session that started it besides its own.
        if let Some(parent) = record.origin_session_id.some()
            && record.session_kind.as_str() == "bg"
        {
            self.set_parent(parent);
        }
        self.conversation.builder.extend_to(record.timestamp.0);
        let origin = record.origin(line);
        match record.kind.as_str() {
            "assistant" => self.assistant(record, &origin, damage),
            "user" => self.user(record, &origin, damage),
            "system" => self.system(record, &origin),
            "attachment" => self.queued_prompt(record, &origin),
            _ => self.progress(record, &origin, damage),
        }
    }

    /// The session that this one continues or belongs to. The first that is named counts.
    pub(super) fn set_parent(&mut self, parent: &str) {
        let session = &mut self.conversation.builder.session;
        if session.parent_session_id.is_none() && session.session_id != parent {
            session.parent_session_id = Some(parent.to_owned());
        }
    }

    fn assistant(&mut self, record: &Record<'_>, origin: &Origin<'_>, damage: &mut RecordErrors) {
        let message = &record.message;
        if matches!(message.usage, Maybe::Wrong) {
            damage.note(Reason::NoUsage);
        }
        let is_main = !origin.is_subagent;
        if message.model.as_str() == "<synthetic>" || record.is_api_error_message.is_true() {
            // Written by the program, not by a model: an error of the API, or nothing.
            if record.is_api_error_message.is_true() {
                let text = message.content.blocks.iter().find_map(|it| it.text.some()).unwrap_or_default();
                let class: Text<'_> = record.error.read();
                let event = self.event(EventKind::Error, origin);
                event.key = record.id().map(Into::into);
                event.code = class.owned();
                event.message = Some(brief(text));
                if record.quota_limits.is_empty() {
                    limits::add_message(&mut self.conversation.builder, text, origin);
                } else {
                    limits::add(&mut self.conversation.builder, record.quota_limits, origin);
                }
                if is_main {
                    let status = record.api_error_status.whole();
                    self.conversation.builder.fail_named(status, class.as_str(), text);
                    self.last = Ending::Error;
                }
            }
            return;
        }
        // Not a response: its id or usage was lost.
        if message.id.some().is_none() && message.usage.get().is_none() {
            return;
        }
        self.has_aborted_response |= record.is_aborted_mid_stream.is_true();
        let turn = self.response(message, origin, false, damage);
        self.early_results(damage);
        let row = &mut self.conversation.builder.session.turns[turn];
        if let Some(total) = money(record.cost_usd, damage) {
            row.cost = Some(Cost::of(total));
        }
        row.effort = row.effort.take().or_else(|| record.effort.owned());
        if let Some(attribution) = record.attribution() {
            row.details_mut().fill(attribution);
        }
        if is_main {
            self.last = Ending::Response(turn);
        }
    }

    /// Returns the index of the turn.
    pub(super) fn response(
        &mut self,
        message: &Message<'_>,
        origin: &Origin<'_>,
        is_progress: bool,
        damage: &mut RecordErrors,
    ) -> usize {
        if let Some(agent) = origin.agent_id
            && origin.is_subagent
        {
            self.subagent(agent, None, origin);
        }
        let known = self.conversation.builder.session.turns.len();
        let index = self.conversation.response(message, origin, None, damage);
        if index >= known {
            self.responses.push((index, is_progress));
        } else if !is_progress
            && let Ok(at) = self.responses.binary_search_by_key(&index, |(turn, _)| *turn)
            && let Some(response) = self.responses.get_mut(at)
        {
            response.1 = false;
        }
        index
    }

    /// Adds results that were on earlier lines than their calls.
    pub(super) fn early_results(&mut self, damage: &mut RecordErrors) {
        for early in self.conversation.early.take_known(&self.conversation.builder) {
            let record: Record<'_> = Raw(&early.record).read();
            let line = Line { number: early.line, bytes: &early.record };
            let inner = record.data.as_ref().map(|data| &data.message);
            let (message, origin) = match inner {
                Some(inner) => (&inner.message, record.inner_origin(inner, line)),
                None => (&record.message, record.origin(line)),
            };
            self.conversation.early_result(&early.call_id, message, &origin);
            if inner.is_none() {
                self.agent_result(&early.call_id, &origin, damage);
            }
        }
    }

    /// A prompt that the user typed while the agent was at work.
    fn queued_prompt(&mut self, record: &Record<'_>, origin: &Origin<'_>) {
        let Some(attachment) = record.attachment.as_deref().filter(|_| !origin.is_subagent) else { return };
        let texts = || {
            let blocks = attachment.prompt.blocks.iter().filter_map(|it| it.text.some());
            attachment.prompt.text.as_deref().into_iter().chain(blocks)
        };
        let text = text_of_prompt(texts());
        let is_image = texts().next().is_none();
        let own = record.origin.kind.as_str();
        let author = Author {
            origin: if own.is_empty() { attachment.origin.kind.as_str() } else { own },
            source: record.prompt_source.as_str(),
            turn: record.turn_origin.as_str(),
        };
        if (text.is_some() || is_image) && author.is_human(text) {
            let id = attachment.source_uuid.some().or(origin.uuid);
            self.conversation.builder.prompt_as(prompt_identity(id), text);
        }
    }

    fn user(&mut self, record: &Record<'_>, origin: &Origin<'_>, damage: &mut RecordErrors) {
        let message = &record.message;
        if !origin.is_subagent && message.texts().any(|text| text.starts_with(INTERRUPTION)) {
            self.last = Ending::Interruption;
            self.conversation.builder.session.error_message = None;
        }
        if self.conversation.results(message, origin) {
            let call_id = message.content.blocks.iter().find_map(|it| it.tool_use_id.some());
            if let Some(call_id) = call_id {
                self.agent_result(call_id, origin, damage);
            }
            return;
        }
        let is_machine = record.is_meta.is_true() || record.is_compact_summary.is_true() || origin.is_subagent;
        let text = text_of_prompt(message.texts());
        let has_image = message.content.blocks.iter().any(|it| it.kind.as_str() == "image");
        let author = Author {
            origin: record.origin.kind.as_str(),
            source: record.prompt_source.as_str(),
            turn: record.turn_origin.as_str(),
        };
        if !origin.is_subagent
            && let Some(text) = text
        {
            self.command(text, record.is_meta.is_true());
        }
        if !is_machine && (text.is_some() || has_image) && author.is_human(text) {
            self.conversation.builder.prompt_as(prompt_identity(record.id()), text);
            if matches!(self.last, Ending::Interruption) {
                self.last = Ending::Prompt;
            }
        } else if !is_machine && message.texts().any(|text| !text.is_empty()) {
            self.conversation.builder.prompted_by_program();
        }
    }

    /// A slash command, or what the program adds after one that is a skill.
    fn command(&mut self, text: &str, is_meta: bool) {
        if !is_meta {
            if let Some(name) = slash_command(text) {
                self.conversation.builder.slash_command(name);
            }
        } else if text.starts_with(SKILL) {
            self.conversation.builder.command_is_skill();
        }
    }

    /// Adds an event of the agent that wrote a record, whose type a later record may state.
    fn event(&mut self, kind: EventKind, origin: &Origin<'_>) -> &mut Event {
        if let Some(agent) = origin.agent_id.filter(|_| origin.is_subagent) {
            self.events_of_agents.push((self.conversation.builder.session.events.len(), agent.to_owned()));
        }
        self.conversation.event(kind, origin)
    }

    fn system(&mut self, record: &Record<'_>, origin: &Origin<'_>) {
        match record.subtype.as_str() {
            "compact_boundary" => {
                let event = self.event(EventKind::Compaction, origin);
                event.key = record.id().map(Into::into);
                event.code = record.compact_metadata.trigger.owned();
                event.tokens_before = record.compact_metadata.pre_tokens.get();
                event.tokens_after = record.compact_metadata.post_tokens.get();
            }
            "api_error" => {
                let error: ApiError<'_> = record.error.read();
                let event = self.event(EventKind::Retry, origin);
                event.key = record.id().map(Into::into);
                event.code = error.status.get().map(|it| it.to_string().into());
                event.message = error.message.some().or(record.content.some()).map(brief);
            }
            _ => {}
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        let last = self.last();
        self.conversation.builder.end(last);
        let mut session = self.conversation.builder.finish();
        for turn in &mut session.turns {
            turn.agent = turn.agent_id.as_ref().and_then(|it| self.types.get(it.as_str()).cloned());
        }
        let types = &self.types;
        for (index, agent) in &self.events_of_agents {
            let event = &mut session.events[*index];
            event.agent = event.agent.take().or_else(|| types.get(agent).cloned());
        }
        for event in session.events.iter_mut().filter(|it| it.kind == EventKind::Subagent) {
            event.agent = event.code.as_ref().and_then(|it| types.get(it.as_str()).cloned());
        }
        for index in 0..session.tool_calls.len() {
            let turn = session.tool_calls[index].turn.map(|it| &session.turns[it]);
            let (agent, is_subagent) = turn.map_or((None, false), |it| (it.agent.clone(), it.is_subagent));
            let call = &mut session.tool_calls[index];
            (call.agent, call.is_subagent) = (agent, is_subagent);
        }
        session.under_reports = self.has_aborted_response || under_reports(&session, &self.responses);
        session
    }

    /// How the log ends: there is no end record.
    fn last(&self) -> Last {
        let builder = &self.conversation.builder;
        match self.last {
            Ending::Nothing | Ending::Prompt => Last::Work,
            Ending::Error => Last::Error,
            Ending::Interruption => Last::Abort,
            Ending::Response(turn) => {
                let has_calls = || builder.session.tool_calls.iter().any(|call| call.turn == Some(turn));
                let ended_by_itself = match builder.session.turns[turn].stop_reason.as_deref() {
                    Some(reason) => reason != "tool_use",
                    None => !has_calls(),
                };
                builder.last_response(turn, ended_by_itself)
            }
        }
    }
}

/// Whether responses lack their final counts: most of them in versions 2.0 to 2.1.42, later single ones of subagents
/// (`docs/accounting.md#completeness`).
fn under_reports(session: &SessionResult, responses: &[(usize, bool)]) -> bool {
    let has_stopped = |turn: usize| session.turns[turn].stop_reason.is_some();
    let stopped = responses.iter().filter(|(turn, _)| has_stopped(*turn)).count();
    let is_stub = |&(turn, is_progress): &(usize, bool)| {
        let response = &session.turns[turn];
        let is_small = response.tokens.get().output.is_some_and(|output| output <= STUB);
        response.is_subagent && !is_progress && !has_stopped(turn) && is_small
    };
    stopped * 2 < responses.len() || responses.iter().any(is_stub)
}

fn prompt_identity(id: Option<&str>) -> Identity {
    id.map_or(Identity::Unique, |id| Identity::Global(format!("prompt {id}").into()))
}
