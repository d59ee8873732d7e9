//! A session under construction: finds turns and calls by their ids, and keeps times and as much text as asked for.
//!
//! More of its methods are in the modules `calls`, `events`, `file_changes`, `limits`, `offer` and `status`.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use twox_hash::XxHash3_64;

use super::at::At;
use super::call_index::CallIndex;
use super::history::{self, History};
use super::latency::Waits;
use super::names;
use super::row_index::RowIndex;
use super::signs;
use super::skills::SkillsInEffect;
use super::test_results::failed_tests;
use super::tools::{self, Arguments, Subject, ToolArguments};
use crate::adapters::engine::api::{Context, RecordErrors};
use crate::base::compact_option::CompactOption;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::Number;
use crate::model::health::Reason;
pub use crate::model::retention::Retention;
use crate::model::session::{
    CallStatus, Capabilities, CommandKind, Identity, SessionResult, Sign, Status, ToolCall, Turn, WindowKey,
};

/// What the main agent's part of a log ends with, in formats without an end record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Last {
    /// A prompt, a call or a result: the agent was at work.
    #[default]
    Work,
    /// A response that ended by itself and has no open call.
    Answer,
    /// An error, which was noted in the session.
    Error,
    /// An interruption by the user.
    Abort,
}

/// A session while its records are read.
#[derive(Debug)]
pub struct Builder {
    /// The session so far.
    pub session: SessionResult,
    /// How much text is kept.
    pub(super) content: Retention,
    /// Calls by their ids.
    pub(super) calls: CallIndex,
    /// Turns by their identities.
    turns: RowIndex,
    /// Changed files by their calls and paths.
    pub(super) changes: RowIndex,
    /// The last state of each window, by its index in the limits.
    pub(super) windows: HashMap<WindowKey, usize>,
    /// What each agent waits for.
    pub(super) waits: Waits,
    /// What changes the skill in effect.
    pub(super) skills: SkillsInEffect,
    /// The first tools that were called.
    tools: Vec<Tool>,
    /// What calls add to the history of a repository, if they do.
    histories: HashMap<usize, History>,
    /// The calls that the user refused.
    pub(super) denied_calls: HashSet<usize>,
    /// The ids of refused calls that are not known yet.
    pub(super) early_denials: HashSet<String>,
    /// The number of events whose keys are set.
    pub(super) keyed_events: usize,
    /// The time of the last record that has one.
    pub(super) last_time: Option<Time>,
    /// Since that time, the number of records of each content, by its hash.
    pub(super) equal_records: HashMap<String, usize>,
}

/// What follows from the name of a tool. It is computed once for each tool.
#[derive(Debug, Clone)]
struct Tool {
    tool: Symbol,
    category: Symbol,
    mcp_server: Option<Symbol>,
}

impl Tool {
    /// Adds the tool to `known`, if that contains few.
    fn new(name: &str, known: &mut Vec<Self>) -> Self {
        /// It is faster to search so many than to compute one.
        const FEW: usize = 16;
        let tool = Self {
            tool: name.into(),
            category: tools::category(name).into(),
            mcp_server: tools::mcp_server(name).map(Symbol::new),
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
            capabilities: context.capabilities,
            line,
            status: Status::Incomplete,
            ..SessionResult::default()
        };
        Self {
            session,
            content: context.content,
            calls: CallIndex::default(),
            turns: RowIndex::default(),
            changes: RowIndex::default(),
            windows: HashMap::new(),
            waits: Waits::new(),
            skills: SkillsInEffect::default(),
            tools: Vec::new(),
            histories: HashMap::new(),
            denied_calls: HashSet::new(),
            early_denials: HashSet::new(),
            keyed_events: 0,
            last_time: None,
            equal_records: HashMap::new(),
        }
    }

    /// Extends the session to the time of a record.
    pub fn extend_to(&mut self, time: Option<Time>) {
        let Some(time) = time else { return };
        if self.last_time != Some(time) {
            self.last_time = Some(time);
            self.equal_records.clear();
        }
        let session = &mut self.session;
        session.started_at = Some(session.started_at.map_or(time, |start| start.min(time)));
        session.ended_at = session.ended_at.max(Some(time));
    }

