//! One trajectory of an ATIF document while its steps are read.

use std::borrow::Cow;

use super::records::{Counting, Document, Outcome, Stated, Step, reported};
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last};
use crate::adapters::shared::changes;
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::adapters::shared::{tools, usage};
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::Text;
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{CallStatus, Cost, EventKind, Identity, Operation, SessionResult, Status, Tokens};

/// Harbor's names of agents, and their runtimes.
const RUNTIMES: &[(&str, &str)] = &[
    ("amp-cli", "amp"),
    ("antigravity-cli", "antigravity"),
    ("claude-code", "claude"),
    ("cline-cli", "cline"),
    ("codex-cli", "codex"),
    ("copilot-cli", "copilot"),
    ("cursor-cli", "cursor"),
    ("gemini-cli", "gemini"),
    ("kimi-cli", "kimi"),
    ("kiro-cli", "kiro"),
    ("openhands-sdk", "openhands"),
    ("qwen-code", "qwen"),
    ("qwen-coder", "qwen"),
];
/// What converters write in place of an id: Harbor's `installed/kimi_cli.py` and others, and `installed/openhands_sdk_runner.py`.
const NO_IDS: &[&str] = &["unknown", "harbor-session"];
/// Calls with which an agent ends its work.
const ENDING_CALLS: &[&str] = &["mark_task_complete", "finish", "submit"];

/// One trajectory while its steps are read.
pub(super) struct Trajectory {
    pub(super) builder: Builder,
    /// Index of the trajectory to whose session it belongs: its own, or that of the trajectory around it.
    pub(super) session: usize,
    /// Whether it is a part of another agent's session.
    is_inner: bool,
    pub(super) trajectory_id: Option<Symbol>,
    /// The name of its agent, if that is not the session's main agent.
    agent: Option<Symbol>,
    model: Option<Symbol>,
    pub(super) counting: Counting,
    /// Sum over its steps.
    pub(super) spent: Tokens,
    pub(super) stated: Option<Stated>,
    /// Whether a subagent of it is a session of its own, in this file or in another.
    pub(super) has_agents_elsewhere: bool,
}

/// The position of a trajectory in its document.
pub(super) struct Place<'a> {
    pub(super) context: &'a Context,
    pub(super) line: Line<'a>,
    /// The trajectories before it.
    pub(super) read: &'a [Trajectory],
    /// Index of the trajectory around it.
    pub(super) parent: Option<usize>,
}

