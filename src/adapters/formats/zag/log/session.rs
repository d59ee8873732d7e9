//! One session of zag's log while its records are read.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use super::records::{Record, StatusData, prompt_rank, rank};
use crate::adapters::engine::{Context, RecordErrors, RecordKind};
use crate::adapters::formats::zag::json::{Refusals, ToolResult, limit_text};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Retention, brief, money};
use crate::adapters::shared::changes;
use crate::adapters::shared::ids::hashed_id;
use crate::base::rows::Rows;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::json::fields::Count;
use crate::json::lines::Line;
use crate::model::errors::ErrorKind;
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, Capabilities, EventKind, Identity, ModelTotal, SessionResult, Status, Tokens, Total, TotalKind, add,
    add_money,
};

/// A session while its records are read.
pub(super) struct Session {
    pub(super) builder: Builder,
    keeps_text: bool,
    /// A hash of each record.
    pub(super) hashes: HashSet<u64>,
    provider: String,
    /// The model of the next usage.
    model: Option<Symbol>,
    /// Whether the events were imported: their times and their end are those of the import.
    is_backfilled: bool,
    has_answer: bool,
    has_calls: bool,
    /// The kinds of sources that logged the calls: several may log one call.
    sources: HashMap<usize, SharedStr>,
    has_result: bool,
    /// What users typed, by the rank of the source.
    prompts: BTreeMap<usize, Prompts>,
    usages: Vec<Usage>,
    /// Duration and turns of the run, until its usage is logged.
    duration_ms: Option<i64>,
    turns: Option<i64>,
    refusals: Refusals,
    /// The message of a usage limit that has not ended.
    limit: Option<SharedStr>,
}

#[derive(Default)]
struct Prompts {
    names: Vec<Identity>,
    first: Option<String>,
    ids: HashSet<String>,
}

