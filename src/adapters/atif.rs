//! ATIF, the Agent Trajectory Interchange Format of Harbor: one document, converted from the log of whichever agent ran.
//!
//! The schema is that of Harbor's own models (1.0 to 1.8). A step with metrics is one response. `prompt_tokens` is the whole
//! prompt, cached or not; what was written to a cache stands in an `extra` that the schema leaves open. Copied steps were
//! billed where they stood first. The sum over all steps is `final_metrics`, whose cost includes subagents, wherever
//! their trajectories stand.

use std::borrow::Cow;

use serde::Deserialize;

use super::document::Places;
use super::opencode::reasoning_is_inside;
use super::{Adapter, Context, Damage, Fold, Seen, fold, hashed_id};
use crate::adapters::common::builder::Builder;
use crate::adapters::common::tools;
use crate::base::text::Word;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Content, Count, Flag, Maybe, Number, Text, When};
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, Cost, EventKind, Identity, ModelTotal, Operation, SessionResult, Shows, Status, Tokens, Total,
    TotalKind,
};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "atif",
    runtime: "atif",
    about: "ATIF trajectories of any agent, as Harbor writes them",
    shows: Shows::TOOL_CALLS
        .and(Shows::FILE_CHANGES)
        .and(Shows::SUBAGENTS)
        .and(Shows::COMPACTIONS)
        .and(Shows::USER_TURNS)
        .and(Shows::CONVERTED),
    claims: |probe| 8 * u32::from(probe.text("schema_version").starts_with("ATIF-")),
    parse: fold::<Trajectories>,
};

