//! Token counts and compactions of a thread.

use std::fmt::Write as _;
use std::hash::Hasher as _;

use twox_hash::XxHash3_64;

use super::records::UsageRecord;
use super::state::Recorded;
use super::thread::Thread;
use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::codex::common::{Counted, Info};
use crate::adapters::shared::at::At;
use crate::adapters::shared::ids::push_counts_name;
use crate::base::time::Time;
use crate::json::fields::Maybe;
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{EventKind, Identity, Tokens};

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
            self.state.next.total.begin(total, last);
        }
        let Some(spent) = self.state.next.total.advance(total, last, damage) else { return };
        let counted = Counted { window: info.model_context_window.get(), line: line.number, time };
        let (root, task, known) = (&self.root, &self.state.task, self.builder.session.turns.len());
        let index = self.state.next.add(&mut self.builder, spent, counted, |builder, reached, calls| {
            // A replay contains the same calls and tasks; another thread with equal totals does not.
            let mut hash = XxHash3_64::new();
            for call in calls {
                hash.write(builder.session.tool_calls[*call].call_id.as_bytes());
            }
            let mut name = String::with_capacity(128);
            name.push_str("Some(");
            push_counts_name(&mut name, reached);
            let _ = write!(name, ") {:x}{task}", hash.finish());
            Identity::Thread(root.clone(), name.into())
        });
        if index >= known {
            let (ended_at, latency_ms) = self.state.open.counted(time, self.history_until());
            self.builder.session.turns[index].end_at(ended_at, latency_ms);
        }
        let recorded = &mut self.state.recorded;
        if let Some(known) = recorded.iter().find(|it| it.tokens == spent.response) {
            self.builder.session.turns[index].message_id = Some(known.id.clone());
        }
        let holds =
            |whole: Tokens, it: &Recorded| it.tokens.kinds().into_iter().zip(whole.kinds()).all(|(a, b)| a <= b);
        recorded.retain(|it| !holds(spent.response, it) && !spent.unlogged.is_some_and(|whole| holds(whole, it)));
    }

    /// The usage of one response. Totals contain it as well, except for a compaction by the provider.
    pub(super) fn recorded(
        &mut self,
        record: &UsageRecord<'_>,
        line: Line<'_>,
        time: Option<Time>,
        damage: &mut RecordErrors,
    ) {
        let (Some(id), Maybe::Present(usage)) = (record.response_id.owned(), &record.usage) else {
            damage.note(Reason::NoUsage);
            return;
        };
        let recorded = Recorded { id, tokens: usage.tokens(damage), line: line.number, time };
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

    pub(super) fn compaction(&mut self, recorded: Recorded) {
        let Recorded { id, tokens, line, time } = recorded;
        let index = self.builder.turn(Identity::Global(format!("codex response {id}").into()), line);
        let turn = &mut self.builder.session.turns[index];
        turn.message_id = Some(id);
        turn.tokens = tokens.into();
        turn.model.clone_from(&self.state.next.model);
        turn.provider.clone_from(&self.state.next.provider);
        turn.occurred_at = time;
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
