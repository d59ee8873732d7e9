//! Totals that a `result` states, and which responses they contain.

use std::collections::BTreeSet;

use super::{Record, Session};
use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::claude::common::model_usage::without_guesses;
use crate::adapters::shared::builder::money;
use crate::base::text::Symbol;
use crate::json::lines::Line;
use crate::model::session::{ModelTotal, NEGLIGIBLE_USD, OwnTokens, SessionResult, Tokens, Total, TotalKind};

impl Session {
    /// The sums that a `result` states. `stated` are the tokens of its `usage`.
    pub(super) fn total(
        &mut self,
        record: &Record<'_>,
        stated: Option<Tokens>,
        line: Line<'_>,
        damage: &mut RecordErrors,
    ) -> Total {
        let main = stated.filter(|it| !it.is_all_zero());
        let key =
            record.uuid.owned().unwrap_or_else(|| format!("{:?} {:?}", record.total_cost_usd.0, record.duration_ms.0));
        let usage = record.model_usage.get().into_iter().flat_map(|it| &it.0);
        let cost = without_guesses(money(record.total_cost_usd, damage), usage.clone().map(|(_, usage)| usage));
        self.names.extend(usage.clone().filter_map(|(model, usage)| usage.other_name(model)));
        let mut models: Vec<_> = usage.map(|(model, usage)| usage.total(model, damage)).collect();
        // Qwen Code adds up all agents.
        let covers_subagents = !models.is_empty() || self.conversation.input_includes_cache;
        // A server that states no usage.
        let named = models.iter().find_map(|model| model.model.clone());
        models.retain(|model| !model.tokens.is_all_zero() || model.cost > Some(0.0) || model.web_searches > Some(0));
        if models.is_empty() {
            let session = &mut self.conversation.builder.session;
            session.model = session.model.take().or(named);
        }
        if models.is_empty()
            && let Some(tokens) = main
        {
            let tokens = if covers_subagents { tokens } else { self.sum_of_usage(&key, tokens, cost) };
            let web_searches = record.usage.get().and_then(|it| it.server_tool_use.web_search_requests.get());
            models.push(ModelTotal { tokens, web_searches, cost, ..ModelTotal::default() });
        } else if let Some(tokens) = main {
            // Older versions divide cache writes by their time to live in `usage` only, which is the main agent's.
            if let Some(model) = models.iter_mut().find(|it| it.tokens.cache_write == tokens.cache_write) {
                model.tokens.cache_write_1h = model.tokens.cache_write_1h.or(tokens.cache_write_1h);
            }
        }
        Total {
            line: line.number,
            key,
            kind: TotalKind::Process,
            occurred_at: record.time(),
            duration_ms: record.duration_ms.rounded(),
            api_duration_ms: record.duration_api_ms.rounded(),
            turns: record.num_turns.get(),
            cost,
            models,
            covers_subagents,
            ..Total::default()
        }
    }

    /// The sum of `usage` over the runs of a process. Its cost is a running total: it falls where another process begins.
    fn sum_of_usage(&self, key: &str, own: Tokens, cost: Option<f64>) -> Tokens {
        let totals = &self.conversation.builder.session.totals;
        if let Some(copy) = totals.iter().find(|total| total.key == key) {
            return copy.tokens();
        }
        let is_same_process = |before: &&Total| {
            let falls = before.cost.zip(cost).is_some_and(|(before, now)| now < before - NEGLIGIBLE_USD);
            !before.covers_subagents && !falls
        };
        totals.last().filter(is_same_process).map_or(own, |before| before.tokens().plus(own))
    }

    /// Adds a total, and finds which responses before it are those of a process that was killed. `stated` are the tokens of `usage`.
    pub(super) fn add_total(&mut self, mut total: Total, stated: Option<Tokens>) {
        let session = &mut self.conversation.builder.session;
        let main = stated.filter(|it| !it.is_all_zero());
        session.model = session.model.take().or_else(|| main_model(&total.models, main));
        let runs = std::mem::replace(&mut self.runs, vec![Vec::new()]);
        let own = own_tokens(&runs, session, stated);
        (total.own, total.own_of_model, total.own_model) = (own.all, own.of_model, own.model);
        if session.totals.iter().all(|it| it.key != total.key) {
            for turn in killed(&runs, session, &total) {
                total.is_of_new_process = true;
                session.turns[turn].is_of_killed = true;
            }
        }
        session.totals.push(total);
    }
}

