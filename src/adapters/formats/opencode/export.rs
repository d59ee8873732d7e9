//! OpenCode's `opencode export`: one document with a session, its messages and their parts
//! (docs/formats/opencode.md#opencode-export).
//!
//! A message contains the tokens of its last step and the cost of all its steps. Real messages have one step (149 of 149), so
//! that message and step state the same. In older versions a message may have several steps: then each step is a response.
//! Changes of files are in the calls; patch parts and summaries repeat them. A child is a session of its own, whose prompts were
//! written by the parent.
//!
//! # `opencode-export`
//!
//! `opencode export`, one document. Recognised by `info` with `id`, `time`, `version` and `projectID` or `directory`, beside
//! `messages`; since 2.0 by `info` with `id`, `time`, `projectID`, `location` and `tokens`. Seen: 19 files; 1.2.16, 1.3.7, 1.4.3, 1.17.18.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent, version, cwd, agent | `info.id`, `parentID`, `version`, `directory`, `agent`; a masked id becomes a hash |
//! | turn | an assistant message with tokens; each `step-finish` if a message has several |
//! | model, provider, effort, agent | `modelID`, `providerID`, `variant`, `agent` or `mode` |
//! | tokens | `tokens.input`, `cache.read`, `cache.write`; output is `output` + `reasoning`, or only `output` if it includes the reasoning |
//! | cost | `cost` |
//! | duration | created to completed, of responses that call no tools |
//! | call | `tool` parts: `state.status`, `output` or `error`, `metadata.exit`; an exit code other than 0 is an `error`, although the state is `completed` |
//! | file change | `metadata.files`, `filediff`, `diff`, the patch. The file is new by `exists` or an empty `before` |
//! | subagent | `metadata.sessionId` of the `task` tool, since 2.0 `sessionID` of `subagent`; the child is a session of its own |
//! | events | `error` (`MessageAbortedError`: abort), summaries and `compaction` parts, `retry` parts, refusals |
//! | user turns | user messages with text that is not `synthetic` or `ignored`, a command for another agent, or a file; none in a child |
//! | status | the last message: an error; `finish` that is not `tool-calls` or `unknown` with no call open: `success`; else `incomplete` |
//!
//! Since 2.0 (from its source) the messages are those of the [database](#opencode-db), with `id` and `type`; the sums in `info` are a total,
//! `location.directory` is the cwd, and no version is stated.
//!
//! *Exact*: message and step state the same (281 of 281 steps), input excludes the cache. Output includes reasoning until 1.2 (59
//! of 59 steps add up that way) and excludes it since 1.3 (24 of 24): `total` decides, without it the version. *Unknown*: usage
//! whose counts are all 0, and the cost 0 of subscriptions. *Lower bound*: a message that was cut inside a step.

use serde::Deserialize;

use super::common::{
    Bill, Info, Message, Part, Usage, compaction, go_on, is_real, read_part, reasoning_is_inside, with_runtime,
};
use super::messages_2::{self, Model, Stored};
use super::sums::{Stated, Sums};
use crate::adapters::engine::document::Places;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::repository::of_root;
use crate::json::Raw;
use crate::json::fields::{Maybe, Number, Text, When};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{CallStatus, Capabilities, SessionResult, Tokens};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "opencode-export",
    runtime: "opencode",
    about: "OpenCode, opencode export",
    tested: Some("1.4.3"),
    capabilities: SHOWS.and(Capabilities::TURNS).and(Capabilities::KEPT_BY_RUNTIME),
    places: &[],
    claims: |probe| {
        // Other programs write `info` and `messages` as well.
        let info = probe.object("info");
        6 * u32::from(probe.has_all(&["info", "messages"]) && (is_info(&info) || is_info_2(&info)))
    },
    parse: fold::<Exports>,
};

/// What a stored session of OpenCode can show. Newer versions store no retries.
pub(crate) const SHOWS: Capabilities = Capabilities::TOOL_CALLS
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::SUBAGENTS)
    .and(Capabilities::COMPACTIONS)
    .and(Capabilities::PERMISSION_DENIALS)
    .and(Capabilities::USER_TURNS);

/// Whether an object contains the facts of a session.
pub(crate) fn is_info(probe: &Probe<'_>) -> bool {
    probe.has_all(&["id", "time", "version"]) && (probe.has("projectID") || probe.has("directory"))
}

/// Whether an object contains the facts of a session since 2.0.
fn is_info_2(probe: &Probe<'_>) -> bool {
    probe.has_all(&["id", "time", "projectID", "location", "tokens"])
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Document<'a> {
    info: Raw<'a>,
    messages: Raw<'a>,
}

