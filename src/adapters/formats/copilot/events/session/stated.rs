//! The totals that Copilot CLI writes at the end of a process, and the part of them that the process itself spent.

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::copilot::events::records::Data;
use crate::adapters::shared::ai_credits::dollars;
use crate::adapters::shared::usage;
use crate::base::text::Symbol;
use crate::model::session::{AgentTotal, ModelTotal, NEGLIGIBLE_USD, OwnTokens, Tokens, Total};

/// The last version whose processes all begin to count at 0: see `copilot-events`.
const LAST_FROM_ZERO: [u32; 3] = [1, 0, 67];

/// The numbers of a version such as `1.0.80` or `1.0.80-1`.
fn parts(version: &str) -> Option<[u32; 3]> {
    let mut numbers = version.split(['.', '-', '+']).map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// The counts of a `session.shutdown`.
#[derive(Debug, Clone, Default)]
pub(super) struct Stated {
    pub(super) models: Vec<ModelTotal>,
    pub(super) requests: Option<i64>,
    pub(super) api_duration_ms: Option<i64>,
    /// Lines added and removed.
    pub(super) lines: Option<(i64, i64)>,
}

impl Stated {
    pub(super) fn new(data: &Data<'_>, damage: &mut RecordErrors) -> Self {
        let metrics = usage::present(&data.model_metrics, damage).map_or(&[][..], |metrics| metrics.0.as_slice());
        let mut stated = Self {
            models: Vec::new(),
            requests: None,
            api_duration_ms: data.total_api_duration_ms.rounded(),
            lines: data.code_changes.lines_added.get().zip(data.code_changes.lines_removed.get()),
        };
        for (model, metric) in metrics {
            let tokens = usage::present(&metric.usage, damage).map_or(Tokens::UNKNOWN, |usage| usage.tokens(damage));
            let cost = dollars(metric.total_nano_aiu, damage);
            stated.requests =
                metric.requests.count.get().map(|it| it + stated.requests.unwrap_or(0)).or(stated.requests);
            stated.models.push(ModelTotal {
                model: Some(model.as_ref().into()),
                tokens,
                cost,
                agents: agents_of(data, model),
                ..ModelTotal::default()
            });
        }
        stated
    }

    pub(super) fn has_tokens(&self) -> bool {
        self.models.iter().any(|model| model.tokens != Tokens::UNKNOWN)
    }

    fn total(&self) -> Total {
        let models = self.models.iter().filter(|model| model.tokens != Tokens::UNKNOWN);
        let models = models.map(|model| ModelTotal { cost: None, ..model.clone() }).collect();
        Total { models, covers_subagents: true, ..Total::default() }
    }

    /// Whether it contains the counts of an earlier process. `own` are the tokens of the process' own responses: the log has only their
    /// outputs, which therefore decide.
    pub(super) fn goes_on_from(
        &self,
        earlier: &Self,
        own: impl Iterator<Item = Tokens> + Clone,
        version: Option<&str>,
    ) -> bool {
        let is_new = version.and_then(parts).map(|parts| parts > LAST_FROM_ZERO);
        let knows_outputs = own.clone().all(|tokens| tokens.output.is_some());
        if is_new == Some(false) || is_new.is_none() && !knows_outputs {
            return false;
        }
        let own = OwnTokens::of_all(own.sum());
        let outputs = |stated: &Self| stated.models.iter().filter_map(|model| model.tokens.output).sum::<i64>();
        earlier.has_tokens()
            && outputs(self) >= outputs(earlier).saturating_add(own.all.output.unwrap_or(0))
            && self.total().contains(&own, &earlier.total())
    }

    /// What it has more than the earlier one that it contains.
    pub(super) fn since(mut self, earlier: &Self) -> Self {
        let more =
            |own: Option<i64>, before: Option<i64>| own.map(|own| own - before.filter(|it| *it <= own).unwrap_or(0));
        for model in &mut self.models {
            let Some(before) = earlier.models.iter().find(|it| it.model == model.model) else { continue };
            model.tokens = model.tokens.minus(before.tokens);
            if model.tokens.is_all_zero() {
                model.tokens = Tokens::UNKNOWN;
            }
            model.cost = cost_since(model.cost, before.cost);
            for agent in &mut model.agents {
                let Some(before) = before.agents.iter().find(|it| it.id == agent.id) else { continue };
                agent.tokens = agent.tokens.minus(before.tokens);
                agent.cost = cost_since(agent.cost, before.cost);
            }
        }
        self.requests = more(self.requests, earlier.requests);
        self.api_duration_ms = more(self.api_duration_ms, earlier.api_duration_ms);
        self.lines = self.lines.map(|(added, removed)| match earlier.lines {
            Some(before) if before.0 <= added && before.1 <= removed => (added - before.0, removed - before.1),
            _ => (added, removed),
        });
        self
    }
}

/// What a counter of costs has more than it had before.
fn cost_since(own: Option<f64>, before: Option<f64>) -> Option<f64> {
    let cost = own.map(|cost| cost - before.filter(|it| *it <= cost).unwrap_or(0.0));
    cost.filter(|cost| *cost > NEGLIGIBLE_USD)
}

/// The parts of the subagents in the counts of a model. The agent of the conversation has a name of its own.
fn agents_of(data: &Data<'_>, model: &str) -> Vec<AgentTotal> {
    const MAIN: &str = "main";
    // The counts of the model contain the parts, and what is wrong in them is counted there.
    let mut damage = RecordErrors::default();
    let mut agents = Vec::new();
    for (id, agent) in data.agent_metrics.get().into_iter().flat_map(|agents| &agents.0).filter(|(id, _)| id != MAIN) {
        let metrics = agent.model_metrics.get().into_iter().flat_map(|metrics| &metrics.0);
        for (_, metric) in metrics.filter(|(name, _)| name == model) {
            agents.push(AgentTotal {
                id: Symbol::new(id),
                name: agent.agent_name.owned(),
                tokens: metric.usage.get().map_or(Tokens::UNKNOWN, |usage| usage.tokens(&mut damage)),
                cost: dollars(metric.total_nano_aiu, &mut damage),
            });
        }
    }
    agents
}
