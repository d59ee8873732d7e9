//! Sessions as trajectories of ATIF, the Agent Trajectory Interchange Format of Harbor (version 1.7).
//!
//! A row of the ledger becomes a step with metrics, its calls stand in it; subagents are embedded trajectories. What the
//! ledger only knows in sum stands in `final_metrics`, which holds the whole session. `prompt_tokens` is the whole prompt,
//! as the schema has it; what of it was written to a cache stands under the name that Harbor's converter of Claude Code
//! uses. A cost that no log reported is marked as an estimate. Texts are there only where the archive kept them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::rc::Rc;

use polars::prelude::*;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use twox_hash::XxHash3_64;

use crate::analysis::reports::Frames;
use crate::base::time::Time;

const VERSION: &str = "ATIF-v1.7";
/// Tells a reader whose conventions `metrics` follows, whatever the agent's name.
const EXPORTED_BY: &str = concat!("agentlogs ", env!("CARGO_PKG_VERSION"));

/// One session, and the name of its file.
pub struct Trajectory<'a> {
    /// Its file's name, like no other session's.
    pub file_name: String,
    document: Document<'a>,
}

impl Trajectory<'_> {
    /// Writes the document, pretty-printed. Steps are made one by one as they are written.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut out, &self.document)?;
        out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trajectory_id: Option<String>,
    agent: Agent,
    steps: Steps<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_metrics: Option<FinalMetrics>,
    extra: Extra,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagent_trajectories: Vec<Document<'a>>,
}

/// What the schema leaves open; no key of an unknown value.
type Extra = BTreeMap<&'static str, Value>;

#[derive(Debug, Serialize)]
struct Agent {
    name: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: Extra,
}

#[derive(Debug, Default, Serialize)]
struct Step {
    step_id: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observation: Option<Observation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Metrics>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: Extra,
}

#[derive(Debug, Serialize)]
struct Call {
    tool_call_id: String,
    function_name: String,
    arguments: Value,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: Extra,
}

#[derive(Debug, Serialize)]
struct Observation {
    results: Vec<Outcome>,
}

#[derive(Debug, Serialize)]
struct Outcome {
    source_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagent_trajectory_ref: Vec<Reference>,
    extra: Extra,
}

#[derive(Debug, Serialize)]
struct Reference {
    trajectory_id: String,
}

#[derive(Debug, Default, Serialize)]
struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: Extra,
}

#[derive(Debug, Default, Serialize)]
struct FinalMetrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    total_prompt_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_completion_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_cached_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_cost_usd: Option<f64>,
    total_steps: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: Extra,
}

