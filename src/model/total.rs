//! Totals that a log states.

use serde::{Deserialize, Serialize};

use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::cost::{NEGLIGIBLE_USD, add_money};
use crate::model::id_hash::IdHash;
use crate::model::tokens::Tokens;

/// How the totals of one session relate to each other (`docs/accounting.md#totals-against-turns`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TotalKind {
    /// Running totals of a process: within a recording the last applies until a count decreases, which begins another
    /// process. Totals of processes add up.
    #[default]
    Process,
    /// Running totals of a thread, over processes: a total with no smaller count contains the other one.
    Thread,
    /// Usage of one run. Runs add up, each key once. They are ignored if the runtime's own file contains the responses.
    Run,
    /// Running totals of a process, or of a session, that the runtime saves in its own file, from time to time. A later process either
    /// goes on from them or begins at 0: the counts show which.
    Saved,
    /// The sum over a log that an earlier version of the runtime kept in another format. It contains no response of other logs, and is
    /// ignored if that log is present.
    Migrated,
}

/// A total that the log states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Total {
    /// The line of its record.
    pub line: i64,
    /// Equal keys are copies of one record.
    pub key: String,
    /// How it relates to the other totals.
    pub kind: TotalKind,
    /// Time of the total.
    pub occurred_at: Option<Time>,
    /// Duration of the process or run that it ends, in milliseconds.
    pub duration_ms: Option<i64>,
    /// The time of that spent waiting for the provider, in milliseconds.
    pub api_duration_ms: Option<i64>,
    /// Number of turns as stated.
    pub turns: Option<i64>,
    /// The reported cost of all models, in US dollars.
    pub cost: Option<f64>,
    /// By model.
    pub models: Vec<ModelTotal>,
    /// Whether it contains the responses of subagents.
    pub covers_subagents: bool,
    /// Whether it begins another process, though no count decreases.
    pub is_of_new_process: bool,
    /// The tokens of the process since its total before, as the log shows them apart from the total.
    pub own: Tokens,
    /// When the process began.
    pub started_at: Option<Time>,
    /// Whether the runtime added up the counts that it got: responses without counts are not in it, and it makes none of them complete.
    pub is_sum_of_counts: bool,
    /// Whether it is the sum of subagents that have sessions of their own: it counts as far as no log of such a session has it.
    pub is_of_subagents: bool,
    /// Whether it may be less than was spent, because the log does not show which of its counts contain others.
    pub is_minimum: bool,
    /// The part of `own` that is known to be of one model.
    pub own_of_model: Tokens,
    /// The name of that model, if responses show it.
    pub own_model: Option<Symbol>,
    /// The place of a run in a trace. Its own log then contains no response of the run.
    pub place: Option<RunPlace>,
}

/// The place of a run among the runs and requests of one trace, which several logs may contain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlace {
    /// The trace.
    pub trace: IdHash,
    /// The name of its own part of the trace.
    pub span: IdHash,
    /// The parts around it, from the inside out.
    pub around: Vec<IdHash>,
    /// Whether its own log lacks the last one of them, which may be inside of further ones.
    pub is_open: bool,
}

/// What a process spent itself, as the log shows it apart from its totals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnTokens {
    /// By all of its models.
    pub all: Tokens,
    /// A part that is known to be of one model.
    pub of_model: Tokens,
    /// The name that the responses of that part have, if the log shows them.
    pub model: Option<Symbol>,
}

impl OwnTokens {
    /// Of several models or of unknown ones.
    pub const fn of_all(all: Tokens) -> Self {
        Self { all, of_model: Tokens::UNKNOWN, model: None }
    }

    /// Of one model.
    pub const fn of_model(tokens: Tokens, model: Option<Symbol>) -> Self {
        Self { all: tokens, of_model: tokens, model }
    }

    /// What was spent in both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.joined(other, Tokens::plus)
    }

    /// Two states of the same.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.joined(other, Tokens::max)
    }

    fn joined(self, other: Self, join: fn(Tokens, Tokens) -> Tokens) -> Self {
        let all = join(self.all, other.all);
        if self.model.is_some() && self.model == other.model {
            return Self { all, of_model: join(self.of_model, other.of_model), model: self.model };
        }
        // Without names, two parts can be of different models.
        let larger = if other.of_model.total() > self.of_model.total() { other } else { self };
        Self { all, ..larger }
    }
}

