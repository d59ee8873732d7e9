//! Events of Claude Managed Agents, Anthropic's hosted agents, in the containers in which programs save them
//! (docs/formats/claude_managed.md#claude-managed-events).
//!
//! The platform keeps the log: programs read events from a stream or from pages of a list, often both, so that a file can contain an event
//! twice. The id of an event is the same in all of them. No event names its session, and only the session object names the model.
//!
//! # `claude-managed-events`
//!
//! Events of the sessions of Claude Managed Agents, as programs save them: JSON Lines or an array of events, pages of the list (`data`), a
//! document with `events` and maybe `session`, and records that contain the event as `raw`, `event`, `data` or `payload`. Recognised by
//! the `type` of an event with `processed_at` or an id that begins with `sevt_`, or by a session object (`environment_id`, `agent`).
//! Seen: 61 logs of 2 projects, August 2026; threads, refusals, compactions and objects from Anthropic's SDK.
//!
//! | what | from |
//! | --- | --- |
//! | session | `id` of a session object, `session_id` beside an event or of a thread object, else a part of the path that begins with `sesn_`: no event names its session. Else the id of its first thread (`session.thread_status_*`), else a hash of the first event's id. The log of a subagent's thread is a part of the session of the first thread |
//! | agent, model | `agent.name`, `agent.model` of the session object and of `session.updated`; the name also from the status of the first thread. Events do not name the model: without the object it is unknown |
//! | repository, branch | the first `github_repository` of `resources` |
//! | turn | each `span.model_request_end`: `model_usage` with `speed`; effort and region of `agent.model`; its duration is the time since `span.model_request_start`. A request that failed without tokens is no turn |
//! | web searches | calls of `web_search` in the turn (`server_tool_use` has the same number in 4 of 5 sessions that called it) |
//! | total | `session.usage`, and `usage` of the session object: running totals of the session, which contain all threads and the grader. In 23 of 23 sessions without a grader the last one is the sum of the requests. What it contains beyond them is a row of grain `session`. The usage of an object is used only in a log with events of the session, as a log of events beside it may not name the session |
//! | cost | `list_cost` of the total: cents, or dollars if it contains a point (until 2026-08-04). It contains searches and the hours of the session: for 3 of 3 sessions it is the price of all tokens, with those of the grader at the prices of the agent's model, $0.01 for each search and $0.08 for each hour. It is not used if the total has fewer tokens than the responses before it in its log |
//! | grader | `span.outcome_evaluation_end` has a `usage` that lacks the last request of the grader, and was 0 until 2026-08-11: only the total counts |
//! | call | `agent.tool_use`, `agent.mcp_tool_use`, `agent.custom_tool_use`, with the results of `agent.tool_result`, `agent.mcp_tool_result`, `user.tool_result` and `user.custom_tool_result`: `is_error`. `denied`: `evaluated_permission` is `deny`, or a `user.tool_confirmation` |
//! | file change | the path of `edit` and `write`; of an edit the lines of its arguments. Whether a written file is new is unknown |
//! | user turns | `user.message` and `user.define_outcome`, each id once |
//! | subagent | `session.thread_created`, `agent.thread_message_*`: `session_thread_id` is its id. The session's events contain the requests of the first thread only. The events of another thread belong to a subagent if a message came from an agent without a name, the first one |
//! | events | `session.error` (error; a retry if its `retry_status` is `retrying`), a failed request without such an error (error), `session.status_rescheduled` without such an error (retry), `agent.thread_context_compacted`, `user.interrupt` of a running session (abort), refusals, subagents, `workflow_run.error` |
//! | status | the last `session.status_idle`: `end_turn` is `success`, `requires_action` `incomplete`, `retries_exhausted` and `budget_reached` are `error`; `aborted` if the user interrupted it before; `session.status_terminated` of a session at work is `error`. Without any status it is unknown |
//!
//! *Exact*, also with a total. *Lower bound*: without a total after them, a session with an evaluation, with subagents or workflows, or with
//! a request whose end is not logged. *Conflict*: in 7 of 33 sessions with a grader, all before 2026-08-12, the total contained fewer
//! cached tokens than the requests. *Unknown*: exit codes of commands, and what the grader is billed without a total. Other servers of
//! the same protocol are read as well. Not read: the text of the stream itself (`data: …`). Events in descending order are read
//! correctly only if they are in one list of a document.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use self::containers::{Item, items_of};
use self::records::Record;
use self::session::Session;
use crate::adapters::engine::sessions::{Sessions, streaming_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::ids::hashed_id;
use crate::json::lines::Line;
use crate::model::session::Capabilities;

mod claims;
mod containers;
mod progress;
mod records;
mod requests;
mod session;
mod threads;
mod totals;
mod usage;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "claude-managed-events",
    runtime: "claude-managed",
    about: "Claude Managed Agents, events of a session from the stream or the list",
    tested: None,
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::RETRIES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::WEB_SEARCHES)
        .and(Capabilities::USER_TURNS),
    places: &[],
    claims: claims::claims,
    parse: fold::<Events>,
};