/// What is known of `pairs`.
fn extra<const N: usize>(pairs: [(&'static str, Value); N]) -> Extra {
    let is_empty = |it: &Value| it.is_null() || it.as_array().is_some_and(Vec::is_empty);
    pairs.into_iter().filter(|it| !is_empty(&it.1)).collect()
}

/// The columns of a table that rows are read from.
struct Rows(DataFrame);

impl Rows {
    fn of(tables: &Frames, name: &str) -> PolarsResult<Self> {
        let found = tables.iter().find(|it| it.0 == name);
        let frame = found.map(|it| it.1.clone()).unwrap_or_default().collect()?;
        Ok(Self(frame))
    }

    fn text(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Option<String> + use<>> {
        let values = self.0.column(column)?.str()?.clone();
        Ok(move |row| values.get(row).map(str::to_owned))
    }

    fn number(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Option<i64> + use<>> {
        let values = self.0.column(column)?.i64()?.clone();
        Ok(move |row| values.get(row))
    }

    fn money(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Option<f64> + use<>> {
        let values = self.0.column(column)?.f64()?.clone();
        Ok(move |row| values.get(row))
    }

    fn flag(&self, column: &str) -> PolarsResult<impl Fn(usize) -> bool + use<>> {
        let values = self.0.column(column)?.bool()?.clone();
        Ok(move |row| values.get(row).unwrap_or_default())
    }

    fn time(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Option<Time> + use<>> {
        let values = self.0.column(column)?.cast(&DataType::Int64)?.i64()?.clone();
        Ok(move |row| values.get(row).map(Time::from_micros))
    }

    fn list(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Vec<String> + use<>> {
        let values = self.0.column(column)?.list()?.clone();
        Ok(move |row| {
            let list = values.get_as_series(row);
            let texts = list.as_ref().and_then(|it| it.str().ok());
            texts.map_or_else(Vec::new, |it| it.iter().flatten().map(str::to_owned).collect())
        })
    }

    /// Rows by the session that they belong to.
    fn by_session(&self) -> PolarsResult<HashMap<(String, String), Vec<usize>>> {
        let (runtime, session) = (self.text("runtime")?, self.text("session_id")?);
        let mut rows: HashMap<_, Vec<usize>> = HashMap::new();
        for row in 0..self.0.height() {
            rows.entry((runtime(row).unwrap_or_default(), session(row).unwrap_or_default())).or_default().push(row);
        }
        Ok(rows)
    }
}

/// Tokens of a row or of a sum, with what they cost.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    input: Option<i64>,
    output: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
    cache_write_1h: Option<i64>,
    reasoning: Option<i64>,
    cost: Option<f64>,
    is_estimate: bool,
}

impl Spent {
    fn plus(self, other: Self) -> Self {
        let add = crate::model::session::add;
        Self {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            cache_read: add(self.cache_read, other.cache_read),
            cache_write: add(self.cache_write, other.cache_write),
            cache_write_1h: add(self.cache_write_1h, other.cache_write_1h),
            reasoning: add(self.reasoning, other.reasoning),
            cost: crate::model::session::add_money(self.cost, other.cost),
            is_estimate: self.is_estimate || other.is_estimate,
        }
    }

    /// The whole prompt, if what was not cached of it is known.
    fn prompt(self) -> Option<i64> {
        Some(self.input?.saturating_add(self.cache_read.unwrap_or(0)).saturating_add(self.cache_write.unwrap_or(0)))
    }

    /// Who says so, where no log does. Readers of the format know estimates by the end of the word.
    fn cost_source(self) -> Value {
        self.cost.filter(|_| self.is_estimate).map_or(Value::Null, |_| "agentlogs_estimate".into())
    }

    fn metrics(self, more: Extra) -> Option<Metrics> {
        let known = [self.input, self.output, self.cache_read, self.cache_write];
        if known.iter().all(Option::is_none) && self.cost.is_none() {
            return None;
        }
        let mut extra = extra([
            ("cache_creation_input_tokens", json!(self.cache_write)),
            ("cache_creation", self.cache_write_1h.map_or(Value::Null, |it| json!({"ephemeral_1h_input_tokens": it}))),
            ("reasoning_tokens", json!(self.reasoning)),
            ("cost_source", self.cost_source()),
        ]);
        extra.extend(more);
        Some(Metrics {
            prompt_tokens: self.prompt(),
            completion_tokens: self.output,
            cached_tokens: self.cache_read,
            cost_usd: self.cost,
            extra,
        })
    }

    fn total(self, total_steps: usize) -> Option<FinalMetrics> {
        let metrics = self.metrics(Extra::new())?;
        Some(FinalMetrics {
            total_prompt_tokens: metrics.prompt_tokens,
            total_completion_tokens: metrics.completion_tokens,
            total_cached_tokens: metrics.cached_tokens,
            total_cost_usd: metrics.cost_usd,
            total_steps,
            extra: extra([
                ("total_cache_creation_input_tokens", json!(self.cache_write)),
                ("total_reasoning_tokens", json!(self.reasoning)),
                ("cost_source", self.cost_source()),
            ]),
        })
    }
}

/// A row of the ledger.
struct Turn {
    row: usize,
    number: Option<i64>,
    line: i64,
    agent: Option<String>,
    agent_id: Option<String>,
    is_subagent: bool,
    spent: Spent,
    time: Option<Time>,
}

/// A call, and where it belongs.
struct Called {
    row: usize,
    turn: Option<i64>,
    line: i64,
    agent: Option<String>,
    is_subagent: bool,
    time: Option<Time>,
}

/// An event that becomes a step of the system.
struct Happened {
    row: usize,
    line: i64,
    time: Option<Time>,
}

/// What a step is made of.
enum Content {
    /// What the user asked first.
    Prompt(String),
    /// A row of the ledger, and those of its calls.
    Turn(usize, Vec<usize>),
    /// A call that belongs to no turn.
    Call(usize),
    Event(usize),
    /// The last answer of a session that has no step of its agent.
    Answer(String),
    /// The only step of a session without any.
    Nothing,
}

impl Content {
    /// Whether the step is the agent's.
    fn is_of_agent(&self) -> bool {
        matches!(self, Self::Turn(..) | Self::Call(_) | Self::Answer(_))
    }
}

/// The steps of a document. A session may have a million: each is made when it is written.
struct Steps<'a> {
    tables: &'a Trajectories,
    steps: Vec<(Option<Time>, Content)>,
    /// The last answer, and the step that gave it.
    answer: Option<(usize, String)>,
    /// The agents that are embedded in the document.
    agents: Rc<BTreeSet<String>>,
    /// The agent that a call started.
    started: Rc<HashMap<String, String>>,
}

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.steps.len()).filter_map(|index| self.step(index)))
    }
}

impl Steps<'_> {
    fn step(&self, index: usize) -> Option<Step> {
        let (time, content) = self.steps.get(index)?;
        let mut step = match content {
            Content::Prompt(text) => Step { source: "user", message: text.clone(), ..Step::default() },
            Content::Turn(row, calls) => {
                let mut step = (self.tables.turns.step)(*row);
                fill(&mut step, calls.iter().map(|row| self.call(*row)));
                step
            }
            Content::Call(row) => {
                let mut step = Step { source: "agent", ..Step::default() };
                fill(&mut step, [self.call(*row)]);
                step
            }
            Content::Event(row) => (self.tables.events.step)(*row),
            Content::Answer(text) => Step { source: "agent", message: text.clone(), ..Step::default() },
            Content::Nothing => Step { source: "system", ..Step::default() },
        };
        if let Some((_, text)) = self.answer.as_ref().filter(|(place, _)| *place == index) {
            step.message.clone_from(text);
        }
        step.step_id = index + 1;
        step.timestamp = time.map(|time| time.to_string());
        Some(step)
    }

    fn call(&self, row: usize) -> (Call, Option<Outcome>) {
        let (call, mut outcome) = (self.tables.calls.call)(row);
        // A reference leads to what is embedded here; a child with a session of its own has its own file.
        let agent = self.started.get(&call.tool_call_id).filter(|agent| self.agents.contains(*agent));
        if let (Some(outcome), Some(agent)) = (&mut outcome, agent) {
            outcome.subagent_trajectory_ref = vec![Reference { trajectory_id: agent.clone() }];
        }
        (call, outcome)
    }
}

