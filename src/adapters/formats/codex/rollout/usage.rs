//! Token counts and compactions of a thread.

use std::fmt::Write as _;
use std::hash::Hasher as _;
use std::{iter, mem};

use twox_hash::XxHash3_64;

use super::records::UsageRecord;
use super::state::Recorded;
use super::thread::Thread;
use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::codex::common::{Counted, made_by};
use crate::adapters::formats::codex::counts::{Info, Spent, are_equal};
use crate::adapters::shared::at::At;
use crate::adapters::shared::ids::push_counts_name;
use crate::base::text::SharedStr;
use crate::base::time::Time;
use crate::json::fields::Maybe;
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::id_hash::IdHash;
use crate::model::session::{EventKind, Identity, Tokens, Turn};

/// The record of the last response that a count contains.
fn own_record(recorded: &[Recorded], spent: Spent) -> Option<usize> {
    let whole = spent.whole();
    let equal = |tokens: Tokens| recorded.iter().rposition(|it| are_equal(it.tokens, tokens));
    // Totals before the first known one are unknown, and another version may count differently.
    let is_part = |it: &Recorded| it.tokens.fits(whole) || whole.fits(it.tokens);
    let last = || recorded.len().checked_sub(1).filter(|_| recorded.last().is_some_and(is_part));
    equal(whole).or_else(|| equal(spent.response)).or_else(last)
}

impl Thread {
    pub(super) fn token_count(&mut self, info: &Info, line: Line<'_>, time: Option<Time>, damage: &mut RecordErrors) {
        let last = info.last_token_usage.get().copied();
        let total = info.total_token_usage.get().copied();
        if self.state.continues && self.is_idle() {
            // The total is that of the other file.
            self.state.next.total.reach(total);
            return;
        }
        if self.state.continues || self.root != self.builder.session.session_id {
            // The count may continue another thread's, which has those tokens in its own rows.
            let recorded = self.state.recorded.last().map(|it| it.tokens);
            self.state.next.total.begin(total, last, recorded);
        }
        let Some(spent) = self.state.next.total.advance(total, last, damage) else { return };
        let records = self.take_counted(spent);
        let spent = records.first().map_or(spent, |own| spent.merged_if(own.tokens));
        let counted = Counted { window: info.model_context_window.get(), line: line.number, time };
        let (root, task, known) = (&self.root, &self.state.task, self.builder.session.turns.len());
        let is_unique = self.state.has_unique_task;
        let index = self.state.next.add(&mut self.builder, spent, counted, |builder, reached, calls| {
            // A replay contains the same task; another thread with equal totals does not. Without a unique id of the task, the calls
            // distinguish them. Some replays contain none of the calls, so that calls do not count where the id suffices.
            let mut hash = XxHash3_64::new();
            for call in calls.iter().filter(|_| !is_unique) {
                hash.write(builder.session.tool_calls[*call].call_id.as_bytes());
            }
            let mut name = String::with_capacity(128);
            name.push_str("Some(");
            push_counts_name(&mut name, reached);
            let _ = write!(name, ") {:x}{task}", hash.finish());
            Identity::Thread(root.clone(), name.into())
        });
        if index >= known {
            // A response without items, as far as they are logged, answers what was asked before it.
            self.state.is_waiting &= self.state.open.is_answering();
            let (ended_at, latency_ms) = self.state.open.counted(time, self.history_until());
            self.builder.session.turns[index].end_at(ended_at, latency_ms);
        }
        self.name_of_review(known, time);
        self.name_by_records(index, known, records);
    }

    /// Takes the records of the responses that a count contains, its own first. Responses before that one which the count does not
    /// contain are in no total, as their process ended before it wrote one: they become rows of their own.
    fn take_counted(&mut self, spent: Spent) -> Vec<Recorded> {
        let Some(own) = own_record(&self.state.recorded, spent) else { return Vec::new() };
        let mut rest = spent.whole();
        let (mut counted, mut uncounted) = (Vec::new(), Vec::new());
        for (index, record) in self.state.recorded.drain(..=own).enumerate().rev() {
            if index == own || record.tokens.fits(rest) {
                rest = rest.minus(record.tokens);
                counted.push(record);
            } else {
                uncounted.push(record);
            }
        }
        for record in uncounted.into_iter().rev() {
            self.add_recorded(record);
        }
        counted
    }