impl Trajectory {
    pub(super) fn read(
        place: &Place<'_>,
        document: &Document<'_>,
        inner: &[Document<'_>],
        damage: &mut RecordErrors,
    ) -> Self {
        let steps: Vec<Raw<'_>> = document.steps.read();
        let agent = &document.agent;
        // `installed/copilot_cli.py` writes the agent's name.
        let id = document.session_id.some().filter(|it| !NO_IDS.contains(it) && *it != agent.name.as_str());
        let outer = place.parent.and_then(|it| place.read.get(it)).map(|it| it.session);
        let outer_session = outer.and_then(|it| place.read.get(it)).map(|it| &it.builder.session);
        let is_inner = outer_session.is_some_and(|outer| id.is_none_or(|it| it == outer.session_id));
        let own_id = match (id, outer_session) {
            (_, Some(outer)) if is_inner => outer.session_id.clone(),
            (Some(id), _) => id.to_owned(),
            (None, _) => id_of(&steps, document.steps),
        };
        let mut builder = Builder::new(place.context, own_id, place.line.number);
        let session = &mut builder.session;
        if id.is_none() && !is_inner && first_with_time(&steps).is_none() {
            session.recording = Some(records_of(&steps));
        }
        session.cwd = agent.extra.cwd.owned().or_else(|| agent.extra.cwds.iter().find_map(Text::owned));
        session.git_branch = agent.extra.git_branches.iter().find_map(Text::owned);
        match outer_session {
            Some(outer) if is_inner => session.runtime.clone_from(&outer.runtime),
            _ => {
                session.runtime = runtime_of(&agent.name, place.context.runtime);
                session.runtime_version = known(&agent.version);
                session.model = known(&agent.model_name);
                let parent = outer_session.map(|it| it.session_id.clone());
                let parent = parent.or_else(|| agent.extra.parent_session_id.owned());
                session.parent_session_id = parent.filter(|it| *it != session.session_id);
            }
        }
        builder.offer_tools(agent.tool_definitions);
        let mut trajectory = Self {
            builder,
            session: outer.filter(|_| is_inner).unwrap_or(place.read.len()),
            is_inner,
            trajectory_id: document.trajectory_id.owned(),
            agent: agent.name.owned().filter(|_| is_inner),
            model: known(&agent.model_name),
            counting: Counting::of(document),
            spent: Tokens::UNKNOWN,
            stated: None,
            has_agents_elsewhere: false,
        };
        let own_id = trajectory.builder.session.session_id.clone();
        for agent in inner {
            trajectory.builder.session.subagents.extend(agent.trajectory_id.owned());
            trajectory.has_agents_elsewhere |= agent.session_id.some().is_some_and(|id| id != own_id);
        }
        let mut line_numbers = LineNumbers::new(place.line);
        for raw in steps {
            if !raw.is_object() {
                damage.note(Reason::NotAnObject);
                continue;
            }
            trajectory.step(&raw.read(), line_numbers.line_of(raw), inner, damage);
        }
        let stated = usage::present(&document.final_metrics, damage);
        // The sum of a document that another one continues is a part of the other's sum.
        let stated = stated.filter(|_| document.continued_trajectory_ref.some().is_none());
        trajectory.stated = stated.map(|stated| stated.read(damage));
        trajectory
    }

    fn step(&mut self, step: &Step<'_>, line: i64, embedded: &[Document<'_>], damage: &mut RecordErrors) {
        // A copied step counts in the trajectory from which it was copied.
        if step.is_copied_context.is_true() {
            return;
        }
        let time = step.timestamp.0;
        self.builder.extend_to(time);
        let at = At { line, time };
        if step.extra.context_management.kind.as_str() == "compaction" {
            self.builder.event(EventKind::Compaction, at);
        }
        let texts: Vec<&str> = match &step.message.text {
            Some(text) => vec![text.as_ref()],
            None => step.message.blocks.iter().filter_map(|it| it.text.some()).collect(),
        };
        let text = texts.join("\n");
        match step.source.as_str() {
            "user" => {
                self.builder.end(Last::Work);
                if !self.is_inner {
                    self.builder.prompt(Some(&text));
                }
            }
            "agent" => {
                let turn = self.turn(step, line, damage);
                if !self.is_inner {
                    self.builder.set_answer(&text);
                }
                self.calls(step, turn, line);
            }
            "system" => self.builder.instructions(&text),
            _ => {}
        }
        for outcome in &step.observation.results.blocks {
            self.references(outcome, at, embedded);
        }
    }