impl Total {
    /// What the process spent since its total before. Its parts are fields of the total, as earlier archives have only the first of them.
    pub fn own(&self) -> OwnTokens {
        OwnTokens { all: self.own, of_model: self.own_of_model, model: self.own_model.clone() }
    }

    /// The sum over all models.
    pub fn tokens(&self) -> Tokens {
        self.models.iter().map(|model| model.tokens).sum()
    }

    /// Whether it states a cost.
    pub fn has_cost(&self) -> bool {
        self.cost.is_some() || self.models.iter().any(|model| model.cost.is_some())
    }

    /// Whether it has counts of tokens.
    pub fn has_tokens(&self) -> bool {
        self.models.iter().any(|model| model.tokens.total().is_some())
    }

    /// Whether a count or the cost is below that of an earlier total: running totals do not fall, so this one is of another process.
    pub fn is_below(&self, earlier: &Self) -> bool {
        if let (Some(earlier), Some(own)) = (earlier.cost, self.cost)
            && own < earlier - NEGLIGIBLE_USD
        {
            return true;
        }
        earlier.models.iter().any(|old| {
            let (Some(new), Some(old)) = (self.tokens_of(old.model.as_ref()), earlier.tokens_of(old.model.as_ref()))
            else {
                return earlier.covers_subagents;
            };
            let mut counts = new.kinds().into_iter().zip(old.kinds());
            earlier.covers_subagents && counts.any(|(new, old)| new < old)
        })
    }

    /// The tokens of a model with all of its providers.
    pub fn tokens_of(&self, model: Option<&Symbol>) -> Option<Tokens> {
        let parts = self.models.iter().filter(|it| it.model.as_ref() == model).map(|it| it.tokens);
        parts.reduce(Tokens::plus)
    }

    /// Whether it contains an earlier total of a process that spent `own` since: none of its counts is below the earlier one, and the
    /// earlier total and what the process itself spent fit into it, together and for one model.
    pub fn contains(&self, own: &OwnTokens, earlier: &Self) -> bool {
        let fits = || {
            earlier.tokens().plus(own.all).fits(self.tokens())
                && (own.of_model == Tokens::UNKNOWN || self.has_model_for(own, earlier))
        };
        // A total of the main agent only may be that of its last prompt.
        !self.is_below(earlier) && (!self.covers_subagents || fits())
    }

    /// Whether a model contains what the earlier total has of it and the part of `own` that is of one model. Totals may have another name
    /// for it than responses: then it is the model with the same prompts, or any one.
    fn has_model_for(&self, own: &OwnTokens, earlier: &Self) -> bool {
        let prompt = |tokens: Tokens| [tokens.input, tokens.cache_read, tokens.cache_write];
        let has_name = |model: &&ModelTotal| own.model.is_some() && model.model == own.model;
        let has_same_prompt = |model: &&ModelTotal| prompt(model.tokens) == prompt(own.of_model);
        let contains = |model: &ModelTotal| {
            let name = model.model.as_ref();
            let needed = earlier.tokens_of(name).unwrap_or_default().plus(own.of_model);
            self.tokens_of(name).is_some_and(|tokens| needed.fits(tokens))
        };
        match self.models.iter().find(has_name).or_else(|| self.models.iter().find(has_same_prompt)) {
            Some(model) => contains(model),
            None => self.models.iter().any(contains),
        }
    }

    /// Removes tokens and cost that another log has of it. Returns whether tokens remain.
    pub fn subtract(&mut self, tokens: Tokens, cost: Option<f64>) -> bool {
        let mut left = tokens;
        for model in &mut self.models {
            let known = model.tokens.zip(left, |own, left| Some(own?.min(left?).max(0)));
            left = left.minus(known);
            model.tokens = model.tokens.minus(known);
        }
        let stated = self.cost.or_else(|| self.models.iter().fold(None, |sum, model| add_money(sum, model.cost)));
        self.remove_cost();
        // Without the cost of the other log, that of the rest is unknown.
        self.cost = stated.zip(cost).map(|(stated, cost)| (stated - cost).max(0.0));
        if let [model] = self.models.as_mut_slice() {
            model.cost = self.cost;
        }
        self.tokens().total().unwrap_or(0) > 0
    }