/// The facts of a session that only exports since 2.0 contain.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Info2<'a> {
    location: Maybe<Location<'a>>,
    model: Model<'a>,
    cost: Number,
    tokens: Maybe<Usage>,
    time: Updated,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Updated {
    updated: When,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Location<'a> {
    directory: Text<'a>,
}

/// The members of a message since 2.0 that are columns in the database.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Entry2<'a> {
    id: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Entry<'a> {
    info: Message<'a>,
    parts: Raw<'a>,
}

struct Exports {
    context: Context,
    sessions: Vec<SessionResult>,
}

impl Fold for Exports {
    type Record<'a> = Document<'a>;

    fn new(context: &Context) -> Self {
        Self { context: with_runtime(context), sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, document: Document<'_>, damage: &mut RecordErrors) -> RecordKind {
        if document.messages.0.first() != Some(&b'[') {
            return RecordKind::Unknown;
        }
        let mut info: Info<'_> = document.info.read();
        let info_2: Info2<'_> = document.info.read();
        if let Some(location) = info_2.location.get() {
            info.directory = location.directory.clone();
        }
        let info = &info;
        let id = match info.id.some().filter(|it| is_real(it)) {
            Some(id) => id.to_owned(),
            // A masked id is the same for all sessions.
            None => hashed_id(format!("{:?} {}", info.time.start(), info.directory.as_str()).as_bytes()),
        };
        let mut conversation = Conversation::new(info.begin(&self.context, id, line.number), info);
        let is_2 = info_2.location.get().is_some();
        if is_2 {
            conversation.sums.state(Stated {
                tokens: info_2.tokens.get().map_or(Tokens::UNKNOWN, Usage::with_reasoning),
                cost: info_2.cost,
                created: info.time.start(),
                updated: info_2.time.updated.0,
                is_fork: info.fork.session_id.is_some(),
                model: info_2.model.id.owned(),
            });
        }
        let mut places = Places::new(line);
        for raw in document.messages.read::<Vec<Raw<'_>>>() {
            if raw.0.first() != Some(&b'{') {
                damage.note(Reason::NotAnObject);
                continue;
            }
            let line = places.line_of(raw);
            if is_2 {
                let Entry2 { id, kind } = raw.read();
                if messages_2::add(&mut conversation, Stored { id, kind, data: raw }, line, damage)
                    == RecordKind::Unknown
                {
                    damage.unknown_part("message", raw);
                }
                continue;
            }
            let entry: Entry<'_> = raw.read();
            let parts: Vec<Raw<'_>> = entry.parts.read();
            let parts: Vec<(i64, Part<'_>)> =
                parts.iter().map(|raw| (places.line_of(*raw), read_part(*raw, damage))).collect();
            conversation.message(&entry.info, line, &parts, damage);
        }
        self.sessions.push(conversation.finish());
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}

/// One session while its messages are read.
pub(crate) struct Conversation {
    pub(crate) builder: Builder,
    pub(super) sums: Sums,
    /// Whether another session started it.
    is_child: bool,
    reasoning_is_inside: bool,
    /// Whether a compaction was requested whose summary is not logged yet.
    is_compacting: bool,
}

impl Conversation {
    pub(crate) fn new(builder: Builder, info: &Info<'_>) -> Self {
        Self {
            builder,
            sums: Sums::default(),
            is_child: info.parent_id.some().is_some(),
            reasoning_is_inside: reasoning_is_inside(info.version.as_str()),
            is_compacting: false,
        }
    }

    pub(super) fn finish(self) -> SessionResult {
        let Self { mut builder, sums, .. } = self;
        sums.finish(&mut builder.session);
        builder.finish()
    }

    /// Adds a message with its parts, each with its line.
    pub(crate) fn message(
        &mut self,
        message: &Message<'_>,
        line: i64,
        parts: &[(i64, Part<'_>)],
        damage: &mut RecordErrors,
    ) {
        match message.role.as_str() {
            "user" => self.user(message, parts),
            "assistant" => self.assistant(message, line, parts, damage),
            _ => {}
        }
    }

    /// Adds a response that is not a part of the conversation: a summary.
    pub(crate) fn bill(&mut self, message: &Message<'_>, line: i64, damage: &mut RecordErrors) {
        self.sums.message(message);
        match &message.tokens {
            Maybe::Wrong => damage.note(Reason::NoUsage),
            Maybe::Present(usage) if !usage.is_empty() => {
                let tokens = usage.tokens(self.reasoning_is_inside, damage);
                message.turn(&mut self.builder, &message.bill(usage, None), line, tokens);
            }
            _ => {}
        }
    }

    fn user(&mut self, message: &Message<'_>, parts: &[(i64, Part<'_>)]) {
        let time = message.time.start();
        self.builder.extend_to(time);
        for (line, part) in parts.iter().filter(|(_, it)| it.kind.as_str() == "compaction") {
            part.compaction(&mut self.builder, At { line: *line, time });
            self.is_compacting = true;
        }
        if parts.iter().any(|(_, it)| it.is_asked()) {
            go_on(&mut self.builder);
        }
        let said = parts.iter().find(|(_, it)| it.is_said());
        // A file, or a command for another agent, is a prompt as well.
        let is_human = said.is_some()
            || parts.iter().any(|(_, it)| it.kind.as_str() == "subtask")
            || parts.iter().all(|(_, it)| it.kind.as_str() != "text")
                && parts.iter().any(|(_, it)| it.kind.as_str() == "file");
        if is_human && !self.is_child {
            message.prompt(&mut self.builder, said.and_then(|(_, it)| it.text.some()));
        }
    }

    fn assistant(&mut self, message: &Message<'_>, line: i64, parts: &[(i64, Part<'_>)], damage: &mut RecordErrors) {
        self.sums.message(message);
        self.builder.extend_to(message.time.start());
        self.builder.extend_to(message.time.end());
        let is_summary = message.summary.is_true();
        if is_summary {
            // Older versions compact without a prompt that requests it.
            if !std::mem::take(&mut self.is_compacting) {
                compaction(&mut self.builder, message.parent_id.as_str(), At { line, time: message.time.start() });
            }
        } else {
            let session = &mut self.builder.session;
            session.agent = session.agent.take().or_else(|| message.agent());
            session.cwd = session.cwd.take().or_else(|| message.path.cwd.owned());
            session.repository = session.repository.take().or_else(|| of_root(message.path.root.as_str()));
        }
        let whole = self.whole(message, line, parts, damage);
        let mut open_calls = Vec::new();
        let mut is_open = false;
        let mut calls_last = false;
        for (line, part) in parts {
            match part.kind.as_str() {
                "tool" => {
                    self.builder.extend_to(part.state.time.end().or(part.state.time.start()));
                    // Each part is a call of its own: some exports mask ids, and some models use the same ids again.
                    self.builder.forget_calls();
                    let call = part.call(&mut self.builder, *line);
                    let row = &mut self.builder.session.tool_calls[call];
                    row.turn = whole.turn;
                    row.agent = message.agent();
                    is_open |= row.status == CallStatus::Incomplete;
                    open_calls.push(call);
                    calls_last = true;
                }
                "step-start" => calls_last = false,
                "step-finish" if whole.has_steps => {
                    if let Some(usage) = part.tokens.get().filter(|it| !it.is_empty()) {
                        let bill = Bill { usage, cost: part.cost, stop_reason: &part.reason };
                        let tokens = usage.tokens(self.reasoning_is_inside, damage);
                        let turn = message.turn(&mut self.builder, &bill, *line, tokens);
                        for call in open_calls.drain(..) {
                            self.builder.session.tool_calls[call].turn = Some(turn);
                        }
                    }
                }
                "text" if part.is_said() && !is_summary => self.builder.set_answer(part.text.as_str()),
                "retry" => part.retry(&mut self.builder, *line),
                _ => {}
            }
        }
        message.end(&mut self.builder, !calls_last, is_open, line);
    }

