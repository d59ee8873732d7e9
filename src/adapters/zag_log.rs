//! zag's own session log, `~/.zag/projects/*/logs/sessions/ID.jsonl` (docs/formats.md#zag-log).
//!
//! It contains what the wrapper did, and what it read in the provider's files and on the provider's stdout. So one event may
//! be logged several times, from several sources.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::zag_json::{Refusals, ToolResult, limit_text};
use super::{Adapter, Context, Damage, Fold, Seen, fold, hashed_id};
use crate::adapters::common::builder::{Builder, Content, brief, money};
use crate::adapters::common::changes;
use crate::base::rows::Rows;
use crate::base::text::{Shared, Word};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Count, Flag, Number, Text, When};
use crate::model::errors::ErrorKind;
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, EventKind, Identity, ModelTotal, SessionResult, Shows, Status, Tokens, Total, TotalKind, add, add_money,
};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "zag-log",
    runtime: "zag",
    about: "zag, session log under ~/.zag/projects",
    shows: Shows::USER_TURNS
        .and(Shows::TOOL_CALLS)
        .and(Shows::FILE_CHANGES)
        .and(Shows::SUBAGENTS)
        .and(Shows::PERMISSION_DENIALS)
        .and(Shows::KEPT_BY_RUNTIME),
    claims: |probe| if probe.has_all(&["wrapper_session_id", "source_kind"]) { 10 } else { 0 },
    parse: fold::<Log>,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    seq: Count,
    ts: When,
    #[serde(borrow)]
    provider: Text<'a>,
    #[serde(borrow)]
    wrapper_session_id: Text<'a>,
    #[serde(borrow)]
    provider_session_id: Text<'a>,
    #[serde(borrow)]
    source_kind: Text<'a>,
    // session_started
    #[serde(borrow)]
    command: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    backfilled: Flag,
    // user_message, assistant_message
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    message_id: Text<'a>,
    // tool_call, tool_result, permission
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    tool_kind: Text<'a>,
    #[serde(borrow)]
    tool_id: Text<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    data: Raw<'a>,
    granted: Flag,
    // session_ended and session_result, tool_result
    success: Flag,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    result: Text<'a>,
    // provider_status
    #[serde(borrow)]
    message: Text<'a>,
    // usage
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_creation_tokens: Count,
    total_cost_usd: Number,
    // usage_limit_hit
    #[serde(borrow)]
    scope: Text<'a>,
    #[serde(borrow)]
    raw: Text<'a>,
}

/// The data of a `provider_status`, for provider events without a type of their own in this log.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StatusData<'a> {
    duration_ms: Number,
    num_turns: Count,
    #[serde(borrow)]
    stop_reason: Text<'a>,
}

/// Sources of the same event, the most reliable first: the provider's own files, then what was read on its stdout.
const SOURCES: [&str; 5] = ["provider_file", "provider_log", "stdout", "backfill", "wrapper"];

fn rank(source: &str) -> usize {
    SOURCES.iter().position(|it| *it == source).unwrap_or(SOURCES.len())
}

/// The rank of a source of prompts: the wrapper is the most reliable. The provider's file also contains texts that programs
/// wrote as the user, and after a resume the earlier prompts again.
fn prompt_rank(source: &str) -> usize {
    if source == "wrapper" { 0 } else { 1 + rank(source) }
}

struct Log {
    context: Context,
    sessions: Rows<Session>,
    by_id: HashMap<String, usize>,
}

impl Fold for Log {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Rows::default(), by_id: HashMap::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        let session = self.session(&record, line);
        // Each record has a number and a time: an equal record is a copy.
        if !session.hashes.insert(XxHash3_64::oneshot(line.bytes)) {
            return Seen::Known;
        }
        let seen = session.record(&record, line, damage);
        session.builder.name_events(None, line.bytes);
        seen
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Session::finish).collect()
    }
}

impl Log {
    fn session(&mut self, record: &Record<'_>, line: Line<'_>) -> &mut Session {
        let id = record.wrapper_session_id.some().map_or_else(
            // A record without a session id belongs to the one before it.
            || self.sessions.last().map_or_else(|| hashed_id(line.bytes), |it| it.builder.session.session_id.clone()),
            str::to_owned,
        );
        let index = *self.by_id.entry(id).or_insert_with_key(|id| {
            self.sessions.push(Session {
                builder: Builder::new(&self.context, id, line.number),
                keeps_text: self.context.content >= Content::Text,
                hashes: HashSet::new(),
                provider: String::new(),
                model: None,
                is_backfilled: false,
                has_answer: false,
                has_calls: false,
                has_result: false,
                prompts: BTreeMap::new(),
                usages: Vec::new(),
                duration_ms: None,
                turns: None,
                refusals: Refusals::default(),
                limit: None,
            });
            self.sessions.len() - 1
        });
        &mut self.sessions[index]
    }
}

