//! Reviews (`/review`): an agent with a thread and a log of its own makes them, and the thread that starts one repeats its events.
//!
//! The thread's log has the counts of the review without its calls, and the review's own log does not name the thread. So both give
//! the responses a second name, of the review's prompt, the total and the time.

use std::mem;

use twox_hash::XxHash3_64;

use super::state::Review;
use super::thread::Thread;
use crate::adapters::shared::ids::push_counts_name;
use crate::base::time::Time;

/// The time of an event differs by a few milliseconds between the two logs.
const MINUTE: i64 = 60_000_000;

impl Thread {
    /// The user starts a review: this is the prompt, and the program writes that of the reviewer.
    pub(super) fn review_begins(&mut self, time: Option<Time>) {
        self.review_ends();
        self.prompted("/review", None, time);
        self.state.reviews += 1;
        self.state.next.total.begin_review();
        // The log does not contain the reviewer's model. Totals begin at 0 in each review.
        let name = format!("{} review {}", self.state.task, self.state.reviews);
        self.state.review = Some(Review {
            name: name.clone(),
            task: mem::replace(&mut self.state.task, name),
            model: self.state.next.model.take(),
            effort: self.state.next.effort.take(),
        });
    }

    pub(super) fn review_ends(&mut self) {
        self.state.next.total.end_review();
        let Some(review) = self.state.review.take() else { return };
        self.state.review_prompt = None;
        let next = &mut self.state.next;
        if next.model.is_none() {
            (next.model, next.effort) = (review.model, review.effort);
        }
        if self.state.task == review.name {
            self.state.task = review.task;
        }
    }

    /// Whether a text is the prompt of a review. A log can repeat it; another one is of the user.
    pub(super) fn is_prompt_of_review(&mut self, text: &str) -> bool {
        if !self.is_review && self.state.review.is_none() {
            return false;
        }
        let hash = XxHash3_64::oneshot(text.as_bytes());
        *self.state.review_prompt.get_or_insert(hash) == hash
    }

    /// Names the responses since `first` as the other log of the review does.
    pub(super) fn name_of_review(&mut self, first: usize, time: Option<Time>) {
        let Some(prompt) = self.state.review_prompt else { return };
        let minute = time.map_or(0, |time| time.micros() / MINUTE);
        let mut reached = self.state.next.total.reached();
        for turn in self.builder.session.turns.iter_mut().skip(first).rev() {
            let mut name = format!("codex review {prompt:x} {minute} ");
            push_counts_name(&mut name, reached);
            reached = reached.minus(turn.tokens.get());
            turn.details_mut().review = Some(name.into());
        }
    }
}
