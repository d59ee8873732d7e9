//! Running totals that the runtime saves in its own file: see docs/accounting.md#saved-totals.

use std::collections::BTreeMap;

use super::processes::Process;
use super::running_total::RunningTotal;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::session::{ModelTotal, OwnTokens, Tokens, Total};
use crate::model::tables::{Grain, TurnRow};

/// The time by which a total of a recording may follow the one that the same process saves, in milliseconds.
const TOLERANCE_MS: i64 = 60_000;

/// Joins recorded processes with the saved totals that contain theirs. Returns the other processes.
pub(super) fn join_recorded(processes: Vec<Process>, saved: &mut [RunningTotal]) -> Vec<Process> {
    let mut others = Vec::new();
    for process in processes {
        match saved.iter_mut().find(|running| contains(&running.last, process.last())) {
            Some(running) => running.contain(process.total),
            None => others.push(process),
        }
    }
    others
}

/// Whether a saved total contains one that a recording of one of its processes states.
fn contains(saved: &Total, stated: &Total) -> bool {
    let is_after =
        |a: Option<Time>, b: Option<Time>, tolerance: i64| a.zip(b).is_some_and(|(a, b)| a.since(b) > tolerance);
    !is_after(stated.occurred_at, saved.occurred_at, TOLERANCE_MS)
        && !is_after(saved.started_at, stated.occurred_at, 0)
        && !saved.is_below(stated)
}

/// The totals that count, of all that the files of a session contain. Marks the responses before them that they cannot contain.
pub(super) fn last_of_processes(mut saved: Vec<(usize, Total)>, rows: &mut [TurnRow]) -> Vec<RunningTotal> {
    if saved.is_empty() {
        return Vec::new();
    }
    // Copies can have different totals of one time: those of a process grow.
    saved.sort_by_key(|(source, it)| (it.occurred_at, it.started_at, it.tokens().total(), *source, it.line));
    let mut owns = responses_before(&saved, rows).into_iter();
    // The last total of each process, and the indexes of the responses that it has to contain.
    let mut processes: Vec<(RunningTotal, Vec<usize>)> = Vec::new();
    for (source, total) in saved {
        let mut own = owns.next().unwrap_or_default();
        match processes.last_mut() {
            Some((running, covered)) if goes_on_from(&running.last, &total, &spent(rows, &own)) => {
                covered.append(&mut own);
                running.go_on(source, total);
            }
            _ => processes.push((RunningTotal::new(source, total), own)),
        }
    }
    processes.retain(|(running, covered)| mark_others(&running.last, covered, rows));
    processes.into_iter().map(|(running, _)| running).collect()
}

/// For each of the totals, which are in order, the responses that it has to contain and that no total before it has.
fn responses_before(saved: &[(usize, Total)], rows: &[TurnRow]) -> Vec<Vec<usize>> {
    // The totals of each file, each with the largest line so far.
    let mut files: BTreeMap<usize, Vec<(usize, i64, &Total)>> = BTreeMap::new();
    for (index, (source, total)) in saved.iter().enumerate() {
        let file = files.entry(*source).or_default();
        let line = file.last().map_or(total.line, |(_, line, _)| total.line.max(*line));
        file.push((index, line, total));
    }
    let mut before = vec![Vec::new(); saved.len()];
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.grain == Grain::Turn) {
        let first = files.iter().filter_map(|(source, totals)| {
            let at = match totals.first() {
                _ if *source == row.source => totals.partition_point(|(_, line, _)| *line < row.turn.line),
                // Totals without a time are the first ones.
                Some((_, _, total)) if precedes(row, *source, total) => 0,
                _ => totals.partition_point(|(_, _, total)| !precedes(row, *source, total)),
            };
            totals.get(at).map(|(index, _, _)| *index)
        });
        if let Some(own) = first.min().and_then(|index| before.get_mut(index)) {
            own.push(number);
        }
    }
    before
}

/// Whether a response is before a total.
fn precedes(row: &TurnRow, source: usize, total: &Total) -> bool {
    if row.source == source {
        return row.turn.line <= total.line;
    }
    row.turn.occurred_at.is_none_or(|time| total.occurred_at.is_none_or(|total| time <= total))
}

/// Whether a total contains the one before it, as the counts of the responses between them show. Totals of one process contain each
/// other without these counts, too: a response that was interrupted is in no total. But a later total that states of a model exactly
/// these responses began at 0.
fn goes_on_from(last: &Total, next: &Total, between: &OwnTokens) -> bool {
    let is_same_process = next.started_at.is_some() && next.started_at == last.started_at;
    let is_own = |model: &ModelTotal| model.model == between.model && model.tokens.kinds() == between.of_model.kinds();
    let begins_at_zero = || between.of_model.total() > Some(0) && next.models.iter().any(is_own);
    next.contains(between, last) || is_same_process && next.contains(&OwnTokens::default(), last) && !begins_at_zero()
}

/// Marks responses that the total cannot contain. Returns whether it contains any: a total that is smaller than the responses of its
/// own process is of no use.
fn mark_others(total: &Total, covered: &[usize], rows: &mut [TurnRow]) -> bool {
    if sum(rows, covered).fits(total.tokens()) {
        return true;
    }
    // Earlier processes did not save their totals.
    let is_own = |index: &usize| {
        let time = rows.get(*index).and_then(|row| row.turn.occurred_at);
        total.started_at.is_some() && time >= total.started_at
    };
    let (own, others): (Vec<usize>, Vec<usize>) = covered.iter().partition(|index| is_own(index));
    let is_useful = !own.is_empty() && sum(rows, &own).fits(total.tokens());
    for index in if is_useful { &others } else { covered } {
        if let Some(row) = rows.get_mut(*index) {
            row.turn.is_of_killed = true;
        }
    }
    is_useful
}

/// What the responses with these indexes spent.
fn spent(rows: &[TurnRow], indexes: &[usize]) -> OwnTokens {
    let mut models: BTreeMap<&Symbol, Tokens> = BTreeMap::new();
    for turn in indexes.iter().filter_map(|index| rows.get(*index)).map(|row| &row.turn) {
        if let Some(model) = turn.model.as_ref().filter(|_| !turn.is_subagent) {
            let sum = models.entry(model).or_insert(Tokens::UNKNOWN);
            *sum = sum.plus(turn.tokens.get());
        }
    }
    let largest = models.into_iter().max_by_key(|(_, tokens)| tokens.total());
    let all = sum(rows, indexes);
    match largest {
        Some((model, tokens)) => OwnTokens { all, ..OwnTokens::of_model(tokens, Some(model.clone())) },
        None => OwnTokens::of_all(all),
    }
}

fn sum(rows: &[TurnRow], indexes: &[usize]) -> Tokens {
    let rows = indexes.iter().filter_map(|index| rows.get(*index));
    rows.map(|row| row.turn.tokens.get()).sum()
}
