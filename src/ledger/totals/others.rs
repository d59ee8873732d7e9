//! Responses of processes that were not recorded, beside the totals of those that were. See
//! docs/accounting.md#recorded-and-other-processes.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::processes::Process;
use super::stated::LastTotals;
use crate::model::session::Tokens;
use crate::model::tables::{Grain, TurnRow};

/// Marks the responses that the totals of recorded processes do not contain, where together they are too many: the runtime's own file
/// has those of all processes. `recorded` are the files with such a total, each with the index of a row that it contains.
pub(super) fn mark_others(rows: &mut [TurnRow], recorded: &[(usize, usize)], processes: &[Process], last: &LastTotals) {
    let covers_subagents = processes.iter().all(|process| process.last.covers_subagents);
    let is_covered =
        |row: &TurnRow| row.grain == Grain::Turn && last.cover(row) && (covers_subagents || !row.turn.is_subagent);
    let covered: BTreeSet<usize> =
        rows.iter().enumerate().filter(|(_, row)| is_covered(row)).map(|(index, _)| index).collect();
    let total = processes.iter().fold(Tokens::UNKNOWN, |sum, process| sum.plus(process.last.tokens()));
    let is_contained = |rows: &[TurnRow], indexes: &BTreeSet<usize>| {
        let rows = indexes.iter().filter_map(|index| rows.get(*index));
        rows.fold(Tokens::UNKNOWN, |sum, row| sum.plus(row.turn.tokens.get())).fits(total)
    };
    if total.total().is_none() || is_contained(rows, &covered) {
        return;
    }
    let mut known: BTreeSet<usize> = recorded.iter().map(|(_, row)| *row).collect();
    let is_without_rows = |process: &&Process| !recorded.iter().any(|(source, _)| *source == process.source);
    for process in processes.iter().filter(is_without_rows) {
        known.extend(spent_by(process, rows, &covered));
    }
    // A recording may lack responses between those that it has; or it may be one of several, with others between them.
    let known: BTreeSet<usize> = known.intersection(&covered).copied().collect();
    let (Some(first), Some(end)) = (known.first(), known.last()) else { return };
    let between = covered.range(first..=end).copied().collect();
    let sets = [between, known].map(|own| with_subagents(rows, &covered, own));
    if let Some(own) = sets.into_iter().find(|own| is_contained(rows, own)) {
        for index in covered.difference(&own) {
            if let Some(row) = rows.get_mut(*index) {
                row.turn.is_of_killed = true;
            }
        }
    }
}

/// The rows of a process with those of the subagents that it started: they follow a response of its main agent.
fn with_subagents(rows: &[TurnRow], covered: &BTreeSet<usize>, mut own: BTreeSet<usize>) -> BTreeSet<usize> {
    let mut is_own = false;
    for index in covered {
        let Some(row) = rows.get(*index) else { continue };
        if !row.turn.is_subagent {
            is_own = own.contains(index);
        } else if is_own {
            own.insert(*index);
        }
    }
    own
}

/// The rows of a process of which only the total is recorded: successive responses of the main agent that together are what the total
/// states for this agent; the last such ones.
fn spent_by(process: &Process, rows: &[TurnRow], covered: &BTreeSet<usize>) -> Vec<usize> {
    let Some(own) = process.own_counts() else { return Vec::new() };
    let is_of_main_agent = |index: &usize| rows.get(*index).is_some_and(|row| !row.turn.is_subagent);
    let indexes: Vec<usize> = covered.iter().copied().filter(is_of_main_agent).collect();
    // The sums of the responses before each one.
    let mut sums: HashMap<[i64; 4], usize> = HashMap::default();
    let mut sum = [0; 4];
    let mut run = 0..0;
    for (number, row) in indexes.iter().filter_map(|index| rows.get(*index)).enumerate() {
        sums.insert(sum, number);
        let counts = row.turn.tokens.get().kinds();
        sum = std::array::from_fn(|kind| sum[kind] + counts[kind].unwrap_or(0));
        if let Some(first) = sums.get(&std::array::from_fn(|kind| sum[kind] - own[kind])) {
            run = *first..number + 1;
        }
    }
    indexes.get(run).unwrap_or_default().to_vec()
}
