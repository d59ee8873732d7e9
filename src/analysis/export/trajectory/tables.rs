//! The rows of the tables, converted to parts of a trajectory when they are needed.

use std::collections::HashMap;
use std::rc::Rc;

use polars::prelude::*;
use serde_json::{Value, json};

use super::atif::{Agent, Call, EXPORTED_BY, Extra, Outcome, Step, extra};
use super::rows::{Key, Rows};
use super::spent::{Spent, spent};
use crate::analysis::reports::Frames;
use crate::base::time::Time;

/// A function of the index of a row.
type OfRow<T> = Box<dyn Fn(usize) -> T>;

/// The tables besides that of sessions.
pub struct Tables {
    pub turns: Turns,
    pub calls: Calls,
    pub events: Events,
}

impl Tables {
    pub fn new(tables: &Frames) -> PolarsResult<Self> {
        Ok(Self {
            turns: Turns::new(&Rows::new(tables, "turns")?)?,
            calls: Calls::new(&Rows::new(tables, "tool_calls")?)?,
            events: Events::new(&Rows::new(tables, "events")?)?,
        })
    }
}

/// A row of `turns`.
pub struct Turn {
    pub row: usize,
    /// The number of the turn; `None` for a total.
    pub number: Option<i64>,
    pub line: i64,
    pub agent: Option<String>,
    pub agent_id: Option<String>,
    pub is_subagent: bool,
    pub spent: Spent,
    pub time: Option<Time>,
}

/// The place of a call in its session.
pub struct CallPlace {
    pub row: usize,
    pub turn: Option<i64>,
    pub line: i64,
    pub agent: Option<String>,
    pub is_subagent: bool,
    pub time: Option<Time>,
}

/// The fields of a session's document that come from its row of `sessions`.
pub struct Session {
    pub id: String,
    pub agent: Agent,
    pub extra: Extra,
    pub prompt: Option<String>,
    pub text: Option<String>,
    pub has_prompt: bool,
    pub started_at: Option<Time>,
}

/// The table `sessions`.
pub struct Sessions {
    height: usize,
    session: OfRow<Session>,
}

impl Sessions {
    pub fn new(tables: &Frames) -> PolarsResult<Self> {
        let rows = Rows::new(tables, "sessions")?;
        Ok(Self { height: rows.0.height(), session: session(&rows)? })
    }

    /// Each session, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = Session> {
        (0..self.height).map(|row| (self.session)(row))
    }
}

fn session(rows: &Rows) -> PolarsResult<OfRow<Session>> {
    let (id, runtime, version) = (rows.text("session_id")?, rows.text("runtime")?, rows.text("runtime_version")?);
    let (format, status, usage) = (rows.text("format")?, rows.text("status")?, rows.text("usage")?);
    let (error_kind, error_message) = (rows.text("error_kind")?, rows.text("error_message")?);
    let (parent, agent, model) = (rows.text("parent_session_id")?, rows.text("agent")?, rows.text("model")?);
    let (cwd, project, branch) = (rows.text("cwd")?, rows.text("project")?, rows.text("git_branch")?);
    let (source_path, labels, user_turns) =
        (rows.text("source_path")?, rows.list("labels")?, rows.number("user_turns")?);
    let (prompt, text, started_at) = (rows.text("prompt")?, rows.text("text")?, rows.time("started_at")?);
    Ok(Box::new(move |row| Session {
        id: id(row).unwrap_or_default(),
        agent: Agent {
            name: runtime(row).unwrap_or_default(),
            version: version(row).unwrap_or_else(|| "unknown".to_owned()),
            model_name: model(row),
            extra: extra([
                ("cwd", json!(cwd(row))),
                ("git_branches", json!(branch(row).as_slice())),
                ("parent_session_id", json!(parent(row))),
                ("agent", json!(agent(row))),
            ]),
        },
        extra: extra([
            ("exported_by", EXPORTED_BY.into()),
            ("format", json!(format(row))),
            ("source_path", json!(source_path(row))),
            ("project", json!(project(row))),
            ("labels", json!(labels(row))),
            ("status", json!(status(row))),
            ("error_kind", json!(error_kind(row))),
            ("error_message", json!(error_message(row))),
            ("usage", json!(usage(row))),
        ]),
        prompt: prompt(row),
        text: text(row),
        has_prompt: user_turns(row).is_some_and(|count| count > 0),
        started_at: started_at(row),
    }))
}

