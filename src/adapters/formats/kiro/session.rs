//! A session of Kiro as lines of messages, and the state of the session in a document beside them.
//!
//! # `kiro-session`
//!
//! Kiro CLI's second engine, `~/.kiro/sessions/cli/ID.jsonl` with the messages, and `ID.json` with the state of the session.
//! Recognised by `version`, `kind` and `data`; the state by `session_id`, `cwd` and `session_state`. Its source is not public. From
//! public files and readers, 2.14 to 2.21; no recorded file was at hand.
//!
//! | what | from |
//! | --- | --- |
//! | session | the name of the file, `session_id` of the state |
//! | model, agent, cwd | `model_info.model_id`, `agent_name`, `cwd` of the state |
//! | turn | each `AssistantMessage`, by its `message_id`, without counts and times |
//! | tokens | `user_turn_metadatas` of the state: `input_token_count`, `output_token_count` and both caches, summed, in a row of grain `session` for each model. Most versions write zeros, which are unknown. Input excludes the caches (*assumed*) |
//! | call | `toolUse` blocks; results by `toolUseId`: `status` `error`, or an `exit_status` other than 0, is `error` |
//! | file change | the path of `write` |
//! | events | `Compaction`, refusals, subagents |
//! | user turns | `Prompt` |
//! | status | the last message: an answer without calls is `success`; else `incomplete` |
//!
//! *Lower bound*: tokens, in versions that count only some prompts. *Unknown*: cost, as credits are not dollars. The locks of running
//! sessions are `auxiliary`. The third engine (`~/.kiro/sessions/*/sess_*/messages.jsonl`) is [not read](formats.md#not-read).

use serde::Deserialize;

use super::common::{self, Outcome, Place, SHOWS, ShellResult};
use super::conversation::ModelInfo;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::usage;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Count, Text, When};
use crate::json::lines::Line;
use crate::model::places;
use crate::model::session::{EventKind, Identity, ModelTotal, SessionResult, Tokens, Total};

pub(crate) const SESSION: Adapter = Adapter {
    id: "kiro-session",
    runtime: "kiro",
    about: "Kiro CLI, sessions/cli/*.jsonl and *.json",
    tested: None,
    capabilities: SHOWS,
    places: &[places::Place::home(".kiro/sessions/cli")],
    claims: |probe| {
        let is_message = is_known(&probe.text("kind")) && probe.has_all(&["version", "data"]);
        let is_state = probe.has_all(&["session_id", "cwd", "session_state"]);
        6 * u32::from(is_message || is_state)
    },
    parse: fold::<Messages>,
};

/// Whether a document is the lock of a session that runs.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    probe.has_all(&["pid", "started_at"]) && probe.keys().count() == 2
}

/// Whether a kind of record is known.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(kind, "Prompt" | "AssistantMessage" | "ToolResults" | "Compaction" | "Clear")
}

/// A message, or the state of a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    kind: Text<'a>,
    data: Data<'a>,
    // the state
    session_id: Text<'a>,
    parent_session_id: Text<'a>,
    cwd: Text<'a>,
    created_at: When,
    updated_at: When,
    session_state: State<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Data<'a> {
    message_id: Text<'a>,
    content: Vec<Block<'a>>,
    meta: Meta,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta {
    timestamp: When,
}

/// A block of a message, or of a result: `data` is a text or an object, as `kind` states.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Block<'a> {
    kind: Text<'a>,
    data: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Tool<'a> {
    tool_use_id: Text<'a>,
    name: Text<'a>,
    input: Raw<'a>,
    // a result
    content: Raw<'a>,
    status: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct State<'a> {
    agent_name: Text<'a>,
    rts_model_state: ModelState<'a>,
    conversation_metadata: ConversationMetadata<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ModelState<'a> {
    model_info: ModelInfo<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ConversationMetadata<'a> {
    user_turn_metadatas: Vec<UserTurn<'a>>,
}

/// What followed a prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct UserTurn<'a> {
    end_timestamp: When,
    model: Text<'a>,
    total_request_count: Count,
    input_token_count: Count,
    output_token_count: Count,
    cache_read_input_token_count: Count,
    cache_write_input_token_count: Count,
}

pub(super) struct Messages {
    context: Context,
    session: Option<Session>,
}

/// A session while its records are read.
struct Session {
    builder: Builder,
    prompts: usize,
    responses: usize,
    last: Last,
}