/// What is embedded is known by its agent's id, or else by its name.
fn trajectory_id(agent_id: Option<&String>, agent: Option<&String>) -> String {
    agent_id.or(agent).map_or("subagent", |it| it).to_owned()
}

/// The tables that sessions are written from as trajectories.
pub struct Trajectories {
    sessions: Rows,
    session: Box<dyn Fn(usize) -> Session>,
    turns: Turns,
    calls: Calls,
    events: Events,
}

impl Trajectories {
    /// Those of all sessions of these tables.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn of(tables: &Frames) -> PolarsResult<Self> {
        let sessions = Rows::of(tables, "sessions")?;
        Ok(Self {
            session: session(&sessions)?,
            sessions,
            turns: Turns::of(&Rows::of(tables, "turns")?)?,
            calls: Calls::of(&Rows::of(tables, "tool_calls")?)?,
            events: Events::of(&Rows::of(tables, "events")?)?,
        })
    }

    /// Each session, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = Trajectory<'_>> {
        let mut names = BTreeSet::new();
        (0..self.sessions.0.height()).map(move |row| {
            let session = (self.session)(row);
            let key = (session.agent.name.clone(), session.id.clone());
            Trajectory { file_name: file_name(&key, &mut names), document: session.document(self, &key) }
        })
    }
}

/// What a row of the table of sessions becomes.
fn session(rows: &Rows) -> PolarsResult<Box<dyn Fn(usize) -> Session>> {
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
        has_prompt: user_turns(row).is_some_and(|it| it > 0),
        started_at: started_at(row),
    }))
}

/// A name that every file system takes: of what it cannot hold, or holds already, a hash.
fn file_name((runtime, id): &(String, String), taken: &mut BTreeSet<String>) -> String {
    let plain = format!("{runtime}-{id}");
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '~');
    let mut name: String = plain.chars().map(|it| if is_plain(it) { it } else { '_' }).take(120).collect();
    // Some file systems do not tell large letters from small ones.
    if name != plain || !taken.insert(name.to_lowercase()) {
        name = format!("{name}-{:016x}", XxHash3_64::oneshot(format!("{runtime}\0{id}").as_bytes()));
        taken.insert(name.to_lowercase());
    }
    format!("{name}.json")
}

type Key = (String, String);

/// The ledger.
struct Turns {
    rows: HashMap<Key, Vec<usize>>,
    turn: Box<dyn Fn(usize) -> Turn>,
    step: Box<dyn Fn(usize) -> Step>,
}