/// The table `turns`.
pub struct Turns {
    rows: HashMap<Key, Vec<usize>>,
    turn: OfRow<Turn>,
    step: OfRow<Step>,
}

impl Turns {
    /// The turns of a session.
    pub fn of_session(&self, key: &Key) -> Vec<Turn> {
        of_session(&self.rows, key).map(&self.turn).collect()
    }

    /// A turn as a step, without its calls.
    pub fn step(&self, row: usize) -> Step {
        (self.step)(row)
    }

    fn new(rows: &Rows) -> PolarsResult<Self> {
        let (number, line, time) = (rows.number("turn")?, rows.number("line")?, rows.time("occurred_at")?);
        let (agent, agent_id, is_subagent) = (rows.text("agent")?, rows.text("agent_id")?, rows.flag("is_subagent")?);
        let spent = Rc::new(spent(rows)?);
        let spent_of_turn = Rc::clone(&spent);
        let turn = move |row| Turn {
            row,
            number: number(row),
            line: line(row).unwrap_or_default(),
            agent: agent(row),
            agent_id: agent_id(row),
            is_subagent: is_subagent(row),
            spent: spent_of_turn(row),
            time: time(row),
        };
        let (model, effort, stop_reason) = (rows.text("model")?, rows.text("effort")?, rows.text("stop_reason")?);
        let (tier, speed, duration) = (rows.text("service_tier")?, rows.text("speed")?, rows.number("duration_ms")?);
        let (provider, message_id) = (rows.text("provider")?, rows.text("message_id")?);
        let step = move |row| {
            let service = extra([("service_tier", json!(tier(row))), ("speed", json!(speed(row)))]);
            Step {
                source: "agent",
                model_name: model(row),
                reasoning_effort: effort(row),
                metrics: spent(row).metrics(service),
                extra: extra([
                    ("duration_ms", json!(duration(row))),
                    ("stop_reason", json!(stop_reason(row))),
                    ("message_id", json!(message_id(row))),
                    ("provider", json!(provider(row))),
                ]),
                ..Step::default()
            }
        };
        Ok(Self { rows: rows.by_session()?, turn: Box::new(turn), step: Box::new(step) })
    }
}

/// The id of a call, and the id of the subagent that it started.
type Start = (String, String);

/// The table `events`.
pub struct Events {
    rows: HashMap<Key, Vec<usize>>,
    place: OfRow<(Option<Time>, i64)>,
    step: OfRow<Step>,
    is_start: OfRow<bool>,
    start: OfRow<Option<Start>>,
}

impl Events {
    /// The rows of a session's events.
    pub fn of_session(&self, key: &Key) -> impl Iterator<Item = usize> {
        of_session(&self.rows, key)
    }

    /// The time and the line of an event.
    pub fn place(&self, row: usize) -> (Option<Time>, i64) {
        (self.place)(row)
    }

    /// An event as a step.
    pub fn step(&self, row: usize) -> Step {
        (self.step)(row)
    }

    /// Whether an event is the start of a subagent.
    pub fn is_start(&self, row: usize) -> bool {
        (self.is_start)(row)
    }

    /// The call that started a subagent, and the subagent, if both are known.
    pub fn start(&self, row: usize) -> Option<Start> {
        (self.start)(row)
    }

