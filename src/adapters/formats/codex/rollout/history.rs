//! Which records of a file are its own, and which ones are copies or continue another file.
//!
//! - A fork, or an agent that another one started, may repeat the records of that thread. In older versions the ledger finds the copies;
//!   since `subagent_history_start_ordinal` the file states them. An agent's copy has no calls, and may be only of the last turns.
//! - A paginated thread is continued in another file, and forked, by reference (`history_base`): nothing is repeated, but totals go on.
//! - A conversation that was imported from another runtime is in that runtime's own log.

use super::records::{Meta, Payload, Record, Source, Subagent};
use super::state::State;
use super::thread::Thread;
use crate::adapters::engine::RecordKind;
use crate::adapters::shared::repository::of_remote;
use crate::json::fields::Maybe;

/// How the ids of imported turns begin.
const IMPORTED: &str = "external-import-turn";

/// Whether a turn was imported from another runtime.
pub(super) fn is_imported(turn_id: &str) -> bool {
    turn_id.starts_with(IMPORTED)
}

impl Thread {
    pub(super) fn meta(&mut self, meta: &Meta<'_>) {
        let session = &mut self.builder.session;
        if meta.id.some().is_some_and(|it| it != session.session_id) {
            session.parent_session_id = session.parent_session_id.take().or_else(|| meta.id.owned());
            // The next records come from this thread. The last one named is the oldest.
            if self.own_from.is_none() {
                self.root = meta.id.as_str().into();
            }
            return;
        }
        let source: Source<'_> = meta.source.read();
        let subagent: Subagent<'_> = source.subagent.read();
        self.is_forked_agent |= meta.forked_from_id.is_some() && subagent.thread_spawn.parent_thread_id.is_some();
        let copied = meta.forked_from_id.some().or(subagent.thread_spawn.parent_thread_id.some());
        let parent = copied.or(meta.parent_thread_id.some()).or(meta.session_id.some());
        if let Some(parent) = parent.filter(|it| *it != session.session_id) {
            session.parent_session_id = Some(parent.to_owned());
        }
        session.cwd = meta.cwd.owned().or_else(|| session.cwd.take());
        session.git_branch = meta.git.branch.owned().or_else(|| session.git_branch.take());
        session.repository = of_remote(meta.git.repository_url.as_str()).or_else(|| session.repository.take());
        session.runtime_version = meta.cli_version.owned().or_else(|| session.runtime_version.take());
        session.entrypoint = meta.originator.owned().or_else(|| session.entrypoint.take());
        self.builder.instructions(meta.base_instructions.text.as_str());
        self.builder.instructions(meta.instructions.as_str());
        self.builder.offer_tools(meta.dynamic_tools);
        self.state.next.provider = meta.model_provider.owned().or_else(|| self.state.next.provider.take());
        self.is_of_extension |= meta.originator.as_str() == "codex_vscode" && meta.source.text() == "exec";
        self.is_review |= source.is_review();
        self.is_program |= source.is_program() || meta.thread_source.some().is_some_and(|it| it != "user");
        self.role = subagent.thread_spawn.agent_role.owned().or_else(|| self.role.take());
        self.own_from = meta.subagent_history_start_ordinal.get().or(self.own_from);
        if let Maybe::Present(base) = &meta.history_base {
            // Prompts are numbered after those of the other file.
            let before = base.end_ordinal_exclusive.get().and_then(|it| usize::try_from(it).ok());
            self.state.prompts = self.state.prompts.max(before.unwrap_or(0));
            self.state.continues = true;
        }
        self.state.continues |= self.own_from.is_some();
        if !self.state.continues
            && let Some(copied) = copied.filter(|it| *it != self.builder.session.session_id)
        {
            self.root = copied.into();
        }
    }

    /// Whether a record is a copy.
    pub(super) fn is_copied(&self, record: &Record<'_>) -> bool {
        let is_before_own = record.ordinal.get().zip(self.own_from).is_some_and(|(ordinal, own)| ordinal < own);
        is_before_own || self.is_of_cut_history(record)
    }

    /// Whether a record is one of the parent's last turns, with a part of which an agent's file can begin: a task precedes each response of a
    /// thread's own, and copies are written at once.
    fn is_of_cut_history(&self, record: &Record<'_>) -> bool {
        let is_written_at_once =
            || record.timestamp.0.zip(self.history_until()).is_some_and(|(time, until)| time <= until);
        let has_task = self.state.has_task || matches!(record.payload, Payload::TaskStarted(_));
        self.is_forked_agent && !self.state.continues && !has_task && is_written_at_once()
    }

    /// Whether the file has no task and no response so far.
    pub(super) fn is_idle(&self) -> bool {
        let State { recorded, next, open, .. } = &self.state;
        !self.has_ends && recorded.is_empty() && next.calls.is_empty() && !open.is_answering()
    }

    /// A copy: only the model and the total that it reached matter for the next records.
    pub(super) fn copied(&mut self, record: &Record<'_>) -> RecordKind {
        match (record.kind.as_str(), &record.payload) {
            ("turn_context", Payload::Other(context)) => self.turn_context(&context.read()),
            ("event_msg", Payload::TokenCount(it)) => {
                self.state.next.total.reach(it.info.total_token_usage.get().copied());
            }
            ("event_msg" | "response_item", Payload::Other(_) | Payload::Wrong) => return RecordKind::Unknown,
            _ => {}
        }
        RecordKind::Known
    }
}
