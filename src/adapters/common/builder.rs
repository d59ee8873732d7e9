//! What every adapter needs while it folds records into a session: calls found again by their ids, times, content.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use hashbrown::HashTable;

use crate::adapters::api::{Context, Damage};
use crate::adapters::common::ids::hashed_id;
use crate::adapters::common::tools::{self, Arguments, Given};
use crate::base::text::{Shared, Word};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::wire::Number;
use crate::model::errors::{self, ErrorKind};
use crate::model::health::Reason;
pub use crate::model::retention::Content;
use crate::model::session::{
    CallStatus, Event, EventKind, FileChange, Identity, Operation, SessionResult, Status, ToolCall, Turn,
};

/// What the main agent's part of a log ends with, in formats without an end record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Last {
    /// A prompt, a call or a result: the agent was at work.
    #[default]
    Work,
    /// A response that ended by itself and has no open call.
    Answer,
    /// An error, which the session has already.
    Error,
    /// An interruption by the user.
    Abort,
}

/// A session while its records are read.
#[derive(Debug)]
pub struct Builder {
    /// What is known so far.
    pub session: SessionResult,
    content: Content,
    calls: Places,
    turns: Places,
    /// Files by the call that changes them.
    changes: Places,
    /// The tools that were called, as far as they are few.
    tools: Vec<Tool>,
    /// How many of the events have been named.
    named: usize,
    /// The time that was seen last.
    clock: Option<Time>,
    /// How many events records of equal bytes have told since then.
    tellings: HashMap<String, usize>,
}

/// Where rows stand, by a name that stands in them: the name is not kept twice.
#[derive(Debug, Default)]
struct Places {
    /// Places with the hashes of the names.
    places: HashTable<(u64, usize)>,
    hashes: RandomState,
}

impl Places {
    /// The place of the row of that name; `is_its` says whether it is a row's name.
    fn find<N: Hash + ?Sized>(&self, name: &N, is_its: impl Fn(usize) -> bool) -> Option<usize> {
        let hash = self.hashes.hash_one(name);
        self.places.find(hash, |it| it.0 == hash && is_its(it.1)).map(|it| it.1)
    }

    /// As [`Self::find`]; if there is none, `new`, where it will stand.
    fn place_or<N: Hash + ?Sized>(&mut self, name: &N, new: usize, is_its: impl Fn(usize) -> bool) -> usize {
        let hash = self.hashes.hash_one(name);
        let is_known = |it: &(u64, usize)| it.0 == hash && is_its(it.1);
        self.places.entry(hash, is_known, |it| it.0).or_insert((hash, new)).get().1
    }
}

/// What its name says of a tool: each is asked once.
#[derive(Debug, Clone)]
struct Tool {
    tool: Word,
    category: Word,
    mcp_server: Option<Word>,
}

impl Tool {
    /// That of a name, which is among the `known` from now on if they are few.
    fn new(name: &str, known: &mut Vec<Self>) -> Self {
        /// So many are looked through faster than one is asked.
        const FEW: usize = 16;
        let tool = Self {
            tool: name.into(),
            category: tools::category(name).into(),
            mcp_server: tools::mcp_server(name).map(Word::new),
        };
        if known.len() < FEW {
            known.push(tool.clone());
        }
        tool
    }
}

impl Builder {
    /// A session that begins at `line`.
    pub fn new(context: &Context, session_id: impl Into<String>, line: i64) -> Self {
        let session = SessionResult {
            session_id: session_id.into(),
            runtime: Cow::Borrowed(context.runtime),
            format: Cow::Borrowed(context.format),
            shows: context.shows,
            line,
            status: Status::Incomplete,
            ..SessionResult::default()
        };
        Self {
            session,
            content: context.content,
            calls: Places::default(),
            turns: Places::default(),
            changes: Places::default(),
            tools: Vec::new(),
            named: 0,
            clock: None,
            tellings: HashMap::new(),
        }
    }

    /// The session lasted at least until `time`, and from it on.
    pub fn saw(&mut self, time: Option<Time>) {
        let Some(time) = time else { return };
        if self.clock != Some(time) {
            self.clock = Some(time);
            self.tellings.clear();
        }
        let session = &mut self.session;
        session.started_at = Some(session.started_at.map_or(time, |it| it.min(time)));
        session.ended_at = session.ended_at.max(Some(time));
    }

    /// The index of the turn of that identity; a new one if there is none, or if it is unique.
    pub fn turn(&mut self, identity: Identity, line: i64) -> usize {
        let turns = &mut self.session.turns;
        let new = turns.len();
        if identity != Identity::Unique {
            let known = self.turns.place_or(&identity, new, |it| turns[it].identity == identity);
            if known != new {
                return known;
            }
        }
        turns.push(Box::new(Turn { line, identity, ..Turn::default() }));
        new
    }

