//! The task folders of Cline (until 4.0), Roo Code and Kilo Code (until 5), which are its forks: `tasks/ID/*.json`.
//!
//! Each file tells a piece of the task; the ledger joins them by the folder's name, which none of them holds.
//! `ui_messages.json` has a JSON text in each `api_req_started`: the tokens and the price of one request, filled in when it
//! ends; no running total. What a `subagent_usage` and a `deleted_api_reqs` hold was billed as well, several requests in
//! one, and a `condense_context` names only its price. `api_conversation_history.json` has the calls and their results, as
//! blocks or, before there were any, as text; a call's request stands in the other file. `task_metadata.json` names models.
//!
//! Whether `tokensIn` holds what was cached depends on the writer. Cline: no, except with the providers that pass the
//! prompt of OpenAI's interface as it is. Roo Code since 3.29.5 and Kilo Code since 4.119.0: always; before that not with
//! Anthropic's interface (`costResult.totalInputTokens` in their `Task.ts`). Counts that cannot be a part are none.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::adapters::common::builder::{Builder, Last, brief, money};
use crate::adapters::common::tools;
use crate::base::text::{Shared, Word};
use crate::base::time::Time;
use crate::json::lines::Line;
use crate::json::wire::{Content, Count, Flag, Number, Text, When};
use crate::json::{self, Raw};
use crate::model::health::Reason;
use crate::model::session::{CallStatus, Cost, EventKind, Identity, SessionResult, Shows, Tokens};

/// What the view shows, `ui_messages.json`. Its words about tools are for people.
const VIEW: Shows = Shows::TURNS.and(Shows::COMPACTIONS).and(Shows::RETRIES).and(Shows::USER_TURNS);

/// What the history shows, `api_conversation_history.json`.
const HISTORY: Shows = Shows::TOOL_CALLS.and(Shows::FILE_CHANGES).and(Shows::SUBAGENTS).and(Shows::PERMISSION_DENIALS);

const SHOWS: Shows = VIEW.and(HISTORY).and(Shows::KEPT_BY_RUNTIME);

pub(super) const CLINE: Adapter = Adapter {
    id: "cline-task",
    runtime: "cline",
    about: "Cline until 4.0, task folders of saoudrizwan.claude-dev and ~/.cline/data",
    shows: SHOWS,
    claims: |probe| {
        let is_own = || {
            probe.has("modelInfo")
                || probe.has("model_usage")
                || has(probe.raw("content"), "# Current Mode\\nACT MODE")
                || has(probe.raw("content"), "# Current Mode\\nPLAN MODE")
                || matches!(
                    probe.text("say").as_ref(),
                    "task" | "checkpoint_created" | "task_progress" | "subagent_usage"
                )
                || is_in(probe, &["saoudrizwan.claude-dev", ".cline"])
        };
        claims(probe, is_own)
    },
    parse: fold::<Task>,
};

pub(super) const ROO: Adapter = Adapter {
    id: "roo-task",
    runtime: "roo",
    about: "Roo Code, task folders of rooveterinaryinc.roo-cline",
    shows: SHOWS,
    claims: |probe| {
        let is_own = || {
            probe.text("text").contains("\"apiProtocol\"")
                || has(probe.raw("content"), "<slug>")
                || matches!(
                    probe.text("say").as_ref(),
                    "checkpoint_saved" | "condense_context" | "api_req_retry_delayed"
                )
                || is_in(probe, &["rooveterinaryinc.roo-cline", ".vscode-mock"])
        };
        claims(probe, is_own)
    },
    parse: fold::<Task>,
};

pub(super) const KILO: Adapter = Adapter {
    id: "kilo-task",
    runtime: "kilo",
    about: "Kilo Code until 5, task folders of kilocode.kilo-code",
    shows: SHOWS,
    claims: |probe| {
        let is_own = || {
            let text = probe.text("text");
            text.contains("\"inferenceProvider\"")
                || text.contains("\"usageMissing\"")
                || probe.object("metadata").has("kiloCode")
                || matches!(
                    probe.text("ask").as_ref(),
                    "payment_required_prompt" | "invalid_model" | "checkpoint_restore"
                )
                || is_in(probe, &["kilocode.kilo-code"])
        };
        // What is Kilo's is in Roo's words, too.
        match claims(probe, is_own) {
            OWN => 2 * OWN,
            other => other,
        }
    },
    parse: fold::<Task>,
};

