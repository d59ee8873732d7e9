//! One session of a described format while its records are read.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _};
use serde::Deserialize;

use super::description::{Calls, Description, Facts, Results, TokenPaths};
use super::path::Place;
use crate::adapters::common::builder::{Builder, Last, money};
use crate::adapters::{Context, Probe, RecordErrors, counts_name};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Text, TextOrBlocks};
use crate::model::session::{CallStatus, Cost, Identity, SessionResult, Status, Tokens};

/// A block of text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

/// A session while its records are read.
pub(super) struct Session {
    builder: Builder,
    last: Last,
    /// The end that a record states.
    end: Option<Status>,
    /// How often each name of a record without an id occurred.
    seen: HashMap<String, usize>,
    /// Calls of records before the one that has their usage.
    open_calls: Vec<usize>,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            last: Last::Work,
            end: None,
            seen: HashMap::new(),
            open_calls: Vec::new(),
        }
    }

    /// Adds the facts of a line or document.
    pub(super) fn facts(&mut self, facts: &Facts, record: &Probe<'_>, damage: &mut RecordErrors) {
        let place = Place::of(record);
        self.builder.saw(place.time(facts.started_at));
        self.builder.saw(place.time(facts.ended_at));
        let session = &mut self.builder.session;
        let texts = [
            (&mut session.cwd, facts.cwd),
            (&mut session.runtime_version, facts.version),
            (&mut session.entrypoint, facts.entrypoint),
            (&mut session.git_branch, facts.git_branch),
            (&mut session.parent_session_id, facts.parent_session),
        ];
        for (field, path) in texts {
            if field.is_none() && !path.is_empty() {
                *field = place.text(path).map(Cow::into_owned);
            }
        }
        let exit_code = place.number(facts.exit_code);
        if exit_code.0.is_some() && exit_code.whole().is_none() {
            damage.note(crate::model::health::Reason::BadNumber);
        }
        session.exit_code = exit_code.whole().or(session.exit_code);
        if let Some(status) = place.text(facts.status) {
            let is_any = |values: &[&str]| values.contains(&status.as_ref());
            self.end = match () {
                () if is_any(facts.success) => Some(Status::Success),
                () if is_any(facts.error) => Some(Status::Error),
                () if is_any(facts.aborted) => Some(Status::Aborted),
                () => None,
            };
        }
    }

    /// Adds one record.
    pub(super) fn record<'a>(
        &mut self,
        description: &Description,
        document: Option<&Probe<'a>>,
        record: &Probe<'a>,
        line: i64,
        damage: &mut RecordErrors,
    ) {
        let place = Place { document, record };
        let time = place.time(description.time);
        self.builder.saw(time);
        let role = place.text(description.role);
        let role = role.as_deref().unwrap_or_default();
        let is_response = description.role.is_empty() || description.responses.contains(&role);
        let has_results = description.results.is_some_and(|results| self.results(&results, place, role, time));
        if is_response {
            let before = self.builder.session.tool_calls.len();
            if let Some(calls) = &description.calls {
                self.calls(calls, place, line, time);
                for call in self.builder.session.tool_calls.iter_mut().skip(before) {
                    call.is_subagent = description.is_subagent;
                }
            }
            let has_calls = self.builder.session.tool_calls.len() > before;
            let turn = self.response(description, place, line, time, damage);
            let words = words(place, description.text);
            if !description.is_subagent && (turn.is_some() || has_calls || !words.is_empty()) {
                self.builder.say(&words);
                self.last = if has_calls { Last::Work } else { Last::Answer };
            }
        } else if description.prompts.contains(&role) && !has_results {
            let words = words(place, description.text);
            let name = place.text(description.message_id).map_or_else(|| self.ordinal("prompt"), Cow::into_owned);
            self.builder.prompt_as(Identity::Session(name.as_str().into()), Some(&words));
            self.last = Last::Work;
        } else if has_results && !description.is_subagent {
            self.last = Last::Work;
        }
    }

    /// Adds the response that a record contains, if it has usage.
    fn response(
        &mut self,
        description: &Description,
        place: Place<'_, '_>,
        line: i64,
        time: Option<Time>,
        damage: &mut RecordErrors,
    ) -> Option<usize> {
        let (tokens, is_known) = tokens_of(description, place, damage);
        let cost = money(place.number(description.cost), damage);
        if !is_known && cost.is_none() {
            return None;
        }
        let id = place.text(description.message_id);
        // The same counts at the same time are a copy.
        let name = match (&id, time) {
            (Some(id), _) => id.clone().into_owned(),
            (None, Some(time)) => format!("{} {}", time.micros(), counts_name(tokens)),
            (None, None) => self.ordinal(&counts_name(tokens)),
        };
        let index = self.builder.turn(Identity::Session(name.as_str().into()), line);
        let turn = &mut self.builder.session.turns[index];
        if !tokens.is_all_zero() {
            turn.tokens = turn.tokens.get().max(tokens).into();
        }
        turn.message_id = id.as_deref().map(Into::into);
        turn.model = place.text(description.model).as_deref().map(Into::into);
        turn.provider = place.text(description.provider).as_deref().map(Into::into);
        turn.occurred_at = time;
        turn.duration_ms = place.number(description.duration_ms).rounded().into();
        turn.stop_reason = place.text(description.stop_reason).as_deref().map(Into::into);
        turn.cost = cost.map(Cost::of);
        turn.is_subagent = description.is_subagent;
        if !description.is_subagent {
            self.builder.session.stop_reason.clone_from(&turn.stop_reason);
        }
        for call in self.open_calls.drain(..) {
            self.builder.session.tool_calls[call].turn = Some(index);
        }
        Some(index)
    }

    /// A name with a number that distinguishes it from equal ones before it.
    fn ordinal(&mut self, name: &str) -> String {
        let count = self.seen.entry(name.to_owned()).or_default();
        *count += 1;
        format!("{name} {count}")
    }

    fn calls(&mut self, calls: &Calls, place: Place<'_, '_>, line: i64, time: Option<Time>) {
        for raw in place.list(calls.list) {
            let Some(element) = Probe::new(raw.0, "") else { continue };
            let element = Place::of(&element);
            if !is_one(element, calls.only) {
                continue;
            }
            let Some(id) = element.text(calls.id) else { continue };
            let name = element.text(calls.name).unwrap_or_default();
            let index = self.builder.call(&id, &name, line, time);
            let arguments = element.raw(calls.arguments);
            let words = arguments.text();
            let is_text = arguments.0.first() == Some(&b'"');
            self.builder.arguments(index, if is_text { Raw(words.as_bytes()) } else { arguments });
            self.builder.session.tool_calls[index].args_bytes = arguments.len().into();
            self.open_calls.push(index);
        }
    }

    /// Adds the results in a record. Returns whether there are any.
    fn results(&mut self, results: &Results, place: Place<'_, '_>, role: &str, time: Option<Time>) -> bool {
        if results.roles.contains(&role) {
            self.result(results, Place::of(place.record), time);
            return true;
        }
        let mut has_any = false;
        for raw in place.list(results.list) {
            if let Some(element) = Probe::new(raw.0, "")
                && is_one(Place::of(&element), results.only)
            {
                self.result(results, Place::of(&element), time);
                has_any = true;
            }
        }
        has_any
    }

    fn result(&mut self, results: &Results, element: Place<'_, '_>, time: Option<Time>) {
        // A result without its call makes no row.
        let call = element.text(results.call).and_then(|id| self.builder.call_index(&id));
        if let Some(call) = call {
            let is_error = element.raw(results.error).read::<Flag>().is_true();
            self.builder.result(call, element.raw(results.content), time, CallStatus::from_error(is_error));
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        match self.end {
            Some(Status::Success) => self.builder.succeed(),
            Some(Status::Error) => self.builder.fail(None, ""),
            Some(Status::Aborted) => self.builder.end(Last::Abort),
            Some(Status::Incomplete | Status::Unknown) | None => self.builder.end(self.last),
        }
        self.builder.finish()
    }
}