struct Session {
    builder: Builder,
    keeps_text: bool,
    /// A hash of each record.
    hashes: HashSet<u64>,
    provider: String,
    /// The model of the next usage.
    model: Option<Word>,
    /// Whether the events were imported: their times and their end are those of the import.
    is_backfilled: bool,
    has_answer: bool,
    has_calls: bool,
    has_result: bool,
    /// What users typed, by the rank of the source.
    prompts: BTreeMap<usize, Prompts>,
    usages: Vec<Usage>,
    /// Duration and turns of the run, until its usage is logged.
    duration_ms: Option<i64>,
    turns: Option<i64>,
    refusals: Refusals,
    /// The message of a usage limit that has not ended.
    limit: Option<Shared>,
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
    model: Option<Word>,
    duration_ms: Option<i64>,
    turns: Option<i64>,
    tokens: Tokens,
    cost: Option<f64>,
}

impl Session {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) -> Seen {
        let kind = record.kind.as_str();
        if kind == "session_started" {
            self.start(record);
        }
        let time = record.ts.0.filter(|_| !self.is_backfilled);
        self.builder.saw(time);
        if let Some(provider) = record.provider.some() {
            provider.clone_into(&mut self.provider);
        }
        let session = &mut self.builder.session;
        // At the start the id is a guess. The provider's own id replaces it.
        session.provider_session_id = record.provider_session_id.owned().or_else(|| session.provider_session_id.take());
        match kind {
            "user_message" => self.user(record, line),
            "assistant_message" => {
                self.has_answer = true;
                if !self.has_result {
                    self.builder.say(record.content.as_str());
                }
            }
            "session_result" => {
                self.has_result = true;
                self.builder.say(record.result.as_str());
            }
            "tool_call" => {
                self.call(record, line, time);
            }
            "tool_result" => self.call_result(record, line, time),
            "permission" => {
                if record.granted.0 == Some(false) {
                    self.refusals.assign(&mut self.builder, record.tool_name.as_str(), line.number, time);
                }
            }
            "provider_status" => self.status(record),
            "usage" => self.usage(record, line, time, damage),
            "usage_limit_hit" => {
                let text = limit_text(&record.raw, &record.provider, &record.scope);
                let event = self.builder.event(EventKind::Error, line.number, time);
                event.code = Some("usage_limit".into());
                event.message = Some(brief(&text));
                self.limit.clone_from(&event.message);
            }
            "usage_limit_resumed" => self.limit = None,
            "usage_limit_resume_failed" => {
                let event = self.builder.event(EventKind::Error, line.number, time);
                event.code = Some("usage_limit_resume_failed".into());
                event.message = (!record.error.is_empty()).then(|| brief(&record.error.text()));
            }
            "session_ended" => self.end(record),
            "session_started" | "reasoning" | "stderr" | "parse_warning" | "session_cleared" | "heartbeat"
            | "user_event" => {}
            _ => return Seen::Unknown,
        }
        Seen::Known
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
        let call = self.builder.call(&call_id, record.tool_name.as_str(), line, time);
        let row = &mut self.builder.session.tool_calls[call];
        if row.category == "other" {
            row.category = category(record.tool_kind.as_str()).into();
        }
        let arguments = self.builder.arguments(call, record.input);
        changes::add_named_file(&mut self.builder, call, &arguments, record.input, None, line, time);
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
        result.apply(&mut self.builder, call, line.number, time);
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