/// More than a whole window of what the three have in common.
const OWN: u32 = 100;

/// The three write the same: a word of its own, or the place, decides over a window of common ones.
fn claims(probe: &Probe<'_>, is_own: impl FnOnce() -> bool) -> u32 {
    let is_message = matches!(probe.kind(), "ask" | "say")
        && probe.has("ts")
        && (probe.has("say") || probe.has("ask"))
        && !probe.has("sessionId");
    let is_history =
        !probe.has("type") && probe.text("role") == "user" && has(probe.raw("content"), "<environment_details>");
    let is_metadata = probe.has("files_in_context") && !probe.has("type");
    match is_message || is_history || is_metadata {
        true if is_own() => OWN,
        true => 3,
        false => 0,
    }
}

fn is_in(probe: &Probe<'_>, folders: &[&str]) -> bool {
    probe.path().split(['/', '\\']).any(|it| folders.contains(&it))
}

fn has(raw: Raw<'_>, word: &str) -> bool {
    memchr::memmem::find(raw.0, word.as_bytes()).is_some()
}

/// A message of people's view, a message of the model's, or what is known of the task.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    ts: When,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    say: Text<'a>,
    #[serde(borrow)]
    ask: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    partial: Flag,
    #[serde(borrow, rename = "modelInfo")]
    model_info: ModelInfo<'a>,
    #[serde(borrow, rename = "conversationHistoryDeletedRange")]
    deleted_range: Raw<'a>,
    #[serde(rename = "contextCondense")]
    condense: Condense,
    #[serde(rename = "contextTruncation")]
    truncation: Condense,
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Content<'a, Block<'a>>,
    #[serde(borrow)]
    files_in_context: Raw<'a>,
    #[serde(borrow)]
    model_usage: Vec<ModelUsage<'a>>,
    #[serde(borrow)]
    environment_history: Vec<Environment<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelInfo<'a> {
    #[serde(borrow)]
    model_id: Text<'a>,
    #[serde(borrow)]
    provider_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condense {
    cost: Number,
    prev_context_tokens: Count,
    new_context_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelUsage<'a> {
    #[serde(borrow)]
    model_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Environment<'a> {
    #[serde(borrow)]
    cline_version: Text<'a>,
    #[serde(borrow)]
    host_name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    tool_use_id: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    is_error: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServerName<'a> {
    #[serde(borrow)]
    server_name: Text<'a>,
}

/// The JSON text of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Request<'a> {
    tokens_in: Count,
    tokens_out: Count,
    cache_writes: Count,
    cache_reads: Count,
    cost: Number,
    #[serde(borrow)]
    cancel_reason: Text<'a>,
    #[serde(borrow)]
    streaming_failed_message: Text<'a>,
    #[serde(borrow)]
    api_protocol: Text<'a>,
}

/// Cline's providers that pass on a prompt with what was cached.
const WITH_CACHED: [&str; 9] = ["openai", "litellm", "doubao", "fireworks", "hicap", "lmstudio", "qwen", "xai", "zai"];

/// Whether the tokens written to a cache are hidden in `tokensIn`, with `cacheWrites` 0. With Cline's own provider a request
/// of 50,868 tokens to a model of Anthropic cost what 50,858 written ones and 10 others do, and the next request read
/// 50,858. How many of each request were written can only be computed from its price.
fn hides_writes(model: &ModelInfo<'_>) -> bool {
    model.provider_id.as_str() == "cline" && model.model_id.as_str().starts_with("anthropic/")
}

impl Request<'_> {
    fn holds_cached(&self, runtime: &str, provider: &str, time: Option<Time>) -> bool {
        let before = |day: &str| time < Time::parse(day);
        match runtime {
            "cline" => WITH_CACHED.contains(&provider),
            "roo" if before("2025-11-01T00:00:00Z") => self.api_protocol.as_str() != "anthropic",
            "kilo" if before("2025-11-12T00:00:00Z") => self.api_protocol.as_str() != "anthropic",
            _ => true,
        }
    }

    fn tokens(&self, holds_cached: bool, damage: &mut Damage) -> Tokens {
        damage.refuses(&[self.tokens_in, self.tokens_out, self.cache_reads, self.cache_writes]);
        let (cache_read, cache_write) = (self.cache_reads.get(), self.cache_writes.get());
        let cached = cache_read.unwrap_or(0) + cache_write.unwrap_or(0);
        let tokens = Tokens {
            input: self.tokens_in.get().map(|it| if holds_cached && cached <= it { it - cached } else { it }),
            output: self.tokens_out.get(),
            cache_read,
            cache_write,
            ..Tokens::UNKNOWN
        };
        if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
    }
}

