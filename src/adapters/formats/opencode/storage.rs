//! OpenCode's storage until 1.1, `~/.local/share/opencode/storage`: one file for each session, message and part
//! (docs/formats/opencode.md#opencode-storage).
//!
//! Each file contains a part of its session; the ledger joins them. The message is the response: it contains model, time, cost
//! and tokens. Its finished step repeats the tokens, so a step only counts if it states 0 tokens. A part contains the ids of
//! its session and of its message, but not the message's time: the ledger finds the turn of a call, and the prompts that a human
//! typed, by the message's id. Output includes reasoning in these versions.
//!
//! # `opencode-storage`
//!
//! Until 1.1, `~/.local/share/opencode/storage/{session,message,part}/**/*.json`, one file each. Recognised by `id`, `sessionID`
//! and `messageID` with `type` (part), with `role` and `time` (message), or the facts of a session. Fields as in an export. Not
//! seen in real logs; from OpenCode's source.
//!
//! - Tokens are those of the message. A `step-finish` only counts if it states 0 tokens: then its message is the same as that of a
//!   shell command. Output includes reasoning.
//! - A part does not contain its message's time: the message's id connects a call with its turn, and a prompt with its text (not
//!   `synthetic`), file, or command for another agent.
//! - Calls with the same id in several messages are separate calls, as some models use the same ids again.
//! - The session's text is the latest text of the model.
//! - A message of Kilo Code may contain the cost of its subagents, and names the router instead of the model: its steps are other files.

use serde::Deserialize;

use super::common::{Info, Message, Part, compaction, go_on, is_last, with_runtime};
use super::export::{SHOWS, is_info};
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Retention};
use crate::adapters::shared::repository::of_root;
use crate::json::Raw;
use crate::json::fields::{Maybe, Text};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::{Capabilities, Identity, SessionResult};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "opencode-storage",
    runtime: "opencode",
    about: "OpenCode until 1.1, storage/{session,message,part}/**.json",
    tested: Some("1.0.223"),
    capabilities: SHOWS.and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::data("opencode/storage")],
    claims,
    parse: fold::<Storage>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    // In a recorded stdout, the same parts are inside records with a time.
    if probe.has("timestamp") || probe.has("messages") || probe.has("parts") {
        return 0;
    }
    let is_part = probe.has_all(&["id", "sessionID", "messageID", "type"]);
    let is_message = probe.has_all(&["id", "sessionID", "role", "time"]);
    let is_session = is_info(probe) && probe.has("directory");
    5 * u32::from(is_part || is_message || is_session)
}

/// The fields that distinguish the three kinds of files.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    id: Text<'a>,
    #[serde(rename = "sessionID")]
    session_id: Text<'a>,
    #[serde(rename = "messageID")]
    message_id: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    role: Text<'a>,
    directory: Text<'a>,
}

struct Storage {
    context: Context,
    sessions: SessionsById<Builder>,
}

impl Fold for Storage {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: with_runtime(context), sessions: SessionsById::default() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let keeps_text = self.context.content >= Retention::Text;
        let document = Raw(line.bytes);
        let session_id = record.session_id.as_str();
        if record.message_id.some().is_some() && record.kind.some().is_some() {
            return part(self.session(session_id, line), &document.read(), line.number, keeps_text, damage);
        }
        match record.role.as_str() {
            "user" => user(self.session(session_id, line), &document.read()),
            "assistant" => assistant(self.session(session_id, line), &document.read(), line.number, damage),
            "" if record.directory.is_some() => {
                document.read::<Info<'_>>().fill(self.session(record.id.as_str(), line));
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Builder::finish).collect()
    }
}

impl Storage {
    /// The session of that id.
    fn session(&mut self, id: &str, line: Line<'_>) -> &mut Builder {
        self.sessions.find_or_add(id, || Builder::new(&self.context, id, line.number))
    }
}

fn user(builder: &mut Builder, message: &Message<'_>) {
    builder.extend_to(message.time.start());
    go_on(builder);
    // Other files show whether a human typed one of its parts.
    if !message.is_of_task() {
        builder.session.prompt_candidates.insert(message.id.as_str().to_owned(), message.prompt_identity());
    }
}