/// The responses of a process that was killed before it wrote a result. The next process in the same recording begins at 0. Both
/// begin with `init`, which a process may write several times: there are two processes only if a result cannot contain all
/// responses since the one before it (`docs/accounting.md#totals-against-turns`).
fn killed(runs: &[Vec<usize>], session: &SessionResult, total: &Total) -> BTreeSet<usize> {
    let counted = |it: &usize| total.covers_subagents || !session.turns[*it].is_subagent;
    let spent = |turns: &BTreeSet<usize>| {
        turns.iter().filter(|it| counted(it)).map(|it| session.turns[*it].tokens.get()).sum::<Tokens>()
    };
    // The lines contain only a part of the output, but the whole input.
    let prompt = |it: Tokens| [it.input, it.cache_read, it.cache_write].map(|it| it.unwrap_or(0));
    let whole = prompt(total.tokens());
    let holds = |it: Tokens| prompt(it).into_iter().zip(whole).all(|(part, whole)| part <= whole);
    let before = session.totals.last().map_or(Tokens::UNKNOWN, Total::tokens);
    if holds(before.plus(spent(&turns_of(runs)))) {
        return BTreeSet::new();
    }
    let own = (1..runs.len())
        .filter_map(|first| Some(turns_of(runs.get(first..)?)))
        .find(|it| !it.is_empty() && holds(spent(it)));
    own.map_or_else(BTreeSet::new, |own| turns_of(runs).difference(&own).copied().collect())
}

/// The indexes of the responses of runs.
fn turns_of(runs: &[Vec<usize>]) -> BTreeSet<usize> {
    runs.iter().flatten().copied().collect()
}

/// What a process spent since its result before: the main agent's part as the result states it or as its responses show it, of which
/// one may contain more than this run, and all of the subagents.
fn own_tokens(runs: &[Vec<usize>], session: &SessionResult, stated: Option<Tokens>) -> OwnTokens {
    let (mut main, mut subagents) = (Tokens::UNKNOWN, Tokens::UNKNOWN);
    let mut models = BTreeSet::new();
    for turn in turns_of(runs).into_iter().map(|turn| &session.turns[turn]) {
        if turn.is_subagent {
            subagents = subagents.plus(turn.tokens.get());
        } else {
            main = main.plus(turn.tokens.get());
            models.insert(turn.model.as_ref());
        }
    }
    let smaller = |a: Option<i64>, b: Option<i64>| a.zip(b).map_or(a.or(b), |(a, b)| Some(a.min(b)));
    let main = main.zip(stated.unwrap_or_default(), smaller);
    let model = models.first().copied().flatten().cloned();
    let of_main = if models.len() <= 1 { OwnTokens::of_model(main, model) } else { OwnTokens::of_all(main) };
    of_main.plus(OwnTokens::of_all(subagents))
}

/// The main agent's model, if only a result contains it: the model whose tokens are nearest to `usage`, which is the main agent's.
/// The first key of `modelUsage` may be the model of a side call.
fn main_model(models: &[ModelTotal], main: Option<Tokens>) -> Option<Symbol> {
    let distance = |total: &&ModelTotal| {
        let apart = |(a, b): (Option<i64>, Option<i64>)| a.unwrap_or(0).abs_diff(b.unwrap_or(0));
        total.tokens.kinds().into_iter().zip(main.unwrap_or_default().kinds()).map(apart).sum::<u64>()
    };
    let nearest = match main {
        Some(_) => models.iter().min_by_key(distance),
        None => models.iter().max_by_key(distance),
    };
    nearest.and_then(|it| it.model.clone())
}
