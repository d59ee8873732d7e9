//! The document of a trajectory, its steps and its counts.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::opencode::common::reasoning_is_inside;
use crate::adapters::shared::blocks::TextBlock;
use crate::adapters::shared::usage::{Included, uncached};
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};
use crate::model::session::Tokens;

/// Agents whose converters exclude cache writes from the prompt.
const PROMPT_WITHOUT_CACHE_WRITES: &[&str] = &["opencode", "mimo", "openclaw", "rovodev-cli"];
/// Agents whose converters copy the counts of the agent's log, in which the provider decides whether the prompt includes cached tokens:
/// `trae_agent.py`, `cline/trajectory.py` and `junie.py` of Harbor 0.26.0.
const PROMPT_AS_LOGGED: &[&str] = &[TRAE, "cline-cli", "junie"];
/// Its client of Anthropic copies `input_tokens` and `cache_read_input_tokens`; those of other providers state sums
/// (bytedance/trae-agent, `utils/llm_clients`).
const TRAE: &str = "trae-agent";
/// Agents whose converters exclude reasoning from the completion, as the agents' logs do.
const COMPLETION_WITHOUT_REASONING: &[&str] = &["opencode", "mimo"];

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Document<'a> {
    /// The id of the run: a subagent may have the id of its parent.
    pub(super) session_id: Text<'a>,
    pub(super) trajectory_id: Text<'a>,
    pub(super) agent: Agent<'a>,
    pub(super) steps: Raw<'a>,
    pub(super) final_metrics: Maybe<Final<'a>>,
    /// The file that continues this one. Its sum includes the sum of this one.
    pub(super) continued_trajectory_ref: Text<'a>,
    pub(super) subagent_trajectories: Raw<'a>,
    pub(super) extra: DocumentExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct DocumentExtra<'a> {
    /// Documents of `agentlogs export --as atif` follow the schema for all agents.
    pub(super) exported_by: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Agent<'a> {
    pub(super) name: Text<'a>,
    pub(super) version: Text<'a>,
    pub(super) model_name: Text<'a>,
    pub(super) tool_definitions: Raw<'a>,
    pub(super) extra: AgentExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct AgentExtra<'a> {
    pub(super) cwd: Text<'a>,
    pub(super) cwds: Vec<Text<'a>>,
    pub(super) git_branches: Vec<Text<'a>>,
    pub(super) parent_session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Step<'a> {
    pub(super) timestamp: When,
    pub(super) source: Text<'a>,
    pub(super) model_name: Text<'a>,
    /// A string or a number.
    pub(super) reasoning_effort: Raw<'a>,
    pub(super) message: TextOrBlocks<'a, TextBlock<'a>>,
    pub(super) tool_calls: TextOrBlocks<'a, Call<'a>>,
    pub(super) observation: Observation<'a>,
    pub(super) metrics: Maybe<Metrics<'a>>,
    pub(super) is_copied_context: Flag,
    pub(super) llm_call_count: Count,
    pub(super) extra: StepExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Call<'a> {
    pub(super) tool_call_id: Text<'a>,
    pub(super) function_name: Text<'a>,
    pub(super) arguments: Raw<'a>,
    pub(super) extra: CallExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CallExtra<'a> {
    /// The id in the log, if `agentlogs export --as atif` added a number to an id that occurs twice in one step.
    pub(super) call_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Observation<'a> {
    pub(super) results: TextOrBlocks<'a, Outcome<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Outcome<'a> {
    pub(super) source_call_id: Text<'a>,
    pub(super) content: Raw<'a>,
    pub(super) subagent_trajectory_ref: TextOrBlocks<'a, Reference<'a>>,
    pub(super) extra: OutcomeExtra<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct OutcomeExtra<'a> {
    /// The status of the call, in documents of `agentlogs export --as atif`.
    pub(super) status: Text<'a>,
    pub(super) is_error: Flag,
    pub(super) tool_result_is_error: Flag,
    pub(super) exit_code: Number,
    pub(super) duration_ms: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Reference<'a> {
    pub(super) trajectory_id: Text<'a>,
    pub(super) session_id: Text<'a>,
    pub(super) trajectory_path: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct StepExtra<'a> {
    pub(super) context_management: ContextManagement<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ContextManagement<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Metrics<'a> {
    pub(super) prompt_tokens: Count,
    pub(super) completion_tokens: Count,
    pub(super) cached_tokens: Count,
    pub(super) cost_usd: Number,
    pub(super) extra: Extra<'a>,
}

/// Counts that the schema does not define, under the names that Harbor's converters use.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Extra<'a> {
    pub(super) cache_creation_input_tokens: Count,
    pub(super) cache_write_input_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) input_cache_creation: Count,
    pub(super) cache_creation: CacheCreation,
    pub(super) reasoning_tokens: Count,
    pub(super) reasoning_output_tokens: Count,
    pub(super) thoughts_tokens: Count,
    /// Ends with `estimate` if the cost is an estimate.
    pub(super) cost_source: Text<'a>,
    pub(super) service_tier: Text<'a>,
    pub(super) speed: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheCreation {
    pub(super) ephemeral_1h_input_tokens: Count,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Final<'a> {
    pub(super) total_prompt_tokens: Count,
    pub(super) total_completion_tokens: Count,
    pub(super) total_cached_tokens: Count,
    pub(super) total_cost_usd: Number,
    pub(super) extra: FinalExtra<'a>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct FinalExtra<'a> {
    pub(super) total_cache_creation_input_tokens: Count,
    pub(super) total_cache_write_input_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) cost_source: Text<'a>,
}

