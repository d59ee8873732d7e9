//! One session with the rows of all its parts, each row once.

use std::mem;

use foldhash::{HashSet, HashSetExt as _};

use super::calls::CallIds;
use super::copies::{KnownRows, PartKind, are_distinct};
use super::session_facts::{Ending, SessionFacts};
use crate::base::rows::Rows;
use crate::ledger::duplicates::RowOrigin;
use crate::ledger::part::SessionPart;
use crate::ledger::totals::FileTotals;
use crate::model::session::{CallStatus, Event, EventKind, FileChange, Limit, Sign, ToolCall, TotalKind, Turn};

/// One session with the rows of all its parts. Each row has the index of the first file that contains it.
pub(in crate::ledger) struct MergedSession {
    /// The first file.
    pub(super) source: usize,
    pub(super) facts: SessionFacts,
    pub(super) turns: Rows<(usize, Box<Turn>)>,
    pub(super) calls: Rows<(usize, Box<ToolCall>)>,
    pub(super) changes: Vec<(usize, FileChange)>,
    pub(super) events: Vec<(usize, Event)>,
    pub(super) limits: Vec<(usize, Limit)>,
    /// By part.
    pub(super) totals: Vec<FileTotals>,
    /// The files with totals of a process, if the session has several files, each with the index of a turn that it contains.
    pub(super) recorded: Vec<(usize, usize)>,
    total_keys: HashSet<String>,
}

impl MergedSession {
    /// Merges the parts of a session, and counts in `origins` from which files its rows come.
    pub(in crate::ledger) fn of_parts(parts: Vec<SessionPart>, origins: &mut Rows<RowOrigin>) -> Self {
        let mut merged = Self {
            source: parts.first().map_or(0, |part| part.source),
            facts: SessionFacts::default(),
            turns: Rows::default(),
            calls: Rows::default(),
            changes: Vec::new(),
            events: Vec::new(),
            limits: Vec::new(),
            totals: Vec::new(),
            recorded: Vec::new(),
            total_keys: HashSet::new(),
        };
        let mut known = KnownRows::default();
        let part_count = parts.len();
        for part in parts {
            let (source, rows, known_rows) = (part.source, part.row_count(), merged.row_count());
            let origin = &mut origins[source];
            origin.rows += rows + usize::from(part.transferred_to.is_some());
            let other = part.transferred_to.or((merged.source != source).then_some(merged.source));
            origin.other = origin.other.or(other);
            let kind = PartKind::of(&part, part_count);
            merged.add_part(part, &mut known, kind);
            origin.own += merged.row_count() - known_rows;
        }
        // Where each record is a file, the one with the call does not show that it failed.
        let calls = &merged.calls;
        merged.changes.retain(|(_, change)| change.call.is_none_or(|call| calls[call].1.status == CallStatus::Ok));
        merged
    }

    fn row_count(&self) -> usize {
        let rows = self.turns.len() + self.calls.len() + self.events.len();
        let facts = &self.facts.session;
        rows + facts.prompts.len() + facts.answers.len() + self.total_keys.len()
    }