/// Names that Harbor has for agents, and the runtimes that they are.
const RUNTIMES: &[(&str, &str)] = &[
    ("amp-cli", "amp"),
    ("claude-code", "claude"),
    ("cline-cli", "cline"),
    ("codex-cli", "codex"),
    ("copilot-cli", "copilot"),
    ("cursor-cli", "cursor"),
    ("gemini-cli", "gemini"),
    ("kimi-cli", "kimi"),
    ("qwen-code", "qwen"),
    ("qwen-coder", "qwen"),
];
/// Agents whose converters give as prompt what was neither cached nor written to a cache, and what was cached.
const PROMPT_WITHOUT_CACHE_WRITES: &[&str] = &["opencode", "mimo", "openclaw", "rovodev-cli"];
/// Agents whose converters leave reasoning out of the completion, as their logs do.
const COMPLETION_WITHOUT_REASONING: &[&str] = &["opencode", "mimo"];
/// Calls that say that the work is done.
const ENDING_CALLS: &[&str] = &["mark_task_complete", "finish", "submit"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document<'a> {
    /// Of the run: a subagent may have that of its parent.
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    trajectory_id: Text<'a>,
    #[serde(borrow)]
    agent: Agent<'a>,
    #[serde(borrow)]
    steps: Raw<'a>,
    #[serde(borrow)]
    final_metrics: Maybe<Final<'a>>,
    /// The file that goes on where this one ends, and whose sum holds this one's.
    #[serde(borrow)]
    continued_trajectory_ref: Text<'a>,
    #[serde(borrow)]
    subagent_trajectories: Raw<'a>,
    #[serde(borrow)]
    extra: DocumentExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DocumentExtra<'a> {
    /// `agentlogs export --as atif` counts as the schema says, whatever the agent.
    #[serde(borrow)]
    exported_by: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Agent<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    version: Text<'a>,
    #[serde(borrow)]
    model_name: Text<'a>,
    #[serde(borrow)]
    extra: AgentExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AgentExtra<'a> {
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    cwds: Vec<Text<'a>>,
    #[serde(borrow)]
    git_branches: Vec<Text<'a>>,
    #[serde(borrow)]
    parent_session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Step<'a> {
    timestamp: When,
    #[serde(borrow)]
    source: Text<'a>,
    #[serde(borrow)]
    model_name: Text<'a>,
    /// A word or a number.
    #[serde(borrow)]
    reasoning_effort: Raw<'a>,
    #[serde(borrow)]
    message: Content<'a, Block<'a>>,
    #[serde(borrow)]
    tool_calls: Content<'a, Call<'a>>,
    #[serde(borrow)]
    observation: Observation<'a>,
    #[serde(borrow)]
    metrics: Maybe<Metrics<'a>>,
    is_copied_context: Flag,
    llm_call_count: Count,
    #[serde(borrow)]
    extra: StepExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    function_name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    extra: CallExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallExtra<'a> {
    /// The id in the log, where `agentlogs export --as atif` numbered ids that came twice in one step.
    #[serde(borrow)]
    call_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Observation<'a> {
    #[serde(borrow)]
    results: Content<'a, Outcome<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Outcome<'a> {
    #[serde(borrow)]
    source_call_id: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    subagent_trajectory_ref: Content<'a, Reference<'a>>,
    #[serde(borrow)]
    extra: OutcomeExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutcomeExtra<'a> {
    /// The contract's word, as agentlogs exports it.
    #[serde(borrow)]
    status: Text<'a>,
    is_error: Flag,
    tool_result_is_error: Flag,
    exit_code: Number,
    duration_ms: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reference<'a> {
    #[serde(borrow)]
    trajectory_id: Text<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    trajectory_path: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StepExtra<'a> {
    #[serde(borrow)]
    context_management: ContextManagement<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContextManagement<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metrics<'a> {
    prompt_tokens: Count,
    completion_tokens: Count,
    cached_tokens: Count,
    cost_usd: Number,
    #[serde(borrow)]
    extra: Extra<'a>,
}

/// What the schema leaves open, under the names that Harbor's converters use.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extra<'a> {
    cache_creation_input_tokens: Count,
    cache_write_input_tokens: Count,
    cache_write_tokens: Count,
    cache_creation: CacheCreation,
    reasoning_tokens: Count,
    reasoning_output_tokens: Count,
    thoughts_tokens: Count,
    /// Says that the cost is an estimate.
    #[serde(borrow)]
    cost_source: Text<'a>,
    #[serde(borrow)]
    service_tier: Text<'a>,
    #[serde(borrow)]
    speed: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CacheCreation {
    ephemeral_1h_input_tokens: Count,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Final<'a> {
    total_prompt_tokens: Count,
    total_completion_tokens: Count,
    total_cached_tokens: Count,
    total_cost_usd: Number,
    #[serde(borrow)]
    extra: FinalExtra<'a>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct FinalExtra<'a> {
    total_cache_creation_input_tokens: Count,
    total_cache_write_input_tokens: Count,
    cache_write_tokens: Count,
    #[serde(borrow)]
    cost_source: Text<'a>,
}

/// The sum that a document states, as it stands there.
#[derive(Debug, Clone, Copy)]
struct Stated {
    prompt: Option<i64>,
    completion: Option<i64>,
    cached: Option<i64>,
    written: Option<i64>,
    cost: Option<f64>,
}

impl Final<'_> {
    fn read(&self, damage: &mut Damage) -> Stated {
        let counts = [self.total_prompt_tokens, self.total_completion_tokens, self.total_cached_tokens];
        damage.refuses(&counts);
        let it = &self.extra;
        let written = [it.total_cache_creation_input_tokens, it.total_cache_write_input_tokens, it.cache_write_tokens];
        let [prompt, completion, cached] = counts.map(Count::get);
        Stated {
            prompt,
            completion,
            cached,
            written: first(&written),
            cost: reported(self.total_cost_usd, &it.cost_source),
        }
    }
}

/// A cost that Harbor estimated is none that the agent reported.
fn reported(cost: Number, source: &Text<'_>) -> Option<f64> {
    cost.money().filter(|_| !source.as_str().ends_with("estimate"))
}

/// The first count that is known.
fn first(counts: &[Count]) -> Option<i64> {
    counts.iter().find_map(|it| it.get())
}

/// How an agent's converter counts.
#[derive(Debug, Clone, Copy)]
struct Counting {
    prompt_holds_cache_writes: bool,
    completion_holds_reasoning: bool,
}

impl Counting {
    fn of(document: &Document<'_>) -> Self {
        if document.extra.exported_by.as_str().starts_with("agentlogs") {
            return Self { prompt_holds_cache_writes: true, completion_holds_reasoning: true };
        }
        let (name, version) = (document.agent.name.as_str(), document.agent.version.as_str());
        Self {
            prompt_holds_cache_writes: !PROMPT_WITHOUT_CACHE_WRITES.contains(&name),
            completion_holds_reasoning: !COMPLETION_WITHOUT_REASONING.contains(&name) || reasoning_is_inside(version),
        }
    }

    /// Disjoint tokens from a prompt that includes others.
    fn tokens(
        self,
        prompt: Option<i64>,
        completion: Option<i64>,
        cached: Option<i64>,
        written: Option<i64>,
        reasoning: Option<i64>,
    ) -> Tokens {
        let inside = if self.prompt_holds_cache_writes { written.unwrap_or(0) } else { 0 };
        let outside = if self.completion_holds_reasoning { 0 } else { reasoning.unwrap_or(0) };
        Tokens {
            input: prompt.map(|it| (it - cached.unwrap_or(0) - inside).max(0)),
            output: completion.map(|it| it + outside),
            cache_read: cached,
            cache_write: written,
            cache_write_1h: None,
            reasoning,
        }
    }
}

impl Metrics<'_> {
    fn tokens(&self, counting: Counting, damage: &mut Damage) -> Tokens {
        damage.refuses(&[self.prompt_tokens, self.completion_tokens, self.cached_tokens]);
        let it = &self.extra;
        let written = [it.cache_creation_input_tokens, it.cache_write_input_tokens, it.cache_write_tokens];
        let reasoning = [it.reasoning_tokens, it.reasoning_output_tokens, it.thoughts_tokens];
        let tokens = counting.tokens(
            self.prompt_tokens.get(),
            self.completion_tokens.get(),
            self.cached_tokens.get(),
            first(&written),
            first(&reasoning),
        );
        Tokens { cache_write_1h: it.cache_creation.ephemeral_1h_input_tokens.get(), ..tokens }
    }
}