struct Task {
    context: Context,
    builder: Option<Builder>,
    /// What the records so far show.
    shows: Shows,
    /// Time of the first message: with its own time, the name of a message wherever the folder is copied to.
    first: Option<Time>,
    models: BTreeSet<Word>,
    deleted: Vec<u8>,
    messages: usize,
    /// Whether a request was begun of which nothing is known.
    is_open: bool,
    /// What the view ends with, as far as it was read. A question to the user is an answer.
    last: Last,
}

impl Fold for Task {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self {
            context: *context,
            builder: None,
            shows: Shows::NOTHING,
            first: None,
            models: BTreeSet::new(),
            deleted: Vec::new(),
            messages: 0,
            is_open: false,
            last: Last::Work,
        }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        let is_view = matches!(record.kind.as_str(), "ask" | "say");
        let is_history = record.kind.some().is_none() && matches!(record.role.as_str(), "user" | "assistant");
        if !is_view && !is_history && record.files_in_context.is_empty() {
            return Seen::Unknown;
        }
        let context = self.context;
        let name = || context.folder_id.map_or_else(|| hashed_id(line.bytes), |it| it.to_string());
        let mut builder = self.builder.take().unwrap_or_else(|| Builder::new(&context, name(), line.number));
        builder.saw(record.ts.0);
        self.first = self.first.or(record.ts.0);
        if is_view {
            self.shows = self.shows.and(VIEW);
            self.view(&mut builder, &record, line.number, damage);
            builder.name_events(None, line.bytes);
        } else if is_history {
            self.shows = self.shows.and(HISTORY);
            self.history(&mut builder, &record, line.number);
        } else {
            self.models.extend(record.model_usage.iter().filter_map(|it| it.model_id.owned()));
            if let Some(last) = record.environment_history.last() {
                builder.session.runtime_version = last.cline_version.owned();
                builder.session.entrypoint = last.host_name.owned();
            }
        }
        self.builder = Some(builder);
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let Some(mut builder) = self.builder else { return Vec::new() };
        let mut models = self.models.into_iter();
        builder.session.model = models.next().filter(|_| models.next().is_none());
        builder.session.under_reports |= self.is_open;
        builder.session.shows = self.shows.and(Shows::KEPT_BY_RUNTIME);
        builder.end(self.last);
        vec![builder.finish()]
    }
}

impl Task {
    fn identity(&self, record: &Record<'_>) -> Identity {
        match self.first.zip(record.ts.0) {
            Some((first, ts)) => {
                Identity::Global(format!("{} {} {}", self.context.runtime, first.micros(), ts.micros()).into())
            }
            None => Identity::Unique,
        }
    }