    /// Removes an earlier total, which it contains, model by model.
    pub fn subtract_earlier(&mut self, earlier: &Self) {
        let less = |cost: Option<f64>, earlier: Option<f64>| {
            // Without the earlier cost, that of the rest is unknown.
            cost.zip(earlier).map(|(cost, earlier)| (cost - earlier).max(0.0))
        };
        self.cost = less(self.cost, earlier.cost);
        for before in &earlier.models {
            if let Some(model) = self.models.iter_mut().find(|model| model.model == before.model) {
                model.tokens = model.tokens.zip(before.tokens, |own, before| Some((own? - before.unwrap_or(0)).max(0)));
                model.web_searches = model.web_searches.map(|count| (count - before.web_searches.unwrap_or(0)).max(0));
                model.cost = less(model.cost, before.cost);
            }
        }
        let is_left = |model: &ModelTotal| {
            model.tokens.total() != Some(0) || model.cost.is_some_and(|cost| cost > NEGLIGIBLE_USD)
        };
        self.models.retain(is_left);
    }

    /// Removes its cost, of which another total is a copy.
    pub fn remove_cost(&mut self) {
        self.cost = None;
        for model in &mut self.models {
            model.cost = None;
            model.agents.iter_mut().for_each(|agent| agent.cost = None);
        }
    }

    /// Whether it is inside of another run of its trace. Where the parts between both are in another log, the times show it.
    pub fn is_inside_of(&self, outer: &Self) -> bool {
        let (Some(own), Some(place)) = (&self.place, &outer.place) else { return false };
        if own.trace != place.trace || own.span == place.span {
            return false;
        }
        // What is around both of them does not put one inside of the other.
        let is_undecided = own.is_open && own.around.last().is_some_and(|last| !place.around.contains(last));
        own.around.contains(&place.span) || is_undecided && self.is_during(outer) && !outer.is_during(self)
    }

    /// Whether it begins and ends within the time of another one.
    fn is_during(&self, outer: &Self) -> bool {
        outer.started_at.is_some() && outer.started_at <= self.started_at && self.occurred_at <= outer.occurred_at
    }

    /// Whether it states only a part of the tokens of a run: the output, without the input. Other logs of the session may contain all.
    pub fn is_partial(&self) -> bool {
        self.kind == TotalKind::Run && self.models.iter().all(|model| model.tokens.input.is_none())
    }
}

/// One model's part of a [`Total`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelTotal {
    /// The model as the total names it.
    pub model: Option<Symbol>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its web searches.
    pub web_searches: Option<i64>,
    /// Its reported cost, in US dollars.
    pub cost: Option<f64>,
    /// Size of its context window.
    pub context_window: Option<i64>,
    /// The provider that bills it.
    pub provider: Option<Symbol>,
    /// The reasoning effort that all of its responses had.
    pub effort: Option<Symbol>,
    /// The parts of its subagents, if the total states them. They are included in the other members.
    pub agents: Vec<AgentTotal>,
}

impl ModelTotal {
    /// Adds parts of subagents, each to the other parts of the same one.
    pub fn add_agents(&mut self, agents: &[AgentTotal]) {
        for agent in agents {
            match self.agents.iter_mut().find(|known| known.id == agent.id) {
                Some(known) => {
                    known.tokens = known.tokens.plus(agent.tokens);
                    known.cost = add_money(known.cost, agent.cost);
                    known.name = known.name.take().or_else(|| agent.name.clone());
                }
                None => self.agents.push(agent.clone()),
            }
        }
    }
}

/// A subagent's part of a [`ModelTotal`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentTotal {
    /// The id that its responses have.
    pub id: Symbol,
    /// Its name or type.
    pub name: Option<Symbol>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its reported cost, in US dollars.
    pub cost: Option<f64>,
}
