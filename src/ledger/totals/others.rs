//! Responses of processes that were not recorded, beside the totals of those that were. See
//! docs/accounting.md#recorded-and-other-processes.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::places::TotalPlaces;
use super::processes::Process;
use crate::model::session::Tokens;
use crate::model::tables::{Grain, TurnRow};

/// Marks the responses that the totals of recorded processes do not contain, where together they are too many: the runtime's own file
/// has those of all processes. `recorded` are the files with such a total, each with the index of a row that it contains.
pub(super) fn mark_others(
    rows: &mut [TurnRow],
    recorded: &[(usize, usize)],
    processes: &[Process],
    places: &TotalPlaces,
) {
    let total: Tokens = processes.iter().map(|process| process.last().tokens()).sum();
    // Most sessions have no such totals.
    if total.total().is_none() {
        return;
    }
    let covers_subagents = processes.iter().all(|process| process.last().covers_subagents);
    let is_covered =
        |row: &TurnRow| row.grain == Grain::Turn && places.cover(row) && (covers_subagents || !row.turn.is_subagent);
    let covered: BTreeSet<usize> =
        rows.iter().enumerate().filter(|(_, row)| is_covered(row)).map(|(index, _)| index).collect();
    let is_contained = |rows: &[TurnRow], indexes: &BTreeSet<usize>| {
        let rows = indexes.iter().filter_map(|index| rows.get(*index));
        rows.map(|row| row.turn.tokens.get()).sum::<Tokens>().fits(total)
    };
    if is_contained(rows, &covered) {
        return;
    }
    let of_files = rows.iter().enumerate().filter(|(_, row)| processes.iter().any(|it| it.source() == row.source));
    let of_files: Vec<(usize, usize)> =
        of_files.map(|(index, row)| (row.source, index)).chain(recorded.iter().copied()).collect();
    let mut known: BTreeSet<usize> = of_files.iter().map(|(_, row)| *row).collect();
    if known.is_superset(&covered) {
        return;
    }
    let is_without_rows = |process: &&Process| !of_files.iter().any(|(source, _)| *source == process.source());
    for process in processes.iter().filter(is_without_rows) {
        known.extend(spent_by(process, rows, &covered));
    }
    // Between the responses of the recording are others: the recording lacks them, or other processes ran meanwhile. Both are tried.
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
    let counts = |tokens: Tokens| tokens.kinds().map(|count| count.unwrap_or(0));
    let Some(own) = process.spent_itself() else { return Vec::new() };
    let is_of_main_agent = |index: &usize| rows.get(*index).is_some_and(|row| !row.turn.is_subagent);
    let indexes: Vec<usize> = covered.iter().copied().filter(is_of_main_agent).collect();
    // The sums of the responses before each one.
    let mut sums: HashMap<[i64; 4], usize> = HashMap::default();
    let mut sum =
        Tokens { input: Some(0), output: Some(0), cache_read: Some(0), cache_write: Some(0), ..Tokens::UNKNOWN };
    let mut run = 0..0;
    for (number, row) in indexes.iter().filter_map(|index| rows.get(*index)).enumerate() {
        sums.insert(counts(sum), number);
        sum = sum.plus(row.turn.tokens.get());
        if let Some(first) = sums.get(&counts(sum.minus(own))) {
            run = *first..number + 1;
        }
    }
    indexes.get(run).unwrap_or_default().to_vec()
}