    fn view(&mut self, builder: &mut Builder, record: &Record<'_>, line: i64, damage: &mut Damage) {
        let (time, text) = (record.ts.0, record.text.as_str());
        let is_first = self.messages == 0;
        self.messages += 1;
        if record.partial.is_true() {
            self.last = Last::Work;
            return;
        }
        // Cline cuts the history that the model is shown.
        if !record.deleted_range.is_empty() && record.deleted_range.0 != self.deleted {
            record.deleted_range.0.clone_into(&mut self.deleted);
            builder.event(EventKind::Compaction, line, time);
        }
        match (record.say.as_str(), record.ask.as_str()) {
            ("api_req_started", _) => self.request(builder, record, line, damage),
            ("subagent_usage" | "deleted_api_reqs", _) => {
                let Ok(request) = json::from_slice::<Request<'_>>(text.as_bytes()) else {
                    damage.note(Reason::NoUsage);
                    return;
                };
                let is_subagent = record.say.as_str() == "subagent_usage";
                let turn = self.turn(builder, record, line);
                let turn = &mut builder.session.turns[turn];
                turn.is_subagent = is_subagent;
                turn.tokens = request.tokens(false, damage).into();
                turn.cost = money(request.cost, damage).map(Cost::of);
            }
            ("condense_context", _) => {
                let event = builder.event(EventKind::Compaction, line, time);
                event.tokens_before = record.condense.prev_context_tokens.get();
                event.tokens_after = record.condense.new_context_tokens.get();
                if let Some(total) = money(record.condense.cost, damage).filter(|it| *it > 0.0) {
                    let turn = self.turn(builder, record, line);
                    builder.session.turns[turn].cost = Some(Cost::of(total));
                }
            }
            ("sliding_window_truncation", _) => {
                let event = builder.event(EventKind::Compaction, line, time);
                event.tokens_before = record.truncation.prev_context_tokens.get();
                event.tokens_after = record.truncation.new_context_tokens.get();
            }
            ("api_req_retried" | "api_req_retry_delayed" | "error_retry", _) => {
                builder.event(EventKind::Retry, line, time).message = Some(brief(text));
            }
            ("task" | "user_feedback", _) => {
                builder.prompt_as(self.identity(record), Some(text));
                self.last = Last::Work;
            }
            // Before there was a word for it, the task is what stands first.
            ("text", _) if is_first => builder.prompt_as(self.identity(record), Some(text)),
            ("text", _) => {
                builder.say(text);
                self.last = Last::Answer;
            }
            ("completion_result", _) => {
                builder.say(text);
                self.last = Last::Answer;
            }
            (
                _,
                "completion_result" | "resume_completed_task" | "followup" | "plan_mode_respond" | "act_mode_respond",
            ) => {
                self.last = Last::Answer;
            }
            ("error", _) | (_, "api_req_failed" | "mistake_limit_reached") => {
                let event = builder.event(EventKind::Error, line, time);
                event.code = record.ask.owned();
                event.message = Some(brief(text));
                if record.ask.some().is_some() {
                    self.is_open = false;
                    builder.fail(None, text);
                    self.last = Last::Error;
                }
            }
            (_, "tool" | "command" | "use_mcp_server" | "browser_action_launch") | ("tool" | "command", _) => {
                self.last = Last::Work;
            }
            _ => {}
        }
    }

    fn turn(&self, builder: &mut Builder, record: &Record<'_>, line: i64) -> usize {
        let index = builder.turn(self.identity(record), line);
        let turn = &mut builder.session.turns[index];
        turn.occurred_at = record.ts.0;
        turn.model = record.model_info.model_id.owned();
        turn.provider = record.model_info.provider_id.owned();
        index
    }

    fn request(&mut self, builder: &mut Builder, record: &Record<'_>, line: i64, damage: &mut Damage) {
        let time = record.ts.0;
        self.last = Last::Work;
        builder.session.under_reports |= self.is_open;
        self.is_open = false;
        let Ok(request) = json::from_slice::<Request<'_>>(record.text.as_str().as_bytes()) else {
            damage.note(Reason::NoUsage);
            builder.session.under_reports = true;
            return;
        };
        let holds_cached = request.holds_cached(self.context.runtime, record.model_info.provider_id.as_str(), time);
        let mut tokens = request.tokens(holds_cached, damage);
        if self.context.runtime == "cline" && hides_writes(&record.model_info) && tokens.cache_write == Some(0) {
            tokens.cache_write = None;
            builder.session.under_reports = true;
        }
        let is_cut = request.cancel_reason.some().is_some();
        let has_counts = request.tokens_in.get().is_some() || request.tokens_out.get().is_some();
        if tokens.total().is_some() || has_counts && !is_cut {
            let turn = self.turn(builder, record, line);
            let turn = &mut builder.session.turns[turn];
            turn.tokens = tokens.into();
            turn.cost = money(request.cost, damage).map(Cost::of);
            turn.stop_reason = request.cancel_reason.owned();
        } else {
            // Nobody knows what it cost until it was cut, unless it turns out that it failed.
            self.is_open = true;
        }
        match request.cancel_reason.as_str() {
            "" => {}
            "user_cancelled" => {
                builder.event(EventKind::Abort, line, time);
                self.last = Last::Abort;
            }
            reason => {
                let words = request.streaming_failed_message.as_str();
                builder.fail(None, words);
                self.last = Last::Error;
                let event = builder.event(EventKind::Error, line, time);
                event.code = Some(reason.into());
                event.message = Some(brief(words));
            }
        }
    }

    fn history(&mut self, builder: &mut Builder, record: &Record<'_>, line: i64) {
        let (time, message) = (record.ts.0, self.messages);
        self.messages += 1;
        let is_user = record.role.as_str() == "user";
        let mut blocks = record.content.blocks.iter().enumerate().peekable();
        while let Some((at, block)) = blocks.next() {
            match block.kind.as_str() {
                "tool_use" => {
                    let call = builder.call(block.id.as_str(), block.name.as_str(), line, time);
                    let arguments = builder.arguments(call, block.input);
                    let row = &mut builder.session.tool_calls[call];
                    // It ends the task: only what the user says of it would be a result.
                    if row.tool == "attempt_completion" {
                        row.status = CallStatus::Ok;
                    }
                    row.mcp_server = block.input.read::<ServerName<'_>>().server_name.owned().or(row.mcp_server.take());
                    match (row.category.as_ref(), arguments.patch(), arguments.file()) {
                        ("edit", Some(patch), _) if patch.contains("*** Begin Patch") => {
                            builder.patch(call, patch, line, time);
                        }
                        ("edit" | "write", _, Some(path)) => {
                            builder.change(call, path, None, None, line, time);
                        }
                        _ => {}
                    }
                }
                "tool_result" => {
                    if let Some(call) = builder.call_index(block.tool_use_id.as_str()) {
                        result(builder, call, block.content, block.is_error.is_true(), line, time);
                    }
                }
                "text" if is_user && block.text.as_str().starts_with("<environment_details>") => {
                    self.environment(builder, block.text.as_str());
                }
                "text" if is_user => {
                    let Some((tool, target)) = described(block.text.as_str()) else { continue };
                    let call = builder.call(&format!("{message}.{at}"), tool, line, time);
                    let row = &mut builder.session.tool_calls[call];
                    match row.category.as_ref() {
                        "shell" => row.target = target.and_then(tools::program),
                        "read" => row.target = target.map(Shared::from),
                        "edit" | "write" => {
                            row.target = target.map(Shared::from);
                            if let Some(path) = target {
                                builder.change(call, path, None, None, line, time);
                            }
                        }
                        "mcp" => row.mcp_server = target.map(Word::new),
                        _ => {}
                    }
                    let text = blocks.next_if(|(_, it)| it.kind.as_str() == "text").map(|(_, it)| it.text.as_str());
                    let quoted = text.and_then(|it| serde_json::to_string(it).ok()).unwrap_or_default();
                    result(builder, call, Raw(quoted.as_bytes()), false, line, time);
                }
                _ => {}
            }
        }
    }

    /// What each prompt tells the model of its surroundings.
    fn environment(&mut self, builder: &mut Builder, text: &str) {
        let between = |start: &str, end: &str| {
            let (_, rest) = text.split_once(start)?;
            rest.split_once(end).map(|(it, _)| it.trim()).filter(|it| !it.is_empty())
        };
        self.models.extend(between("<model>", "</model>").map(Word::new));
        let cwd = || {
            between("# Current Working Directory (", ") Files")
                .or_else(|| between("# Current Workspace Directory (", ") Files"))
                .filter(|it| it.contains(['/', '\\']))
        };
        let session = &mut builder.session;
        session.cwd = session.cwd.take().or_else(|| cwd().map(str::to_owned));
        session.agent = between("<slug>", "</slug>").map(Word::new).or(session.agent.take());
    }
}

