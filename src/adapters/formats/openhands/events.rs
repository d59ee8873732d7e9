//! Logs of events: files with one event each, arrays, pages and lines, and the state beside them.
//!
//! # `openhands-conversation`
//!
//! Conversations of OpenHands' SDK, of its CLI since 1.0: `~/.openhands/conversations/ID/base_state.json` and
//! `events/event-N-UUID.json`, one event in each file; also as lines, arrays or pages (`items`). Recognised by a `kind` that ends in
//! `Event` with `id`, `timestamp` and `source`; the state by `agent`, `workspace` and `execution_status`. Seen: a part of one
//! conversation, 2026-06; other events from the SDK's source.
//!
//! | what | from |
//! | --- | --- |
//! | session | the directory of the conversation, else a hash of the first event: no event names it |
//! | parent | the directory above `subagents`, where conversations of `task` and `delegate` are (since 2026-03) |
//! | fork | a conversation of its own, which begins with the files of its source: events of equal ids are one response, prompt or call, which counts in one of them, and the parent is the conversation with the last of these responses (*source*: `LocalConversation.fork`, SDK 2026-08) |
//! | model, cwd | `agent.llm.model`, `workspace.working_dir` of the state; the model also of `stats`. `acp-managed` is not a model |
//! | turn | each `llm_response_id` of an `ActionEvent` (parallel calls are one response) or of an agent's `MessageEvent` |
//! | turn of the state | each entry of `token_usages` in `base_state.json`, by its `response_id`: those of the agent are the turns above, others (`condenser`, `agent-hook:…`) turns of their own. `duration_ms` is the entry of `response_latencies` with the same id |
//! | tokens | the entry of `token_usages`. Without these lists, as in events: `stats.usage_to_metrics` (formerly `service_to_metrics`), running totals for each use of a model. A turn is what the total of the agent's own use (`agent.llm.usage_id`, else `agent` or `default`) grew by before it, in a log with several events; all that is left of the last totals is a row of grain `session` for each model |
//! | tokens of subagents | their own conversations. The parent's `task:…` and `delegate:…` are copies of their sums (`task/manager.py`, `delegate/impl.py`), of which counts what no log of a child has |
//! | input | `prompt_tokens` minus cache reads and writes; minus the reads if only these are not more than it (litellm: the cost shows it in 76 of 76 responses of Claude); else `prompt_tokens` (4 of 4). In a list of requests their sum decides |
//! | cost | the entry of `costs`, if there is one for each request; `accumulated_cost`, if not 0 |
//! | call | `ActionEvent`, with the results of `ObservationEvent` and `AgentErrorEvent` by `tool_call_id` |
//! | call of another agent | `ACPToolCallEvent`, where OpenHands runs Claude Code, Codex or others: one call by `tool_call_id`, of which the last event is right. The protocol has no names of tools: the tool is its `tool_kind`, for the kind `other` its title if that is one word. Its response is not known |
//! | call status | `error`: `is_error`, an exit code above 0 (the two are independent), `AgentErrorEvent`; `cancelled`: `AgentErrorEvent` of an interrupt (`Tool call interrupted before completion`, `Tool call cancelled by interrupt`); `denied`: `UserRejectObservation` |
//! | file change | of `file_editor`: the path, lines of `old_str` and `new_str`; of another agent: blocks of type `diff`, of which one without `old_text` writes the file |
//! | user turns | messages of `source` `user`, but none of a subagent, with a `sender`, or with a text of OpenHands: the audits of `/goal`, a transcript of a lost session (`<<RESUMED CONVERSATION>>`) up to its end, an answer blocked by the provider |
//! | subagent | `task`, `delegate`; of another agent a call that `parent_tool_call_id` of others names, or with a `subagent_type` |
//! | events | `Condensation` (compaction), `ConversationErrorEvent` (error), `InterruptEvent` (abort), refusals |
//! | status | the last `execution_status`: `finished` is `success`, `error` and `stuck` are `error`, others `incomplete`; without one, the last message or `finish` |
//!
//! Times are local, without a zone, and used as UTC. The titles and condensations of a conversation are in the totals only.
//!
//! # `openhands-events`
//!
//! OpenHands before 1.0: `~/.openhands/sessions/ID/events/N.json`, and trajectories (`--save-trajectory-path`), an array. Recognised
//! by `id`, `timestamp` and `source` with an `action` and `args`, or an `observation` and `content`. From OpenHands' source, 0.x. Seen: 50
//! trajectories of one version.
//!
//! Session: the directory above `events`, else a hash of the first event. Turns: `tool_call_metadata.model_response.id`, else the id of
//! the request in `llm_metrics`, else the event. Tokens and cost: `llm_metrics`, running totals, read as `stats` of
//! `openhands-conversation`. In versions without `accumulated_token_usage`, `token_usages` lists the event's own request: the turn, by
//! `response_id` (318 of 318 responses). Without either, `model_response.usage`, once for each `id` (equal to `token_usages` in 303 of
//! 303); the first running total after it contains it. Model: that of the same record. Calls: an action of the agent
//! with its result by `tool_call_id`, else by `cause`; exit code `extras.metadata.exit_code`; `user_rejected` is `denied`. Status:
//! `agent_state_changed`: `finished` and `awaiting_user_input` are `success`, `error` and `rate_limited` are `error`, `stopped` is
//! `aborted`; else the last `finish`.