    /// Names the row `index` and the rows since `first` by their records. A copy of the log that ends before the count has the name only.
    fn name_by_records(&mut self, index: usize, first: usize, mut records: Vec<Recorded>) {
        let others = (first..self.builder.session.turns.len()).filter(|it| *it != index);
        for turn in iter::once(index).chain(others) {
            let turn = &mut self.builder.session.turns[turn];
            if let Some(place) = records.iter().position(|it| are_equal(it.tokens, turn.tokens.get())) {
                let record = records.remove(place);
                turn.message_id = Some(record.id);
                turn.details_mut().record = Some(record.name);
            }
        }
    }

    /// The usage of one response. Totals contain it as well, except for a compaction by the provider, and a response whose process ended
    /// before it wrote a count.
    pub(super) fn recorded(
        &mut self,
        record: &UsageRecord<'_>,
        line: Line<'_>,
        time: Option<Time>,
        damage: &mut RecordErrors,
    ) {
        let (Some(id), Maybe::Present(usage)) = (record.response_id.owned::<SharedStr>(), &record.usage) else {
            damage.note(Reason::NoUsage);
            return;
        };
        if !self.state.responses.insert(id.clone()) {
            return;
        }
        let (tokens, name) = (usage.tokens(damage), IdHash::from(format!("codex response {id}")));
        let mut turn = Turn {
            line: line.number,
            identity: Identity::Global(name),
            message_id: Some(id.clone()),
            ..Turn::default()
        };
        turn.details_mut().record = Some(name);
        self.state.next.describe(&mut turn, tokens, Counted { window: None, line: line.number, time });
        self.state.is_waiting &= self.state.open.is_answering();
        let recorded = Recorded { id, name, tokens, turn, calls: self.state.next.calls.len() };
        if self.state.compacting.remove(&recorded.id) {
            self.compaction(recorded);
        } else {
            self.state.recorded.push(recorded);
        }
    }

    /// A compaction is a response, which totals may leave out. A compaction that is in a total is counted there.
    pub(super) fn compacted_by(&mut self, response_id: Option<&str>) {
        let Some(id) = response_id else { return };
        match self.state.recorded.iter().position(|it| it.id == id) {
            Some(index) => {
                let recorded = self.state.recorded.remove(index);
                self.compaction(recorded);
            }
            None => drop(self.state.compacting.insert(id.into())),
        }
    }

    fn compaction(&mut self, recorded: Recorded) {
        // It makes no calls: those are of a response that no total contains yet.
        self.add_recorded(Recorded { calls: 0, ..recorded });
    }

    /// Adds the responses that no count followed.
    pub(super) fn add_uncounted(&mut self) {
        for record in mem::take(&mut self.state.recorded) {
            self.add_recorded(record);
        }
    }

    /// Adds a response that no total contains.
    fn add_recorded(&mut self, recorded: Recorded) {
        let Recorded { turn, calls, .. } = recorded;
        let index = self.builder.turn(turn.identity.clone(), turn.line);
        *self.builder.session.turns[index] = turn;
        let made = self.state.next.calls.iter().take(calls).copied();
        made_by(&mut self.builder, index, made);
    }

    pub(super) fn compacted(&mut self, line: Line<'_>, time: Option<Time>) {
        // A record, an event and an item can report the same compaction.
        if self.state.compacted_at.is_some_and(|it| time.is_none_or(|time| time.since(it).abs() < 5_000)) {
            return;
        }
        self.state.compacted_at = time;
        self.builder.event(EventKind::Compaction, At { line: line.number, time });
    }
}