struct Usage {
    rank: usize,
    line: i64,
    key: String,
    time: Option<Time>,
    model: Option<Symbol>,
    duration_ms: Option<i64>,
    turns: Option<i64>,
    tokens: Tokens,
    cost: Option<f64>,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            keeps_text: context.content >= Retention::Text,
            hashes: HashSet::new(),
            provider: String::new(),
            model: None,
            is_backfilled: false,
            has_answer: false,
            has_calls: false,
            sources: HashMap::default(),
            has_result: false,
            prompts: BTreeMap::new(),
            usages: Vec::new(),
            duration_ms: None,
            turns: None,
            refusals: Refusals::default(),
            limit: None,
        }
    }

    pub(super) fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        let kind = record.kind.as_str();
        if kind == "session_started" {
            self.start(record);
        }
        let time = record.ts.0.filter(|_| !self.is_backfilled);
        self.builder.extend_to(time);
        if let Some(provider) = record.provider.some() {
            provider.clone_into(&mut self.provider);
        }
        let session = &mut self.builder.session;
        // At the start the id is a guess. The provider's own id replaces it.
        session.provider_session_id = record.provider_session_id.owned().or_else(|| session.provider_session_id.take());
        let at = At { line: line.number, time };
        match kind {
            "user_message" => self.user(record, line),
            "assistant_message" => {
                self.has_answer = true;
                if !self.has_result {
                    self.builder.set_answer(record.content.as_str());
                }
            }
            "session_result" => {
                self.has_result = true;
                self.builder.set_answer(record.result.as_str());
            }
            "tool_call" => {
                self.call(record, line, time);
            }
            "tool_result" => self.call_result(record, line, time),
            "permission" => {
                if record.granted.0 == Some(false) {
                    self.refusals.assign(&mut self.builder, record.tool_name.as_str(), at);
                }
            }
            "provider_status" => self.status(record),
            "usage" => self.usage(record, line, time, damage),
            "usage_limit_hit" => {
                let text = limit_text(&record.raw, &record.provider, &record.scope);
                let event = self.builder.event(EventKind::Error, at);
                event.code = Some("usage_limit".into());
                event.message = Some(brief(&text));
                self.limit.clone_from(&event.message);
            }
            "usage_limit_resumed" => self.limit = None,
            "usage_limit_resume_failed" => {
                let event = self.builder.event(EventKind::Error, at);
                event.code = Some("usage_limit_resume_failed".into());
                event.message = (!record.error.is_empty()).then(|| brief(&record.error.text()));
            }
            "session_ended" => self.end(record),
            "session_started" | "reasoning" | "stderr" | "parse_warning" | "session_cleared" | "heartbeat"
            | "user_event" => {}
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    /// A run begins, perhaps one of several: it clears the end of the run before it.
    fn start(&mut self, record: &Record<'_>) {
        self.is_backfilled = record.backfilled.is_true();
        self.has_result = false;
        self.limit = None;
        self.model = record.model.owned().or_else(|| self.model.take());
        let session = &mut self.builder.session;
        (session.status, session.error_kind, session.error_message) = (Status::Incomplete, None, None);
        session.model = record.model.owned().or_else(|| session.model.take());
        session.cwd = session.cwd.take().or_else(|| record.cwd.owned());
        session.entrypoint = session.entrypoint.take().or_else(|| record.command.owned());
    }

    fn user(&mut self, record: &Record<'_>, line: Line<'_>) {
        const MACHINE: [&str; 4] = ["<command-", "<local-command-", "<task-notification>", "[Request interrupted"];
        let text = record.content.as_str();
        if MACHINE.iter().any(|it| text.trim_start().starts_with(it)) {
            return;
        }
        let prompts = self.prompts.entry(prompt_rank(record.source_kind.as_str())).or_default();
        if record.message_id.some().is_some_and(|it| !prompts.ids.insert(it.to_owned())) {
            return;
        }
        prompts.names.push(Identity::Session(hashed_id(line.bytes).into()));
        if self.keeps_text && prompts.first.is_none() {
            prompts.first = record.content.owned();
        }
    }

    fn call(&mut self, record: &Record<'_>, Line { bytes, number: line }: Line<'_>, time: Option<Time>) -> usize {
        self.has_calls = true;
        // Calls of Codex have no id: the number of the event is used instead.
        let number = || record.seq.get().map_or_else(|| hashed_id(bytes), |number| format!("#{number}"));
        let call_id = record.tool_id.owned().unwrap_or_else(number);
        let at = At { line, time };
        let (tool, source) = (record.tool_name.as_str(), record.source_kind.as_str());
        // The same source logs the next use of an id.
        let is_other = |known: &usize| {
            let row = &self.builder.session.tool_calls[*known];
            let is_copy = row.occurred_at == time && time.is_some();
            row.status != CallStatus::Incomplete && !is_copy && self.sources.get(known).is_some_and(|it| *it == source)
        };
        let call = match self.builder.call_index(&call_id).filter(is_other) {
            Some(_) => self.builder.another_call(&call_id, tool, at),
            None => self.builder.call(&call_id, tool, at),
        };
        self.sources.entry(call).or_insert_with(|| source.into());
        let row = &mut self.builder.session.tool_calls[call];
        if row.category == "other" {
            row.category = category(record.tool_kind.as_str()).into();
        }
        let arguments = self.builder.arguments(call, record.input);
        changes::add_named_file(&mut self.builder, call, &arguments, record.input, None, at);
        call
    }

    fn call_result(&mut self, record: &Record<'_>, line: Line<'_>, time: Option<Time>) {
        let known = self.builder.call_index(record.tool_id.as_str());
        // Results from the provider's file do not contain the tool; those of the wrapper do.
        let call = match known {
            Some(call) => call,
            None if record.tool_id.some().is_some() && record.tool_name.some().is_some() => {
                self.call(record, line, time)
            }
            None => return,
        };
        let result =
            ToolResult { success: record.success, output: record.output, error: record.error, data: record.data };
        result.apply(&mut self.builder, call, At { line: line.number, time });
    }

    /// Reads the start, the turns and the result of a run, which the wrapper writes as a status. Statuses from other sources
    /// are not used.
    fn status(&mut self, record: &Record<'_>) {
        if record.source_kind.as_str() != "wrapper" {
            return;
        }
        if let Some(model) = record.message.as_str().strip_prefix("Initialized ").filter(|it| !it.is_empty()) {
            // The model at the start may be an alias, such as `opus`.
            self.model = Some(model.into());
            self.builder.session.model = Some(model.into());
        }
        let data: StatusData<'_> = record.data.read();
        self.duration_ms = add(self.duration_ms, data.duration_ms.rounded());
        self.turns = add(self.turns, data.num_turns.get());
        let session = &mut self.builder.session;
        session.stop_reason = data.stop_reason.owned().or_else(|| session.stop_reason.take());
    }

    fn usage(&mut self, record: &Record<'_>, line: Line<'_>, time: Option<Time>, damage: &mut RecordErrors) {
        let counts =
            [record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_creation_tokens];
        let cost = money(record.total_cost_usd, damage);
        if !damage.note_impossible(&counts) && cost.is_none() && counts.iter().all(|it| it.get().is_none()) {
            damage.note(Reason::NoUsage);
        }
        let [input, output, cache_read, cache_write] = counts.map(Count::get);
        let mut tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN };
        if tokens.is_all_zero() {
            // zag writes 0 if it only knows the cost.
            tokens = Tokens::UNKNOWN;
        }
        self.usages.push(Usage {
            rank: rank(record.source_kind.as_str()),
            line: line.number,
            key: hashed_id(line.bytes),
            time,
            model: self.model.clone(),
            duration_ms: self.duration_ms.take(),
            turns: self.turns.take(),
            tokens,
            cost,
        });
    }

    fn end(&mut self, record: &Record<'_>) {
        if record.success.is_true() {
            self.builder.succeed();
        } else if !record.error.is_empty() {
            self.builder.fail(None, &record.error.text());
        } else if let Some(limit) = self.limit.take() {
            self.builder.fail_as(ErrorKind::RateLimit, &limit);
        } else {
            self.builder.fail(None, "");
        }
        if self.is_backfilled {
            // Every import ends with a success, whatever the status of the session.
            self.builder.session.status = Status::Unknown;
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        if let Some((_, prompts)) = self.prompts.pop_first() {
            for name in prompts.names {
                self.builder.prompt_as(name, prompts.first.as_deref());
            }
        }
        let agents: Vec<_> =
            self.builder.session.tool_calls.iter().filter(|it| it.category == "subagent").cloned().collect();
        for call in agents.into_iter().filter(|it| it.status != CallStatus::Denied) {
            let event = self.builder.event(EventKind::Subagent, At { line: call.line, time: call.occurred_at });
            event.key = Some(format!("agent {}", call.call_id).into());
            let agent = Symbol::new(&call.call_id);
            event.code = Some(agent.clone());
            event.call_id = Some(call.call_id);
            self.builder.session.subagents.insert(agent);
        }
        let totals = totals(self.usages);
        let mut session = self.builder.finish();
        // The usage is written at the end of a run, and Claude's usage excludes subagents.
        session.under_reports =
            session.status == Status::Incomplete || (!totals.is_empty() && !session.subagents.is_empty());
        session.totals = totals;
        (session.duration_ms, session.stated_turns) = (self.duration_ms, self.turns);
        // zag reads no results of other providers, and of a captured run only its end.
        session.capabilities = match self.provider.as_str() {
            "claude" | "copilot" if self.has_answer || self.has_calls => session.capabilities,
            _ if self.has_calls => Capabilities::USER_TURNS.and(Capabilities::TOOL_CALLS),
            _ => Capabilities::USER_TURNS,
        };
        session
    }
}