    /// Adds the rows and facts of a part.
    fn add_part(&mut self, part: SessionPart, known: &mut KnownRows, kind: PartKind) {
        let SessionPart { source, mut session, is_supplement, goes_on, .. } = part;
        let ending = Ending::of(&session);
        let is_same_format = self.facts.session.format == session.format;
        let has_copies = kind != PartKind::Only || !are_distinct(&session.turns);
        let turns = mem::take(&mut session.turns).into_iter();
        let turn_indexes: Vec<usize> = if has_copies {
            turns.map(|turn| self.add_turn(source, turn, kind, is_same_format, known)).collect()
        } else {
            self.turns = turns.map(|turn| (source, turn)).collect();
            (0..self.turns.len()).collect()
        };
        let new_turn = |turn: Option<usize>| turn_indexes.get(turn?).copied();

        let mut call_ids = CallIds::default();
        let mut call_indexes = Vec::new();
        for mut call in mem::take(&mut session.tool_calls) {
            call.turn = new_turn(call.turn);
            let next = self.calls.len();
            // Calls of a recording or of the only part are different ones, even with equal ids.
            let index = if kind == PartKind::Log { known.call(&mut call_ids, &call, next) } else { next };
            if index == next {
                self.calls.push((source, call));
            } else {
                merge_call(&mut self.calls[index].1, call);
            }
            call_indexes.push(index);
        }
        for mut change in mem::take(&mut session.file_changes) {
            change.call = change.call.and_then(|call| call_indexes.get(call).copied());
            if known.is_new_change(change.call, &change.path) {
                self.changes.push((source, change));
            }
        }
        for mut event in mem::take(&mut session.events) {
            event.turn = new_turn(event.turn);
            if known.is_new_event(&event) {
                self.events.push((source, event));
            } else if event.kind == EventKind::Subagent {
                self.merge_start(event);
            }
        }
        let limits = mem::take(&mut session.limits).into_iter().filter(|limit| known.is_new_limit(limit));
        self.limits.extend(limits.map(|limit| (source, limit)));
        if kind != PartKind::Only && session.totals.iter().any(|total| total.kind == TotalKind::Process) {
            self.recorded.extend(turn_indexes.iter().map(|turn| (source, *turn)));
        }
        self.total_keys.extend(session.totals.iter().map(|total| total.key.clone()));
        let totals = mem::take(&mut session.totals);
        self.totals.push(FileTotals { source, totals, ended_at: session.ended_at });
        if is_supplement && !self.facts.is_empty() {
            self.facts.fill_unknown(session, goes_on);
        } else {
            self.facts.join(session, ending);
        }
    }

    /// Adds what a copy of the start of a subagent states: only the log of its parent names the call and the type.
    fn merge_start(&mut self, copy: Event) {
        let mut starts = self.events.iter_mut().map(|(_, event)| event).filter(|it| it.kind == EventKind::Subagent);
        if let Some(known) = starts.find(|it| it.key == copy.key && it.code == copy.code) {
            known.call_id = known.call_id.take().or(copy.call_id);
            known.agent = known.agent.take().or(copy.agent);
        }
    }

    /// Adds a turn, or merges it into its copy. Returns its index.
    fn add_turn(
        &mut self,
        source: usize,
        turn: Box<Turn>,
        kind: PartKind,
        is_same_format: bool,
        known: &mut KnownRows,
    ) -> usize {
        let next = self.turns.len();
        let index = known.turn(source, &turn, kind, next);
        if index == next {
            self.turns.push((source, turn));
        } else {
            let known = &mut self.turns[index].1;
            // A later time is that of the copy, as a fork writes it. Each format has its own moment of a response.
            if is_same_format && known.occurred_at.zip(turn.occurred_at).is_some_and(|(known, own)| own < known) {
                known.time_as(&turn);
            }
            merge_turn(known, *turn);
        }
        index
    }
}

/// Merges a copy of a response: the largest of each count, and what is unknown so far. See
/// docs/accounting.md#the-largest-count.
fn merge_turn(known: &mut Turn, copy: Turn) {
    // All fields are listed, so that a new one needs a decision.
    let Turn {
        line: _,
        identity: _,
        message_id: _,
        request_id: _,
        agent: _,
        agent_id: _,
        is_subagent,
        provider,
        model,
        effort,
        occurred_at,
        duration_ms,
        stop_reason,
        service_tier,
        speed,
        inference_geo,
        context_window,
        tokens,
        web_searches,
        cost,
        is_echo: _,
        has_predecessors: _,
        is_of_killed,
        latency_ms,
        details,
        ended_at,
    } = copy;
    known.provider = known.provider.take().or(provider);
    known.model = known.model.take().or(model);
    known.effort = known.effort.take().or(effort);
    // Another time is that of another clock, as in a fork that writes the time of the copy.
    let is_same_time = known.occurred_at.is_none_or(|time| occurred_at == Some(time));
    known.end_at(ended_at.filter(|_| is_same_time), latency_ms.filter(|_| is_same_time || known.latency_ms.is_none()));
    known.occurred_at = known.occurred_at.or(occurred_at);
    known.duration_ms = known.duration_ms.get().or(duration_ms.get()).into();
    known.stop_reason = known.stop_reason.take().or(stop_reason);
    known.service_tier = known.service_tier.take().or(service_tier);
    known.speed = known.speed.take().or(speed);
    known.inference_geo = known.inference_geo.take().or(inference_geo);
    known.context_window = known.context_window.get().or(context_window.get()).into();
    known.tokens = known.tokens.get().max(tokens.get()).into();
    known.web_searches = known.web_searches.get().max(web_searches.get()).into();
    known.cost = known.cost.take().or(cost);
    known.is_of_killed |= is_of_killed;
    if let Some(details) = details {
        known.details_mut().fill(*details);
    }
    if known.is_subagent && !is_subagent {
        // A side question replays the main agent's response: it stays the main agent's.
        (known.is_subagent, known.agent_id, known.agent) = (false, None, None);
    }
}