fn assistant(builder: &mut Builder, message: &Message<'_>, line: i64, damage: &mut RecordErrors) {
    builder.extend_to(message.time.start());
    builder.extend_to(message.time.end());
    if message.summary.is_true() {
        compaction(builder, message.parent_id.as_str(), At { line, time: message.time.start() });
    } else {
        builder.session.agent = message.agent();
        builder.session.cwd = message.path.cwd.owned();
        builder.session.repository = of_root(message.path.root.as_str());
    }
    let tokens = message.tokens.get().map(|it| (it, it.tokens(true, damage)));
    if message.tokens == Maybe::Wrong {
        damage.note(Reason::NoUsage);
    } else if let Some((usage, tokens)) = tokens.filter(|(it, _)| !it.is_empty()) {
        message.turn(builder, &message.bill(usage, None), line, tokens, damage);
    } else {
        // It may have been cut before its tokens were logged.
        let is_cut = message.error.name.some().is_none() && message.time.end().is_none();
        builder.session.under_reports |= is_cut || message.error.is_abort();
    }
    // Until 1.0 a message contains no stop reason; its last step does.
    message.end(builder, false, false, line);
}

fn part(builder: &mut Builder, part: &Part<'_>, line: i64, keeps_text: bool, damage: &mut RecordErrors) -> RecordKind {
    let time = part.time;
    match part.kind.as_str() {
        "tool" => {
            builder.extend_to(part.state.time.start());
            builder.extend_to(part.state.time.end());
            builder.forget_calls();
            part.call(builder, line);
        }
        "step-finish" => {
            builder.session.stop_reason = part.reason.owned();
            if is_last(part.reason.as_str()) {
                builder.succeed();
            }
            match &part.tokens {
                Maybe::Wrong => damage.note(Reason::NoUsage),
                // The message of such a response is the same as that of a shell command of the user.
                Maybe::Present(usage) if usage.is_empty() => {
                    let index = builder.turn(Identity::Session(part.message_id.as_str().into()), line);
                    let turn = &mut builder.session.turns[index];
                    turn.message_id = part.message_id.owned();
                    turn.stop_reason = part.reason.owned();
                }
                _ => {}
            }
        }
        "text" => {
            builder.extend_to(time.start());
            builder.extend_to(time.end());
            if part.is_said() && time.start().is_some() {
                builder.set_answer(part.text.as_str());
            } else if part.is_said() {
                // Only the model's texts have a time.
                builder.session.typed_message_ids.insert(part.message_id.as_str().to_owned());
                let prompt = &mut builder.session.prompt;
                *prompt = prompt.take().or_else(|| part.text.owned().filter(|_| keeps_text));
            }
        }
        "reasoning" => {
            builder.extend_to(time.start());
            builder.extend_to(time.end());
        }
        "compaction" => part.compaction(builder, At { line, time: None }),
        "retry" => part.retry(builder, line),
        // A file, or a command for another agent, is a prompt as well.
        "file" | "subtask" => {
            builder.session.typed_message_ids.insert(part.message_id.as_str().to_owned());
        }
        "step-start" | "patch" | "snapshot" | "agent" => {}
        _ => return RecordKind::Unknown,
    }
    RecordKind::Known
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::SessionResult;

    fn session(file: &str) -> SessionResult {
        let mut parsed = parse(file.as_bytes(), Hints::default(), Retention::None);
        assert_eq!(parsed.format, Some("opencode-storage"), "{file}");
        assert_eq!(parsed.sessions[0].session_id, "ses_1", "{file}");
        parsed.sessions.remove(0)
    }

    #[test]
    fn tokens_count_once() {
        let message = r#"{"id":"msg_1","sessionID":"ses_1","role":"assistant","time":{"created":1790000000000}"#;
        let part = r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"step-finish","reason":"stop""#;
        let tokens = r#""tokens":{"input":5,"output":3,"reasoning":2,"cache":{"read":0,"write":0}}}"#;
        let nothing = r#""tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}}"#;
        assert_eq!(session(&format!("{message},{tokens}")).turns[0].tokens.get().output, Some(3));
        assert!(session(&format!("{part},{tokens}")).turns.is_empty());
        // A response without usage: only its step shows that it is one.
        assert!(session(&format!("{message},{nothing}")).turns.is_empty());
        assert_eq!(session(&format!("{part},{nothing}")).turns[0].tokens.get().total(), None);
    }

    #[test]
    fn a_child_has_no_human_prompts() {
        let user = |more: &str| {
            let time = r#""time":{"created":1790000000000}"#;
            session(&format!(r#"{{"id":"msg_1","sessionID":"ses_1","role":"user",{time}{more}}}"#))
                .prompt_candidates
                .len()
        };
        assert_eq!((user(""), user(r#","tools":{"todowrite":false,"task":false}"#)), (1, 0));
    }
}
