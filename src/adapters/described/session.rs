//! One session of a described format while its records are read.

use std::borrow::Cow;

use super::description::{Calls, Compaction, Description, Facts, IdScope, OwnFacts, Results, TokenPaths};
use super::path::Place;
use crate::adapters::engine::{Context, Probe, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::text_of;
use crate::adapters::shared::builder::{Builder, Last, money};
use crate::adapters::shared::ids::counts_name;
use crate::adapters::shared::tools::category_among;
use crate::adapters::shared::usage::{Included, uncached};
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Number};
use crate::model::session::{
    CallStatus, Capabilities, Cost, EventKind, Identity, ModelTotal, SessionResult, Status, Tokens, Total, TotalKind,
};
use foldhash::{HashMap, HashMapExt as _};

/// A record of a description.
#[derive(Clone, Copy)]
struct Record<'r, 'a> {
    description: &'r Description,
    place: Place<'r, 'a>,
    at: At,
}

/// A session while its records are read.
pub(super) struct Session {
    builder: Builder,
    own_facts: OwnFacts,
    last: Last,
    /// The end that a record states.
    end: Option<Status>,
    /// How often each name of a record without an id occurred.
    seen: HashMap<String, usize>,
    /// Calls of records before the one that has their usage.
    open_calls: Vec<usize>,
    /// Whether the records repeat a log in another format.
    is_migrated: bool,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64, lacks: Capabilities) -> Self {
        let mut builder = Builder::new(context, id, line);
        builder.session.capabilities = builder.session.capabilities.without(lacks);
        Self {
            builder,
            own_facts: OwnFacts::default(),
            last: Last::Work,
            end: None,
            seen: HashMap::new(),
            open_calls: Vec::new(),
            is_migrated: false,
        }
    }

    /// The part of a session that repeats a log in another format.
    pub(super) fn migrated(context: &Context, id: &str, line: i64, lacks: Capabilities) -> Self {
        let mut session = Self { is_migrated: true, ..Self::new(context, id, line, lacks) };
        session.builder.session.capabilities = session.builder.session.capabilities.and(Capabilities::MIGRATED);
        session
    }

    /// Adds the facts of a line or document.
    pub(super) fn facts(&mut self, facts: &Facts, record: &Probe<'_>, damage: &mut RecordErrors) {
        let place = Place::of(record);
        self.builder.extend_to(place.time(facts.started_at));
        self.builder.extend_to(place.time(facts.ended_at));
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
        if let Some(cwd) = &mut session.cwd {
            cwd.truncate(cwd.find('\n').unwrap_or(cwd.len()));
        }
        session.agent = session.agent.take().or_else(|| place.text(facts.agent).as_deref().map(Into::into));
        session.model = session.model.take().or_else(|| place.text(facts.model).as_deref().map(Into::into));
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

    /// Adds what the format itself finds in a line or document.
    pub(super) fn own_facts(&mut self, facts: OwnFacts) {
        let OwnFacts { repository, provider, effort } = facts;
        let session = &mut self.builder.session;
        session.repository = session.repository.take().or(repository);
        let known = &mut self.own_facts;
        known.provider = known.provider.take().or(provider);
        known.effort = known.effort.take().or(effort);
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
        // Records that were converted have the time of the conversion.
        let time = place.time(description.time).filter(|_| !self.is_migrated);
        self.builder.extend_to(time);
        let role = place.text(description.role);
        let role = role.as_deref().unwrap_or_default();
        let record = Record { description, place, at: At { line, time } };
        if let Some(compaction) = description.compaction.and_then(|compaction| compaction(place.record)) {
            self.compaction(record, compaction);
        }
        let is_response = description.role.is_empty() || description.responses.contains(&role);
        let results = description.results.as_ref();
        // The results of a request are those of calls before its response. Others may be those of the record's own calls.
        let come_first = results.filter(|results| results.at_end || !is_response);
        let has_results = come_first.is_some_and(|results| self.results(record, results, role));
        if is_response {
            let turn = if self.is_migrated {
                self.sum(record, damage);
                None
            } else {
                self.response(record, damage)
            };
            let before = self.open_calls.len();
            if let Some(calls) = &description.calls {
                self.calls(record, calls, turn);
            }
            let has_calls = self.open_calls.len() > before;
            let ends = description.calls.map_or(&[][..], |calls| calls.ends);
            let is_end = |call: &usize| ends.iter().any(|tool| self.builder.session.tool_calls[*call].tool == *tool);
            let is_work = !self.open_calls.iter().skip(before).all(is_end);
            if let Some(results) = results.filter(|results| !results.at_end) {
                self.results(record, results, role);
            }
            if let Some(turn) = turn {
                for call in self.open_calls.drain(..) {
                    self.builder.session.tool_calls[call].turn = Some(turn);
                }
            }
            let words = words(place, description.text);
            if !description.is_subagent && (turn.is_some() || has_calls || !words.is_empty()) {
                self.builder.set_answer(&words);
                self.last = if is_work { Last::Work } else { Last::Answer };
            }
        } else if description.prompts.contains(&role) && !has_results {
            let words = words(place, description.text);
            let typed = description.typed.map_or(Some(words.clone()), |typed| typed(place.record, &words));
            if let Some(words) = typed {
                let identity = match (place.text(description.message_id), description.message_id_scope) {
                    (Some(id), IdScope::Everywhere) => Identity::Global(format!("prompt {id}").as_str().into()),
                    (Some(id), _) => Identity::Session(id.as_ref().into()),
                    (None, _) => Identity::Session(self.ordinal("prompt").as_str().into()),
                };
                self.builder.prompt_as(identity, Some(&words));
            }
            self.last = Last::Work;
        } else if has_results && !description.is_subagent {
            self.last = Last::Work;
        }
    }

    fn compaction(&mut self, record: Record<'_, '_>, compaction: Compaction) {
        let Compaction { key, trigger, time, tokens_before } = compaction;
        let time = time.or(record.at.time);
        let key = key.or_else(|| time.is_none().then(|| self.ordinal("compaction")));
        let event = self.builder.event(EventKind::Compaction, At { time, ..record.at });
        event.key = key.map(Into::into);
        event.code = trigger;
        event.tokens_before = tokens_before;
        event.is_subagent = record.description.is_subagent;
    }

    /// Adds the usage in a record that repeats a log in another format: it is the sum over that log.
    fn sum(&mut self, record: Record<'_, '_>, damage: &mut RecordErrors) {
        let Record { description, place, at } = record;
        let (tokens, _) = tokens_of(description, &description.tokens, place, damage);
        let cost = money(place.number(description.cost), damage);
        let model = place.text(description.model).as_deref().map(Into::into);
        let stated = ModelTotal { model, tokens, cost, ..ModelTotal::default() };
        let of_log = Total { line: at.line, kind: TotalKind::Migrated, ..Total::default() };
        self.state(stated, Total { occurred_at: place.time(description.time), ..of_log });
    }

    /// Adds a total over all models, unless it is unknown.
    fn state(&mut self, stated: ModelTotal, mut total: Total) {
        let ModelTotal { tokens, cost, .. } = stated;
        let tokens = if tokens.total().unwrap_or(0) == 0 { Tokens::UNKNOWN } else { tokens };
        let cost = cost.filter(|cost| *cost > 0.0);
        if tokens == Tokens::UNKNOWN && cost.is_none() {
            return;
        }
        let cost_name = cost.map(|cost| format!(" {cost}")).unwrap_or_default();
        total.key = format!("sum {}{cost_name}", counts_name(tokens));
        total.cost = cost;
        total.models = vec![ModelTotal { tokens, cost, ..stated }];
        total.covers_subagents = true;
        self.builder.session.totals.push(total);
    }

    /// Adds the totals in a line or document. They contain the responses until `line`.
    pub(super) fn totals(
        &mut self,
        description: &Description,
        record: &Probe<'_>,
        line: i64,
        damage: &mut RecordErrors,
    ) {
        let place = Place::of(record);
        let (tokens, _) = tokens_of(description, &description.totals, place, damage);
        let cost = money(place.number(description.total_cost), damage);
        let occurred_at = place.time(description.time).or_else(|| place.time(description.facts.ended_at));
        let stated = ModelTotal { tokens, cost, ..ModelTotal::default() };
        self.state(stated, Total { line, occurred_at, ..Total::default() });
    }

    /// Adds the response that a record contains, if it has usage, or the id of a provider.
    fn response(&mut self, record: Record<'_, '_>, damage: &mut RecordErrors) -> Option<usize> {
        let Record { description, place, at: At { line, time } } = record;
        let (tokens, is_known) = tokens_of(description, &description.tokens, place, damage);
        let cost = money(place.number(description.cost), damage);
        let id = place.text(description.message_id);
        let has_global_id = description.message_id_scope != IdScope::Session && id.is_some();
        let is_of_provider = description.message_id_scope == IdScope::Provider && id.is_some();
        if !is_known && cost.is_none() && !is_of_provider {
            return None;
        }
        let session_name = |name: &str| Identity::Session(name.into());
        // The same counts at the same time are a copy.
        let identity = match (&id, time) {
            (Some(id), _) if has_global_id => {
                Identity::Global(format!("{id} {}", counts_name(tokens.unless_all_zero())).into())
            }
            (Some(id), _) => session_name(id),
            (None, Some(time)) => session_name(&format!("{} {}", time.micros(), counts_name(tokens))),
            (None, None) => session_name(&self.ordinal(&counts_name(tokens))),
        };
        let index = self.builder.turn(identity, line);
        let turn = &mut self.builder.session.turns[index];
        if !tokens.is_all_zero() {
            turn.tokens = turn.tokens.get().max(tokens).into();
        }
        turn.message_id = id.as_deref().map(Into::into);
        turn.model = place.text(description.model).as_deref().map(Into::into);
        turn.provider = place.text(description.provider).as_deref().map(Into::into);
        turn.occurred_at = time;
        let seconds = place.number(description.duration_s).0;
        let duration = place.number(description.duration_ms).0.or_else(|| seconds.map(|seconds| seconds * 1000.0));
        turn.duration_ms = Number(duration).rounded().into();
        turn.stop_reason = place.text(description.stop_reason).as_deref().map(Into::into);
        turn.cost = cost.map(Cost::of);
        turn.is_subagent = description.is_subagent;
        if !description.is_subagent {
            self.builder.session.stop_reason.clone_from(&turn.stop_reason);
        }
        Some(index)
    }

    /// A name with a number that distinguishes it from equal ones before it.
    fn ordinal(&mut self, name: &str) -> String {
        let count = self.seen.entry(name.to_owned()).or_default();
        *count += 1;
        format!("{name} {count}")
    }

    fn calls(&mut self, record: Record<'_, '_>, calls: &Calls, turn: Option<usize>) {
        for raw in record.place.list(calls.list) {
            let Some(element) = Probe::new(raw.0, "") else { continue };
            let element = Place::of(&element);
            if !is_one(element, calls.only) {
                continue;
            }
            let Some(id) = element.text(calls.id) else { continue };
            let name = element.text(calls.name).unwrap_or_default();
            let logged = element.raw(calls.arguments);
            let text = match calls.arguments_form {
                Some(form) => Some(Cow::Owned(form(logged))),
                None => logged.is_string().then(|| logged.text()),
            };
            let arguments = text.as_ref().map_or(logged, |text| Raw(text.as_bytes()));
            let index = self.builder.call_of(turn, &id, &name, arguments, record.at);
            self.describe(record.description, index, &name, Some(arguments));
            self.builder.arguments(index, arguments);
            if let Some(own_arguments) = calls.own_arguments {
                own_arguments(&mut self.builder, index, arguments, record.at);
            }
            let call = &mut self.builder.session.tool_calls[index];
            call.args_bytes = logged.len().or(call.args_bytes.get()).into();
            self.open_calls.push(index);
        }
    }

    /// Adds the results in a record. Returns whether there are any.
    fn results(&mut self, record: Record<'_, '_>, results: &Results, role: &str) -> bool {
        if results.roles.contains(&role) {
            let element = Place::of(record.place.record);
            self.result(record, results, element, element.text(results.name));
            return true;
        }
        let mut has_any = false;
        let mut elements = record.place.list(results.list);
        if results.at_end {
            elements.reverse();
        }
        for raw in &elements {
            let element = Probe::new(raw.0, "");
            match element.as_ref().map(Place::of).filter(|element| is_one(*element, results.only)) {
                Some(element) => {
                    let elsewhere = || name_in_list(&elements, results, &element.text(results.call)?);
                    let name = element.text(results.name).or_else(|| if results.at_end { elsewhere() } else { None });
                    self.result(record, results, element, name);
                }
                None if results.at_end => break,
                None => continue,
            }
            has_any = true;
        }
        has_any
    }

    fn result(
        &mut self,
        record: Record<'_, '_>,
        results: &Results,
        element: Place<'_, '_>,
        name: Option<Cow<'_, str>>,
    ) {
        let Some(id) = element.text(results.call) else { return };
        // A result without its call makes no row, unless the tool is known.
        let call = match name {
            Some(tool) => {
                let index = self.builder.call(&id, &tool, At { time: None, ..record.at });
                self.describe(record.description, index, &tool, None);
                Some(index)
            }
            None => self.builder.call_index(&id),
        };
        if let Some(call) = call {
            let content = element.raw(results.content);
            let tool = &self.builder.session.tool_calls[call].tool;
            let outcome = results.outcome.map(|outcome| outcome(tool, content)).unwrap_or_default();
            let is_error = element.raw(results.error).read::<Flag>().is_true();
            let status = outcome.status.unwrap_or(CallStatus::from_error(is_error));
            // The time of a response is after the results in its request.
            let time = record.at.time.filter(|_| !results.at_end);
            self.builder.result(call, content, time, status);
            if status == CallStatus::Denied {
                self.builder.deny(call, At { time, ..record.at }, outcome.denial.as_deref());
            }
            let row = &mut self.builder.session.tool_calls[call];
            row.exit_code = outcome.exit_code.or(row.exit_code.get()).into();
        }
    }

    /// Sets the category of a call by the format's own list.
    fn describe(&mut self, description: &Description, index: usize, tool: &str, arguments: Option<Raw<'_>>) {
        let call = &mut self.builder.session.tool_calls[index];
        call.is_subagent = description.is_subagent;
        if let Some(category) = category_among(description.categories, tool, arguments) {
            call.category = category.into();
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        let session = &mut self.builder.session;
        // Totals are not divided by model.
        let model = if session.turns.is_empty() { session.model.clone() } else { session.only_model() };
        let unnamed = session.totals.iter_mut().flat_map(|total| &mut total.models).filter(|it| it.model.is_none());
        for total in unnamed {
            total.model.clone_from(&model);
            if session.turns.is_empty() {
                let OwnFacts { provider, effort, .. } = self.own_facts.clone();
                (total.provider, total.effort) = (provider, effort);
            }
        }
        if self.is_migrated {
            self.builder.session.status = Status::Unknown;
            self.builder.session.text = None;
            return self.builder.finish();
        }
        match self.end {
            Some(Status::Success) => self.builder.succeed(),
            Some(Status::Error) => self.builder.fail(None, ""),
            Some(Status::Aborted) => self.builder.end(Last::Abort),
            Some(Status::Incomplete | Status::Unknown) | None => self.builder.end(self.last),
        }
        self.builder.finish()
    }
}

/// The tool of the call with this id, which an element of a request's list names. The elements are in the reverse order.
fn name_in_list<'a>(elements: &[Raw<'a>], results: &Results, id: &str) -> Option<Cow<'a, str>> {
    let has_id = |raw: &&Raw<'a>| raw.contains(id);
    elements.iter().filter(has_id).find_map(|raw| {
        let element = Probe::new(raw.0, "")?;
        let element = Place::of(&element);
        let name = element.text(results.name)?;
        (element.text(results.call).as_deref() == Some(id)).then_some(name)
    })
}

/// Whether an element has the text that states its kind.
fn is_one(element: Place<'_, '_>, only: Option<(&str, &str)>) -> bool {
    only.is_none_or(|(path, value)| element.text(path).as_deref() == Some(value))
}

/// The disjoint tokens at `paths`, and whether any count is known.
fn tokens_of(
    description: &Description,
    paths: &TokenPaths,
    place: Place<'_, '_>,
    damage: &mut RecordErrors,
) -> (Tokens, bool) {
    let TokenPaths { input, output, cache_read, cache_write, reasoning } = *paths;
    let counts = [input, output, cache_read, cache_write, reasoning].map(|path| place.count(path));
    damage.note_impossible(&counts);
    let is_known = counts.iter().any(|it| *it != Count::Unknown);
    let [input, output, cache_read, cache_write, reasoning] = counts.map(Count::get);
    let includes_cache = description.input_includes_cache;
    let beside = if description.output_excludes_reasoning { reasoning.unwrap_or(0) } else { 0 };
    let tokens = Tokens {
        input: if includes_cache { uncached(Included::EachIfItFits, input, cache_read, cache_write) } else { input },
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
    place.values(path).into_iter().map(text_of).collect()
}