impl Fold for Messages {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), session: None }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_state = record.session_id.is_some();
        if !is_state && !is_known(record.kind.as_str()) {
            return RecordKind::Unknown;
        }
        let context = &self.context;
        let id = record.session_id.owned().or_else(|| context.file_id.clone()).or_else(|| context.file_name.clone());
        let session = self.session.get_or_insert_with(|| Session {
            builder: Builder::new(context, id.unwrap_or_else(|| hashed_id(line.bytes)), line.number),
            prompts: 0,
            responses: 0,
            last: Last::Work,
        });
        if is_state {
            add_state(&mut session.builder, &record, line.number, damage);
        } else {
            session.record(&record, line);
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let Some(mut session) = self.session else { return Vec::new() };
        // A state alone does not show how the session ended.
        if session.prompts + session.responses > 0 {
            session.builder.end(session.last);
        }
        vec![session.builder.finish()]
    }
}

impl Session {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>) {
        let data = &record.data;
        let at = At { line: line.number, time: data.meta.timestamp.0 };
        self.builder.extend_to(at.time);
        match record.kind.as_str() {
            "Prompt" => self.prompt(data),
            "AssistantMessage" => self.response(data, line.number),
            "ToolResults" => self.results(data, line.number),
            "Compaction" => self.builder.event(EventKind::Compaction, at).key = data.message_id.owned(),
            _ => {}
        }
        self.builder.name_events(data.message_id.some(), line.bytes);
    }

    fn prompt(&mut self, data: &Data<'_>) {
        self.prompts += 1;
        let name = data.message_id.owned().unwrap_or_else(|| self.prompts.to_string());
        self.builder.prompt_as(Identity::Session(format!("prompt {name}").into()), Some(&text_of(&data.content)));
        self.last = Last::Work;
    }

    fn response(&mut self, data: &Data<'_>, line: i64) {
        let builder = &mut self.builder;
        self.responses += 1;
        let id = data.message_id.some();
        let identity = id.map_or_else(
            || Identity::Session(format!("response {}", self.responses).into()),
            |id| Identity::Global(id.into()),
        );
        let turn = builder.turn(identity, line);
        builder.session.turns[turn].message_id = id.map(Into::into);
        let text = text_of(&data.content);
        builder.set_answer(&text);
        let calls: Vec<Tool<'_>> = of_kind(&data.content, "toolUse").map(Raw::read).collect();
        for call in &calls {
            let place = Place { turn, at: At { line, time: None } };
            common::add(builder, call.tool_use_id.as_str(), call.name.as_str(), call.input, place);
        }
        self.last = if calls.is_empty() && !text.is_empty() { Last::Answer } else { Last::Work };
    }

    fn results(&mut self, data: &Data<'_>, line: i64) {
        let builder = &mut self.builder;
        for raw in of_kind(&data.content, "toolResult") {
            let result: Tool<'_> = raw.read();
            let blocks: Vec<Block<'_>> = result.content.read();
            let outcome = Outcome {
                is_error: result.status.as_str().eq_ignore_ascii_case("error"),
                exit_code: of_kind(&blocks, "json").find_map(|json| json.read::<ShellResult<'_>>().exit_code()),
                text: text_of(&blocks),
            };
            common::add_result(builder, result.tool_use_id.as_str(), result.content, &outcome, At { line, time: None });
        }
        self.last = Last::Work;
    }
}

/// The data of the blocks of a kind.
fn of_kind<'b, 'a>(blocks: &'b [Block<'a>], kind: &'static str) -> impl Iterator<Item = Raw<'a>> + use<'b, 'a> {
    blocks.iter().filter(move |block| block.kind.as_str() == kind).map(|block| block.data)
}