    fn usage(&mut self, record: &Record<'_>, line: Line<'_>, time: Option<Time>, damage: &mut Damage) {
        let counts =
            [record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_creation_tokens];
        let cost = money(record.total_cost_usd, damage);
        if !damage.refuses(&counts) && cost.is_none() && counts.iter().all(|it| it.get().is_none()) {
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

    fn finish(mut self) -> SessionResult {
        if let Some((_, prompts)) = self.prompts.pop_first() {
            for name in prompts.names {
                self.builder.prompt_as(name, prompts.first.as_deref());
            }
        }
        let agents: Vec<_> =
            self.builder.session.tool_calls.iter().filter(|it| it.category == "subagent").cloned().collect();
        for call in agents.into_iter().filter(|it| it.status != CallStatus::Denied) {
            let event = self.builder.event(EventKind::Subagent, call.line, call.occurred_at);
            event.key = Some(format!("agent {}", call.call_id).into());
            let agent = Word::new(&call.call_id);
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
        session.shows = match self.provider.as_str() {
            "claude" | "copilot" if self.has_answer || self.has_calls => session.shows,
            _ if self.has_calls => Shows::USER_TURNS.and(Shows::TOOL_CALLS),
            _ => Shows::USER_TURNS,
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
    let mut by_model: HashMap<Option<Word>, usize> = HashMap::new();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::parse;
    use crate::ledger::costs::settled as settle;
    use crate::model::source::Source;

    fn read(events: &[(&str, &str)]) -> SessionResult {
        let line = |(source, event): &(&str, &str)| {
            format!(
                r#"{{"seq":1,"ts":"2026-10-05T10:00:00Z","provider":"claude","wrapper_session_id":"w","source_kind":"{source}",{event}}}"#
            )
        };
        let log = events.iter().map(line).collect::<Vec<_>>().join("\n");
        parse(log.as_bytes(), crate::adapters::Hints::default(), Content::Text).sessions.swap_remove(0)
    }

    #[test]
    fn one_source_counts() {
        let usage = r#""type":"usage","input_tokens":10,"output_tokens":2"#;
        let other = r#""type":"usage","input_tokens":7,"output_tokens":1"#;
        let prompt = r#""type":"user_message","content":"a","message_id":"1""#;
        let session = read(&[
            ("wrapper", usage),
            ("stdout", usage),
            ("stdout", other),
            ("stdout", prompt),
            ("stdout", prompt),
            ("elsewhere", prompt),
        ]);
        let total = session.totals.last().unwrap();
        assert_eq!((total.models[0].tokens.input, total.models[0].tokens.output), (Some(17), Some(3)));
        assert_eq!((session.totals.len(), session.prompts.len()), (2, 1));
    }

    #[test]
    fn an_import_has_no_times_and_no_end() {
        let session = read(&[
            ("backfill", r#""type":"session_started","command":"backfill","backfilled":true"#),
            ("backfill", r#""type":"assistant_message","content":"a""#),
            ("wrapper", r#""type":"session_ended","success":true,"error":null"#),
        ]);
        assert_eq!((session.started_at, session.ended_at, session.status), (None, None, Status::Unknown));
    }

    #[test]
    fn an_end_without_a_message_is_that_of_the_limit() {
        let end = ("wrapper", r#""type":"session_ended","success":false,"error":null"#);
        let hit = ("wrapper", r#""type":"usage_limit_hit","scope":"weekly","raw":null"#);
        assert_eq!(read(&[hit, end]).error_kind, Some(ErrorKind::RateLimit));
        assert_eq!(
            read(&[hit, ("wrapper", r#""type":"usage_limit_resumed""#), end]).error_kind,
            Some(ErrorKind::Other)
        );
    }

    /// What the provider's own log holds is counted there.
    #[test]
    fn the_session_of_the_provider_keeps_the_tokens() {
        let outer = r#"{"seq":1,"ts":"2026-10-05T10:00:00Z","provider":"claude","wrapper_session_id":"w","provider_session_id":"p","source_kind":"wrapper","#;
        let outer = [
            r#""type":"session_started","command":"exec""#,
            r#""type":"tool_call","tool_name":"Bash","tool_id":"toolu_1","input":{"command":"ls"}"#,
            r#""type":"usage","input_tokens":10,"output_tokens":2,"total_cost_usd":0.5"#,
            r#""type":"session_ended","success":false,"error":"usage limit reached""#,
        ]
        .map(|it| format!("{outer}{it}}}"))
        .join("\n");
        let inner = r#"{"type":"assistant","sessionId":"p","uuid":"u","timestamp":"2026-10-05T10:00:01Z","message":{"id":"msg_1","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":2}}}"#;
        let source = |(path, log): (&str, &str)| Source {
            path: path.into(),
            sessions: parse(log.as_bytes(), crate::adapters::Hints::default(), Content::None).sessions,
            ..Source::default()
        };
        let alone = settle([("a", outer.as_str())].map(source).into());
        assert_eq!((alone.sessions[0].tokens.total(), alone.sessions[0].money.cost), (Some(12), Some(0.5)));
        let both = settle([("a", outer.as_str()), ("b", inner)].map(source).into());
        let [inner, outer] = both.sessions.as_slice() else { panic!("{:?}", both.sessions) };
        assert_eq!((inner.tokens.total(), inner.tool_calls), (Some(12), Some(1)));
        assert_eq!((outer.tokens.total(), outer.money.cost, outer.tool_calls, outer.turns), (None, None, None, None));
        assert_eq!((outer.session.status, outer.usage), (Status::Error, crate::model::tables::Usage::Unknown));
        assert_eq!((both.turns.len(), both.tool_calls.len()), (1, 1));
    }
}