    /// The index of the call `call_id`; a new one, incomplete until its result comes, if there is none.
    pub fn call(&mut self, call_id: &str, tool: &str, line: i64, time: Option<Time>) -> usize {
        let calls = &mut self.session.tool_calls;
        let new = calls.len();
        let index = self.calls.place_or(call_id, new, |it| calls[it].call_id == call_id);
        if index != new {
            let call = &mut calls[index];
            call.occurred_at = call.occurred_at.or(time);
            return index;
        }
        let Tool { tool, category, mcp_server } = match self.tools.iter().find(|it| it.tool == tool) {
            Some(known) => known.clone(),
            None => Tool::new(tool, &mut self.tools),
        };
        calls.push(Box::new(ToolCall {
            line,
            call_id: call_id.into(),
            tool,
            category,
            mcp_server,
            occurred_at: time,
            ..ToolCall::default()
        }));
        index
    }

    /// The index of a call that was seen.
    pub fn call_index(&self, call_id: &str) -> Option<usize> {
        self.calls.find(call_id, |it| self.session.tool_calls[it].call_id == call_id)
    }

    /// Forgets the ids of calls: the next call of the same id is another one.
    pub fn forget_calls(&mut self) {
        self.calls.places.clear();
    }

    /// The call goes to an MCP server, where the log names it.
    pub fn mcp(&mut self, call: usize, server: Option<&str>) {
        let call = &mut self.session.tool_calls[call];
        call.category = "mcp".into();
        call.mcp_server = server.map(Word::new).or_else(|| call.mcp_server.take());
    }