/// Merges a copy of a call: the copy with an end replaces the one without. Where each record is a file, one has the arguments and the
/// other the result.
fn merge_call(known: &mut Box<ToolCall>, mut copy: Box<ToolCall>) {
    if known.status == CallStatus::Incomplete && copy.status != CallStatus::Incomplete {
        mem::swap(known, &mut copy);
        (known.line, known.turn) = (copy.line, copy.turn.or(known.turn));
    }
    // All fields are listed, so that a new one needs a decision.
    let ToolCall {
        line: _,
        turn: _,
        message_id: _,
        call_id: _,
        agent: _,
        is_subagent: _,
        tool: _,
        category,
        mcp_server,
        occurred_at,
        ended_at,
        duration_ms,
        status: _,
        exit_code: _,
        args_bytes,
        result_bytes: _,
        target,
        args,
        result: _,
        args_hash,
        command_kind,
        result_failed_tests,
        skill,
        sign,
        commits,
    } = *copy;
    if known.args_bytes.get().is_none() && args_bytes.get().is_some() {
        (known.category, known.args_bytes) = (category, args_bytes);
        known.mcp_server = mcp_server.or(known.mcp_server.take());
        known.target = target.or(known.target.take());
        known.args = args.or(known.args.take());
    }
    known.args_hash = known.args_hash.get().or(args_hash.get()).into();
    known.command_kind = known.command_kind.or(command_kind);
    known.result_failed_tests = known.result_failed_tests.or(result_failed_tests);
    known.skill = known.skill.take().or(skill);
    known.sign = Sign::stronger(known.sign, sign);
    let has_commits = known.commits.as_ref().is_some_and(|hashes| !hashes.is_empty());
    if !has_commits && commits.is_some() {
        known.commits = commits;
    }
    if known.duration_ms.get().is_none() && known.ended_at.is_none() {
        // A recording may have no times of calls, where the runtime's own file has them.
        known.occurred_at = ended_at.and(occurred_at).or(known.occurred_at);
        (known.duration_ms, known.ended_at) = (duration_ms, ended_at);
    }
    known.occurred_at = known.occurred_at.or(occurred_at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Time;
    use crate::model::session::Tokens;

    #[test]
    fn copies_of_a_response_have_the_largest_counts() {
        let turn = |output, model: Option<&str>, is_subagent: bool| Turn {
            tokens: Tokens { input: Some(10), output, ..Tokens::UNKNOWN }.into(),
            model: model.map(Into::into),
            agent_id: is_subagent.then(|| "a1".into()),
            is_subagent,
            ..Turn::default()
        };
        let mut known = turn(Some(3), None, true);
        merge_turn(&mut known, turn(Some(5), Some("m"), false));
        merge_turn(&mut known, turn(None, Some("other"), true));
        assert_eq!(known, turn(Some(5), Some("m"), false));
    }

    #[test]
    fn copies_of_a_call_have_its_end() {
        let call = |status, line, turn: Option<usize>, ended_at: Option<i64>| {
            let ended_at = ended_at.map(Time::from_micros);
            Box::new(ToolCall { line, turn, ended_at, status, ..ToolCall::default() })
        };
        let (ok, error, open) = (CallStatus::Ok, CallStatus::Error, CallStatus::Incomplete);
        let cases = [
            ("a result", call(open, 1, None, None), call(ok, 2, Some(4), Some(5)), call(ok, 1, Some(4), Some(5))),
            ("no result", call(ok, 1, Some(4), Some(5)), call(open, 2, None, None), call(ok, 1, Some(4), Some(5))),
            ("another result", call(ok, 1, None, Some(5)), call(error, 2, None, Some(6)), call(ok, 1, None, Some(5))),
            ("times only", call(ok, 1, None, None), call(ok, 2, None, Some(6)), call(ok, 1, None, Some(6))),
        ];
        for (name, mut known, copy, expected) in cases {
            merge_call(&mut known, copy);
            assert_eq!(known, expected, "{name}");
        }
    }
}
