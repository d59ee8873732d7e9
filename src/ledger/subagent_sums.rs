//! Sums of subagents in the log of the session that started them, where the subagents have sessions of their own: see
//! docs/accounting.md#subagents.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _};

use super::part::{SessionKey, SessionPart, Sessions};
use crate::model::session::{Tokens, Total, add_money};

/// Subtracts from the sums of subagents what the logs of sessions have that name this one as their parent.
pub(super) fn defer_to_children(sessions: &mut Sessions) {
    let states_children = |parts: &[SessionPart]| stated(parts).next().is_some();
    if !sessions.values().any(|parts| states_children(parts)) {
        return;
    }
    let mut children: HashMap<SessionKey, Vec<Spent>> = HashMap::new();
    for ((runtime, _), parts) in sessions.iter() {
        let Some(parent) = parts.iter().find_map(|part| part.session.parent_session_id.clone()) else { continue };
        let parent = (runtime.clone(), parent);
        if sessions.get(&parent).is_some_and(|parts| states_children(parts)) {
            children.entry(parent).or_default().extend(Spent::by(parts));
        }
    }
    for (parent, children) in children {
        if let Some(parts) = sessions.get_mut(&parent) {
            subtract(parts, children);
        }
    }
}

/// The sums of subagents that a session states.
fn stated(parts: &[SessionPart]) -> impl Iterator<Item = &Total> {
    parts.iter().flat_map(|part| &part.session.totals).filter(|total| total.is_of_subagents)
}

/// What the logs of a session contain.
#[derive(Debug, Clone, Copy)]
struct Spent {
    tokens: Tokens,
    cost: Option<f64>,
}

impl Spent {
    /// `None` if the logs have no counts. What they state about their own subagents is a part: the sum in the parent's log contains it.
    fn by(parts: &[SessionPart]) -> Option<Self> {
        let totals = parts.iter().flat_map(|part| &part.session.totals);
        let by_totals = Self::sum(largest(totals).into_values().map(Self::of));
        // Copies of a log in several files contain the same responses.
        let by_turns = parts.iter().map(|part| {
            let turns = part.session.turns.iter();
            Self::sum(
                turns.map(|turn| Self { tokens: turn.tokens.get(), cost: turn.cost.as_deref().map(|cost| cost.total) }),
            )
        });
        let spent = by_turns.chain([by_totals]).max_by_key(|spent| spent.tokens.total());
        spent.filter(|spent| spent.tokens.total().is_some())
    }

    fn of(total: &Total) -> Self {
        let of_models = total.models.iter().fold(None, |sum, model| add_money(sum, model.cost));
        Self { tokens: total.tokens(), cost: total.cost.or(of_models) }
    }

    fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self { tokens: Tokens::UNKNOWN, cost: None }, |sum, own| Self {
            tokens: sum.tokens.plus(own.tokens),
            cost: add_money(sum.cost, own.cost),
        })
    }

    fn size(&self) -> i64 {
        self.tokens.total().unwrap_or(0)
    }
}

/// Totals of equal keys are states of one total: the largest of each key.
fn largest<'a>(totals: impl Iterator<Item = &'a Total>) -> BTreeMap<&'a str, &'a Total> {
    let mut by_key: BTreeMap<&str, &Total> = BTreeMap::new();
    for total in totals {
        let known = by_key.entry(&total.key).or_insert(total);
        if total.tokens().total() > known.tokens().total() {
            *known = total;
        }
    }
    by_key
}