impl Turns {
    fn of(rows: &Rows) -> PolarsResult<Self> {
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

/// The tokens and the cost of a row of the ledger.
fn spent(rows: &Rows) -> PolarsResult<impl Fn(usize) -> Spent + use<>> {
    let (input, output) = (rows.number("input_tokens")?, rows.number("output_tokens")?);
    let (cache_read, cache_write) = (rows.number("cache_read_tokens")?, rows.number("cache_write_tokens")?);
    let (cache_write_1h, reasoning) = (rows.number("cache_write_1h_tokens")?, rows.number("reasoning_tokens")?);
    let (cost, cost_source) = (rows.money("cost_usd")?, rows.text("cost_source")?);
    Ok(move |row| Spent {
        input: input(row),
        output: output(row),
        cache_read: cache_read(row),
        cache_write: cache_write(row),
        cache_write_1h: cache_write_1h(row),
        reasoning: reasoning(row),
        cost: cost(row),
        is_estimate: cost(row).is_some() && cost_source(row).is_none_or(|it| it != "reported"),
    })
}

/// A call, and the agent that it started.
type Start = (String, String);

/// The table of events.
struct Events {
    rows: HashMap<Key, Vec<usize>>,
    happened: Box<dyn Fn(usize) -> Happened>,
    step: Box<dyn Fn(usize) -> Step>,
    /// Whether the event is the start of an agent.
    is_start: Box<dyn Fn(usize) -> bool>,
    /// The call that started an agent, and that agent, where they are known.
    start: Box<dyn Fn(usize) -> Option<Start>>,
}

impl Events {
    fn of(rows: &Rows) -> PolarsResult<Self> {
        let (line, time) = (rows.number("line")?, rows.time("occurred_at")?);
        let happened = move |row| Happened { row, line: line(row).unwrap_or_default(), time: time(row) };
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
        let rows = rows.by_session()?;
        Ok(Self {
            rows,
            happened: Box::new(happened),
            step: Box::new(step),
            is_start: Box::new(is_start),
            start: Box::new(start),
        })
    }
}

/// The table of calls.
struct Calls {
    rows: HashMap<Key, Vec<usize>>,
    called: Box<dyn Fn(usize) -> Called>,
    call: Box<dyn Fn(usize) -> (Call, Option<Outcome>)>,
}

impl Calls {
    fn of(rows: &Rows) -> PolarsResult<Self> {
        let (turn, line, time) = (rows.number("turn")?, rows.number("line")?, rows.time("occurred_at")?);
        let (agent, is_subagent) = (rows.text("agent")?, rows.flag("is_subagent")?);
        let called = move |row| Called {
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
                |it| match serde_json::from_str(&it) {
                    Ok(Value::Object(arguments)) => Value::Object(arguments),
                    // The schema wants an object: a patch or a command line is its one value.
                    _ => json!({ "input": it }),
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
        Ok(Self { rows: rows.by_session()?, called: Box::new(called), call: Box::new(call) })
    }
}

/// What a session's document is made of, besides its rows.
struct Session {
    id: String,
    agent: Agent,
    extra: Extra,
    prompt: Option<String>,
    text: Option<String>,
    has_prompt: bool,
    started_at: Option<Time>,
}

/// A step, and what it is sorted by.
struct Placed {
    time: Option<Time>,
    line: i64,
    content: Content,
}

/// The rows of one agent.
#[derive(Default)]
struct Part {
    agent: Option<String>,
    model: Option<String>,
    steps: Vec<Placed>,
    spent: Spent,
}

impl Session {
    fn document<'a>(self, tables: &'a Trajectories, key: &Key) -> Document<'a> {
        let rows = |of: &'a HashMap<Key, Vec<usize>>| of.get(key).into_iter().flatten().copied();
        let mut turns: Vec<Turn> = rows(&tables.turns.rows).map(&tables.turns.turn).collect();
        turns.sort_by_key(|it| (it.number.is_none(), it.number, it.line));
        let mut main = Part::default();
        let mut inner: BTreeMap<String, Part> = BTreeMap::new();
        let mut whole = Spent::default();
        // Calls of a turn stand in its step; others in a step of their own.
        let mut of_turn: HashMap<i64, Vec<usize>> = HashMap::new();
        let mut alone = Vec::new();
        let numbers: BTreeSet<i64> = turns.iter().filter_map(|it| it.number).collect();
        for call in rows(&tables.calls.rows).map(&tables.calls.called) {
            match call.turn.filter(|it| numbers.contains(it)) {
                Some(turn) => of_turn.entry(turn).or_default().push(call.row),
                None => alone.push(call),
            }
        }
        for turn in turns {
            whole = whole.plus(turn.spent);
            let part = if turn.is_subagent {
                inner.entry(trajectory_id(turn.agent_id.as_ref(), turn.agent.as_ref())).or_default()
            } else {
                &mut main
            };
            part.spent = part.spent.plus(turn.spent);
            // What is only known in sum is no step.
            let Some(number) = turn.number else { continue };
            part.agent = part.agent.take().or(turn.agent);
            part.model = part.model.take().or_else(|| (tables.turns.step)(turn.row).model_name);
            let content = Content::Turn(turn.row, of_turn.remove(&number).unwrap_or_default());
            part.steps.push(Placed { time: turn.time, line: turn.line, content });
        }
        for call in alone {
            let part = match &call.agent {
                agent if call.is_subagent => {
                    let known = inner.iter().find(|(_, it)| it.agent == *agent).map(|it| it.0.clone());
                    let part = inner.entry(known.unwrap_or_else(|| trajectory_id(None, agent.as_ref()))).or_default();
                    part.agent = part.agent.take().or_else(|| agent.clone());
                    part
                }
                _ => &mut main,
            };
            part.steps.push(Placed { time: call.time, line: call.line, content: Content::Call(call.row) });
        }
        let mut started = HashMap::new();
        for row in rows(&tables.events.rows) {
            if (tables.events.is_start)(row) {
                started.extend((tables.events.start)(row));
                continue;
            }
            let Happened { row, line, time } = (tables.events.happened)(row);
            main.steps.push(Placed { time, line, content: Content::Event(row) });
        }
        let agents: Rc<BTreeSet<String>> = Rc::new(inner.keys().cloned().collect());
        let started = Rc::new(started);
        let of_part = |steps: Vec<(Option<Time>, Content)>, answer: Option<(usize, String)>| Steps {
            tables,
            steps,
            answer,
            agents: Rc::clone(&agents),
            started: Rc::clone(&started),
        };
        let version = self.agent.version.clone();
        let embedded = inner.into_iter().map(|(id, part)| {
            let agent = Agent {
                name: part.agent.unwrap_or_else(|| "subagent".to_owned()),
                version: version.clone(),
                model_name: part.model,
                extra: Extra::new(),
            };
            let steps = ordered(part.steps);
            Document {
                schema_version: VERSION,
                session_id: None,
                trajectory_id: Some(id),
                agent,
                final_metrics: part.spent.total(steps.len()),
                steps: of_part(steps, None),
                extra: extra([("exported_by", EXPORTED_BY.into())]),
                subagent_trajectories: Vec::new(),
            }
        });
        let embedded: Vec<Document> = embedded.collect();
        let mut steps = Vec::new();
        if self.has_prompt || self.prompt.is_some() {
            steps.push((self.started_at, Content::Prompt(self.prompt.unwrap_or_default())));
        }
        steps.append(&mut ordered(main.steps));
        let answer = match (self.text, steps.iter().rposition(|(_, content)| content.is_of_agent())) {
            (Some(text), Some(last)) => Some((last, text)),
            (Some(text), None) => {
                steps.push((None, Content::Answer(text)));
                None
            }
            (None, _) => None,
        };
        if steps.is_empty() {
            // The schema wants one at least.
            steps.push((None, Content::Nothing));
        }
        let all = steps.len() + embedded.iter().map(|it| it.steps.steps.len()).sum::<usize>();
        Document {
            schema_version: VERSION,
            session_id: Some(self.id),
            trajectory_id: None,
            agent: self.agent,
            steps: of_part(steps, answer),
            final_metrics: whole.total(all),
            extra: self.extra,
            subagent_trajectories: embedded,
        }
    }
}

/// Puts calls and their results into a step. An id that comes again within it gets a number.
fn fill(step: &mut Step, calls: impl IntoIterator<Item = (Call, Option<Outcome>)>) {
    let mut results = Vec::new();
    let mut times: HashMap<String, usize> = HashMap::new();
    for (mut call, mut outcome) in calls {
        let times = times.entry(call.tool_call_id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            let id = format!("{}#{times}", call.tool_call_id);
            call.extra.insert("call_id", std::mem::replace(&mut call.tool_call_id, id.clone()).into());
            if let Some(outcome) = &mut outcome {
                outcome.source_call_id.clone_from(&id);
            }
        }
        results.extend(outcome);
        step.tool_calls.push(call);
    }
    step.observation = (!results.is_empty()).then_some(Observation { results });
}

/// Steps by time. A step without a time follows the step before it in the log.
fn ordered(placed: Vec<Placed>) -> Vec<(Option<Time>, Content)> {
    let has_times = placed.iter().any(|it| it.time.is_some());
    let mut last = None;
    let mut keyed: Vec<_> = placed
        .into_iter()
        .map(|it| {
            last = it.time.or(last);
            ((last.filter(|_| has_times), it.line), it)
        })
        .collect();
    keyed.sort_by_key(|it| it.0);
    keyed.into_iter().map(|(_, it)| (it.time, it.content)).collect()
}