use super::common::SHOWS;
use super::common::conversation::Conversation;
use super::common::records::Event;
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::ids::hashed_id;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::SessionResult;

pub(crate) const CONVERSATION: Adapter = Adapter {
    id: "openhands-conversation",
    runtime: "openhands",
    about: "OpenHands SDK and CLI since 1.0, ~/.openhands/conversations",
    tested: None,
    capabilities: SHOWS,
    places: &[Place::variable("OPENHANDS_PERSISTENCE_DIR", ".openhands", "conversations")],
    claims: |probe| {
        let kind = probe.text("kind");
        let is_event = probe.has_all(&["id", "timestamp", "source"])
            && (kind.ends_with("Event") || ["Condensation", "UserRejectObservation"].contains(&kind.as_ref()));
        let is_state = probe.has_all(&["id", "agent", "workspace"]) && probe.has("execution_status");
        let is_page = probe.has_all(&["items", "next_page_id"]) && probe.is_list("items");
        6 * u32::from(is_event || is_state) + 4 * u32::from(is_page)
    },
    parse: fold::<Events>,
};

pub(crate) const EVENTS: Adapter = Adapter {
    id: "openhands-events",
    runtime: "openhands",
    about: "OpenHands before 1.0, ~/.openhands/sessions and saved trajectories",
    tested: None,
    capabilities: SHOWS,
    places: &[Place::home(".openhands/sessions")],
    claims: |probe| {
        let is_text = |key: &str| probe.raw(key).is_string();
        let is_event = probe.has_all(&["id", "timestamp", "source"]) && !probe.has("kind") && !probe.has("type");
        let is_action = is_text("action") && (probe.has("args") || probe.has("message"));
        let is_observation = is_text("observation") && probe.has("content");
        5 * u32::from(is_event && (is_action || is_observation))
    },
    parse: fold::<Events>,
};

/// A log of events while it is read.
pub(crate) struct Events {
    context: Context,
    conversation: Option<Conversation>,
}

impl Fold for Events {
    type Record<'a> = Event<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), conversation: None }
    }

    fn record(&mut self, line: Line<'_>, event: Event<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_state = event.kind.some().is_none() && event.agent.get().is_some() && event.workspace.get().is_some();
        let context = &self.context;
        // A conversation's files are found by its directory; other logs are whole.
        let directory = conversation_of(context);
        let own = || if is_state { Some(event.id.text().replace('-', "")) } else { None };
        let conversation = self.conversation.get_or_insert_with(|| {
            let is_part = directory.is_some();
            let (id, parent) = directory.map_or((None, None), |directory| (Some(directory.id), directory.parent));
            let id = id.or_else(own).unwrap_or_else(|| hashed_id(line.bytes));
            let mut new = Conversation::new(context, id, line.number);
            new.builder.session.parent_session_id = parent;
            new.is_part = is_part;
            new
        });
        if is_state {
            conversation.state(&event, damage);
            return RecordKind::Known;
        }
        if event.items.is_list() {
            let items: Vec<Raw<'_>> = event.items.read();
            for raw in items {
                conversation.event(&raw.read(), raw.0, line.number, damage);
            }
            return RecordKind::Known;
        }
        conversation.event(&event, line.bytes, line.number, damage)
    }

    fn finish(self) -> Vec<SessionResult> {
        self.conversation.map(Conversation::finish).into_iter().collect()
    }
}

/// The conversation in whose directory a log is: the directory above `events`, or one that is named by an id.
struct Directory {
    id: String,
    /// The conversation that started it, in whose directory `subagents` it is.
    parent: Option<String>,
}

fn conversation_of(context: &Context) -> Option<Directory> {
    let mut directories = context.directories.iter();
    let directory = directories.next()?;
    let hex = |directory: &str| {
        let id = directory.replace('-', "");
        (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
    };
    let name = |directory: &String| hex(directory).unwrap_or_else(|| directory.clone());
    let id = if directory == "events" { directories.next().map(name)? } else { hex(directory)? };
    let parent =
        directories.next().filter(|directory| *directory == "subagents").and_then(|_| directories.next()).map(name);
    Some(Directory { id, parent })
}