/// How the ids of sessions begin.
const SESSION_ID: &str = "sesn_";

struct Events {
    context: Context,
    sessions: Sessions<Session>,
    /// The key of the session of the last event, as events name none.
    current: Option<String>,
    /// The key of each session that its events did not name at first.
    keys: HashMap<String, String>,
    /// The keys of the sessions that have a name.
    named: HashSet<String>,
    /// The id in the path.
    id_of_path: Option<String>,
}

impl Fold for Events {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        let names = context.file_name.iter().chain(&context.directories);
        let id_of_path = names.flat_map(|name| name.split(['.', ' '])).find(|word| word.starts_with(SESSION_ID));
        Self {
            context: context.clone(),
            sessions: Sessions::new(),
            current: None,
            keys: HashMap::new(),
            named: HashSet::new(),
            id_of_path: id_of_path.map(str::to_owned),
        }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let items = items_of(record, line, damage);
        let kind = if items.is_empty() { RecordKind::Unknown } else { RecordKind::Known };
        for item in items {
            self.add(&item, damage);
        }
        kind
    }

    streaming_sessions!(Session::finish);
}

impl Events {
    fn add(&mut self, item: &Item<'_>, damage: &mut RecordErrors) {
        let stated = item.session_id();
        let key = self.key_of(item, stated.as_deref());
        let context = &self.context;
        let Some(session) = self.sessions.get(&key, item.line.number, || Session::new(context, &key, item.line.number))
        else {
            return;
        };
        if let Some(id) = stated {
            session.name(id);
        }
        session.add(item, damage);
    }

    /// The key of the session of an event. A session that was not named before gets the first name that is stated in its log.
    fn key_of(&mut self, item: &Item<'_>, stated: Option<&str>) -> String {
        let key = match (stated, self.current.take()) {
            (Some(id), current) => match (self.keys.get(id), current) {
                (Some(key), _) => key.clone(),
                (None, Some(current)) if !self.named.contains(&current) => current,
                (None, _) => id.to_owned(),
            },
            (None, Some(current)) => current,
            (None, None) => self.id_of_path.clone().unwrap_or_else(|| item.hashed_id()),
        };
        if let Some(id) = stated.or(Some(key.as_str()).filter(|key| key.starts_with(SESSION_ID))) {
            self.keys.entry(id.to_owned()).or_insert_with(|| key.clone());
            self.named.insert(key.clone());
        }
        self.current = Some(key.clone());
        key
    }
}

impl Item<'_> {
    /// The id of a session whose log begins with the event: equal in all containers of the event.
    fn hashed_id(&self) -> String {
        self.event.id.some().map_or_else(|| hashed_id(self.line.bytes), |id| hashed_id(id.as_bytes()))
    }
}