/// Subtracts what the sessions of subagents have from the sums in their parent's log. A sum that equals what a session has is that of
/// this session. The others are compared by size: a log may be cut, or go on after the parent's log.
fn subtract(parts: &mut [SessionPart], children: Vec<Spent>) {
    let mut sums: Vec<(String, Spent)> =
        largest(stated(parts)).into_iter().map(|(key, total)| (key.to_owned(), Spent::of(total))).collect();
    let mut by_tokens: BTreeMap<[Option<i64>; 4], Vec<Spent>> = BTreeMap::new();
    for child in children {
        by_tokens.entry(child.tokens.kinds()).or_default().push(child);
    }
    let mut known: HashMap<String, Option<Spent>> = HashMap::new();
    sums.retain(|(key, sum)| {
        let is_equal = by_tokens.get_mut(&sum.tokens.kinds()).and_then(Vec::pop).is_some();
        if is_equal {
            known.insert(key.clone(), None);
        }
        !is_equal
    });
    let mut others: Vec<Spent> = by_tokens.into_values().flatten().collect();
    others.sort_by_key(|child| Reverse((child.size(), child.tokens.kinds())));
    sums.sort_by_key(|(_, sum)| Reverse(sum.size()));
    let is_disputed = !others.is_empty() && !sums.is_empty();
    known.extend(sums.into_iter().zip(others).map(|((key, _), child)| (key, Some(child))));
    for part in parts.iter_mut() {
        part.session.totals.retain_mut(|total| match known.get(&total.key).filter(|_| total.is_of_subagents) {
            Some(Some(child)) => total.subtract(child.tokens, child.cost),
            Some(None) => false,
            None => true,
        });
    }
    if let Some(first) = parts.first_mut() {
        first.session.has_disputed_totals |= is_disputed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{ModelTotal, SessionResult};

    fn total(key: &str, input: i64) -> Total {
        let tokens = Tokens { input: Some(input), ..Tokens::UNKNOWN };
        let model = ModelTotal { tokens, cost: Some(input as f64), ..ModelTotal::default() };
        Total {
            key: key.to_owned(),
            models: vec![model],
            cost: Some(input as f64),
            is_of_subagents: key.starts_with("task"),
            ..Total::default()
        }
    }

    fn part(runtime: &'static str, parent: Option<&str>, totals: &[(&str, i64)]) -> SessionPart {
        let session = SessionResult {
            runtime: runtime.into(),
            parent_session_id: parent.map(str::to_owned),
            totals: totals.iter().map(|(key, input)| total(key, *input)).collect(),
            ..SessionResult::default()
        };
        SessionPart::new(0, session)
    }

    /// What remains of the totals of a session with these sums, beside these sessions of subagents, and whether it is disputed.
    fn remaining(
        sums: &[(&str, i64)],
        children: &[(&'static str, &[(&str, i64)])],
    ) -> (Vec<(String, Option<i64>)>, bool) {
        let key = |runtime: &str, id: &str| (runtime.to_owned(), id.to_owned());
        let mut sessions = Sessions::from([(key("r", "outer"), vec![part("r", None, sums)])]);
        for (index, (runtime, totals)) in children.iter().enumerate() {
            sessions.insert(key(runtime, &index.to_string()), vec![part(runtime, Some("outer"), totals)]);
        }
        defer_to_children(&mut sessions);
        let parts = sessions.remove(&key("r", "outer")).unwrap_or_default();
        let totals = parts.iter().flat_map(|part| &part.session.totals);
        let totals = totals.map(|total| (total.key.clone(), total.tokens().total())).collect();
        (totals, parts.iter().any(|part| part.session.has_disputed_totals))
    }

    #[test]
    fn sums_of_subagents_give_way_to_their_sessions() {
        let two = [("own", 100), ("task 1", 20), ("task 2", 30)];
        let own = |input: i64| vec![("stats", input)];
        for (name, children, expected, is_disputed) in [
            ("no log", vec![], &two[..], false),
            ("both logs", vec![("r", own(30)), ("r", own(20))], &two[..1], false),
            ("one log", vec![("r", own(20))], &[two[0], two[2]], false),
            ("a log without counts", vec![("r", vec![])], &two, false),
            ("another runtime", vec![("other", own(20))], &two, false),
            ("a subagent of the subagent", vec![("r", vec![("stats", 15), ("task 1", 5)])], &[two[0], two[2]], false),
            ("a cut log", vec![("r", own(20)), ("r", own(4))], &[two[0], ("task 2", 26)], true),
            ("cut logs", vec![("r", own(5)), ("r", own(4))], &[two[0], ("task 1", 16), ("task 2", 25)], true),
            ("a log that went on", vec![("r", own(20)), ("r", own(40))], &two[..1], true),
            ("a log that is not in the sums", vec![("r", own(30)), ("r", own(20)), ("r", own(7))], &two[..1], false),
        ] {
            let children: Vec<_> = children.iter().map(|(runtime, totals)| (*runtime, totals.as_slice())).collect();
            let expected = expected.iter().map(|(key, input)| ((*key).to_owned(), Some(*input))).collect();
            assert_eq!(remaining(&two, &children), (expected, is_disputed), "{name}");
        }
    }

    #[test]
    fn the_cost_of_the_rest_is_known_if_both_are() {
        for (cost, expected) in [(Some(4.0), Some(16.0)), (None, None)] {
            let mut sum = total("task", 20);
            assert!(sum.subtract(Tokens { input: Some(4), ..Tokens::UNKNOWN }, cost));
            assert_eq!((sum.cost, sum.models[0].cost, sum.tokens().total()), (expected, expected, Some(16)));
        }
    }
}