impl Reference<'_> {
    /// The one name of a subagent in its document.
    fn name(&self) -> &str {
        [&self.trajectory_id, &self.session_id, &self.trajectory_path]
            .into_iter()
            .find_map(Text::some)
            .unwrap_or_default()
    }

    /// The session that it is, if it has one of its own.
    fn session(&self, own: &str) -> &str {
        self.session_id.some().filter(|it| *it != own).unwrap_or_else(|| self.name())
    }
}

struct Trajectories {
    context: Context,
    sessions: Vec<SessionResult>,
}

impl Fold for Trajectories {
    type Record<'a> = Document<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, document: Document<'_>, damage: &mut Damage) -> Seen {
        if document.steps.0.first() != Some(&b'[') {
            return Seen::Unknown;
        }
        let mut read: Vec<Trajectory> = Vec::new();
        // Subagents stand inside of their parents, to any depth.
        let mut documents = vec![(document, None)];
        while let Some((document, parent)) = documents.pop() {
            let inner: Vec<Document<'_>> = document.subagent_trajectories.read();
            let place = Place { context: &self.context, line, read: &read, parent };
            let trajectory = Trajectory::read(&place, &document, &inner, damage);
            let own = read.len();
            read.push(trajectory);
            documents.extend(inner.into_iter().rev().map(|it| (it, Some(own))));
        }
        // The sum is that of all steps, on whatever lines of the document they stand.
        let last_line = line.number + i64::try_from(memchr::memchr_iter(b'\n', line.bytes).count()).unwrap_or(0);
        let totals: Vec<_> = (0..read.len()).map(|index| total(&read, index, last_line)).collect();
        for (trajectory, total) in read.iter_mut().zip(totals) {
            trajectory.builder.session.totals.extend(total);
        }
        self.sessions.extend(read.into_iter().map(Trajectory::finish));
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}

