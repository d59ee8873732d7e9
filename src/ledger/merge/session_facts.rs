//! What the parts of a session report about the session as a whole.

use std::collections::BTreeMap;
use std::mem;

use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::session::{Capabilities, SessionResult, Status, add, add_verdicts};

/// The facts of a session, joined from its parts.
#[derive(Default)]
pub(super) struct SessionFacts {
    pub session: SessionResult,
    /// The end of the part that the last text comes from.
    text_at: Option<Time>,
    /// The end of the part that the status comes from.
    ending: Ending,
    /// By subagent, whether the latest copy of its own file is known to contain less than was billed, and when that ends.
    subagents: BTreeMap<Agent, (Option<Time>, bool)>,
}

impl SessionFacts {
    /// Whether no part was added yet.
    pub fn is_empty(&self) -> bool {
        self.session.session_id.is_empty()
    }

    /// Adds what a less detailed view reports, where nothing else reports it. `goes_on`: whether it has rows after the end of the others.
    pub fn fill_unknown(&mut self, mut view: SessionResult, goes_on: bool) {
        let known = &mut self.session;
        set_if_unknown(&mut known.text, view.text.take());
        set_if_unknown(&mut known.runtime_version, view.runtime_version.take());
        set_if_unknown(&mut known.user_turns, view.user_turns);
        set_if_unknown(&mut known.started_at, view.started_at);
        if goes_on {
            (known.stop_reason, known.exit_code) = (None, None);
            known.ended_at = known.ended_at.max(view.ended_at);
        }
        if view.status.is_end() && (goes_on || known.status == Status::Unknown) {
            (known.status, known.error_kind) = (view.status, view.error_kind);
            known.error_message = view.error_message.take();
            set_if_unknown(&mut known.stop_reason, view.stop_reason.take());
            set_if_unknown(&mut known.exit_code, view.exit_code);
        }
        set_if_unknown(&mut known.ended_at, view.ended_at);
        add_constant_facts(known, view);
    }

    /// Whether a file of a subagent is known to contain less than was billed.
    pub fn has_incomplete_subagent(&self) -> bool {
        self.subagents.values().any(|(_, under_reports)| *under_reports)
    }

    /// Adds the facts of another part.
    pub fn join(&mut self, mut part: SessionResult, ending: Ending) {
        if let Some(agent) = ending.subagent.clone() {
            // The file of a subagent states nothing about the responses of others.
            let latest = (part.ended_at, mem::take(&mut part.under_reports));
            let known = self.subagents.entry(agent).or_insert(latest);
            *known = (*known).max(latest);
        }
        // The last text counts, whichever part decides the status.
        if part.text.is_some() && (self.session.text.is_none() || part.ended_at >= self.text_at) {
            self.session.text.clone_from(&part.text);
            self.text_at = part.ended_at;
        }
        if self.is_empty() {
            self.session = part;
            self.ending = ending;
            return;
        }
        let known = &mut self.session;
        // The file that the runtime keeps determines the format; a recording adds its total.
        if part.capabilities.has(Capabilities::KEPT_BY_RUNTIME)
            && !known.capabilities.has(Capabilities::KEPT_BY_RUNTIME)
        {
            known.format.clone_from(&part.format);
        }
        // Recordings contain successive runs of a session; other logs of one session repeat each other.
        let are_recordings = part.recording.is_some() && known.recording.is_some();
        if ending.outranks(&self.ending) {
            let is_of_subagent = ending.subagent.is_some();
            self.ending = ending;
            known.status = part.status;
            known.error_kind = part.error_kind;
            known.error_message = part.error_message.take();
            known.stop_reason = part.stop_reason.take().or(known.stop_reason.take());
            known.exit_code = part.exit_code.or(known.exit_code);
            if !are_recordings && !is_of_subagent {
                known.under_reports = part.under_reports;
            }
        }
        known.under_reports |= are_recordings && part.under_reports;
        known.is_estimated |= part.is_estimated;
        known.is_prompted_by_program |= part.is_prompted_by_program;
        known.inherits_total |= part.inherits_total;
        known.has_disputed_totals |= part.has_disputed_totals;
        known.unread = known.unread.max(part.unread);
        known.started_at = known.started_at.into_iter().chain(part.started_at).min();
        known.ended_at = known.ended_at.max(part.ended_at);
        known.runtime_version = part.runtime_version.take().or(known.runtime_version.take());
        known.capabilities = known.capabilities.and(part.capabilities);
        known.subagents.append(&mut part.subagents);
        let join = |a: Option<i64>, b| if are_recordings { add(a, b) } else { a.max(b) };
        let join_lines = |a: Option<(i64, i64)>, b: Option<(i64, i64)>| match (a, b) {
            (Some(a), Some(b)) if are_recordings => Some((a.0 + b.0, a.1 + b.1)),
            _ => a.max(b),
        };
        known.user_turns = join(known.user_turns, part.user_turns);
        known.duration_ms = join(known.duration_ms, part.duration_ms);
        known.stated_turns = join(known.stated_turns, part.stated_turns);
        known.stated_tool_calls = join(known.stated_tool_calls, part.stated_tool_calls);
        known.stated_tool_errors = join(known.stated_tool_errors, part.stated_tool_errors);
        known.stated_lines = join_lines(known.stated_lines, part.stated_lines);
        set_if_unknown(&mut known.continues, part.continues.take());
        set_if_unknown(&mut known.provider_session_id, part.provider_session_id.take());
        add_constant_facts(known, part);
    }
}

