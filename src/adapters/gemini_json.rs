//! Gemini CLI's stdout: the one object of `--output-format json` and the events of `--output-format stream-json`.
//!
//! Both state sums of the process only. A prompt includes what was cached and leaves out the tools' part; thoughts are no
//! candidates; the total is prompt, candidates, thoughts and tool together (accounting B25). A process that resumes a
//! session begins its sums anew, so each object and each `init` is a recorded process of its own.

use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::adapters::common::builder::{Builder, Content, brief};
use crate::base::text::Word;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Count, Flag, Maybe, Number, Pairs, Text, When};
use crate::model::errors::{self, ErrorKind};
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, EventKind, ModelTotal, Operation, SessionResult, Shows, Status, Tokens, Total, TotalKind,
};

pub(super) const JSON: Adapter = Adapter {
    id: "gemini-json",
    runtime: "gemini",
    about: "Gemini CLI, gemini --output-format json",
    // Calls and lines are counted in the stats, where there are any.
    shows: Shows::RESULT_ONLY,
    claims: claims_output,
    parse: fold::<Outputs>,
};

pub(super) const STREAM: Adapter = Adapter {
    id: "gemini-stream-json",
    runtime: "gemini",
    about: "Gemini CLI, gemini --output-format stream-json",
    shows: Shows::TOOL_CALLS.and(Shows::FILE_CHANGES).and(Shows::PERMISSION_DENIALS).and(Shows::USER_TURNS),
    claims: claims_stream,
    parse: fold::<Stream>,
};

fn claims_output(probe: &Probe<'_>) -> u32 {
    const KEYS: [&str; 5] = ["session_id", "response", "stats", "error", "warnings"];
    if !probe.keys().all(|it| KEYS.contains(&it)) {
        return 0;
    }
    if probe.object("stats").has("models") {
        return 5;
    }
    // Many programs, and every provider, answer with an error in an object: only a session makes it Gemini's.
    u32::from(probe.has("session_id") && (probe.has("error") || probe.has("response")))
}

