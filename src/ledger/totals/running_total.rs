//! The running total of a process, divided by the days on which the log states it.

use std::cmp::Reverse;

use crate::base::time::Time;
use crate::model::session::{AgentTotal, ModelTotal, NEGLIGIBLE_USD, Tokens, Total};

/// The last total of a process, or of several that went on from each other, with totals of earlier days that it contains: tokens are
/// of the day on which they were spent, and have its price. Each total has the index of its file.
#[derive(Debug)]
pub(super) struct RunningTotal {
    pub source: usize,
    pub last: Total,
    earlier: Vec<(usize, Total)>,
}

impl RunningTotal {
    pub fn new(source: usize, last: Total) -> Self {
        Self { source, last, earlier: Vec::new() }
    }

    /// Adds the next total, which contains the last one.
    pub fn go_on(&mut self, source: usize, next: Total) {
        let before = std::mem::replace(&mut self.last, next);
        self.add_earlier(self.source, before);
        self.source = source;
    }

    /// Adds the totals that it contains.
    pub fn contain(&mut self, other: Self) {
        self.earlier.extend(other.earlier);
        self.add_earlier(other.source, other.last);
    }

    fn add_earlier(&mut self, source: usize, total: Total) {
        // A session may change long after its last request, so that the time of its sum is unknown.
        if !self.last.is_sum_of_counts && day(&total) < day(&self.last) {
            self.earlier.push((source, total));
        }
    }

    /// What was spent until the last total of each day, since the one before. Their sum is the last total.
    pub fn of_days(mut self) -> Vec<(usize, Total)> {
        // Of copies of a total, that of the first file is the last one here, and counts.
        self.earlier.sort_by_key(|(source, total)| (total.occurred_at, total.line, Reverse(*source)));
        let mut days: Vec<(usize, Total)> = Vec::new();
        for (source, total) in self.earlier {
            let before = days.iter().rev().map(|(_, before)| before).find(|before| day(before) < day(&total));
            let is_contained = before.is_none_or(|before| difference(&total, before).is_some());
            if day(&total).is_none() || day(&total) >= day(&self.last) || !is_contained {
                continue;
            }
            if difference(&self.last, &total).is_some() {
                days.pop_if(|(_, last)| day(last) == day(&total));
                days.push((source, total));
            }
        }
        days.push((self.source, self.last));
        let mut parts = Vec::with_capacity(days.len());
        let mut before: Option<Total> = None;
        for (source, total) in days {
            let part = before.and_then(|before| difference(&total, &before)).unwrap_or_else(|| total.clone());
            parts.push((source, part));
            before = Some(total);
        }
        let count = parts.len();
        for (_, part) in parts.iter_mut().take(count.saturating_sub(1)) {
            // The last total states the turns of all days.
            part.turns = None;
        }
        parts
    }
}

fn day(total: &Total) -> Option<i32> {
    total.occurred_at.map(Time::day)
}

/// A total less an earlier one; `None` if it does not contain that.
fn difference(total: &Total, earlier: &Total) -> Option<Total> {
    let mut rest = total.clone();
    rest.cost = less(total.cost, earlier.cost)?;
    for before in &earlier.models {
        let name = |model: &ModelTotal| (model.model.clone(), model.provider.clone());
        let model = rest.models.iter_mut().find(|model| name(model) == name(before))?;
        model.tokens = fewer(model.tokens, before.tokens)?;
        model.cost = less(model.cost, before.cost)?;
        model.web_searches = model.web_searches.map(|count| (count - before.web_searches.unwrap_or(0)).max(0));
        for before in &before.agents {
            let agent: &mut AgentTotal = model.agents.iter_mut().find(|agent| agent.id == before.id)?;
            agent.tokens = fewer(agent.tokens, before.tokens)?;
            agent.cost = less(agent.cost, before.cost)?;
        }
    }
    Some(rest)
}

fn fewer(tokens: Tokens, before: Tokens) -> Option<Tokens> {
    let rest = tokens.minus(before);
    let is_possible = before.fits(tokens) && rest.kinds().into_iter().flatten().all(|count| count >= 0);
    is_possible.then_some(rest)
}

/// A cost less an earlier one, `None` if it is less; an unknown one remains unknown.
#[expect(clippy::option_option, reason = "whether it is less, and whether it is known")]
fn less(cost: Option<f64>, before: Option<f64>) -> Option<Option<f64>> {
    match (cost, before) {
        (Some(cost), Some(before)) if cost < before - NEGLIGIBLE_USD => None,
        (Some(cost), Some(before)) => Some(Some((cost - before).max(0.0))),
        (cost, _) => Some(cost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A total of the given day, with the input of each model.
    fn total(day: i64, models: &[(&str, i64)], cost: f64) -> Total {
        let model = |(model, input): &(&str, i64)| ModelTotal {
            model: Some((*model).into()),
            tokens: Tokens { input: Some(*input), ..Tokens::UNKNOWN },
            ..ModelTotal::default()
        };
        Total {
            line: day,
            occurred_at: Some(Time::from_micros(day * 86_400_000_000 + 5)),
            models: models.iter().map(model).collect(),
            cost: Some(cost),
            turns: Some(day),
            ..Total::default()
        }
    }

    /// The line, the input of each model, the cost and the turns of each day.
    fn days(running: RunningTotal) -> Vec<(i64, Vec<i64>, f64, Option<i64>)> {
        let part = |(_, part): (usize, Total)| {
            let inputs = part.models.iter().filter_map(|model| model.tokens.input).collect();
            (part.line, inputs, part.cost.unwrap(), part.turns)
        };
        running.of_days().into_iter().map(part).collect()
    }

    #[test]
    fn each_day_has_what_was_spent_on_it() {
        let mut running = RunningTotal::new(0, total(1, &[("a", 10)], 1.0));
        running.go_on(0, total(1, &[("a", 15)], 1.5));
        running.go_on(0, total(3, &[("a", 20), ("b", 7)], 4.0));
        running.go_on(0, total(3, &[("a", 22), ("b", 7)], 4.5));
        let expected = vec![(1, vec![15], 1.5, None), (3, vec![7, 7], 3.0, Some(3))];
        assert_eq!(days(running), expected);
    }

    #[test]
    fn totals_that_are_not_contained_are_not_subtracted() {
        for earlier in [
            total(1, &[("a", 30)], 1.0),
            total(1, &[("b", 1)], 1.0),
            total(1, &[("a", 1)], 9.0),
            total(4, &[("a", 1)], 1.0),
            Total { occurred_at: None, ..total(1, &[("a", 1)], 1.0) },
        ] {
            let mut running = RunningTotal::new(0, total(3, &[("a", 20)], 4.0));
            running.contain(RunningTotal::new(1, earlier));
            assert_eq!(days(running), [(3, vec![20], 4.0, Some(3))]);
        }
    }
}