/// Adds what is the same in all parts and views of a session that state it.
fn add_constant_facts(known: &mut SessionResult, other: SessionResult) {
    // All fields are listed, so that a new one needs a decision. Rows and the identity are joined elsewhere; of the other fields that
    // are left out, the callers decide which part or view counts.
    let SessionResult {
        session_id: _,
        runtime: _,
        format: _,
        line: _,
        recording: _,
        runtime_version: _,
        parent_session_id,
        continues: _,
        provider_session_id: _,
        agent,
        entrypoint,
        cwd,
        git_branch,
        repository,
        host,
        user_name,
        model,
        status: _,
        error_kind: _,
        error_message: _,
        stop_reason: _,
        exit_code: _,
        started_at: _,
        ended_at: _,
        duration_ms: _,
        stated_turns: _,
        user_turns: _,
        prompts,
        prompt_candidates: _,
        typed_message_ids: _,
        stated_tool_calls: _,
        stated_tool_errors: _,
        stated_lines: _,
        subagents: _,
        capabilities: _,
        under_reports: _,
        labels,
        prompt,
        text: _,
        turns: _,
        tool_calls: _,
        file_changes: _,
        events: _,
        totals: _,
        limits: _,
        is_estimated: _,
        verdicts,
        trial,
        is_trial_result: _,
        unread: _,
        is_prompted_by_program: _,
        delegates: _,
        offer,
        pull_requests,
        id_if_cut: _,
        contains: _,
        messages: _,
        is_copied_history: _,
        delegation: _,
        attempts: _,
        inherits_total: _,
        has_disputed_totals: _,
        answers,
    } = other;
    set_if_unknown(&mut known.parent_session_id, parent_session_id);
    set_if_unknown(&mut known.agent, agent);
    set_if_unknown(&mut known.entrypoint, entrypoint);
    set_if_unknown(&mut known.cwd, cwd);
    set_if_unknown(&mut known.git_branch, git_branch);
    set_if_unknown(&mut known.repository, repository);
    set_if_unknown(&mut known.host, host);
    set_if_unknown(&mut known.user_name, user_name);
    set_if_unknown(&mut known.model, model);
    set_if_unknown(&mut known.prompt, prompt);
    set_if_unknown(&mut known.trial, trial);
    known.labels.extend(labels);
    known.prompts.extend(prompts);
    known.answers.extend(answers);
    known.offer.join(offer);
    known.pull_requests.extend(pull_requests);
    add_verdicts(&mut known.verdicts, verdicts);
}

fn set_if_unknown<T>(known: &mut Option<T>, value: Option<T>) {
    *known = known.take().or(value);
}

/// A subagent, by its id where the log states one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Agent(Option<Symbol>);

/// What decides which part determines the status of a session: see docs/accounting.md#status.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending {
    status: Status,
    ended_at: Option<Time>,
    /// Whether the part is a copy of the runtime's own file, with responses of the main agent.
    is_main_file: bool,
    /// The agent of the first response, if the part is a file of the runtime with responses of subagents only.
    subagent: Option<Agent>,
}