    /// Takes in the arguments of a call, which it gives back read.
    pub fn arguments<'a>(&mut self, call: usize, raw: Raw<'a>) -> Arguments<'a> {
        let arguments: Arguments<'a> = raw.read();
        let target = arguments.target(&self.session.tool_calls[call].category);
        self.works_on(call, raw, target);
        arguments
    }

    /// As [`Self::arguments`], of those that were read with the call.
    pub fn given<'g, 'a>(&mut self, call: usize, given: &'g Given<'a>) -> Option<&'g Arguments<'a>> {
        let arguments = given.value.as_deref();
        let target = arguments.and_then(|it| it.target(&self.session.tool_calls[call].category));
        self.works_on(call, given.raw, target);
        arguments
    }

    /// Takes in the arguments of a call that runs `command`.
    pub fn command(&mut self, call: usize, raw: Raw<'_>, command: &str) {
        self.works_on(call, raw, tools::program(command));
    }

    fn works_on(&mut self, call: usize, raw: Raw<'_>, target: Option<Shared>) {
        let full = self.content == Content::Full;
        let call = &mut self.session.tool_calls[call];
        call.args_bytes = raw.len().or(call.args_bytes.get()).into();
        call.target = target.or_else(|| call.target.take());
        if full && !raw.is_empty() {
            call.args = Some(raw.text().into());
        }
    }

    /// Takes in the result of a call: how long its text is in the log, and what it says.
    pub fn result(&mut self, call: usize, raw: Raw<'_>, time: Option<Time>, status: CallStatus) {
        let full = self.content == Content::Full;
        let call = &mut self.session.tool_calls[call];
        call.status = status;
        call.ended_at = call.ended_at.or(time);
        call.result_bytes = raw.len().or(call.result_bytes.get()).into();
        if full && !raw.is_empty() {
            call.result = Some(raw.text().into());
        }
    }

    /// A file that a call changes, if the call ends well. One row per path and call, whose index it gives.
    pub fn change(
        &mut self,
        call: usize,
        path: &str,
        operation: Option<Operation>,
        lines: Option<(i64, i64)>,
        line: i64,
        time: Option<Time>,
    ) -> usize {
        let changes = &mut self.session.file_changes;
        let is_it = |it: usize| changes[it].call == Some(call) && changes[it].path == path;
        let index = self.changes.place_or(&(call, path), changes.len(), is_it);
        if index == changes.len() {
            changes.push(FileChange {
                line,
                call: Some(call),
                occurred_at: time,
                path: path.into(),
                ..FileChange::default()
            });
        }
        let change = &mut changes[index];
        change.operation = operation.or(change.operation);
        if let Some((added, removed)) = lines {
            change.lines_added = Some(added);
            change.lines_removed = Some(removed);
        }
        index
    }

    /// Forgets the files that a call changes.
    pub fn forget_changes(&mut self, call: usize) {
        let changes = &mut self.session.file_changes;
        let before = changes.len();
        changes.retain(|it| it.call != Some(call));
        if changes.len() < before {
            self.changes = Places::default();
            for (index, it) in changes.iter().enumerate() {
                if let Some(call) = it.call {
                    self.changes.place_or(&(call, it.path.as_str()), index, |_| false);
                }
            }
        }
    }

    /// The files that a call changes by a patch, if the call ends well.
    pub fn patch(&mut self, call: usize, patch: &str, line: i64, time: Option<Time>) {
        // A patch may have several sections for one file: their lines add. A record that tells the patch again does not.
        let mut touched = HashSet::new();
        for file in tools::patched_files(patch) {
            let index = self.change(call, &file.path, Some(file.operation), None, line, time);
            let change = &mut self.session.file_changes[index];
            if touched.insert(index) {
                (change.lines_added, change.lines_removed) = (file.lines_added, file.lines_removed);
            } else {
                let sum = |a: Option<i64>, b: Option<i64>| a.zip(b).map(|(a, b)| a + b);
                change.lines_added = sum(change.lines_added, file.lines_added);
                change.lines_removed = sum(change.lines_removed, file.lines_removed);
            }
        }
    }

    /// Adds an event, to be filled.
    pub fn event(&mut self, kind: EventKind, line: i64, time: Option<Time>) -> &mut Event {
        let events = &mut self.session.events;
        events.push(Event { kind, line, occurred_at: time, ..Event::default() });
        let last = events.len() - 1;
        &mut events[last]
    }

    /// Names the events of the record that was just read, so that copies of the record tell them once: by the record's
    /// id; without one and without a time by its bytes, which a log may hold several times, and the time before it.
    pub fn name_events(&mut self, id: Option<&str>, record: &[u8]) {
        let first = self.named;
        self.named = self.session.events.len();
        for index in first..self.named {
            let event = &self.session.events[index];
            if event.key.is_some() {
                continue;
            }
            let told = self.session.events.iter().take(index).skip(first).filter(|it| it.kind == event.kind);
            let key = match id {
                // Usually a record tells one event of a kind, and the runtime's other logs have it under the same id.
                Some(id) => match told.count() {
                    0 => Some(id.into()),
                    told => Some(format!("{id} {told}").into()),
                },
                None if event.occurred_at.is_some() => None,
                None => {
                    let hash = hashed_id(record);
                    let telling = self.tellings.entry(hash.clone()).or_insert(0);
                    *telling += 1;
                    Some(format!("{hash} {:?} {telling}", self.clock.map(Time::micros)).into())
                }
            };
            self.session.events[index].key = key;
        }
    }

    /// A refused call: its status, and an event once.
    pub fn deny(&mut self, call: usize, line: i64, time: Option<Time>, message: Option<&str>) {
        // What the user said instead may stand behind the first sentence.
        let message = message.map(|it| brief(if self.content == Content::None { first_sentence(it) } else { it }));
        let call = &mut self.session.tool_calls[call];
        let (code, call_id) = (call.tool.clone(), call.call_id.clone());
        let (agent, is_subagent) = (call.agent.clone(), call.is_subagent);
        call.status = CallStatus::Denied;
        if self
            .session
            .events
            .iter()
            .any(|it| it.kind == EventKind::PermissionDenial && it.call_id.as_ref() == Some(&call_id))
        {
            return;
        }
        let event = self.event(EventKind::PermissionDenial, line, time);
        event.code = Some(code);
        event.call_id = Some(call_id);
        event.message = message;
        (event.agent, event.is_subagent) = (agent, is_subagent);
    }

    /// What a human typed, where the log does not name it.
    pub fn prompt(&mut self, text: Option<&str>) {
        self.prompt_as(Identity::Unique, text);
    }

    /// What a human typed. A copy of it counts once.
    pub fn prompt_as(&mut self, identity: Identity, text: Option<&str>) {
        let session = &mut self.session;
        if identity == Identity::Unique {
            session.user_turns = Some(session.user_turns.unwrap_or(0) + 1);
        } else {
            session.prompts.insert(identity);
        }
        if self.content >= Content::Text && session.prompt.is_none() {
            session.prompt = text.map(str::to_owned);
        }
    }

    /// Whether what was said is kept at all.
    pub fn keeps_text(&self) -> bool {
        self.content >= Content::Text
    }

    /// What the assistant said; the last stands.
    pub fn say(&mut self, text: &str) {
        if self.content >= Content::Text && !text.is_empty() {
            self.session.text = Some(text.to_owned());
        }
    }

    /// It ended well. A later success outranks an earlier error.
    pub fn succeed(&mut self) {
        self.session.status = Status::Success;
        self.session.error_kind = None;
        self.session.error_message = None;
    }

    /// It failed, for what `code` or `message` tell.
    pub fn fail(&mut self, code: Option<i64>, message: &str) {
        self.fail_as(errors::classify(code, message), message);
    }

    /// It failed for a known kind of reason.
    pub fn fail_as(&mut self, kind: ErrorKind, message: &str) {
        self.session.status = Status::Error;
        self.session.error_kind = Some(kind);
        if !message.is_empty() {
            self.session.error_message = Some(brief(message));
        }
    }

    /// The user stopped it.
    pub fn abort(&mut self, message: &str) {
        self.fail_as(ErrorKind::Cancelled, message);
        self.session.status = Status::Aborted;
    }

    /// What a log ends with if its last main response is `turn`. Calls of earlier responses count for nothing: one that
    /// is still open was interrupted, for the agent went on without its result.
    pub fn last_response(&self, turn: usize, ended_by_itself: bool) -> Last {
        let mut calls = self.session.tool_calls.iter().filter(|call| call.turn.get() == Some(turn));
        let is_open = calls.any(|call| call.status == CallStatus::Incomplete);
        if ended_by_itself && !is_open { Last::Answer } else { Last::Work }
    }

    /// Sets the status of a session whose log has no end record.
    pub fn end(&mut self, last: Last) {
        match last {
            Last::Answer => self.succeed(),
            Last::Error => self.session.status = Status::Error,
            Last::Abort => {
                self.session.status = Status::Aborted;
                self.session.error_kind = Some(ErrorKind::Cancelled);
            }
            Last::Work => {
                self.session.status = Status::Incomplete;
                self.session.error_kind = None;
                self.session.error_message = None;
            }
        }
    }

    /// The session, without the changes of calls that did not end well.
    pub fn finish(mut self) -> SessionResult {
        let (calls, changes) = (&self.session.tool_calls, &mut self.session.file_changes);
        let before = changes.len();
        changes.retain(|it| it.call.is_none_or(|it| calls[it].status == CallStatus::Ok));
        // Patches that failed may have named thousands.
        if changes.len() < before / 2 {
            changes.shrink_to_fit();
        }
        self.session
    }
}