/// The runtime that an agent is, by its name; `unnamed` if it has none.
fn runtime_of(agent: &Text<'_>, unnamed: &'static str) -> Cow<'static, str> {
    let Some(name) = agent.some() else { return Cow::Borrowed(unnamed) };
    let known = RUNTIMES.iter().find(|(alias, _)| *alias == name);
    known.map_or_else(|| Cow::Owned(name.to_owned()), |(_, runtime)| Cow::Borrowed(*runtime))
}

/// The sum that a trajectory states, in disjoint tokens, if it is that of its session: neither a part of another one that
/// counts, nor larger by sessions that stand elsewhere.
fn total(read: &[Trajectory], index: usize, line: i64) -> Option<Total> {
    let own = read.get(index)?;
    let stated = own.stated?;
    let members = || read.iter().filter(|it| it.session == own.session);
    let spent = members().fold(Tokens::UNKNOWN, |sum, it| sum.plus(it.spent));
    // What the sum does not tell apart, the steps do.
    let tokens = own.counting.tokens(
        stated.prompt,
        stated.completion,
        stated.cached.or(spent.cache_read),
        stated.written.or(spent.cache_write),
        spent.reasoning,
    );
    let counts = if spent.total().is_none() {
        // Nothing but the sums is known; that of the outermost holds the others.
        own.session == index || read.get(own.session).is_none_or(|it| it.stated.is_none())
    } else {
        own.session == index
            && !members().any(|it| it.has_agents_elsewhere)
            && (members().count() == 1 || tokens.context() >= spent.context())
    };
    let is_known = tokens.input.is_some() || tokens.output.is_some();
    if !counts || !is_known && stated.cost.is_none() {
        return None;
    }
    let tokens = if is_known && !tokens.is_all_zero() { tokens } else { Tokens::UNKNOWN };
    let ended_at = own.builder.session.ended_at;
    let trajectory = own.trajectory_id.as_deref().unwrap_or_default();
    Some(Total {
        line,
        key: format!("{trajectory} {:?} {:?}", tokens.kinds(), stated.cost),
        kind: TotalKind::Process,
        occurred_at: ended_at,
        cost: stated.cost,
        models: vec![ModelTotal { tokens, cost: stated.cost, ..ModelTotal::default() }],
        covers_subagents: true,
        ..Total::default()
    })
}

/// One trajectory while its steps are read.
struct Trajectory {
    builder: Builder,
    /// Index of the trajectory whose session it belongs to: its own, or that of the one around it.
    session: usize,
    /// It is a part of another agent's session.
    is_inner: bool,
    trajectory_id: Option<Word>,
    /// Its agent's name, where another agent is the main one.
    agent: Option<Word>,
    model: Option<Word>,
    counting: Counting,
    /// Sum over its steps.
    spent: Tokens,
    stated: Option<Stated>,
    /// A subagent of it is a session of its own, in this file or in another.
    has_agents_elsewhere: bool,
}

/// Where a trajectory stands.
struct Place<'a> {
    context: &'a Context,
    line: Line<'a>,
    /// The trajectories before it.
    read: &'a [Trajectory],
    /// Index of the one around it.
    parent: Option<usize>,
}