    /// The index of the turn of that identity. Adds a turn if there is none, or if the identity is unique.
    pub fn turn(&mut self, identity: Identity, line: i64) -> usize {
        let turns = &mut self.session.turns;
        let new = turns.len();
        if identity != Identity::Unique {
            let known = self.turns.find_or_add(&identity, new, |turn| turns[turn].identity == identity);
            if known != new {
                return known;
            }
        }
        turns.push(Box::new(Turn { line, identity, ..Turn::default() }));
        new
    }

    /// Adds a call, which is incomplete until its result is added. Returns its index.
    pub(super) fn add_call(&mut self, call_id: &str, tool: &str, at: At) -> usize {
        let Tool { tool, category, mcp_server } = match self.tools.iter().find(|known| known.tool == tool) {
            Some(known) => known.clone(),
            None => Tool::new(tool, &mut self.tools),
        };
        let calls = &mut self.session.tool_calls;
        calls.push(Box::new(ToolCall {
            line: at.line,
            call_id: call_id.into(),
            tool,
            category,
            mcp_server,
            occurred_at: at.time,
            ..ToolCall::default()
        }));
        calls.len() - 1
    }

    /// The call goes to an MCP server. `server` is its name, if the log contains it.
    pub fn mcp(&mut self, call: usize, server: Option<&str>) {
        let call = &mut self.session.tool_calls[call];
        call.category = "mcp".into();
        call.mcp_server = server.map(Symbol::new).or_else(|| call.mcp_server.take());
    }

