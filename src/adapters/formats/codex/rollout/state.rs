//! What earlier records of a thread mean for the next ones.

use std::num::NonZeroU32;

use foldhash::{HashMap, HashSet};

use crate::adapters::formats::codex::common::Next;
use crate::adapters::shared::latency::between;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::id_hash::IdHash;
use crate::model::session::{Tokens, Turn};

/// What earlier records mean for the next ones.
#[derive(Default)]
pub(super) struct State {
    pub(super) next: Next,
    /// Calls whose changes an event contains, besides the patch.
    pub(super) stated_changes: HashSet<usize>,
    /// The call that started each shell, by the number of the shell.
    pub(super) shells: HashMap<String, usize>,
    /// The shell that a call writes to, or the script that it waits for.
    pub(super) inputs: HashMap<usize, String>,
    /// The scripts of code mode.
    pub(super) scripts: Vec<Called>,
    /// A search is logged twice, under two names: searches with an event minus searches with an item.
    pub(super) searches: i64,
    /// The ids of searches with an event.
    pub(super) searched: HashSet<String>,
    /// A prompt may be logged by an item and by an event: items minus events, by the hash of the text.
    pub(super) forms: HashMap<u64, i64>,
    /// Whether the current task was imported from another runtime.
    pub(super) is_imported: bool,
    /// The id of the current task, after a space. Empty in versions without ids of tasks.
    pub(super) task: String,
    /// Whether the id of the current task is unique, so that no other thread has a task with it, except a copy.
    pub(super) has_unique_task: bool,
    /// Whether a task was started so far.
    pub(super) has_task: bool,
    /// Whether the last prompt or result of the current task has no response yet.
    pub(super) is_waiting: bool,
    /// Whether the totals may continue those of another file.
    pub(super) continues: bool,
    /// Whether the current task met an error.
    pub(super) is_failed: bool,
    /// The number of responses before the current task.
    pub(super) first_of_task: Option<usize>,
    /// A compaction that the next record may repeat.
    pub(super) compacted_at: Option<Time>,
    /// Responses with a record of their own that are not in a total yet.
    pub(super) recorded: Vec<Recorded>,
    /// The ids of all responses with such a record.
    pub(super) responses: HashSet<SharedStr>,
    /// Responses that made a compaction and have no own record yet.
    pub(super) compacting: HashSet<SharedStr>,
    pub(super) prompts: usize,
    /// The hash of the prompt of a review, in its own thread and in the one that started it.
    pub(super) review_prompt: Option<u64>,
    /// The records of the response that is not counted yet.
    pub(super) open: Open,
    /// The review whose events are read.
    pub(super) review: Option<Review>,
    pub(super) reviews: usize,
    /// The bytes of the last limits, unless their meaning depends on the time of the record.
    pub(super) limits: Vec<u8>,
}

/// A review by an agent of its own, whose events the thread repeats without its calls: what the thread had before it.
#[derive(Debug)]
pub(super) struct Review {
    /// The name of the task during the review.
    pub(super) name: String,
    pub(super) task: String,
    pub(super) model: Option<Symbol>,
    pub(super) effort: Option<Symbol>,
}

/// The tool that runs a script.
pub(super) const EXEC: &str = "exec";

/// A script that was called.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) call: usize,
    /// The tools that its text calls.
    pub(super) tools: Vec<String>,
    /// The commands that its text contains.
    pub(super) commands: Vec<String>,
    /// The commands that were reported so far, one in a line.
    pub(super) reported: String,
    pub(super) reports: usize,
    pub(super) is_over: bool,
    /// Whether the current task called it.
    pub(super) is_of_task: bool,
}

/// A response with a `token_usage_record`.
pub(super) struct Recorded {
    pub(super) id: SharedStr,
    /// The name of the response, equal in all logs with its record.
    pub(super) name: IdHash,
    pub(super) tokens: Tokens,
    /// The row of the response, if no total contains it.
    pub(super) turn: Turn,
    /// The number of calls since the last count: it made those that no earlier response did.
    pub(super) calls: usize,
}

/// The response whose items are read. Its count follows them, but may also follow results of its calls.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// When the last prompt or result arrived that no request has taken up.
    pub(super) cause: Option<Time>,
    /// The cause of the request, and the time of its last item so far.
    pub(super) response: Option<(Option<Time>, Option<Time>)>,
}

impl Open {
    /// A prompt or a result. After a prompt, items belong to another response.
    pub(super) fn asked(&mut self, time: Option<Time>, is_prompt: bool) {
        self.cause = time;
        if is_prompt {
            self.response = None;
        }
    }

    /// Whether items of a response were read.
    pub(super) const fn is_answering(&self) -> bool {
        self.response.is_some()
    }

    pub(super) fn item(&mut self, time: Option<Time>) {
        let (cause, _) = self.response.take().unwrap_or_else(|| (self.cause.take(), None));
        self.response = Some((cause, time));
    }

    /// The count of the response. Returns its end, and its latency in milliseconds: `None` if its cause is copied, and so before
    /// `history_until`.
    pub(super) fn counted(
        &mut self,
        time: Option<Time>,
        history_until: Option<Time>,
    ) -> (Option<Time>, Option<NonZeroU32>) {
        let (cause, end) = self.response.take().unwrap_or_else(|| (self.cause.take(), time));
        let cause = cause.filter(|cause| history_until.is_none_or(|until| *cause > until));
        (end, cause.zip(end).and_then(|(cause, end)| between(cause, end)))
    }
}