/// Whether an element has the text that states its kind.
fn is_one(element: Place<'_, '_>, only: Option<(&str, &str)>) -> bool {
    only.is_none_or(|(path, value)| element.text(path).as_deref() == Some(value))
}

/// The disjoint tokens of a record, and whether any count is known.
fn tokens_of(description: &Description, place: Place<'_, '_>, damage: &mut RecordErrors) -> (Tokens, bool) {
    let TokenPaths { input, output, cache_read, cache_write, reasoning } = description.tokens;
    let counts = [input, output, cache_read, cache_write, reasoning].map(|path| place.count(path));
    damage.refuses(&counts);
    let is_known = counts.iter().any(|it| *it != Count::Unknown);
    let [input, output, cache_read, cache_write, reasoning] = counts.map(Count::get);
    let cached = if description.input_includes_cache { cache_read.unwrap_or(0) + cache_write.unwrap_or(0) } else { 0 };
    let beside = if description.output_excludes_reasoning { reasoning.unwrap_or(0) } else { 0 };
    let tokens = Tokens {
        input: input.map(|it| (it - cached).max(0)),
        output: output.map(|it| it + beside),
        cache_read,
        cache_write,
        reasoning,
        ..Tokens::UNKNOWN
    };
    (tokens, is_known)
}

/// The strings at a path, and the texts of its blocks.
fn words(place: Place<'_, '_>, path: &str) -> String {
    let mut words = String::new();
    for raw in place.values(path) {
        let content: TextOrBlocks<'_, Block<'_>> = raw.read();
        words.push_str(content.text.as_deref().unwrap_or_default());
        content.blocks.iter().for_each(|block| words.push_str(block.text.as_str()));
    }
    words
}