    /// Adds the response of a step, if the step has one.
    fn turn(&mut self, step: &Step<'_>, line: i64, damage: &mut RecordErrors) -> Option<usize> {
        let metrics = usage::present(&step.metrics, damage)?;
        let tokens = metrics.tokens(self.counting, damage);
        let cost = reported(metrics.cost_usd, &metrics.extra.cost_source);
        if tokens.total().is_none() && cost.is_none() || step.llm_call_count.get() == Some(0) {
            return None;
        }
        self.spent = self.spent.plus(tokens);
        let time = step.timestamp.0;
        // Steps have no ids: times and tokens identify them in another document of the session.
        let index = self.builder.turn(Identity::Unique, line);
        let turn = &mut self.builder.session.turns[index];
        turn.agent.clone_from(&self.agent);
        turn.is_subagent = self.is_inner;
        turn.agent_id = self.trajectory_id.clone().filter(|_| self.is_inner);
        turn.model = known(&step.model_name).or_else(|| self.model.clone());
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
        // An observation refers to calls of its own step; the next step may use the same ids again.
        self.builder.forget_calls();
        let mut calls = Vec::with_capacity(step.tool_calls.blocks.len());
        let at = At { line, time };
        for call in &step.tool_calls.blocks {
            let index = self.builder.call(call.tool_call_id.as_str(), call.function_name.as_str(), at);
            let row = &mut self.builder.session.tool_calls[index];
            row.turn = turn;
            row.agent.clone_from(&self.agent);
            row.is_subagent = self.is_inner;
            let arguments = self.builder.arguments(index, call.arguments);
            match (tools::category(call.function_name.as_str()), arguments.patch(), arguments.file()) {
                ("edit", Some(patch), _) => self.builder.patch(index, patch, at),
                // A write does not show whether the file existed.
                (category @ ("edit" | "write"), _, Some(file)) => {
                    let operation = (category == "edit").then_some(Operation::Update);
                    let change = self.builder.change(index, file, operation, None, at);
                    self.builder.sketch(change, changes::sketch_in_arguments(&arguments, call.arguments));
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
            // A result without a call id is the result of all calls of the step.
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
                    "cancelled" => CallStatus::Cancelled,
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
        self.builder.end(if ends { Last::Answer } else { Last::Work });
    }

    /// Adds the subagents to which a result refers.
    fn references(&mut self, outcome: &Outcome<'_>, at: At, embedded: &[Document<'_>]) {
        for reference in &outcome.subagent_trajectory_ref.blocks {
            let own = self.builder.session.session_id.clone();
            let is_embedded = embedded.iter().any(|inner| {
                inner.trajectory_id.some().is_some() && inner.trajectory_id.some() == reference.trajectory_id.some()
            });
            self.has_agents_elsewhere |= !is_embedded;
            let name = reference.name();
            if name.is_empty() {
                continue;
            }
            self.builder.session.subagents.insert(name.into());
            let event = self.builder.event(EventKind::Subagent, at);
            event.code = Some(reference.session(&own).into());
            event.call_id = outcome.source_call_id.owned();
        }
    }

    pub(super) fn finish(self) -> SessionResult {
        let is_inner = self.is_inner;
        let mut session = self.builder.finish();
        if is_inner {
            // Only the main agent's end is the end of the session.
            session.status = Status::Incomplete;
        }
        session
    }
}

/// The id of a session that its converter does not name: a hash of the first step with a time, as agents begin with the same prompt in
/// many sessions. Some converters write no times: then all steps together.
fn id_of(steps: &[Raw<'_>], all: Raw<'_>) -> String {
    hashed_id(first_with_time(steps).map_or(all.0, |it| it.0))
}

fn first_with_time<'s, 'a>(steps: &'s [Raw<'a>]) -> Option<&'s Raw<'a>> {
    steps.iter().find(|step| step.read::<Step<'_>>().timestamp.0.is_some())
}

/// Hashes by which the ledger finds an older copy: one of all steps up to the first response, as the steps before it are the same in
/// many sessions, and one of each step after it.
fn records_of(steps: &[Raw<'_>]) -> Vec<u64> {
    let is_response = |step: &Raw<'_>| step.read::<Step<'_>>().source.as_str() == "agent";
    let first_response = steps.iter().position(is_response).unwrap_or(steps.len());
    let hashes = || steps.iter().map(|step| hash_of_document(step.0));
    let beginning: Vec<u8> = hashes().take(first_response + 1).flat_map(u64::to_le_bytes).collect();
    std::iter::once(hash_of_document(&beginning)).chain(hashes().skip(first_response + 1)).collect()
}

/// A name, unless the converter did not know it.
fn known<T: for<'x> From<&'x str>>(name: &Text<'_>) -> Option<T> {
    name.some().filter(|it| *it != "unknown").map(T::from)
}

/// The runtime of an agent, by its name; `unnamed` if it has none.
pub(crate) fn runtime_of(agent: &Text<'_>, unnamed: &'static str) -> Cow<'static, str> {
    let Some(name) = agent.some() else { return Cow::Borrowed(unnamed) };
    let known = RUNTIMES.iter().find(|(alias, _)| *alias == name);
    known.map_or_else(|| Cow::Owned(name.to_owned()), |(_, runtime)| Cow::Borrowed(*runtime))
}
