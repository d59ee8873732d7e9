//! Turns that the agent of another program ran in a session that their log does not name: see
//! docs/accounting.md#programs-that-run-another-agent.

mod requests;

use foldhash::HashMap;

use self::requests::{Outer, agents_of};
use super::delegates::{Responses, remove_covered};
use super::part::{SessionKey, SessionPart, Sessions};
use crate::base::time::Time;
use crate::model::session::{Identity, Tokens, Total, Turn};

/// Removes the turns whose responses the log of an agent has that the session started, and their part of the totals.
pub(super) fn defer_to_started_agents(sessions: &mut Sessions) {
    let outer = Outer::all(sessions);
    if outer.is_empty() {
        return;
    }
    let agents = agents_of(&outer, sessions);
    for (outer, agents) in outer.iter().zip(agents) {
        let responses = Responses::of(sessions, &outer.key, &agents, outer.delegation.asked_at.clone());
        if responses.is_empty() {
            continue;
        }
        let early = Early::of(sessions, outer, &agents, &responses);
        if let Some(parts) = sessions.get_mut(&outer.key) {
            defer(parts, outer, &responses, early);
        }
    }
}

/// Requests from before the first turn with counts, or all if there is no such turn: nothing shows which part of a total is that of each.
#[derive(Clone, Copy)]
enum Early {
    /// The agents answered all of them.
    Answered,
    /// The agents spent this in some of them.
    Partly(Tokens),
}

impl Early {
    fn of(sessions: &Sessions, outer: &Outer, agents: &[SessionKey], responses: &Responses) -> Self {
        let asked_at = &outer.delegation.asked_at;
        let turns = sessions.get(&outer.key).into_iter().flatten().flat_map(|part| &part.session.turns);
        let turns = turns.filter(|turn| turn.tokens.get().total().is_some());
        // The request of the first turn is the last one before its end.
        let first_turn = turns.map(|turn| turn.occurred_at).min();
        let count = first_turn
            .map_or(asked_at.len(), |end| asked_at.partition_point(|asked| Some(*asked) <= end).saturating_sub(1));
        if count > 0 && responses.answer_first(count) {
            return Self::Answered;
        }
        let until = asked_at.get(count).copied();
        let of_agents = agents.iter().filter_map(|key| sessions.get(key)).map(|parts| spent_until(until, parts));
        Self::Partly(if count > 0 { of_agents.sum() } else { Tokens::UNKNOWN })
    }

    /// What is left of the part of a total that no turn contains.
    fn left_of(self, rest: Tokens) -> Tokens {
        match self {
            Self::Answered => rest.without(rest),
            Self::Partly(of_agents) => rest.without(of_agents),
        }
    }
}

/// The tokens of the session of an agent until a time: those of its responses, else its largest total.
fn spent_until(end: Option<Time>, parts: &[SessionPart]) -> Tokens {
    let turns = Spent::of_turns(parts, |turn| end.is_none() || turn.occurred_at < end).tokens;
    let has_turns = parts.iter().any(|part| part.session.has_counted_turns());
    let totals = parts.iter().flat_map(|part| &part.session.totals).map(Total::tokens);
    if has_turns || end.is_some() { turns } else { totals.max_by_key(|it| it.total()).unwrap_or_default() }
}

/// Removes from a session what its agents have.
fn defer(parts: &mut [SessionPart], outer: &Outer, responses: &Responses, early: Early) {
    let of_each: Vec<Spent> = parts.iter().map(|part| Spent::of([part])).collect();
    let all = Spent::of(&*parts);
    if let Some(provider) = &outer.delegation.provider {
        remove_covered(parts, provider, responses);
    }
    let all_left = Spent::of(&*parts);
    for (part, own) in parts.iter_mut().zip(of_each) {
        // A total without turns is that of the turns in another copy.
        let has_turns = own.tokens.total().is_some();
        let (turns, left) = if has_turns { (own, Spent::of([&*part])) } else { (all, all_left) };
        // The sums of a history are those of another session.
        if !part.session.is_copied_history {
            part.session.totals.iter_mut().for_each(|total| reduce(total, turns, left, early));
            part.session.totals.retain(|total| total.tokens().total() != Some(0) || total.cost.unwrap_or(0.0) > 0.0);
        }
    }
}