    /// Adds the response of the whole message, unless the message has several steps, or no billed one.
    fn whole(
        &mut self,
        message: &Message<'_>,
        line: i64,
        parts: &[(i64, Part<'_>)],
        damage: &mut RecordErrors,
    ) -> Whole {
        let of_kind = |kind: &'static str| parts.iter().map(|(_, it)| it).filter(move |it| it.kind.as_str() == kind);
        if message.tokens == Maybe::Wrong || of_kind("step-finish").any(|it| it.tokens == Maybe::Wrong) {
            damage.note(Reason::NoUsage);
        }
        let steps: Vec<_> = of_kind("step-finish").filter_map(|it| Some((it, it.tokens.get()?))).collect();
        if steps.iter().filter(|(_, usage)| !usage.is_empty()).count() > 1 {
            return Whole { turn: None, has_steps: true };
        }
        let last = steps.last().map(|(part, _)| *part);
        let stated = message.tokens.get().filter(|it| !it.is_empty()).map(|it| message.bill(it, last));
        let step = steps.last().map(|(part, usage)| Bill { usage, cost: part.cost, stop_reason: &part.reason });
        let bill = match stated.or(step) {
            // A request that failed without any tokens is not a turn.
            Some(bill) if !(bill.usage.is_empty() && message.error.name.is_some()) => bill,
            _ => {
                // With a started step, the message was cut before its tokens were logged. Without a step there was no
                // request: shell commands of the user and starts of agents are messages too.
                self.builder.session.under_reports |= of_kind("step-start").next().is_some()
                    && (message.error.name.some().is_none() || message.error.is_abort());
                return Whole::default();
            }
        };
        let tokens = bill.usage.tokens(self.reasoning_is_inside, damage);
        Whole { turn: Some(message.turn(&mut self.builder, &bill, line, tokens)), has_steps: false }
    }
}

/// The responses of a message.
#[derive(Debug, Clone, Copy, Default)]
struct Whole {
    /// Its only response.
    turn: Option<usize>,
    /// Whether each of its steps is a response.
    has_steps: bool,
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::SessionResult;

    fn session(messages: &str) -> SessionResult {
        let export = format!(
            r#"{{"info":{{"id":"ses_1","directory":"/work","version":"1.4.0","time":{{"created":1790000000000}}}},"messages":[{messages}]}}"#
        );
        let mut parsed = parse(export.as_bytes(), Hints::default(), Retention::None);
        assert_eq!(parsed.format, Some("opencode-export"));
        parsed.sessions.remove(0)
    }

    fn assistant(more: &str, parts: &str) -> String {
        format!(
            r#"{{"info":{{"id":"msg_1","role":"assistant","time":{{"created":1790000001000,"completed":1790000002000}},{more}}},"parts":[{parts}]}}"#
        )
    }

    const TOKENS: &str = r#""tokens":{"input":5,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}"#;
    const NOTHING: &str = r#""tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"cost":0"#;
    const USER: &str = r#"{"info":{"id":"msg_2","role":"user","time":{"created":1790000003000}},"parts":[{"type":"text","text":"more"}]}"#;
    const CALL: &str = r#"{"type":"tool","callID":"c","tool":"bash","state":{"status":"running"}}"#;

    /// There is no end record: the last response decides on the status.
    #[test]
    fn the_last_response_decides() {
        let done = assistant(&format!(r#"{TOKENS},"finish":"stop""#), "");
        let error = r#"{NOTHING},"error":{"name":"APIError","data":{"statusCode":529,"message":"x"}}"#;
        let failed = assistant(&error.replace("{NOTHING}", NOTHING), r#"{"type":"step-start"}"#);
        for (messages, status) in [
            (done.clone(), "success"),
            (assistant(&format!(r#"{TOKENS},"finish":"tool-calls""#), ""), "incomplete"),
            (assistant(&format!(r#"{TOKENS},"finish":"stop""#), CALL), "incomplete"),
            (assistant(TOKENS, ""), "success"),
            (assistant(TOKENS, CALL), "incomplete"),
            (format!("{done},{USER}"), "incomplete"),
            (format!("{done},{failed}"), "error"),
            (format!("{failed},{done}"), "success"),
            (format!("{failed},{USER}"), "incomplete"),
        ] {
            let session = session(&messages);
            assert_eq!(session.status.as_str(), status, "{messages}");
            assert_eq!(session.error_kind.is_some(), status == "error", "{messages}");
        }
    }

    /// A failed request, and a message that no model wrote, are not responses. A response without usage is one.
    #[test]
    fn only_responses_are_turns() {
        let finish = format!(r#"{{"type":"step-finish","reason":"stop",{NOTHING}}}"#);
        let aborted = format!(r#"{NOTHING},"error":{{"name":"MessageAbortedError"}}"#);
        for (more, parts, turns, under_reports) in [
            (TOKENS, "", 1, false),
            (NOTHING, CALL, 0, false),
            (NOTHING, finish.as_str(), 1, false),
            (NOTHING, r#"{"type":"step-start"}"#, 0, true),
            (aborted.as_str(), r#"{"type":"step-start"}"#, 0, true),
        ] {
            let session = session(&assistant(more, parts));
            assert_eq!((session.turns.len(), session.under_reports), (turns, under_reports), "{more} {parts}");
            assert!(
                session.turns.iter().all(|it| it.tokens.get().total() != Some(0) && it.cost.is_none()),
                "{more} {parts}"
            );
        }
    }
}