impl Trajectory {
    fn read(place: &Place<'_>, document: &Document<'_>, inner: &[Document<'_>], damage: &mut Damage) -> Self {
        let steps: Vec<Raw<'_>> = document.steps.read();
        let agent = &document.agent;
        // Some converters know no id and write a word.
        let id = document.session_id.some().filter(|it| *it != "unknown" && *it != agent.name.as_str());
        let outer = place.parent.and_then(|it| place.read.get(it)).map(|it| it.session);
        let outer_session = outer.and_then(|it| place.read.get(it)).map(|it| &it.builder.session);
        let is_inner = outer_session.is_some_and(|outer| id.is_none_or(|it| it == outer.session_id));
        let own_id = match (id, outer_session) {
            (_, Some(outer)) if is_inner => outer.session_id.clone(),
            (Some(id), _) => id.to_owned(),
            (None, _) => hashed_id(steps.first().map_or(place.line.bytes, |it| it.0)),
        };
        let mut builder = Builder::new(place.context, own_id, place.line.number);
        let session = &mut builder.session;
        session.cwd = agent.extra.cwd.owned().or_else(|| agent.extra.cwds.iter().find_map(Text::owned));
        session.git_branch = agent.extra.git_branches.iter().find_map(Text::owned);
        match outer_session {
            Some(outer) if is_inner => session.runtime.clone_from(&outer.runtime),
            _ => {
                session.runtime = runtime_of(&agent.name, place.context.runtime);
                session.runtime_version = agent.version.owned().filter(|it| it != "unknown");
                session.model = agent.model_name.owned();
                let parent = outer_session.map(|it| it.session_id.clone());
                let parent = parent.or_else(|| agent.extra.parent_session_id.owned());
                session.parent_session_id = parent.filter(|it| *it != session.session_id);
            }
        }
        let mut it = Self {
            builder,
            session: outer.filter(|_| is_inner).unwrap_or(place.read.len()),
            is_inner,
            trajectory_id: document.trajectory_id.owned(),
            agent: agent.name.owned().filter(|_| is_inner),
            model: agent.model_name.owned(),
            counting: Counting::of(document),
            spent: Tokens::UNKNOWN,
            stated: None,
            has_agents_elsewhere: false,
        };
        let own_id = it.builder.session.session_id.clone();
        for agent in inner {
            it.builder.session.subagents.extend(agent.trajectory_id.owned());
            it.has_agents_elsewhere |= agent.session_id.some().is_some_and(|it| it != own_id);
        }
        let mut places = Places::new(place.line);
        for raw in steps {
            if raw.0.first() != Some(&b'{') {
                damage.note(Reason::NotAnObject);
                continue;
            }
            it.step(&raw.read(), places.line_of(raw), inner, damage);
        }
        match &document.final_metrics {
            Maybe::Absent => {}
            Maybe::Wrong => damage.note(Reason::NoUsage),
            // A file that goes on in another one states a sum that is a part of the other's.
            Maybe::Present(_) if document.continued_trajectory_ref.some().is_some() => {}
            Maybe::Present(stated) => it.stated = Some(stated.read(damage)),
        }
        it
    }

    fn step(&mut self, step: &Step<'_>, line: i64, embedded: &[Document<'_>], damage: &mut Damage) {
        // It was told, and billed, by the trajectory that it is copied from.
        if step.is_copied_context.is_true() {
            return;
        }
        let time = step.timestamp.0;
        self.builder.saw(time);
        if step.extra.context_management.kind.as_str() == "compaction" {
            self.builder.event(EventKind::Compaction, line, time);
        }
        let texts: Vec<&str> = match &step.message.text {
            Some(text) => vec![text.as_ref()],
            None => step.message.blocks.iter().filter_map(|it| it.text.some()).collect(),
        };
        let text = texts.join("\n");
        match step.source.as_str() {
            "user" => {
                self.builder.session.status = Status::Incomplete;
                if !self.is_inner {
                    self.builder.prompt(Some(&text));
                }
            }
            "agent" => {
                let turn = self.turn(step, line, damage);
                if !self.is_inner {
                    self.builder.say(&text);
                }
                self.calls(step, turn, line);
            }
            _ => {}
        }
        for outcome in &step.observation.results.blocks {
            self.references(outcome, line, time, embedded);
        }
    }

