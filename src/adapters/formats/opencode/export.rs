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
//! | cost | `cost`; in Kilo Code that of the steps |
//! | duration | created to completed, of responses that call no tools |
//! | call | `tool` parts: `state.status`, `output` or `error`, `metadata.exit`; an exit code other than 0 is an `error`, although the state is `completed`. A command that the tool stopped (timeout or user) has no exit code and is `cancelled` |
//! | call status | the text of the error: a refusal, or "The user dismissed this question", is `denied`; "Tool execution aborted" is `cancelled` (`incomplete` for a subagent). A call of `invalid` is an `error` of `input.tool` |
//! | file change | `metadata.files`, `filediff`, `diff`, the patch. The file is new by `exists` or an empty `before` |
//! | subagent | `metadata.sessionId` of the `task` tool, since 2.0 `sessionID` of `subagent`; the child is a session of its own |
//! | events | `error` (`MessageAbortedError`: abort), summaries and `compaction` parts, `retry` parts, refusals |
//! | user turns | user messages with text that is not `synthetic` or `ignored`, a command for another agent, or a file; none in a child. A message with the parts of the prompt before, after a `compaction` with `overflow` and its summary, is written again by the program |
//! | status | the last message: an error; `finish` that is not `tool-calls` or `unknown` with no call open: `success`; else `incomplete` |
//!
//! Since 2.0 (from its source) the messages are those of the [database](#opencode-db), with `id` and `type`; the sums in `info` are a total,
//! `location.directory` is the cwd, and no version is stated.
//!
//! *Exact*: message and step state the same (281 of 281 steps), input excludes the cache. Output includes reasoning until 1.2 (59
//! of 59 steps add up that way) and excludes it since 1.3 (24 of 24): `total` decides, without it the version. *Unknown*: usage
//! whose counts are all 0, and the cost 0 of subscriptions. *Lower bound*: a message that was cut inside a step.

use serde::Deserialize;

use super::common::{Info, Message, Part, Usage, is_real, read_part, with_runtime};
use super::conversation::Conversation;
use super::messages_2::{self, Model, Stored};
use super::sums::Stated;
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::money;
use crate::adapters::shared::ids::hashed_id;
use crate::json::Raw;
use crate::json::fields::{Maybe, Number, Text, When};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{Capabilities, SessionResult, Tokens};

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
        if !document.messages.is_list() {
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
                cost: money(info_2.cost, damage),
                created: info.time.start(),
                updated: info_2.time.updated.0,
                is_fork: info.fork.session_id.is_some(),
                model: info_2.model.id.owned(),
            });
        }
        let mut line_numbers = LineNumbers::new(line);
        for raw in document.messages.read::<Vec<Raw<'_>>>() {
            if !raw.is_object() {
                damage.note(Reason::NotAnObject);
                continue;
            }
            let line = line_numbers.line_of(raw);
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
                parts.iter().map(|raw| (line_numbers.line_of(*raw), read_part(*raw, damage))).collect();
            conversation.message(&entry.info, raw, line, &parts, damage);
        }
        self.sessions.push(conversation.finish());
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
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
            (assistant(&format!(r#"{TOKENS},"finish":"error""#), ""), "error"),
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

    /// The last step may state zeros.
    #[test]
    fn the_step_with_counts_is_the_response() {
        let step =
            |tokens: &str, cost: &str| format!(r#"{{"type":"step-finish","reason":"stop",{tokens},"cost":{cost}}}"#);
        let (first, last) = (step(TOKENS, "0.5"), step(NOTHING.trim_end_matches(r#","cost":0"#), "0"));
        for parts in [format!("{first},{last}"), format!("{last},{first}")] {
            let session = session(&assistant(NOTHING, &parts));
            let turn = &session.turns[0];
            let cost = turn.cost.as_deref().map(|cost| cost.total);
            assert_eq!((session.turns.len(), turn.tokens.get().total(), cost), (1, Some(8), Some(0.5)), "{parts}");
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
            (r#""finish":"stop""#, "", 1, false),
            (r#""finish":"tool-calls""#, "", 0, false),
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
