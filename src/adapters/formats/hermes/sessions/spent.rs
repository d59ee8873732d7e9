//! What a session spent: the sums of its row, and since schema 20 a row for each model.
//!
//! The sums are those of the main loop. The rows of `session_model_usage` contain the same tokens by model and provider, as far as
//! Hermes counted each request: totals that its gateway sets are in the sums only. Rows with a `task`, since schema 22, are of
//! other requests, such as compressions and titles, which the sums do not contain. The task `voice_chat` is an exception: its
//! requests are turns of the conversation that another model answered, and the sums contain them.

use super::records::{ModelConfig, Record};
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::builder::money;
use crate::base::text::Symbol;
use crate::json::fields::Count;
use crate::model::session::{ModelTotal, Tokens, add, add_money};

/// The task whose requests the session's sums contain.
const VOICE: &str = "voice_chat";

/// A cost below this is an error of floating-point sums.
const NO_COST: f64 = 1e-9;

/// What a session spent.
#[derive(Default)]
pub(super) struct Spent {
    /// The sums of the session's row.
    sums: Option<Part>,
    /// The rows that the sums contain: those of the main loop, and of its voice.
    main: Vec<Part>,
    /// The rows of other tasks.
    tasks: Vec<Part>,
}

/// Tokens and cost of requests with one model.
struct Part {
    is_voice: bool,
    requests: Option<i64>,
    total: ModelTotal,
}

impl Part {
    fn new(row: &Record<'_>, damage: &mut RecordErrors) -> Self {
        let counts = [row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens];
        damage.note_impossible(&counts);
        damage.note_impossible(&[row.reasoning_tokens]);
        let [input, output, cache_read, cache_write] = counts.map(Count::get);
        // 0 also beside reasoning that is logged.
        let reasoning = row.reasoning_tokens.get().filter(|count| *count > 0);
        let cost = match row.cost_status.as_str() {
            "actual" => money(row.actual_cost_usd, damage),
            "estimated" => money(row.estimated_cost_usd, damage),
            // Hermes states the cost of other tasks without a status.
            "" if row.task.some().is_some() => money(row.estimated_cost_usd, damage),
            _ => None,
        };
        Self {
            is_voice: row.task.as_str() == VOICE,
            requests: row.api_call_count.get().filter(|count| *count > 0),
            total: ModelTotal {
                model: row.model.owned().filter(|model: &Symbol| model != "null"),
                tokens: Tokens { input, output, cache_read, cache_write, cache_write_1h: None, reasoning },
                cost: cost.filter(|cost| *cost > 0.0),
                provider: row.billing_provider.owned(),
                ..ModelTotal::default()
            },
        }
    }

    fn is_nothing(&self) -> bool {
        self.total.tokens.total().unwrap_or(0) == 0 && self.total.cost.is_none()
    }
}

impl Spent {
    /// Sets the sums of the session's row.
    pub(super) fn set_sums(&mut self, row: &Record<'_>, damage: &mut RecordErrors) {
        let mut sums = Part::new(row, damage);
        sums.total.effort = row.model_config.get().and_then(ModelConfig::effort).map(Into::into);
        self.sums = Some(sums);
    }

    /// Adds a row of `session_model_usage`.
    pub(super) fn add(&mut self, row: &Record<'_>, damage: &mut RecordErrors) {
        let part = Part::new(row, damage);
        if row.task.some().is_some() && !part.is_voice { self.tasks.push(part) } else { self.main.push(part) }
    }

    /// The number of requests, if it is stated.
    pub(super) fn requests(&self) -> Option<i64> {
        let sum = |parts: &[Part]| parts.iter().fold(None, |sum, part| add(sum, part.requests));
        add(sum(&self.main).max(self.sums.as_ref().and_then(|sums| sums.requests)), sum(&self.tasks))
    }

    /// The model with the most requests of the main loop, the last one on a tie. `None` without rows.
    pub(super) fn main_model(&self) -> Option<Symbol> {
        let most = self.main.iter().filter(|part| !part.is_voice).max_by_key(|part| part.requests);
        most.and_then(|part| part.total.model.clone()).filter(|model| model != "unknown")
    }

    /// What was spent for each model and provider, and the cost of all if one is stated.
    pub(super) fn into_models(mut self) -> (Vec<ModelTotal>, Option<f64>) {
        let rest = self.sums.take().map(|sums| self.beyond_rows(sums));
        let effort = rest.as_ref().and_then(|rest| rest.total.effort.clone());
        let mut models = Vec::new();
        for mut part in self.main {
            // The session's own, as it was at its start.
            if !part.is_voice {
                part.total.effort.clone_from(&effort);
            }
            // The runtime had none to write.
            part.total.model = part.total.model.filter(|model| model != "unknown");
            merge(&mut models, part);
        }
        self.tasks.into_iter().for_each(|part| merge(&mut models, part));
        if let Some(rest) = rest {
            merge(&mut models, rest);
        }
        let cost = models.iter().fold(None, |sum, model| add_money(sum, model.cost));
        (models, cost)
    }

    /// What the sums contain beyond the rows of the main loop.
    fn beyond_rows(&self, mut sums: Part) -> Part {
        let known: Tokens = self.main.iter().map(|part| part.total.tokens).sum();
        let paid: f64 = self.main.iter().filter_map(|part| part.total.cost).sum();
        sums.total.tokens = sums.total.tokens.minus(known).zip(Tokens::UNKNOWN, |count, _| count.map(|it| it.max(0)));
        sums.total.cost = sums.total.cost.map(|cost| cost - paid).filter(|cost| *cost > NO_COST);
        sums
    }
}

/// Adds a part to that of its model and provider.
fn merge(models: &mut Vec<ModelTotal>, part: Part) {
    if part.is_nothing() {
        return;
    }
    let ModelTotal { model, provider, tokens, cost, effort, .. } = part.total;
    match models.iter_mut().find(|it| it.model == model && it.provider == provider) {
        Some(known) => {
            known.tokens = known.tokens.plus(tokens);
            known.cost = add_money(known.cost, cost);
            // It is that of all requests, or unknown.
            known.effort = known.effort.take().filter(|known| Some(known) == effort.as_ref());
        }
        None => models.push(ModelTotal { model, tokens, cost, provider, effort, ..ModelTotal::default() }),
    }
}
