//! Running totals of processes: which results belong to one process. See docs/accounting.md#process-totals.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::running_total::RunningTotal;
use crate::base::time::Time;
use crate::model::session::{OwnTokens, Tokens, Total, add};

/// The results of one process. They are running totals, so the last one counts.
#[derive(Debug)]
pub(super) struct Process {
    pub total: RunningTotal,
    /// The keys of all results.
    keys: BTreeSet<String>,
    /// What it spent itself, as far as the log shows it apart from the totals.
    own: OwnTokens,
}

impl Process {
    /// With the end of its file as the time of its last result, if the result has none.
    pub(super) fn ended_at(mut self, end: Option<Time>) -> Self {
        self.total.last.occurred_at = self.total.last.occurred_at.or(end);
        self
    }

    /// Whether it went on from a total of an earlier process.
    pub(super) fn goes_on_from(&self, earlier: &Total) -> bool {
        self.shows_own() && !is_later(earlier, self.last()) && self.last().contains(&self.own, earlier)
    }

    /// What it spent itself, if the log shows any tokens.
    pub(super) fn spent_itself(&self) -> Option<Tokens> {
        Some(self.own.all).filter(|own| own.total().unwrap_or(0) > 0)
    }

    /// The last result.
    pub(super) const fn last(&self) -> &Total {
        &self.total.last
    }

    /// Index of the file that contains the last result.
    pub(super) const fn source(&self) -> usize {
        self.total.source
    }

    /// Whether the log shows what it spent itself, apart from a total of all agents.
    fn shows_own(&self) -> bool {
        self.last().covers_subagents && self.own.all.total().is_some()
    }
}

/// Adds the next result of a file to the processes of that file.
pub(super) fn add_result(processes: &mut Vec<Process>, source: usize, result: Total) {
    // A recording may be in the file twice.
    if processes.iter().any(|process| process.keys.contains(&result.key)) {
        return;
    }
    match processes.last_mut() {
        Some(process) if !result.is_of_new_process && result.contains(&result.own(), process.last()) => {
            process.keys.insert(result.key.clone());
            process.own = std::mem::take(&mut process.own).plus(result.own());
            process.total.go_on(source, result);
        }
        _ => {
            let keys = BTreeSet::from([result.key.clone()]);
            processes.push(Process { keys, own: result.own(), total: RunningTotal::new(source, result) });
        }
    }
}

/// Joins processes with those that restored their totals and went on from them: see docs/accounting.md#restored-totals. Each process
/// goes on from at most one, the latest whose totals it can contain, and no two from the same one. Without times it is the largest.
pub(super) fn join_restored(processes: Vec<Process>) -> Vec<Process> {
    let sizes: Vec<Option<i64>> = processes.iter().map(|process| process.last().tokens().total()).collect();
    let size = |index: &usize| sizes.get(*index).copied().flatten();
    let time = |index: &usize| processes.get(*index).and_then(|process| process.last().occurred_at);
    let mut by_size: Vec<usize> = (0..processes.len()).collect();
    by_size.sort_by_key(|index| (Reverse(size(index)), *index));
    let mut by_time = by_size.clone();
    by_time.sort_by_key(|index| Reverse(time(index)));
    // For each process, the one that restored its totals.
    let mut restored: BTreeMap<usize, usize> = BTreeMap::new();
    for index in &by_size {
        let Some(process) = processes.get(*index).filter(|process| process.shows_own()) else { continue };
        let goes_on_from = |other: &&usize| {
            let Some(earlier) = processes.get(**other) else { return false };
            // Processes of one file are in their order. No two processes go on from each other.
            let is_before = earlier.source() != process.source() || *other < index;
            let is_smaller = (Reverse(size(other)), *other) > (Reverse(size(index)), index);
            is_before && is_smaller && size(other) > Some(0) && process.goes_on_from(earlier.last())
        };
        let order = if time(index).is_some() { &by_time } else { &by_size };
        let after = order.iter().skip_while(|other| *other != index).skip(1);
        let mut others = after.filter(|other| !restored.contains_key(*other));
        restored.extend(others.find(goes_on_from).map(|earlier| (*earlier, *index)));
    }
    let mut joined: Vec<Option<Process>> = processes.into_iter().map(Some).collect();
    // The smallest first: it may be part of another one that was restored.
    for index in by_size.iter().rev() {
        let Some(next) = restored.get(index) else { continue };
        let earlier = joined.get_mut(*index).and_then(Option::take);
        if let (Some(earlier), Some(Some(process))) = (earlier, joined.get_mut(*next)) {
            // The number of turns is not restored.
            process.total.last.turns = add(process.total.last.turns, earlier.last().turns);
            process.total.contain(earlier.total);
        }
    }
    joined.into_iter().flatten().collect()
}

/// Joins saved totals with the processes that went on from them. Returns the processes, and the other saved totals.
pub(super) fn join_saved(mut processes: Vec<Process>, saved: Vec<RunningTotal>) -> (Vec<Process>, Vec<RunningTotal>) {
    let mut others = Vec::new();
    for running in saved {
        match processes.iter_mut().find(|process| process.goes_on_from(&running.last)) {
            Some(process) => process.total.contain(running),
            None => others.push(running),
        }
    }
    (processes, others)
}