/// Takes off a total of all models, which contains `turns`, the turns that are not left, and their part of the rest.
fn reduce(total: &mut Total, turns: Spent, turns_left: Spent, early: Early) {
    let (all, rest) = (total.tokens(), total.tokens().without(turns.tokens));
    let rest_left = early.left_of(rest);
    let left = all.without(turns.tokens.minus(turns_left.tokens)).without(rest.minus(rest_left));
    // The part of the cost that is of no turn is divided as the rest is, or as all tokens if there is no rest.
    let share = if rest.total().unwrap_or(0) > 0 { share(rest_left, rest) } else { share(left, all) };
    let cost = |own: f64| (own - turns.cost).max(0.0) * share + turns_left.cost;
    total.cost = total.cost.map(cost);
    if let [model] = total.models.as_mut_slice() {
        model.tokens = left;
        model.cost = model.cost.map(cost);
    }
}

fn share(part: Tokens, whole: Tokens) -> f64 {
    part.total().unwrap_or(0) as f64 / whole.total().unwrap_or(0).max(1) as f64
}

/// The tokens and the cost of turns.
#[derive(Clone, Copy)]
struct Spent {
    tokens: Tokens,
    cost: f64,
}

impl Spent {
    /// The turns of a session, those of several copies once.
    fn of<'a>(parts: impl IntoIterator<Item = &'a SessionPart>) -> Self {
        Self::of_turns(parts, |_| true)
    }

    fn of_turns<'a>(parts: impl IntoIterator<Item = &'a SessionPart>, is_counted: impl Fn(&Turn) -> bool) -> Self {
        let mut places: HashMap<&Identity, usize> = HashMap::default();
        let mut distinct: Vec<(Tokens, Option<f64>)> = Vec::new();
        for turn in parts.into_iter().flat_map(|part| &part.session.turns).filter(|turn| is_counted(turn)) {
            let (tokens, cost) = (turn.tokens.get(), turn.cost.as_deref().map(|cost| cost.total));
            let next = distinct.len();
            let is_named = turn.identity != Identity::Unique;
            let place = if is_named { *places.entry(&turn.identity).or_insert(next) } else { next };
            match distinct.get_mut(place) {
                Some(known) => *known = (known.0.max(tokens), known.1.or(cost)),
                None => distinct.push((tokens, cost)),
            }
        }
        let tokens: Tokens = distinct.iter().map(|(tokens, _)| *tokens).sum();
        Self { tokens, cost: distinct.iter().filter_map(|(_, cost)| *cost).sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::part::key_of;
    use crate::model::delegation::Delegation;
    use crate::model::session::{ModelTotal, SessionResult};

    fn at(second: i64) -> Time {
        Time::from_micros(1_790_000_000_000_000 + second * 1_000_000)
    }

    fn session(runtime: &'static str, id: &str, turns: &[(i64, i64)]) -> SessionResult {
        let turn = |(second, input): &(i64, i64)| {
            Box::new(Turn {
                occurred_at: Some(at(*second)),
                provider: Some("agent-cli".into()),
                tokens: Tokens { input: Some(*input), ..Tokens::UNKNOWN }.into(),
                ..Turn::default()
            })
        };
        SessionResult {
            runtime: runtime.into(),
            session_id: id.to_owned(),
            cwd: Some("/work".to_owned()),
            started_at: turns.first().map(|(second, _)| at(second - 1)),
            turns: turns.iter().map(turn).collect::<Vec<_>>().into(),
            ..SessionResult::default()
        }
    }

    /// The tokens of the turns and of the total of the outer session.
    fn remaining(turns: &[(i64, i64)], total: i64, inner: &[SessionResult]) -> (Option<i64>, Option<i64>) {
        let mut outer = session("outer", "o", turns);
        let asked_at = vec![at(0), at(20), at(40)];
        outer.delegation = Some(Delegation {
            provider: Some("agent-cli".into()),
            runtime: "agent".into(),
            asked_at,
            ..Delegation::default()
        });
        let tokens = Tokens { input: Some(total), ..Tokens::UNKNOWN };
        outer.totals = vec![Total { models: vec![ModelTotal { tokens, ..ModelTotal::default() }], ..Total::default() }];
        let mut sessions = Sessions::new();
        for session in inner.iter().cloned().chain([outer]) {
            sessions.entry(key_of(&session)).or_default().push(SessionPart::new(0, session));
        }
        defer_to_started_agents(&mut sessions);
        let parts = sessions.remove(&("outer".to_owned(), "o".to_owned())).unwrap_or_default();
        let total = parts
            .iter()
            .flat_map(|part| &part.session.totals)
            .filter_map(|it| it.tokens().total())
            .reduce(|a, b| a + b);
        (Spent::of(&parts).tokens.total(), total)
    }

    #[test]
    fn a_started_agent_has_the_tokens_of_its_turns() {
        let turns = [(10, 1), (30, 2), (50, 4)];
        let agent = |turns: &[(i64, i64)]| session("agent", "i", turns);
        assert_eq!(remaining(&turns, 15, &[]), (Some(7), Some(15)));
        assert_eq!(remaining(&turns, 15, &[agent(&[(5, 9), (9, 9), (48, 9)])]), (Some(2), Some(10)));
        // It began much later, or elsewhere.
        assert_eq!(remaining(&turns, 15, &[agent(&[(500, 9)])]), (Some(7), Some(15)));
        let elsewhere = SessionResult { cwd: Some("/other".to_owned()), ..agent(&[(5, 9)]) };
        assert_eq!(remaining(&turns, 15, &[elsewhere]), (Some(7), Some(15)));
    }

    /// Without responses, a total is that of the agents only if they answered all requests.
    #[test]
    fn a_total_without_responses_is_not_that_of_one_agent() {
        let agent = |id: &str, turns: &[(i64, i64)]| session("agent", id, turns);
        assert_eq!(remaining(&[], 15, &[agent("i", &[(5, 9)])]), (None, Some(6)));
        assert_eq!(remaining(&[], 15, &[agent("i", &[(5, 9), (22, 30)])]), (None, None));
        let all = [agent("i", &[(5, 1)]), agent("j", &[(25, 1)]), agent("k", &[(41, 1)])];
        assert_eq!(remaining(&[], 15, &all), (None, None));
        assert_eq!(remaining(&[], 15, &[agent("i", &[(5, 1), (25, 1), (41, 1)])]), (None, None), "one agent for all");
    }

    /// The first request is from before the rows of requests: its tokens are in the total alone.
    #[test]
    fn agents_of_requests_without_a_row_have_a_part_of_the_total() {
        let agent = |id: &str, turns: &[(i64, i64)]| session("agent", id, turns);
        let turns = [(30, 2), (50, 4)];
        assert_eq!(remaining(&turns, 15, &[agent("i", &[(5, 1)])]), (Some(6), Some(6)));
        assert_eq!(remaining(&turns, 15, &[agent("i", &[(25, 1)])]), (Some(4), Some(13)));
    }

    /// A backup has a part of the turns, and a total of its own.
    #[test]
    fn the_turns_of_copies_are_taken_off_once() {
        let total =
            |parts: &[SessionPart], index: usize| parts[index].session.totals.first().map(|it| it.tokens().input);
        let part = |turns: &[(i64, i64)], input: i64| {
            let mut outer = session("outer", "o", turns);
            for (index, turn) in outer.turns.iter_mut().enumerate() {
                turn.identity = Identity::Session(index.to_string().into());
            }
            outer.delegation = Some(Delegation {
                provider: Some("agent-cli".into()),
                runtime: "agent".into(),
                asked_at: vec![at(0), at(20)],
                ..Delegation::default()
            });
            let tokens = Tokens { input: Some(input), ..Tokens::UNKNOWN };
            let models = vec![ModelTotal { tokens, ..ModelTotal::default() }];
            outer.totals = vec![Total { models, ..Total::default() }];
            SessionPart::new(0, outer)
        };
        let key = |runtime: &str| (runtime.to_owned(), "o".to_owned());
        let agent = session("agent", "o", &[(5, 9), (25, 9)]);
        let agent = SessionPart::new(0, agent);
        // The backup, the database, and an export without turns.
        let parts = vec![part(&[(10, 4)], 104), part(&[(10, 4), (30, 2), (50, 1)], 107), part(&[], 107)];
        let mut sessions: Sessions = [(key("agent"), vec![agent]), (key("outer"), parts)].into();
        defer_to_started_agents(&mut sessions);
        let parts = &sessions[&key("outer")];
        assert_eq!([0, 1, 2].map(|index| total(parts, index)), [Some(Some(100)), Some(Some(101)), Some(Some(101))]);
    }
}