    /// The response of a step, if it is one.
    fn turn(&mut self, step: &Step<'_>, line: i64, damage: &mut Damage) -> Option<usize> {
        let metrics = match &step.metrics {
            Maybe::Absent => return None,
            Maybe::Wrong => {
                damage.note(Reason::NoUsage);
                return None;
            }
            Maybe::Present(metrics) => metrics,
        };
        let tokens = metrics.tokens(self.counting, damage);
        let cost = reported(metrics.cost_usd, &metrics.extra.cost_source);
        if tokens.total().is_none() && cost.is_none() || step.llm_call_count.get() == Some(0) {
            return None;
        }
        self.spent = self.spent.plus(tokens);
        let time = step.timestamp.0;
        // Steps have no names of their own: another document of the session is known by times and tokens.
        let index = self.builder.turn(Identity::Unique, line);
        let turn = &mut self.builder.session.turns[index];
        turn.agent.clone_from(&self.agent);
        turn.is_subagent = self.is_inner;
        turn.agent_id = self.trajectory_id.clone().filter(|_| self.is_inner);
        turn.model = step.model_name.owned().or_else(|| self.model.clone());
        turn.effort = Some(step.reasoning_effort).filter(|it| !it.is_empty()).map(|it| it.text().into());
        turn.occurred_at = time;
        turn.service_tier = metrics.extra.service_tier.owned();
        turn.speed = metrics.extra.speed.owned();
        if !tokens.is_all_zero() {
            turn.tokens = tokens.into();
        }
        turn.cost = cost.map(Cost::of);
        Some(index)
    }

    fn calls(&mut self, step: &Step<'_>, turn: Option<usize>, line: i64) {
        let time = step.timestamp.0;
        // An observation names calls of its own step; ids may begin again in the next.
        self.builder.forget_calls();
        let mut calls = Vec::with_capacity(step.tool_calls.blocks.len());
        for call in &step.tool_calls.blocks {
            let index = self.builder.call(call.tool_call_id.as_str(), call.function_name.as_str(), line, time);
            let row = &mut self.builder.session.tool_calls[index];
            row.turn = turn.into();
            row.agent.clone_from(&self.agent);
            row.is_subagent = self.is_inner;
            let arguments = self.builder.arguments(index, call.arguments);
            match (tools::category(call.function_name.as_str()), arguments.patch(), arguments.file()) {
                ("edit", Some(patch), _) => self.builder.patch(index, patch, line, time),
                // A write does not say whether the file was there.
                (category @ ("edit" | "write"), _, Some(file)) => {
                    let operation = (category == "edit").then_some(Operation::Update);
                    self.builder.change(index, file, operation, None, line, time);
                }
                _ => {}
            }
            calls.push(index);
        }
        for outcome in &step.observation.results.blocks {
            let extra = &outcome.extra;
            let exit_code = extra.exit_code.whole();
            let is_error =
                extra.is_error.is_true() || extra.tool_result_is_error.is_true() || exit_code.is_some_and(|it| it != 0);
            let named = outcome.source_call_id.some().and_then(|it| self.builder.call_index(it));
            // What names no call is the one result of all calls of the step.
            let answered = named.map_or_else(|| calls.clone(), |it| vec![it]);
            for call in answered {
                let row = &mut self.builder.session.tool_calls[call];
                if named.is_none() && row.status != CallStatus::Incomplete {
                    continue;
                }
                row.exit_code = exit_code.into();
                row.duration_ms = extra.duration_ms.rounded().into();
                let content = if named.is_some() || calls.len() == 1 { outcome.content } else { Raw::default() };
                let status = match extra.status.as_str() {
                    "ok" => CallStatus::Ok,
                    "denied" => CallStatus::Denied,
                    _ => CallStatus::from_error(is_error),
                };
                self.builder.result(call, content, None, status);
            }
        }
        // Ids may be reused in each step: the time distinguishes the steps of several documents.
        for (call, index) in step.tool_calls.blocks.iter().zip(&calls) {
            let row = &mut self.builder.session.tool_calls[*index];
            row.call_id = call.extra.call_id.some().map_or_else(|| row.call_id.clone(), Into::into);
            row.message_id = time.map(|time| time.micros().to_string().into());
        }
        let rows = &self.builder.session.tool_calls;
        let ends = calls.last().is_none_or(|it| ENDING_CALLS.contains(&rows[*it].tool.as_str()));
        if ends {
            self.builder.succeed();
        } else {
            self.builder.session.status = Status::Incomplete;
        }
    }