    /// Adds the arguments of a call. Returns them parsed.
    pub fn arguments<'a>(&mut self, call: usize, raw: Raw<'a>) -> Arguments<'a> {
        let arguments: Arguments<'a> = raw.read();
        let row = &self.session.tool_calls[call];
        let subject = arguments.subject(&row.tool, &row.category);
        self.set_arguments(call, raw, subject);
        arguments
    }

    /// As [`Self::arguments`], for arguments that were parsed with the call.
    pub fn arguments_read_with_call<'g, 'a>(
        &mut self,
        call: usize,
        given: &'g ToolArguments<'a>,
    ) -> Option<&'g Arguments<'a>> {
        let arguments = given.value.as_deref();
        let row = &self.session.tool_calls[call];
        let subject = arguments.map(|arguments| arguments.subject(&row.tool, &row.category)).unwrap_or_default();
        self.set_arguments(call, given.raw, subject);
        arguments
    }

    /// Adds the arguments of a call that runs `command`.
    pub fn command(&mut self, call: usize, raw: Raw<'_>, command: &str) {
        self.set_arguments(call, raw, tools::shell_command(command).into());
    }

    /// Sets the target and the kind of a call that runs `command`, of whose arguments the log has no other form.
    pub fn only_command(&mut self, call: usize, command: &str) {
        self.set_subject(call, tools::shell_command(command).into());
    }

    /// Sets the length and the hash of arguments that are part of a larger value, `raw`.
    pub fn arguments_as_logged(&mut self, call: usize, raw: Raw<'_>) {
        let call = &mut self.session.tool_calls[call];
        call.args_bytes = raw.len().into();
        call.args_hash = args_hash(raw);
    }

    /// Sets the target, the kind and the skill of a call, as far as `subject` contains them. Only shell calls have a kind.
    pub fn set_subject(&mut self, call_index: usize, subject: Subject) {
        let call = &mut self.session.tool_calls[call_index];
        call.target = subject.target.or_else(|| call.target.take());
        if call.category == "shell" {
            call.command_kind = subject.command_kind.or(call.command_kind);
        }
        let read = || call.target.as_deref().filter(|_| call.category == "read").and_then(names::skill_of_path);
        if let Some(skill) = subject.skill.or_else(read) {
            call.skill = Some(skill);
            self.skills.loaded(call_index, self.session.turns.len());
        }
        let of_call = match call.category.as_ref() {
            "web" => Some(Sign::WebUsed),
            category => call.target.as_deref().and_then(|target| signs::of_file(category, target)),
        };
        self.add_sign(call_index, Sign::stronger(subject.sign, of_call));
        if subject.history.is_some() {
            self.histories.insert(call_index, subject.history);
        }
    }

    /// Adds a sign that the session's result should not be trusted.
    pub(super) fn add_sign(&mut self, call: usize, sign: Option<Sign>) {
        let call = &mut self.session.tool_calls[call];
        call.sign = Sign::stronger(call.sign, sign);
    }

    fn set_arguments(&mut self, call: usize, raw: Raw<'_>, subject: Subject) {
        let full = self.content == Retention::Full;
        self.set_subject(call, subject);
        let call = &mut self.session.tool_calls[call];
        if !raw.is_empty() {
            call.args_bytes = raw.len().into();
            call.args_hash = args_hash(raw);
            if call.command_kind.is_none() && call.category == "shell" && tools::continues_command(&call.tool) {
                call.command_kind = Some(CommandKind::Run);
            }
        }
        if let (true, Some(path)) = (matches!(call.category.as_ref(), "edit" | "write"), call.target.as_deref()) {
            call.sign = Sign::stronger(call.sign, signs::of_edit(path, raw));
        }
        if full && !raw.is_empty() {
            call.args = Some(raw.text().into());
        }
    }

    /// Adds the result of a call: its status, its length in the log, and its text if that is kept.
    pub fn result(&mut self, index: usize, raw: Raw<'_>, time: Option<Time>, status: CallStatus) {
        let full = self.content == Retention::Full;
        let call = &mut self.session.tool_calls[index];
        call.status = status;
        call.ended_at = call.ended_at.or(time);
        call.result_bytes = raw.len().or(call.result_bytes.get()).into();
        if call.command_kind == Some(CommandKind::Test) {
            call.result_failed_tests = failed_tests(raw).or(call.result_failed_tests);
        }
        let history = match self.histories.get(&index) {
            Some(history) => *history,
            None if call.category == "mcp" => history::of_tool(&call.tool),
            None => History::default(),
        };
        if history.commits || history.moves {
            let printed = history::commits(raw);
            let may_have_ended_well = matches!(status, CallStatus::Ok | CallStatus::Incomplete);
            // A command that fails, or only moves a branch, is known to have made a commit only if it prints it.
            if !printed.is_empty() || (history.commits && may_have_ended_well && call.commits.is_none()) {
                call.commits = Some(printed);
            }
        }
        if full && !raw.is_empty() {
            call.result = Some(raw.text().into());
        }
        if history.pull_requests {
            history::add_pull_requests(raw, &mut self.session.pull_requests);
        }
    }

    /// Adds a prompt that a human typed, in a log without ids for prompts.
    pub fn prompt(&mut self, text: Option<&str>) {
        self.prompt_as(Identity::Unique, text);
    }

    /// Adds a prompt that a human typed. Copies of it count once.
    pub fn prompt_as(&mut self, identity: Identity, text: Option<&str>) {
        self.skills.prompted(self.session.turns.len());
        let session = &mut self.session;
        if identity == Identity::Unique {
            session.user_turns = Some(session.user_turns.unwrap_or(0) + 1);
        } else {
            session.prompts.insert(identity);
        }
        if self.content >= Retention::Text && session.prompt.is_none() {
            session.prompt = text.map(str::to_owned);
        }
    }

    /// The user gave a slash command. It ends what a prompt would end.
    pub fn slash_command(&mut self, name: &str) {
        self.skills.commanded(names::name(name), self.session.turns.len());
    }

    /// The slash command that was just given has loaded the skill of its name.
    pub fn command_is_skill(&mut self) {
        self.skills.command_is_skill();
    }

    /// A program wrote a prompt: the session may have none that a human typed.
    pub const fn prompted_by_program(&mut self) {
        self.session.is_prompted_by_program = true;
    }

    /// Whether the first prompt and the last answer are kept.
    pub fn keeps_text(&self) -> bool {
        self.content >= Retention::Text
    }

    /// Sets the answer of the assistant: the last one is kept.
    pub fn set_answer(&mut self, text: &str) {
        if self.content >= Retention::Text && !text.is_empty() {
            self.session.text = Some(text.to_owned());
        }
    }

    /// Returns the session, without the changes of calls that did not end well, and with the skill of each response.
    pub fn finish(self) -> SessionResult {
        self.finish_with_changes_of(&[CallStatus::Ok])
    }

    /// As [`Self::finish`], for a log that is a part of the session which its place names: the result of a call may be in another log, so
    /// that the ledger removes the changes of calls that did not end well.
    pub fn finish_part(mut self) -> SessionResult {
        self.session.capabilities = self.session.capabilities.and(Capabilities::PART);
        self.finish_with_changes_of(&[CallStatus::Ok, CallStatus::Incomplete])
    }

    fn finish_with_changes_of(mut self, statuses: &[CallStatus]) -> SessionResult {
        self.session.tool_calls.iter_mut().for_each(|call| fail_with_exit_code(call));
        let (calls, changes) = (&self.session.tool_calls, &mut self.session.file_changes);
        let before = changes.len();
        changes.retain(|change| change.call.is_none_or(|call| statuses.contains(&calls[call].status)));
        // Failed patches may have added thousands.
        if changes.len() < before / 2 {
            changes.shrink_to_fit();
        }
        self.skills.attribute(&mut self.session);
        self.session
    }
}