fn claims_stream(probe: &Probe<'_>) -> u32 {
    if !probe.has("timestamp") || probe.has("sessionID") || probe.has("parentId") {
        return 0;
    }
    let keys: &[&str] = match probe.kind() {
        "init" if !probe.has("tools") => &["session_id", "model"],
        "message" if !probe.has("id") => &["role", "content"],
        "tool_use" => &["tool_id", "tool_name"],
        "tool_result" => &["tool_id", "status"],
        "error" => &["severity", "message"],
        "result" if probe.has("stats") || probe.has("error") => &["status"],
        _ => return 0,
    };
    if probe.has_all(keys) { 3 } else { 0 }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    response: Text<'a>,
    #[serde(borrow)]
    stats: Maybe<Stats<'a>>,
    #[serde(borrow)]
    error: Maybe<Failure<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats<'a> {
    #[serde(borrow)]
    models: Pairs<'a, Model>,
    tools: Tools,
    files: Files,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Model {
    api: Api,
    tokens: Maybe<Counts>,
    /// In newer versions: what it was asked for.
    roles: Roles,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Roles {
    main: Maybe<Role>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Role {
    #[serde(rename = "totalRequests")]
    requests: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Api {
    #[serde(rename = "totalRequests")]
    requests: Count,
    #[serde(rename = "totalErrors")]
    errors: Count,
    #[serde(rename = "totalLatencyMs")]
    latency_ms: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    prompt: Count,
    candidates: Count,
    total: Count,
    cached: Count,
    thoughts: Count,
    tool: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tools {
    total_calls: Count,
    total_fail: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Files {
    total_lines_added: Count,
    total_lines_removed: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    /// A number or a word.
    #[serde(borrow)]
    code: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    timestamp: When,
    // init
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    // message
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Text<'a>,
    delta: Flag,
    // tool_use, tool_result
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    tool_id: Text<'a>,
    #[serde(borrow)]
    parameters: Raw<'a>,
    #[serde(borrow)]
    output: Raw<'a>,
    // tool_result, result
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    error: Failure<'a>,
    // error
    #[serde(borrow)]
    severity: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    // result
    #[serde(borrow)]
    stats: Maybe<StreamStats<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamStats<'a> {
    total_tokens: Count,
    input_tokens: Count,
    output_tokens: Count,
    cached: Count,
    duration_ms: Number,
    /// In newer versions.
    #[serde(borrow)]
    models: Pairs<'a, StreamCounts>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamCounts {
    total_tokens: Count,
    input_tokens: Count,
    output_tokens: Count,
    cached: Count,
}

impl Counts {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        damage.refuses(&[self.prompt, self.candidates, self.total, self.cached, self.thoughts, self.tool]);
        let thoughts = self.thoughts.get();
        Tokens {
            input: uncached(self.prompt, self.cached).map(|it| it + self.tool.get().unwrap_or(0)),
            output: self.candidates.get().map(|it| it + thoughts.unwrap_or(0)),
            cache_read: self.cached.get(),
            reasoning: thoughts,
            ..Tokens::UNKNOWN
        }
    }
}

impl StreamCounts {
    /// The stream leaves out thoughts and the tools' part of the prompt, but its total holds them. What is neither prompt
    /// nor candidates is taken as thoughts: tools' prompt tokens are rare.
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        damage.refuses(&[self.total_tokens, self.input_tokens, self.output_tokens, self.cached]);
        let beyond_prompt = self.total_tokens.get().zip(self.input_tokens.get()).map(|(total, prompt)| total - prompt);
        let candidates = self.output_tokens.get();
        Tokens {
            input: uncached(self.input_tokens, self.cached),
            output: beyond_prompt.filter(|it| *it >= candidates.unwrap_or(0)).or(candidates),
            cache_read: self.cached.get(),
            ..Tokens::UNKNOWN
        }
    }
}

/// The part of a prompt that no cache gave.
fn uncached(prompt: Count, cached: Count) -> Option<i64> {
    prompt.get().map(|it| (it - cached.get().unwrap_or(0)).max(0))
}

/// Usage without a token beside an answer is none: the answer took some.
fn doubt_zeros(models: &mut [ModelTotal], has_answer: bool) {
    if has_answer && models.iter().all(|it| it.tokens.total().unwrap_or(0) == 0) {
        for model in models {
            model.tokens = Tokens::UNKNOWN;
        }
    }
}

impl Failure<'_> {
    /// It ended the session, for what `last_error` tells where it has no words of its own.
    fn end(&self, builder: &mut Builder, last_error: Option<&str>) {
        let message = self.message.some().or(last_error).unwrap_or_default();
        let code = self.code.text();
        let words = format!("{message} {} {code}", self.kind.as_str());
        let kind = if self.kind.as_str().contains("TurnLimited") || message.contains("max session turns") {
            ErrorKind::MaxTurns
        } else {
            errors::classify(code.parse().ok(), &words)
        };
        builder.fail_as(kind, message);
        if self.kind.as_str().contains("Cancellation") {
            builder.session.status = Status::Aborted;
        }
    }
}

/// The objects of `--output-format json`.
struct Outputs {
    context: Context,
    sessions: Vec<SessionResult>,
}

impl Fold for Outputs {
    type Record<'a> = Output<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, output: Output<'_>, damage: &mut Damage) -> Seen {
        if !output.response.is_some() && matches!((&output.stats, &output.error), (Maybe::Absent, Maybe::Absent)) {
            return Seen::Unknown;
        }
        let id = output.session_id.owned().unwrap_or_else(|| hashed_id(line.bytes));
        let mut builder = Builder::new(&self.context, id, line.number);
        builder.session.recording = Some(vec![XxHash3_64::oneshot(line.bytes)]);
        builder.say(output.response.as_str());
        match &output.stats {
            Maybe::Absent => {}
            Maybe::Wrong => damage.note(Reason::NoUsage),
            Maybe::Present(stats) => {
                let pair = |a: Count, b: Count| a.get().zip(b.get());
                builder.session.stated_tool_calls = stats.tools.total_calls.get();
                builder.session.stated_tool_errors = stats.tools.total_fail.get();
                builder.session.stated_lines = pair(stats.files.total_lines_added, stats.files.total_lines_removed);
                builder.session.model = stats.main_model();
                builder.session.totals.push(stats.total(line, output.response.some().is_some(), damage));
            }
        }
        if let Some(error) = output.error.get() {
            error.end(&mut builder, None);
            let event = builder.event(EventKind::Error, line.number, None);
            event.code = error.kind.owned();
            event.message = error.message.some().map(brief);
        } else {
            builder.succeed();
        }
        self.sessions.push(builder.finish());
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}

impl Stats<'_> {
    /// The model that answered the main agent most often, the later on a tie; without roles, the one that answered most.
    fn main_model(&self) -> Option<Word> {
        let requests = |it: &Model| (it.roles.main.get().map(|it| it.requests.get()), it.api.requests.get());
        self.models.0.iter().max_by_key(|(_, it)| requests(it)).map(|(model, _)| Word::new(model))
    }

    fn total(&self, line: Line<'_>, has_answer: bool, damage: &mut Damage) -> Total {
        let mut total = Total {
            line: line.number,
            key: hashed_id(line.bytes),
            kind: TotalKind::Process,
            covers_subagents: true,
            ..Total::default()
        };
        for (model, usage) in &self.models.0 {
            let tokens = match &usage.tokens {
                Maybe::Present(counts) => counts.tokens(damage),
                Maybe::Absent => Tokens::UNKNOWN,
                Maybe::Wrong => {
                    damage.note(Reason::NoUsage);
                    Tokens::UNKNOWN
                }
            };
            total.models.push(ModelTotal { model: Some(Word::new(model)), tokens, ..ModelTotal::default() });
        }
        doubt_zeros(&mut total.models, has_answer);
        let sum = |of: fn(&Api) -> Option<i64>| {
            self.models.0.iter().filter_map(|(_, it)| of(&it.api)).reduce(i64::saturating_add)
        };
        // A request that failed is counted in both and is no turn.
        total.turns = sum(|it| it.requests.get().map(|all| (all - it.errors.get().unwrap_or(0)).max(0)));
        total.api_duration_ms = sum(|it| it.latency_ms.rounded());
        total
    }
}

/// The events of `--output-format stream-json`.
struct Stream {
    context: Context,
    /// One for each process, that is for each `init`.
    processes: Vec<Process>,
}

impl Fold for Stream {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, processes: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        let kind = record.kind.as_str();
        if !matches!(kind, "init" | "message" | "tool_use" | "tool_result" | "error" | "result") {
            return Seen::Unknown;
        }
        let unnamed = self.processes.last_mut().filter(|process| kind == "init" && process.is_unnamed);
        if let Some(process) = unnamed {
            process.is_unnamed = false;
            if let Some(id) = record.session_id.owned() {
                process.builder.session.session_id = id;
            }
        } else if kind == "init" || self.processes.is_empty() {
            let id = record.session_id.owned().unwrap_or_else(|| hashed_id(line.bytes));
            self.processes.push(Process {
                builder: Builder::new(&self.context, id, line.number),
                keeps_text: self.context.content >= Content::Text,
                hashes: Vec::new(),
                text: String::new(),
                has_answer: false,
                last_error: None,
                is_unnamed: true,
            });
        }
        if let Some(process) = self.processes.last_mut() {
            process.hashes.push(XxHash3_64::oneshot(line.bytes));
            process.record(&record, line, damage);
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.processes.into_iter().map(Process::finish).collect()
    }
}

struct Process {
    builder: Builder,
    keeps_text: bool,
    hashes: Vec<u64>,
    /// What of the assistant's message has come so far.
    text: String,
    has_answer: bool,
    last_error: Option<String>,
    /// Whether its records so far are prompts, which may come before the `init` that names it.
    is_unnamed: bool,
}

impl Process {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        let time = record.timestamp.0;
        self.builder.saw(time);
        self.is_unnamed &= record.kind.as_str() == "message" && record.role.as_str() == "user";
        match record.kind.as_str() {
            "init" => self.builder.session.model = record.model.owned(),
            "message" if record.role.as_str() == "user" => {
                self.flush();
                self.builder.prompt(record.content.some());
            }
            "message" => {
                if !record.delta.is_true() {
                    self.flush();
                }
                self.has_answer |= record.content.some().is_some();
                if self.keeps_text {
                    self.text.push_str(record.content.as_str());
                }
            }
            "tool_use" => {
                self.flush();
                let call = self.builder.call(record.tool_id.as_str(), record.tool_name.as_str(), line.number, time);
                let arguments = self.builder.arguments(call, record.parameters);
                let category = &self.builder.session.tool_calls[call].category;
                if matches!(category.as_ref(), "edit" | "write")
                    && let Some(file) = arguments.file()
                {
                    self.builder.change(call, file, None, None, line.number, time);
                }
            }
            "tool_result" => self.call_result(record, line.number),
            "error" => {
                // A warning ends nothing: a loop was found, a hook stopped the agent.
                if record.severity.as_str() != "warning" {
                    self.last_error = record.message.owned();
                    self.builder.event(EventKind::Error, line.number, time).message = record.message.some().map(brief);
                }
            }
            _ => self.result(record, line, damage),
        }
    }

    fn flush(&mut self) {
        self.builder.say(&self.text);
        self.text.clear();
    }

    fn call_result(&mut self, record: &Record<'_>, line: i64) {
        let time = record.timestamp.0;
        // A result without a call invents none.
        let Some(call) = self.builder.call_index(record.tool_id.as_str()) else { return };
        let is_error = record.status.as_str() == "error";
        self.builder.result(call, record.output, time, CallStatus::from_error(is_error));
        if is_error && is_refusal(&record.error) {
            self.builder.deny(call, line, time, record.error.message.some());
        } else if !is_error && self.builder.session.tool_calls[call].category == "edit" {
            // `replace` creates the file if it is not there, and only then answers in words of its own.
            let is_new = record.output.text().starts_with("Created ");
            let operation = if is_new { Operation::Create } else { Operation::Update };
            if let Some(file) = self.builder.session.tool_calls[call].target.clone() {
                self.builder.change(call, &file, Some(operation), None, line, time);
            }
        }
    }

    fn result(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        self.flush();
        let time = record.timestamp.0;
        match &record.stats {
            Maybe::Absent => {}
            Maybe::Wrong => damage.note(Reason::NoUsage),
            Maybe::Present(stats) => {
                if let [(model, _)] = stats.models.0.as_slice() {
                    // The start may have named an alias, such as `auto`.
                    self.builder.session.model = Some(Word::new(model));
                }
                let total = self.total(stats, line, time, damage);
                self.builder.session.totals.push(total);
            }
        }
        if record.status.as_str() == "success" {
            self.builder.succeed();
            return;
        }
        let has_words = record.error.message.some().is_some();
        record.error.end(&mut self.builder, self.last_error.as_deref());
        if has_words {
            let event = self.builder.event(EventKind::Error, line.number, time);
            event.code = record.error.kind.owned();
            event.message = record.error.message.some().map(brief);
        }
    }

    fn total(&self, stats: &StreamStats<'_>, line: Line<'_>, time: Option<Time>, damage: &mut Damage) -> Total {
        let mut models: Vec<ModelTotal> = stats
            .models
            .0
            .iter()
            .map(|(model, counts)| ModelTotal {
                model: Some(Word::new(model)),
                tokens: counts.tokens(damage),
                ..ModelTotal::default()
            })
            .collect();
        if models.is_empty() {
            let counts = StreamCounts {
                total_tokens: stats.total_tokens,
                input_tokens: stats.input_tokens,
                output_tokens: stats.output_tokens,
                cached: stats.cached,
            };
            models.push(ModelTotal {
                model: self.builder.session.model.clone(),
                tokens: counts.tokens(damage),
                ..ModelTotal::default()
            });
        }
        doubt_zeros(&mut models, self.has_answer);
        Total {
            line: line.number,
            key: hashed_id(line.bytes),
            kind: TotalKind::Process,
            occurred_at: time,
            duration_ms: stats.duration_ms.rounded(),
            models,
            covers_subagents: true,
            ..Total::default()
        }
    }

    fn finish(mut self) -> SessionResult {
        self.flush();
        let mut session = self.builder.finish();
        session.recording = Some(self.hashes);
        session
    }
}

/// Whether a rule or the user refused the call. `permission_denied` is the file system's word for a file.
fn is_refusal(error: &Failure<'_>) -> bool {
    const WORDS: [&str; 2] = ["denied by policy", "requires user confirmation"];
    let kind = error.kind.as_str();
    kind == "policy_violation"
        || (kind.contains("denied") && kind != "permission_denied")
        || ["cancel", "reject", "declin"].iter().any(|it| kind.contains(it))
        || WORDS.iter().any(|it| error.message.as_str().contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::parse;

    fn read(log: &str) -> SessionResult {
        parse(log.as_bytes(), crate::adapters::Hints::default(), Content::Text).sessions.swap_remove(0)
    }

    #[test]
    fn zeros_beside_an_answer_are_unknown() {
        let log = |response: &str| {
            let tokens = r#"{"prompt":0,"candidates":0,"total":0,"cached":0,"thoughts":0,"tool":0}"#;
            format!(
                r#"{{"response":"{response}","stats":{{"models":{{"gemini-2.5-pro":{{"tokens":{tokens}}}}},"tools":{{}}}}}}"#
            )
        };
        assert_eq!(read(&log("Yes.")).totals[0].models[0].tokens, Tokens::UNKNOWN);
        assert_eq!(read(&log("")).totals[0].models[0].tokens.total(), Some(0));
        assert_eq!(read(&log("")).stated_tool_calls, None);
    }

    /// Counts that contradict each other make no negative ones.
    #[test]
    fn the_stream_s_counts_may_disagree() {
        let tokens = |stats: &str| {
            read(&format!(
                r#"{{"type":"result","timestamp":"2026-10-05T10:00:00Z","status":"success","stats":{stats}}}"#
            ))
            .totals[0]
                .models[0]
                .tokens
        };
        let counts = |it: Tokens| (it.input, it.cache_read, it.output);
        assert_eq!(
            counts(tokens(r#"{"total_tokens":5,"input_tokens":9,"output_tokens":2,"cached":12}"#)),
            (Some(0), Some(12), Some(2))
        );
        assert_eq!(counts(tokens(r#"{"input_tokens":9,"output_tokens":2}"#)), (Some(9), None, Some(2)));
        assert_eq!(counts(tokens(r#"{"total_tokens":20,"input_tokens":9}"#)), (Some(9), None, Some(11)));
    }

    #[test]
    fn a_file_that_may_not_be_written_is_no_refusal() {
        let failure = |kind: &str, message: &str| {
            is_refusal(
                &crate::json::from_slice(format!(r#"{{"type":"{kind}","message":"{message}"}}"#).as_bytes()).unwrap(),
            )
        };
        assert!(failure("policy_violation", "") && failure("unhandled_exception", "Tool execution denied by policy."));
        assert!(!failure("permission_denied", "EACCES") && !failure("shell_execute_error", "boom"));
    }

    /// The prompt may be logged before the record that names the session.
    #[test]
    fn a_prompt_before_the_start_belongs_to_the_session() {
        let log = [
            r#"{"type":"message","timestamp":"2026-10-02T08:00:00Z","role":"user","content":"Fix it."}"#,
            r#"{"type":"init","timestamp":"2026-10-02T08:00:01Z","session_id":"s1","model":"m"}"#,
            r#"{"type":"message","timestamp":"2026-10-02T08:00:02Z","role":"assistant","content":"Done.","delta":true}"#,
            r#"{"type":"init","timestamp":"2026-10-02T09:00:01Z","session_id":"s2","model":"m"}"#,
        ];
        let sessions = parse(log.join("\n").as_bytes(), crate::adapters::Hints::default(), Content::Text).sessions;
        let told: Vec<_> = sessions.iter().map(|session| (&*session.session_id, session.user_turns)).collect();
        assert_eq!(told, [("s1", Some(1)), ("s2", None)]);
    }
}