    fn references(&mut self, outcome: &Outcome<'_>, line: i64, time: Option<Time>, embedded: &[Document<'_>]) {
        for reference in &outcome.subagent_trajectory_ref.blocks {
            let own = self.builder.session.session_id.clone();
            let is_embedded = embedded.iter().any(|it| {
                it.trajectory_id.some().is_some() && it.trajectory_id.some() == reference.trajectory_id.some()
            });
            self.has_agents_elsewhere |= !is_embedded;
            let name = reference.name();
            if name.is_empty() {
                continue;
            }
            self.builder.session.subagents.insert(name.into());
            let event = self.builder.event(EventKind::Subagent, line, time);
            event.code = Some(reference.session(&own).into());
            event.call_id = outcome.source_call_id.owned();
        }
    }

    fn finish(self) -> SessionResult {
        let is_inner = self.is_inner;
        let mut session = self.builder.finish();
        if is_inner {
            // Only the main agent's end is that of the session.
            session.status = Status::Incomplete;
        }
        session
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::common::builder::Content;
    use crate::adapters::{Hints, Parsed, parse};

    fn read(agent: &str, steps: &str, more: &str) -> Parsed {
        let document =
            format!(r#"{{"schema_version":"ATIF-v1.7","session_id":"s","agent":{{{agent}}},"steps":[{steps}]{more}}}"#);
        let parsed = parse(document.as_bytes(), Hints::default(), Content::None);
        assert_eq!(parsed.format, Some("atif"));
        parsed
    }

    /// The schema's prompt is the whole one; some converters leave out what was written to a cache, or the reasoning.
    #[test]
    fn tokens_are_disjoint() {
        let step = r#"{"step_id":1,"source":"agent","message":"","metrics":{"prompt_tokens":100,"completion_tokens":10,"cached_tokens":60,"extra":{"cache_write_tokens":15,"reasoning_tokens":4}}}"#;
        for (agent, input, output) in [
            (r#""name":"claude-code""#, 25, 10),
            (r#""name":"pi","version":"0.60.0""#, 25, 10),
            (r#""name":"opencode","version":"1.4.0""#, 40, 14),
            (r#""name":"opencode","version":"1.2.16""#, 40, 10),
        ] {
            let tokens = read(agent, step, "").sessions[0].turns[0].tokens;
            assert_eq!(tokens.get().kinds(), [Some(input), Some(output), Some(60), Some(15)], "{agent}");
        }
    }

    /// A stated sum counts where it is the session's own.
    #[test]
    fn sums_of_other_sessions_are_left_out() {
        let step =
            r#"{"step_id":1,"source":"agent","message":"","metrics":{"prompt_tokens":100,"completion_tokens":10}}"#;
        let bare = r#"{"step_id":1,"source":"agent","message":""}"#;
        let sum = r#","final_metrics":{"total_prompt_tokens":300,"total_completion_tokens":30}"#;
        let inner = |id: &str| {
            let agent = r#""agent":{"name":"x"}"#;
            format!(r#"{sum},"subagent_trajectories":[{{{id}"trajectory_id":"t",{agent},"steps":[{step}]{sum}}}]"#)
        };
        for (steps, more, sessions, totals) in [
            (step, sum.to_owned(), 1, 1),
            (step, format!(r#"{sum},"continued_trajectory_ref":"next.json""#), 1, 0),
            (step, inner(""), 2, 1),
            (bare, sum.to_owned(), 1, 1),
            // The other session's sum stands in its own trajectory.
            (step, inner(r#""session_id":"other","#), 2, 1),
        ] {
            let parsed = read(r#""name":"a""#, steps, &more);
            let stated = parsed.sessions.iter().map(|it| it.totals.len()).sum::<usize>();
            assert_eq!((parsed.sessions.len(), stated), (sessions, totals), "{more}");
        }
    }
}