/// An amount of money; one that can be none is noted.
pub fn money(number: Number, damage: &mut Damage) -> Option<f64> {
    if number.is_no_money() {
        damage.note(Reason::BadNumber);
    }
    number.money()
}

fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence)
}

/// A message of bounded length: what a provider answers may be a whole page.
pub fn brief(message: &str) -> Shared {
    const LONGEST: usize = 1000;
    let end = message.char_indices().nth(LONGEST).map_or(message.len(), |it| it.0);
    message.get(..end).unwrap_or(message).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Shows;

    fn builder() -> Builder {
        let context = Context {
            runtime: "r",
            format: "f",
            shows: Shows::NOTHING,
            content: Content::None,
            file_id: None,
            file_name: None,
            folder_id: None,
            agent_id: None,
        };
        Builder::new(&context, "s", 1)
    }

    #[test]
    fn sections_of_one_file_add() {
        let mut builder = builder();
        let call = builder.call("c", "apply_patch", 1, None);
        let patch = "*** Begin Patch\n*** Update File: a\n+1\n*** Update File: b\n+1\n+2\n+3\n+4\n+5\n-1\n*** Update File: a\n+1\n+2\n*** End Patch";
        for _ in 0..2 {
            builder.patch(call, patch, 1, None);
            let lines: Vec<_> = builder.session.file_changes.iter().map(|it| (&*it.path, it.lines_added)).collect();
            assert_eq!(lines, [("a", Some(3)), ("b", Some(5))]);
        }
    }

    /// Records of equal bytes are several events, and in a copy the same ones.
    #[test]
    fn events_are_named_alike_in_copies() {
        let names = |records: &[(Option<i64>, &str)]| {
            let mut builder = builder();
            for (time, record) in records {
                builder.saw(time.map(Time::from_micros));
                builder.event(EventKind::Retry, 1, None);
                builder.name_events(None, record.as_bytes());
            }
            builder.session.events.into_iter().filter_map(|it| it.key).collect::<Vec<_>>()
        };
        let whole = names(&[(None, "x"), (None, "x"), (Some(1), "x"), (None, "y")]);
        assert_eq!(whole.iter().collect::<HashSet<_>>().len(), 4);
        assert_eq!(names(&[(None, "x"), (None, "x")]), whole[..2]);
        let twice = names(&[(Some(1), "x"), (Some(2), "x"), (Some(1), "x"), (Some(2), "x")]);
        assert_eq!(twice[..2], twice[2..]);
    }
}
