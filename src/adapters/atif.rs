//! ATIF, the Agent Trajectory Interchange Format of Harbor: one document, converted from the log of any agent
//! (docs/formats.md#atif).
//!
//! The schema is that of Harbor's own models (1.0 to 1.8). A step with metrics is one response. `prompt_tokens` is the whole
//! prompt, cached or not; cache writes are in `extra`, which the schema leaves open. Copied steps count in the trajectory
//! from which they were copied. `final_metrics` is the sum over all steps; its cost includes subagents, even if their
//! trajectories are in other documents.

use serde::Deserialize;

use self::trajectory::{Place, Trajectory};
use super::opencode::reasoning_is_inside;
use super::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, ModelTotal, SessionResult, Tokens, Total, TotalKind};

mod trajectory;

pub(super) const ADAPTER: Adapter = Adapter {
    id: "atif",
    runtime: "atif",
    about: "ATIF trajectories of any agent, as Harbor writes them",
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::CONVERTED),
    claims: |probe| 8 * u32::from(probe.text("schema_version").starts_with("ATIF-")),
    parse: fold::<Trajectories>,
};

/// Harbor's names of agents, and their runtimes.
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
/// Agents whose converters exclude cache writes from the prompt.
const PROMPT_WITHOUT_CACHE_WRITES: &[&str] = &["opencode", "mimo", "openclaw", "rovodev-cli"];
/// Agents whose converters exclude reasoning from the completion, as the agents' logs do.
const COMPLETION_WITHOUT_REASONING: &[&str] = &["opencode", "mimo"];
/// Calls with which an agent ends its work.
const ENDING_CALLS: &[&str] = &["mark_task_complete", "finish", "submit"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document<'a> {
    /// The id of the run: a subagent may have the id of its parent.
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
    /// The file that continues this one. Its sum includes the sum of this one.
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
    /// Documents of `agentlogs export --as atif` follow the schema for all agents.
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
    /// A string or a number.
    #[serde(borrow)]
    reasoning_effort: Raw<'a>,
    #[serde(borrow)]
    message: TextOrBlocks<'a, Block<'a>>,
    #[serde(borrow)]
    tool_calls: TextOrBlocks<'a, Call<'a>>,
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
    /// The id in the log, if `agentlogs export --as atif` added a number to an id that occurs twice in one step.
    #[serde(borrow)]
    call_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Observation<'a> {
    #[serde(borrow)]
    results: TextOrBlocks<'a, Outcome<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Outcome<'a> {
    #[serde(borrow)]
    source_call_id: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    subagent_trajectory_ref: TextOrBlocks<'a, Reference<'a>>,
    #[serde(borrow)]
    extra: OutcomeExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutcomeExtra<'a> {
    /// The status of the call, in documents of `agentlogs export --as atif`.
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

/// Counts that the schema does not define, under the names that Harbor's converters use.
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
    /// Ends with `estimate` if the cost is an estimate.
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

/// The sum that a document states, with its own meaning of prompt and completion.
#[derive(Debug, Clone, Copy)]
struct Stated {
    prompt: Option<i64>,
    completion: Option<i64>,
    cached: Option<i64>,
    written: Option<i64>,
    cost: Option<f64>,
}

impl Final<'_> {
    fn read(&self, damage: &mut RecordErrors) -> Stated {
        let counts = [self.total_prompt_tokens, self.total_completion_tokens, self.total_cached_tokens];
        damage.refuses(&counts);
        let extra = &self.extra;
        let written =
            [extra.total_cache_creation_input_tokens, extra.total_cache_write_input_tokens, extra.cache_write_tokens];
        let [prompt, completion, cached] = counts.map(Count::get);
        Stated {
            prompt,
            completion,
            cached,
            written: first(&written),
            cost: reported(self.total_cost_usd, &extra.cost_source),
        }
    }
}

/// The cost that the agent reported; `None` if Harbor estimated it.
fn reported(cost: Number, source: &Text<'_>) -> Option<f64> {
    cost.money().filter(|_| !source.as_str().ends_with("estimate"))
}

/// The first count that is known.
fn first(counts: &[Count]) -> Option<i64> {
    counts.iter().find_map(|it| it.get())
}

/// What an agent's converter includes in the prompt and in the completion.
#[derive(Debug, Clone, Copy)]
struct Counting {
    prompt_includes_cache_writes: bool,
    completion_includes_reasoning: bool,
}

impl Counting {
    fn of(document: &Document<'_>) -> Self {
        if document.extra.exported_by.as_str().starts_with("agentlogs") {
            return Self { prompt_includes_cache_writes: true, completion_includes_reasoning: true };
        }
        let (name, version) = (document.agent.name.as_str(), document.agent.version.as_str());
        Self {
            prompt_includes_cache_writes: !PROMPT_WITHOUT_CACHE_WRITES.contains(&name),
            completion_includes_reasoning: !COMPLETION_WITHOUT_REASONING.contains(&name)
                || reasoning_is_inside(version),
        }
    }

    /// The disjoint tokens.
    fn tokens(
        self,
        prompt: Option<i64>,
        completion: Option<i64>,
        cached: Option<i64>,
        written: Option<i64>,
        reasoning: Option<i64>,
    ) -> Tokens {
        let inside = if self.prompt_includes_cache_writes { written.unwrap_or(0) } else { 0 };
        let outside = if self.completion_includes_reasoning { 0 } else { reasoning.unwrap_or(0) };
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
    fn tokens(&self, counting: Counting, damage: &mut RecordErrors) -> Tokens {
        damage.refuses(&[self.prompt_tokens, self.completion_tokens, self.cached_tokens]);
        let extra = &self.extra;
        let written = [extra.cache_creation_input_tokens, extra.cache_write_input_tokens, extra.cache_write_tokens];
        let reasoning = [extra.reasoning_tokens, extra.reasoning_output_tokens, extra.thoughts_tokens];
        let tokens = counting.tokens(
            self.prompt_tokens.get(),
            self.completion_tokens.get(),
            self.cached_tokens.get(),
            first(&written),
            first(&reasoning),
        );
        Tokens { cache_write_1h: extra.cache_creation.ephemeral_1h_input_tokens.get(), ..tokens }
    }
}

impl Reference<'_> {
    /// The id of a subagent in this document.
    fn name(&self) -> &str {
        [&self.trajectory_id, &self.session_id, &self.trajectory_path]
            .into_iter()
            .find_map(Text::some)
            .unwrap_or_default()
    }

    /// The subagent's own session; if it has none, its id in this document.
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
        Self { context: context.clone(), sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, document: Document<'_>, damage: &mut RecordErrors) -> RecordKind {
        if document.steps.0.first() != Some(&b'[') {
            return RecordKind::Unknown;
        }
        let mut read: Vec<Trajectory> = Vec::new();
        // Documents of subagents are nested in those of their parents, to any depth.
        let mut documents = vec![(document, None)];
        while let Some((document, parent)) = documents.pop() {
            let inner: Vec<Document<'_>> = document.subagent_trajectories.read();
            let place = Place { context: &self.context, line, read: &read, parent };
            let trajectory = Trajectory::read(&place, &document, &inner, damage);
            let own = read.len();
            read.push(trajectory);
            documents.extend(inner.into_iter().rev().map(|document| (document, Some(own))));
        }
        // A sum covers steps on all lines of the document.
        let last_line = line.number + i64::try_from(memchr::memchr_iter(b'\n', line.bytes).count()).unwrap_or(0);
        let totals: Vec<_> = (0..read.len()).map(|index| total(&read, index, last_line)).collect();
        for (trajectory, total) in read.iter_mut().zip(totals) {
            trajectory.builder.session.totals.extend(total);
        }
        self.sessions.extend(read.into_iter().map(Trajectory::finish));
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}

/// The sum that a trajectory states, in disjoint tokens, if it covers exactly the trajectory's session: it is not a part of
/// another sum that counts, and it includes no subagents in other documents.
fn total(read: &[Trajectory], index: usize, line: i64) -> Option<Total> {
    let own = read.get(index)?;
    let stated = own.stated?;
    let members = || read.iter().filter(|it| it.session == own.session);
    let spent = members().fold(Tokens::UNKNOWN, |sum, it| sum.plus(it.spent));
    // Counts that the sum does not separate are those of the steps.
    let tokens = own.counting.tokens(
        stated.prompt,
        stated.completion,
        stated.cached.or(spent.cache_read),
        stated.written.or(spent.cache_write),
        spent.reasoning,
    );
    let counts = if spent.total().is_none() {
        // Only the sums are known. The sum of the outermost trajectory includes the others.
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

#[cfg(test)]
mod tests {
    use crate::adapters::common::builder::Retention;
    use crate::adapters::{Hints, Parsed, parse};

    fn read(agent: &str, steps: &str, more: &str) -> Parsed {
        let document =
            format!(r#"{{"schema_version":"ATIF-v1.7","session_id":"s","agent":{{{agent}}},"steps":[{steps}]{more}}}"#);
        let parsed = parse(document.as_bytes(), Hints::default(), Retention::None);
        assert_eq!(parsed.format, Some("atif"));
        parsed
    }

    /// The schema's prompt is the whole prompt; some converters exclude cache writes, or the reasoning.
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

    /// A stated sum counts if it covers exactly its session.
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
            // The sum of the other session is in its own trajectory.
            (step, inner(r#""session_id":"other","#), 2, 1),
        ] {
            let parsed = read(r#""name":"a""#, steps, &more);
            let stated = parsed.sessions.iter().map(|it| it.totals.len()).sum::<usize>();
            assert_eq!((parsed.sessions.len(), stated), (sessions, totals), "{more}");
        }
    }
}