/// A command that ended with an exit code other than 0 has failed, although the runtime may log that the tool did its work.
fn fail_with_exit_code(call: &mut ToolCall) {
    if call.status == CallStatus::Ok && call.exit_code.get().is_some_and(|code| code != 0) {
        call.status = CallStatus::Error;
        // A command that fails is known to have made a commit only if it prints it.
        call.commits = call.commits.take().filter(|printed| !printed.is_empty());
    }
}

/// XXH3-64 of arguments as logged.
pub(super) fn args_hash(raw: Raw<'_>) -> CompactOption {
    let hash = || XxHash3_64::oneshot(raw.0).cast_signed();
    (!raw.is_empty()).then(hash).into()
}

/// An amount of money. An impossible one is noted in `damage`.
pub fn money(number: Number, damage: &mut RecordErrors) -> Option<f64> {
    if number.is_no_money() {
        damage.note(Reason::BadNumber);
    }
    number.money()
}

/// A message, cut to a bounded length: the answer of a provider may be a whole page.
pub fn brief(message: &str) -> SharedStr {
    const LONGEST: usize = 1000;
    let end = message.char_indices().nth(LONGEST).map_or(message.len(), |(at, _)| at);
    message.get(..end).unwrap_or(message).into()
}

impl Builder {
    /// A prompt, or the result of a call, which the next request of the agent takes up.
    pub fn asked(&mut self, subagent: Option<&str>, time: Option<Time>) {
        self.waits.of(subagent).asked(time);
    }

    /// A record of a response at `time`: updates the end and the latency of its turn.
    pub fn answered(&mut self, turn: usize, subagent: Option<&str>, time: Option<Time>) {
        let latency = self.waits.of(subagent).answered(turn, time);
        self.session.turns[turn].end_at(time, latency);
    }

    /// Adds the hash of a record to the recording of the session, by which copies of it are found.
    pub fn recorded(&mut self, hash: u64) {
        self.session.recording.get_or_insert_default().push(hash);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn builder() -> Builder {
        let context = Context {
            runtime: "r",
            format: "f",
            capabilities: Capabilities::NOTHING,
            content: Retention::None,
            file_id: None,
            file_name: None,
            directory_id: None,
            agent_id: None,
            archive_name: None,
            directories: Vec::new(),
        };
        Builder::new(&context, "s", 1)
    }
}
