//! Messages that a session of Hermes contains as copies: their prompts and calls are known from the original.
//!
//! - A compaction in place marks the messages so far as `compacted`, and inserts those that it keeps again: with their times, or in
//!   older versions with the time of the summary.
//! - A compaction that goes on under another id, and a branch, begin with messages of the session before. A branch gives them new times.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use twox_hash::XxHash3_64;

use super::records::Record;
use crate::base::time::Time;

/// What identifies a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    /// A hash of its role, its content and its calls.
    content: u64,
    /// A hash of these and its time.
    with_time: u64,
}

impl Key {
    fn of(message: &Record<'_>) -> Self {
        let parts = [message.content.0, message.tool_calls.0, message.tool_call_id.as_str().as_bytes()];
        let mut bytes = message.role.as_str().as_bytes().to_vec();
        for part in parts {
            bytes.push(0);
            bytes.extend_from_slice(part);
        }
        let content = XxHash3_64::oneshot(&bytes);
        let time = message.timestamp.0.map_or(i64::MIN, Time::micros);
        Self { content, with_time: XxHash3_64::oneshot_with_seed(content, &time.to_le_bytes()) }
    }
}

/// The messages of a session, and those that it may repeat.
#[derive(Debug)]
pub(super) struct Copies {
    /// Its messages, in their order.
    messages: Vec<Key>,
    /// Those that a compaction replaced: with their times, and the first time of each content.
    compacted: HashSet<u64>,
    first_times: HashMap<u64, Option<Time>>,
    /// The times of summaries.
    summaries: HashSet<Time>,
    /// The messages of the session before.
    before: Vec<Key>,
    before_with_time: HashSet<u64>,
    /// Where in `before` the next copy is at the earliest. `None` after the first other message.
    next: Option<usize>,
    /// The prompts that count: their contents and times.
    prompts: Vec<(u64, Option<Time>)>,
}

impl Copies {
    pub(super) fn new() -> Self {
        Self {
            messages: Vec::new(),
            compacted: HashSet::new(),
            first_times: HashMap::new(),
            summaries: HashSet::new(),
            before: Vec::new(),
            before_with_time: HashSet::new(),
            next: None,
            prompts: Vec::new(),
        }
    }

    /// The messages of the session, in their order.
    pub(super) fn messages(&self) -> &[Key] {
        &self.messages
    }

    /// The session begins with messages of the one before.
    pub(super) fn begin_with(&mut self, before: Vec<Key>) {
        self.before = before;
        self.before_with_time = self.before.iter().map(|key| key.with_time).collect();
        self.next = Some(0);
    }

    /// Adds a message. Returns whether it is a copy of an earlier one.
    pub(super) fn add(&mut self, message: &Record<'_>, is_summary: bool) -> bool {
        let key = Key::of(message);
        let has_calls = !message.tool_calls.is_empty();
        let is_copy = self.follows(key, is_summary)
            || self.before_with_time.contains(&key.with_time)
            || self.compacted.contains(&key.with_time)
            // Its calls have the same ids.
            || has_calls && self.first_times.contains_key(&key.content);
        self.messages.push(key);
        if is_summary {
            self.summaries.extend(message.timestamp.0);
        }
        if message.compacted.0 == Some(1.0) {
            self.compacted.insert(key.with_time);
            self.first_times.entry(key.content).or_insert(message.timestamp.0);
        }
        is_copy
    }

    /// Whether a message is a copy at the beginning of the session, in the order of the session before. That one does not contain the
    /// summary of the compaction between them.
    fn follows(&mut self, key: Key, is_summary: bool) -> bool {
        let Some(next) = self.next else { return false };
        let place = self.before.iter().skip(next).position(|before| before.content == key.content);
        match place {
            Some(place) => self.next = Some(next + place + 1),
            None if is_summary => {}
            None => self.next = None,
        }
        place.is_some()
    }

    /// Adds a prompt that is not a copy so far. Returns its number.
    pub(super) fn add_prompt(&mut self, message: &Record<'_>) -> usize {
        self.prompts.push((Key::of(message).content, message.timestamp.0));
        self.prompts.len()
    }

    /// The number of prompts, and how many of them are not copies. Older versions insert what a compaction in place keeps with the time
    /// of the summary, which may follow.
    pub(super) fn prompts(&self) -> (usize, usize) {
        let is_copy = |(content, time): &&(u64, Option<Time>)| {
            let is_of_compaction = time.is_some_and(|time| self.summaries.contains(&time));
            is_of_compaction && self.first_times.get(content).is_some_and(|first| first < time)
        };
        (self.prompts.len(), self.prompts.iter().filter(|prompt| !is_copy(prompt)).count())
    }
}
