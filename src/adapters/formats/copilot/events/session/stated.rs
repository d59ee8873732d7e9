//! What the end of a process of Copilot CLI states, and what of it the process itself spent.

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::copilot::events::records::Data;
use crate::adapters::shared::ai_credits::dollars;
use crate::adapters::shared::usage;
use crate::model::session::{ModelTotal, NEGLIGIBLE_USD, Tokens, Total};

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

    /// Whether it contains the counts of an earlier process. `own` is what the log shows of the process itself: only outputs, which
    /// therefore decide alone.
    pub(super) fn goes_on_from(&self, earlier: &Self, own: Tokens) -> bool {
        let outputs = |stated: &Self| stated.models.iter().filter_map(|model| model.tokens.output).sum::<i64>();
        earlier.has_tokens()
            && outputs(self) >= outputs(earlier).saturating_add(own.output.unwrap_or(0))
            && self.total().contains(own, &earlier.total())
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
            let cost = model.cost.map(|cost| cost - before.cost.filter(|it| *it <= cost).unwrap_or(0.0));
            model.cost = cost.filter(|cost| *cost > NEGLIGIBLE_USD);
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