fn text_of(blocks: &[Block<'_>]) -> String {
    of_kind(blocks, "text").map(|raw| raw.text().into_owned()).collect()
}

/// Adds what the state of a session contains. Tokens are those of all requests after each prompt.
fn add_state(builder: &mut Builder, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
    let state = &record.session_state;
    builder.extend_to(record.created_at.0);
    builder.extend_to(record.updated_at.0);
    let info = &state.rts_model_state.model_info;
    let turns = &state.conversation_metadata.user_turn_metadatas;
    let session = &mut builder.session;
    session.cwd = record.cwd.owned();
    session.parent_session_id = record.parent_session_id.owned();
    session.agent = state.agent_name.owned();
    session.model = info.model_id.owned().or_else(|| turns.iter().rev().find_map(|turn| turn.model.owned()));
    let requests = turns.iter().filter_map(|turn| turn.total_request_count.get()).reduce(|sum, count| sum + count);
    let requests = requests.filter(|count| *count > 0);
    session.stated_turns = requests;
    let mut models: Vec<ModelTotal> = Vec::new();
    for turn in turns {
        let counts = [
            turn.input_token_count,
            turn.output_token_count,
            turn.cache_read_input_token_count,
            turn.cache_write_input_token_count,
        ];
        damage.note_impossible(&counts);
        let [input, output, cache_read, cache_write] = counts.map(Count::get);
        let tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN };
        if tokens.is_all_zero() || tokens.total().is_none() {
            continue;
        }
        let model: Option<Symbol> = turn.model.owned().or_else(|| session.model.clone());
        usage::spend(&mut models, model, tokens);
    }
    if !models.is_empty() {
        session.totals.push(Total {
            line,
            key: "turns".to_owned(),
            occurred_at: turns.iter().filter_map(|turn| turn.end_timestamp.0).max(),
            turns: requests,
            models,
            covers_subagents: true,
            ..Total::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::{CallStatus, SessionResult, Status, Tokens};

    const ID: &str = "1f0c2b3a-4d5e-4f60-8a7b-9c0d1e2f3a4b";

    fn read(name: &str, lines: &[&str]) -> SessionResult {
        let path = format!("/home/u/.kiro/sessions/cli/{name}");
        let hints = Hints { path: &path, ..Hints::default() };
        parse(lines.join("\n").as_bytes(), hints, Retention::Text).sessions.swap_remove(0)
    }

    #[test]
    fn messages_have_calls_and_results() {
        let session = read(
            &format!("{ID}.jsonl"),
            &[
                r#"{"version":"v1","kind":"Prompt","data":{"message_id":"a1","content":[{"kind":"text","data":"Go"}],"meta":{"timestamp":1784869421}}}"#,
                r#"{"version":"v1","kind":"AssistantMessage","data":{"message_id":"a2","content":[{"kind":"text","data":""},{"kind":"toolUse","data":{"toolUseId":"t1","name":"shell","input":{"command":"make"}}},{"kind":"toolUse","data":{"toolUseId":"t2","name":"write","input":{"command":"create","path":"/work/b","content":"x"}}}]}}"#,
                r#"{"version":"v1","kind":"ToolResults","data":{"message_id":"a3","content":[{"kind":"toolResult","data":{"toolUseId":"t1","content":[{"kind":"json","data":{"exit_status":"exit status: 2","stdout":""}}],"status":"success"}},{"kind":"toolResult","data":{"toolUseId":"t2","content":[{"kind":"text","data":"Tool use was cancelled by the user"}],"status":"error"}}]}}"#,
                r#"{"version":"v1","kind":"AssistantMessage","data":{"message_id":"a4","content":[{"kind":"text","data":"Failed."}]}}"#,
            ],
        );
        assert_eq!((session.session_id.as_str(), session.prompts.len(), session.turns.len()), (ID, 1, 2));
        let calls: Vec<_> = session.tool_calls.iter().map(|it| (it.category.as_ref(), it.status)).collect();
        assert_eq!(calls, [("shell", CallStatus::Error), ("write", CallStatus::Cancelled)]);
        assert_eq!((session.tool_calls[0].exit_code.get(), session.status), (Some(2), Status::Success));
        assert_eq!((session.text.as_deref(), session.file_changes.len()), (Some("Failed."), 0));
    }

    /// Zeros beside credits are no counts.
    #[test]
    fn the_state_has_the_tokens_of_each_prompt() {
        let state = |counts: &str| {
            let text = format!(
                r#"{{"session_id":"{ID}","cwd":"/work","created_at":"2026-09-17T20:00:00Z","updated_at":"2026-09-17T20:05:00Z","session_state":{{"rts_model_state":{{"model_info":{{"model_id":"claude-sonnet-4.5"}}}},"conversation_metadata":{{"user_turn_metadatas":[{{"end_timestamp":"2026-09-17T20:01:00Z","total_request_count":2,"input_token_count":0,"output_token_count":0,"metering_usage":[{{"value":0.3,"unit":"credit"}}]}},{{"total_request_count":1,{counts}}}]}}}}}}"#
            );
            read(&format!("{ID}.json"), &[&text])
        };
        let session = state(r#""input_token_count":900,"output_token_count":40,"cache_read_input_token_count":100"#);
        let total = &session.totals[0].models[0];
        let tokens = Tokens { input: Some(900), output: Some(40), cache_read: Some(100), ..Tokens::UNKNOWN };
        assert_eq!((total.tokens, total.model.as_deref()), (tokens, Some("claude-sonnet-4.5")));
        assert_eq!((session.stated_turns, session.cwd.as_deref()), (Some(3), Some("/work")));
        assert!(state(r#""input_token_count":0"#).totals.is_empty());
    }
}