/// The tool, and what it works on, in the head of a result that is text: `[read_file for 'a.ts'] Result:`.
fn described(text: &str) -> Option<(&str, Option<&str>)> {
    let inner = text.strip_prefix('[')?.strip_suffix("] Result:")?;
    let (tool, target) = match inner.split_once(" for '") {
        Some((tool, target)) => (tool, target.strip_suffix('\'')),
        None => (inner, None),
    };
    let is_name = !tool.is_empty() && tool.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    is_name.then_some((tool, target))
}

fn result(builder: &mut Builder, call: usize, raw: Raw<'_>, is_error: bool, line: i64, time: Option<Time>) {
    const DENIED: [&str; 2] = ["The user denied this operation", "{\"status\":\"denied\""];
    const FAILED: [&str; 2] = ["The tool execution failed", "{\"status\":\"error\""];
    let text = match raw.0.first() {
        Some(b'[') => {
            let blocks: Vec<Block<'_>> = raw.read();
            blocks.iter().map(|it| it.text.as_str()).collect()
        }
        _ => raw.text(),
    };
    let begins = |words: &[&str]| words.iter().any(|it| text.starts_with(it));
    builder.result(call, raw, time, CallStatus::from_error(is_error || begins(&FAILED)));
    if begins(&DENIED) {
        builder.deny(call, line, time, Some(&text));
    }
}