/// The sum that a document states, with its own meaning of prompt and completion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stated {
    pub(super) prompt: Option<i64>,
    pub(super) completion: Option<i64>,
    pub(super) cached: Option<i64>,
    pub(super) written: Option<i64>,
    pub(super) cost: Option<f64>,
}

impl Final<'_> {
    pub(super) fn read(&self, damage: &mut RecordErrors) -> Stated {
        let counts = [self.total_prompt_tokens, self.total_completion_tokens, self.total_cached_tokens];
        damage.note_impossible(&counts);
        let extra = &self.extra;
        let written =
            [extra.total_cache_creation_input_tokens, extra.total_cache_write_input_tokens, extra.cache_write_tokens];
        damage.note_impossible(&written);
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
pub(super) fn reported(cost: Number, source: &Text<'_>) -> Option<f64> {
    cost.money().filter(|_| !source.as_str().ends_with("estimate"))
}

/// The first count that is known.
pub(super) fn first(counts: &[Count]) -> Option<i64> {
    counts.iter().find_map(|it| it.get())
}

/// What an agent's converter includes in the prompt and in the completion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counting {
    pub(super) prompt_includes_cache_reads: bool,
    pub(super) prompt_includes_cache_writes: bool,
    pub(super) completion_includes_reasoning: bool,
}

impl Counting {
    pub(super) fn of(document: &Document<'_>) -> Self {
        if document.extra.exported_by.as_str().starts_with("agentlogs") {
            return Self {
                prompt_includes_cache_reads: true,
                prompt_includes_cache_writes: true,
                completion_includes_reasoning: true,
            };
        }
        let (name, version) = (document.agent.name.as_str(), document.agent.version.as_str());
        let is_of_anthropic = || name == TRAE && document.agent.model_name.as_str().contains("claude");
        let excludes_cached_tokens =
            PROMPT_AS_LOGGED.contains(&name) && (is_of_anthropic() || document.has_more_cached_tokens_than_prompt());
        Self {
            prompt_includes_cache_reads: !excludes_cached_tokens,
            prompt_includes_cache_writes: !excludes_cached_tokens && !PROMPT_WITHOUT_CACHE_WRITES.contains(&name),
            completion_includes_reasoning: !COMPLETION_WITHOUT_REASONING.contains(&name)
                || reasoning_is_inside(version),
        }
    }

    /// The disjoint tokens.
    pub(super) fn tokens(
        self,
        prompt: Option<i64>,
        completion: Option<i64>,
        cached: Option<i64>,
        written: Option<i64>,
        reasoning: Option<i64>,
    ) -> Tokens {
        let read = cached.filter(|_| self.prompt_includes_cache_reads);
        let inside = written.filter(|_| self.prompt_includes_cache_writes);
        let outside = if self.completion_includes_reasoning { 0 } else { reasoning.unwrap_or(0) };
        Tokens {
            input: uncached(Included::Always, prompt, read, inside),
            output: completion.map(|it| it + outside),
            cache_read: cached,
            cache_write: written,
            cache_write_1h: None,
            reasoning,
        }
    }
}

impl Document<'_> {
    /// Whether a step, or the sum, shows that cached tokens are not part of the prompt.
    fn has_more_cached_tokens_than_prompt(&self) -> bool {
        let is_more = |cached: Count, prompt: Count| cached.get() > prompt.get() && prompt.get().is_some();
        let steps: Vec<Raw<'_>> = self.steps.read();
        let of_step = |raw: Raw<'_>| {
            let step: Step<'_> = raw.read();
            step.metrics.get().is_some_and(|it| is_more(it.cached_tokens, it.prompt_tokens))
        };
        steps.into_iter().any(of_step)
            || self.final_metrics.get().is_some_and(|it| is_more(it.total_cached_tokens, it.total_prompt_tokens))
    }
}

impl Metrics<'_> {
    pub(super) fn tokens(&self, counting: Counting, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&[self.prompt_tokens, self.completion_tokens, self.cached_tokens]);
        let extra = &self.extra;
        let written = [
            extra.cache_creation_input_tokens,
            extra.cache_write_input_tokens,
            extra.cache_write_tokens,
            extra.input_cache_creation,
        ];
        let reasoning = [extra.reasoning_tokens, extra.reasoning_output_tokens, extra.thoughts_tokens];
        let written_1h = extra.cache_creation.ephemeral_1h_input_tokens;
        damage.note_impossible(&[&written[..], &reasoning, &[written_1h]].concat());
        let tokens = counting.tokens(
            self.prompt_tokens.get(),
            self.completion_tokens.get(),
            self.cached_tokens.get(),
            first(&written),
            first(&reasoning),
        );
        Tokens { cache_write_1h: written_1h.get(), ..tokens }
    }
}

impl Reference<'_> {
    /// The id of a subagent in this document.
    pub(super) fn name(&self) -> &str {
        [&self.trajectory_id, &self.session_id, &self.trajectory_path]
            .into_iter()
            .find_map(Text::some)
            .unwrap_or_default()
    }

    /// The subagent's own session; if it has none, its id in this document.
    pub(super) fn session(&self, own: &str) -> &str {
        self.session_id.some().filter(|it| *it != own).unwrap_or_else(|| self.name())
    }
}