    fn new(rows: &Rows) -> PolarsResult<Self> {
        let (line, time) = (rows.number("line")?, rows.time("occurred_at")?);
        let place = move |row| (time(row), line(row).unwrap_or_default());
        let kind = rows.text("kind")?;
        let is_start = move |row| kind(row).as_deref() == Some("subagent");
        let (call_id, code) = (rows.text("call_id")?, rows.text("code")?);
        let start = move |row| call_id(row).zip(code(row));
        let (kind, code, message) = (rows.text("kind")?, rows.text("code")?, rows.text("message")?);
        let (before, after) = (rows.number("tokens_before")?, rows.number("tokens_after")?);
        let step = move |row| {
            let kind = kind(row).unwrap_or_default();
            let what = if kind == "compaction" {
                ("context_management", json!({"type": "compaction", "boundary": "replace"}))
            } else {
                ("event", json!(kind))
            };
            Step {
                source: "system",
                message: message(row).unwrap_or_default(),
                extra: extra([
                    what,
                    ("code", json!(code(row))),
                    ("tokens_before", json!(before(row))),
                    ("tokens_after", json!(after(row))),
                ]),
                ..Step::default()
            }
        };
        Ok(Self {
            rows: rows.by_session()?,
            place: Box::new(place),
            step: Box::new(step),
            is_start: Box::new(is_start),
            start: Box::new(start),
        })
    }
}

/// The table `tool_calls`.
pub struct Calls {
    rows: HashMap<Key, Vec<usize>>,
    place: OfRow<CallPlace>,
    call: OfRow<(Call, Option<Outcome>)>,
}

impl Calls {
    /// The places of a session's calls.
    pub fn of_session(&self, key: &Key) -> impl Iterator<Item = CallPlace> {
        of_session(&self.rows, key).map(&self.place)
    }

    /// A call, and its result if it ended.
    pub fn call(&self, row: usize) -> (Call, Option<Outcome>) {
        (self.call)(row)
    }

    fn new(rows: &Rows) -> PolarsResult<Self> {
        let (turn, line, time) = (rows.number("turn")?, rows.number("line")?, rows.time("occurred_at")?);
        let (agent, is_subagent) = (rows.text("agent")?, rows.flag("is_subagent")?);
        let place = move |row| CallPlace {
            row,
            turn: turn(row),
            line: line(row).unwrap_or_default(),
            agent: agent(row),
            is_subagent: is_subagent(row),
            time: time(row),
        };
        let (id, tool, category) = (rows.text("call_id")?, rows.text("tool")?, rows.text("category")?);
        let (status, exit_code, duration) =
            (rows.text("status")?, rows.number("exit_code")?, rows.number("duration_ms")?);
        let (target, mcp_server) = (rows.text("target")?, rows.text("mcp_server")?);
        let (args, result) = (rows.text("args")?, rows.text("result")?);
        let (args_bytes, result_bytes) = (rows.number("args_bytes")?, rows.number("result_bytes")?);
        let call = move |row| {
            let id = id(row).unwrap_or_default();
            let status = status(row).unwrap_or_default();
            let arguments = args(row).map_or_else(
                || json!({}),
                |text| match serde_json::from_str(&text) {
                    Ok(Value::Object(arguments)) => Value::Object(arguments),
                    // The schema requires an object: other arguments, such as a patch, become its only value.
                    _ => json!({ "input": text }),
                },
            );
            let outcome = (status != "incomplete").then(|| Outcome {
                source_call_id: id.clone(),
                content: result(row),
                subagent_trajectory_ref: Vec::new(),
                extra: extra([
                    ("status", json!(status)),
                    ("is_error", if status == "error" { true.into() } else { Value::Null }),
                    ("exit_code", json!(exit_code(row))),
                    ("duration_ms", json!(duration(row))),
                    ("result_bytes", json!(result_bytes(row))),
                ]),
            });
            let call = Call {
                tool_call_id: id,
                function_name: tool(row).unwrap_or_default(),
                arguments,
                extra: extra([
                    ("category", json!(category(row))),
                    ("target", json!(target(row))),
                    ("mcp_server", json!(mcp_server(row))),
                    ("args_bytes", json!(args_bytes(row))),
                ]),
            };
            (call, outcome)
        };
        Ok(Self { rows: rows.by_session()?, place: Box::new(place), call: Box::new(call) })
    }
}

fn of_session(rows: &HashMap<Key, Vec<usize>>, key: &Key) -> impl Iterator<Item = usize> {
    rows.get(key).into_iter().flatten().copied()
}
