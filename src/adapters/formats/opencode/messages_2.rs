//! The messages of OpenCode since 2.0, with their parts inside: in the database and in exports
//! (`packages/schema/src/session-message.ts`).

use serde::Deserialize;

use super::common::{Error, Message, Metadata, Part, Span, State, go_on};
use super::conversation::Conversation;
use crate::adapters::engine::{RecordErrors, RecordKind};
use crate::adapters::shared::at::At;
use crate::json::Raw;
use crate::json::fields::{Maybe, Number, Text, TextOrBlocks, When};
use crate::model::session::EventKind;

/// A stored message.
pub(super) struct Stored<'a> {
    pub(super) id: Text<'a>,
    pub(super) kind: Text<'a>,
    pub(super) data: Raw<'a>,
}

pub(super) fn word(word: &'static str) -> Text<'static> {
    Text(Some(word.into()))
}

/// Its data.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Data<'a> {
    time: Span,
    // user
    text: Text<'a>,
    // assistant
    agent: Text<'a>,
    model: Model<'a>,
    content: TextOrBlocks<'a, Content<'a>>,
    finish: Text<'a>,
    cost: Number,
    tokens: Raw<'a>,
    error: Maybe<Error<'a>>,
    retry: Maybe<Retry<'a>>,
    // compaction
    status: Text<'a>,
    reason: Text<'a>,
    // idle
    outcome: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Model<'a> {
    pub(super) id: Text<'a>,
    #[serde(rename = "providerID")]
    provider_id: Text<'a>,
    variant: Text<'a>,
}

/// A content block of an assistant's message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Content<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    // tool
    id: Text<'a>,
    name: Text<'a>,
    state: ContentState<'a>,
    time: Times,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ContentState<'a> {
    status: Text<'a>,
    input: Raw<'a>,
    content: Raw<'a>,
    error: Raw<'a>,
    metadata: Raw<'a>,
    /// The older name of `metadata`.
    structured: Raw<'a>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Times {
    created: When,
    ran: When,
    completed: When,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Retry<'a> {
    at: When,
    error: Error<'a>,
}

impl<'a> Content<'a> {
    fn into_part(self, message_id: &Text<'a>) -> Part<'a> {
        let Self { kind, text, id, name, state, time } = self;
        let metadata = if state.metadata.is_empty() { state.structured } else { state.metadata };
        let start = if time.ran.0.is_some() { time.ran } else { time.created };
        Part {
            message_id: message_id.clone(),
            kind,
            text,
            call_id: id,
            tool: name,
            state: State {
                status: state.status,
                input: state.input,
                output: state.content,
                error: state.error,
                metadata: metadata.read::<Metadata<'_>>(),
                time: Span { start, end: time.completed, ..Span::default() },
            },
            ..Part::default()
        }
    }
}

/// Adds a message, as the messages and parts before 2.0.
pub(super) fn add(session: &mut Conversation, stored: Stored<'_>, line: i64, damage: &mut RecordErrors) -> RecordKind {
    let data: Data<'_> = stored.data.read();
    let mut message = Message {
        id: stored.id,
        role: word("assistant"),
        time: data.time,
        model_id: data.model.id,
        provider_id: data.model.provider_id,
        variant: data.model.variant,
        agent: data.agent,
        cost: data.cost,
        tokens: read_usage(data.tokens),
        finish: data.finish,
        is_since_2: true,
        ..Message::default()
    };
    let marker = |kind: &'static str| (line, Part { kind: word(kind), ..Part::default() });
    match stored.kind.as_str() {
        "user" => {
            message.role = word("user");
            let said = Part { kind: word("text"), text: data.text, ..Part::default() };
            session.message(&message, stored.data, line, &[(line, said)], damage);
        }
        "assistant" => {
            let mut parts = vec![marker("step-start")];
            parts.extend(data.content.blocks.into_iter().map(|it| (line, it.into_part(&message.id))));
            if let Maybe::Present(retry) = data.retry {
                let time = Span { start: retry.at, ..Span::default() };
                let error = retry.error.named();
                parts.push((line, Part { kind: word("retry"), time, error, ..Part::default() }));
            }
            if let Some(reason) = message.finish.owned::<String>() {
                // Each of these messages is one finished step.
                let tokens = read_usage(data.tokens);
                let kind = word("step-finish");
                parts.push((
                    line,
                    Part { kind, reason: Text(Some(reason.into())), cost: data.cost, tokens, ..Part::default() },
                ));
            }
            if let Maybe::Present(error) = data.error {
                message.error = error.named();
            }
            session.message(&message, stored.data, line, &parts, damage);
        }
        "compaction" => {
            let builder = &mut session.builder;
            builder.extend_to(data.time.start());
            let event = builder.event(EventKind::Compaction, At { line, time: data.time.start() });
            event.code = data.reason.owned();
            event.key = message.id.some().map(|it| format!("compaction {it}").into());
            if data.status.as_str() != "running" && message.tokens != Maybe::Absent {
                session.bill(&message, line, damage);
            }
        }
        // The session is idle, until a later message continues it.
        "idle" => {
            let builder = &mut session.builder;
            builder.extend_to(data.time.start());
            match data.outcome.as_str() {
                "succeeded" => builder.succeed(),
                "interrupted" => builder.abort(""),
                "failed" if !builder.session.status.is_end() => builder.fail(None, ""),
                _ => {}
            }
        }
        "synthetic" | "skill" => {
            session.builder.extend_to(data.time.start());
            go_on(&mut session.builder);
        }
        "system" | "shell" | "agent-switched" | "model-switched" | "location-switched" => {
            session.builder.extend_to(data.time.start());
        }
        _ => return RecordKind::Unknown,
    }
    RecordKind::Known
}

fn read_usage(tokens: Raw<'_>) -> Maybe<super::common::Usage> {
    if tokens.is_empty() { Maybe::Absent } else { crate::json::from_slice(tokens.0).unwrap_or(Maybe::Wrong) }
}