impl Ending {
    pub fn of(part: &SessionResult) -> Self {
        let is_kept = part.capabilities.has(Capabilities::KEPT_BY_RUNTIME);
        let is_main_file = is_kept && part.turns.iter().any(|turn| !turn.is_subagent);
        let first = part.turns.first().filter(|_| is_kept && !is_main_file);
        let subagent = first.map(|turn| Agent(turn.agent_id.clone()));
        Self { status: part.status, ended_at: part.ended_at, is_main_file, subagent }
    }

    /// Of two copies of the runtime's own file, the one with the later last record decides. Of other parts, any end
    /// outranks none, a log without an end outranks one that states nothing about it, and a later success outranks an earlier error.
    fn outranks(&self, known: &Self) -> bool {
        let are_copies = self.is_main_file && known.is_main_file;
        let are_known = [self, known].iter().all(|ending| ending.status != Status::Unknown);
        if are_copies && are_known && self.ended_at != known.ended_at {
            return self.ended_at > known.ended_at;
        }
        let rank = |ending: &Self| {
            let status = ending.status;
            (status.is_end(), status != Status::Unknown, ending.ended_at, status == Status::Success)
        };
        rank(self) >= rank(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Turn;

    #[test]
    fn the_part_that_decides_the_status() {
        let ending = |status, ended_at, is_main_file| {
            let ended_at = Some(Time::from_micros(ended_at));
            Ending { status, ended_at, is_main_file, subagent: None }
        };
        let (error, success, open, unknown) = (Status::Error, Status::Success, Status::Incomplete, Status::Unknown);
        let cases = [
            ("an end outranks none", ending(success, 1, false), ending(open, 2, false), true),
            ("even one in the runtime's file", ending(success, 1, false), ending(open, 2, true), true),
            ("none does not outrank an end", ending(open, 2, false), ending(success, 1, false), false),
            ("the later end", ending(success, 2, false), ending(error, 1, false), true),
            ("the earlier end", ending(success, 1, false), ending(error, 2, false), false),
            ("success at the same time", ending(success, 1, false), ending(error, 1, false), true),
            ("error at the same time", ending(error, 1, false), ending(success, 1, false), false),
            ("the longer copy", ending(open, 2, true), ending(success, 1, true), true),
            ("the shorter copy", ending(success, 1, true), ending(open, 2, true), false),
            ("a copy without a status", ending(unknown, 2, true), ending(success, 1, true), false),
            ("before a copy without a status", ending(open, 1, true), ending(unknown, 2, true), true),
            ("a later view without a status", ending(unknown, 2, false), ending(open, 1, true), false),
        ];
        for (name, ending, known, expected) in cases {
            assert_eq!(ending.outranks(&known), expected, "{name}");
        }
    }

    #[test]
    fn a_file_of_a_subagent_that_under_reports_reaches_the_session() {
        let part = |agent: Option<&str>, ended_at: i64, under_reports: bool| SessionResult {
            session_id: "s".to_owned(),
            capabilities: Capabilities::KEPT_BY_RUNTIME,
            ended_at: Some(Time::from_micros(ended_at)),
            status: Status::Success,
            under_reports,
            turns: vec![Box::new(Turn {
                is_subagent: agent.is_some(),
                agent_id: agent.map(Symbol::new),
                ..Turn::default()
            })]
            .into(),
            ..SessionResult::default()
        };
        let main = part(None, 9, false);
        for (name, parts, expected) in [
            ("after the main file", vec![main.clone(), part(Some("a"), 5, true)], true),
            ("before it", vec![part(Some("a"), 5, true), main.clone()], true),
            ("of several agents one", vec![part(Some("a"), 5, true), part(Some("b"), 6, false), main.clone()], true),
            ("an earlier copy", vec![part(Some("a"), 5, true), part(Some("a"), 6, false), main.clone()], false),
            ("none", vec![part(Some("a"), 5, false), main], false),
            ("only the main file", vec![part(None, 9, true), part(Some("a"), 5, false)], false),
        ] {
            let mut facts = SessionFacts::default();
            for part in parts {
                let ending = Ending::of(&part);
                facts.join(part, ending);
            }
            assert_eq!(facts.has_incomplete_subagent(), expected, "{name}");
            assert_eq!(facts.session.under_reports, name == "only the main file", "{name}");
        }
    }
}