/// The usage of all runs, from the most reliable source.
///
/// Only `record_agent_output` in zag's source writes these events: one for each process of the provider, with the sum over
/// that process (Claude's `result.usage`). So an event is a sum of many responses: a row of grain `session`, whose price does
/// not depend on the size of one request. A session that was resumed, or that waited for the end of a limit, has several
/// events, which add up. Each event keeps its key, which identifies a shorter copy of the log; the last contains the sum.
fn totals(usages: Vec<Usage>) -> Vec<Total> {
    let Some(best) = usages.iter().map(|it| it.rank).min() else { return Vec::new() };
    let mut totals = Vec::new();
    let (mut cost, mut turns) = (None, None);
    let mut models: Rows<ModelTotal> = Rows::default();
    let mut by_model: HashMap<Option<Symbol>, usize> = HashMap::new();
    for usage in usages.into_iter().filter(|it| it.rank == best) {
        let index = *by_model.entry(usage.model).or_insert_with_key(|model| {
            models.push(ModelTotal { model: model.clone(), ..ModelTotal::default() });
            models.len() - 1
        });
        cost = add_money(cost, usage.cost);
        models[index].tokens = models[index].tokens.plus(usage.tokens);
        models[index].cost = add_money(models[index].cost, usage.cost);
        turns = add(turns, usage.turns);
        let (line, key, occurred_at, duration_ms) = (usage.line, usage.key, usage.time, usage.duration_ms);
        totals.push(Total { line, key, kind: TotalKind::Process, occurred_at, duration_ms, ..Total::default() });
    }
    if let Some(last) = totals.last_mut() {
        (last.cost, last.turns, last.models) = (cost, turns, models.into_iter().collect());
    }
    totals
}

/// The category of zag's own classes of tools.
fn category(tool_kind: &str) -> &'static str {
    match tool_kind {
        "shell" => "shell",
        "file_read" => "read",
        "file_write" => "write",
        "file_edit" | "notebook" => "edit",
        "search" => "search",
        "web" => "web",
        "sub_agent" => "subagent",
        _ => "other",
    }
}