/// Adds a process of the next file to the processes of the files before it. Captures of one process share results: they
/// are joined, and the latest result counts.
pub(super) fn join_captures(processes: &mut Vec<Process>, mut process: Process) {
    let is_capture = |known: &mut Process| !known.keys.is_disjoint(&process.keys);
    let captures: Vec<Process> = processes.extract_if(.., is_capture).collect();
    for mut known in captures {
        process.keys.append(&mut known.keys);
        process.own = std::mem::take(&mut process.own).max(std::mem::take(&mut known.own));
        let last = process.last();
        if is_older(last, known.last()) || known.last() == last {
            std::mem::swap(&mut process.total, &mut known.total);
        }
        process.total.contain(known.total);
    }
    processes.push(process);
}

/// Whether a total is later than another one, where the times of both are known.
fn is_later(total: &Total, other: &Total) -> bool {
    total.occurred_at.zip(other.occurred_at).is_some_and(|(time, other)| time > other)
}

/// Whether a result is an older state of another one. A copy may divide the same tokens otherwise by model, so that each of them has
/// counts below those of the other one: then the larger one is the later one.
fn is_older(result: &Total, other: &Total) -> bool {
    let size = |total: &Total| (total.tokens().total(), total.models.len());
    result.is_below(other) && (!other.is_below(result) || size(result) < size(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{ModelTotal, Tokens};

    fn result(key: &str, input: i64) -> Total {
        let tokens = Tokens { input: Some(input), ..Tokens::UNKNOWN };
        let models = vec![ModelTotal { tokens, ..ModelTotal::default() }];
        Total { key: key.to_owned(), models, covers_subagents: true, ..Total::default() }
    }

    fn of_file(source: usize, results: Vec<Total>) -> Vec<Process> {
        let mut processes = Vec::new();
        for result in results {
            add_result(&mut processes, source, result);
        }
        processes
    }

    /// Two databases contain one session, of which the later one states each model apart.
    #[test]
    fn of_copies_that_divide_tokens_otherwise_the_larger_one_counts() {
        let stated = |models: &[(&str, i64)]| {
            let model = |(model, input): &(&str, i64)| ModelTotal {
                model: Some((*model).into()),
                tokens: Tokens { input: Some(*input), ..Tokens::UNKNOWN },
                ..ModelTotal::default()
            };
            Total { models: models.iter().map(model).collect(), ..result("a", 0) }
        };
        let copies = [stated(&[("b", 20)]), stated(&[("a", 22), ("b", 11)])];
        for order in [[0, 1], [1, 0]] {
            let mut processes = Vec::new();
            for file in order {
                join_captures(&mut processes, of_file(file, vec![copies[file].clone()]).swap_remove(0));
            }
            let sums: Vec<_> = processes.iter().map(|it| it.last().tokens().input).collect();
            assert_eq!(sums, [Some(33)], "{order:?}");
        }
    }

    /// The last result of each process.
    fn last_keys(processes: &[Process]) -> Vec<&str> {
        processes.iter().map(|process| process.last().key.as_str()).collect()
    }

    #[test]
    fn a_count_that_falls_begins_another_process() {
        let new_process = Total { is_of_new_process: true, ..result("b", 9) };
        let cheaper = Total { cost: Some(1.0), ..result("b", 9) };
        let cases = [
            ("it grows", vec![result("a", 1), result("b", 2)], vec!["b"]),
            ("it falls", vec![result("a", 2), result("b", 1)], vec!["a", "b"]),
            ("it is marked", vec![result("a", 1), new_process], vec!["a", "b"]),
            ("its cost falls", vec![Total { cost: Some(2.0), ..result("a", 1) }, cheaper], vec!["a", "b"]),
            ("a model is gone", vec![result("a", 1), Total { models: Vec::new(), ..result("b", 1) }], vec!["a", "b"]),
            ("the file twice", vec![result("a", 2), result("b", 1), result("a", 2), result("b", 1)], vec!["a", "b"]),
        ];
        for (name, results, expected) in cases {
            assert_eq!(last_keys(&of_file(0, results)), expected, "{name}");
        }
    }

    #[test]
    fn captures_of_one_process_are_joined() {
        let captures = [
            of_file(0, vec![result("a", 1), result("b", 2)]),
            of_file(1, vec![result("b", 2), result("c", 3)]),
            of_file(2, vec![result("x", 9)]),
        ];
        for order in [[0, 1, 2], [1, 2, 0], [2, 1, 0]] {
            let mut processes = Vec::new();
            for known in order.iter().flat_map(|file| &captures[*file]) {
                let process = Process {
                    keys: known.keys.clone(),
                    own: known.own.clone(),
                    total: RunningTotal::new(known.source(), known.last().clone()),
                };
                join_captures(&mut processes, process);
            }
            let mut keys = last_keys(&processes);
            keys.sort_unstable();
            assert_eq!(keys, ["c", "x"], "{order:?}");
        }
    }
}
