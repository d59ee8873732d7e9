//! The totals that the logs of one session state, each process, thread and run counted once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet, HashSetExt as _};

use super::matching::ModelName;
use super::model_name::canonical;
use super::model_sum::ModelSum;
use super::others::mark_others;
use super::places::TotalPlaces;
use super::processes::{Process, add_result, join_captures, join_restored, join_saved};
use super::running_total::RunningTotal;
use super::runs::Runs;
use super::saved::{join_recorded, last_of_processes};
use super::thread_steps::thread_steps;
use crate::base::time::Time;
use crate::model::session::{ModelTotal, NEGLIGIBLE_USD, Total, TotalKind, add};
use crate::model::tables::TurnRow;

/// The totals of one session.
#[derive(Default)]
pub(in crate::ledger) struct StatedTotals {
    pub duration_ms: Option<i64>,
    pub api_duration_ms: Option<i64>,
    pub turns: Option<i64>,
    /// Sums of processes, by the canonical name of the model.
    pub(super) models: BTreeMap<ModelName, ModelSum>,
    /// The canonical names of the models in the totals of each file.
    pub(super) names_in_files: HashMap<usize, BTreeSet<ModelName>>,
    /// Totals of threads, as differences, and of runs. Each has the index of its file.
    pub(super) steps: Vec<(usize, Total)>,
    /// Sums over logs that are absent. Each has the index of its file.
    pub(super) migrated: Vec<(usize, Total)>,
    pub(super) covers_subagents: bool,
    /// Whether a total leaves out responses without counts.
    pub(super) is_sum_of_counts: bool,
    /// Whether a total may be less than was spent.
    pub(in crate::ledger) is_minimum: bool,
    pub(super) places: TotalPlaces,
}

/// The totals that a file of a session states.
pub(in crate::ledger) struct FileTotals {
    /// Index of the file.
    pub source: usize,
    pub totals: Vec<Total>,
    /// When the part of the session in this file ended.
    pub ended_at: Option<Time>,
}

/// The sums over an absent log in one of the files: each file contains all of them, as of its time. The larger ones are later.
fn largest_migrated(files: BTreeMap<usize, Vec<Total>>) -> Vec<(usize, Total)> {
    let size = |totals: &[Total]| totals.iter().filter_map(|total| total.tokens().total()).sum::<i64>();
    let largest = files.into_iter().max_by_key(|(source, totals)| (size(totals), Reverse(*source)));
    largest.into_iter().flat_map(|(source, totals)| totals.into_iter().map(move |total| (source, total))).collect()
}

impl StatedTotals {
    /// Adds up the totals of all files. Marks the responses in `rows` that no total can contain.
    /// `recorded` are the files with totals of a process, each with the index of a row that it contains.
    pub(in crate::ledger) fn of_files(
        files: Vec<FileTotals>,
        rows: &mut [TurnRow],
        recorded: &[(usize, usize)],
    ) -> Self {
        let mut totals = Self { covers_subagents: true, ..Self::default() };
        let mut keys = HashSet::new();
        let mut runs = Runs::default();
        let mut processes: Vec<Process> = Vec::new();
        let mut threads = Vec::new();
        let mut saved = Vec::new();
        let mut migrated: BTreeMap<usize, Vec<Total>> = BTreeMap::new();
        for FileTotals { source, totals: stated, ended_at } in files {
            let mut processes_of_file: Vec<Process> = Vec::new();
            let mut runs_of_file = Vec::new();
            for total in stated {
                match total.kind {
                    TotalKind::Thread => threads.push((source, total)),
                    TotalKind::Run => runs_of_file.push(total),
                    TotalKind::Saved => {
                        if keys.insert(total.key.clone()) {
                            saved.push((source, total));
                        }
                    }
                    TotalKind::Migrated => {
                        let of_file = migrated.entry(source).or_default();
                        if of_file.iter().all(|other| other.key != total.key) {
                            of_file.push(total);
                        }
                    }
                    TotalKind::Process => {
                        let is_new = keys.insert(total.key.clone());
                        totals.add_facts(source, &total, is_new);
                        add_result(&mut processes_of_file, source, total);
                    }
                }
            }
            runs.add_file(source, runs_of_file);
            totals.places.end_file(source, ended_at);
            let last = processes_of_file.pop().map(|last| last.ended_at(ended_at));
            for process in processes_of_file.into_iter().chain(last) {
                join_captures(&mut processes, process);
            }
        }
        // A recorded process is part of the saved total that contains it, a process of the one that restored its totals, and what the
        // remaining saved totals contain is part of the processes that went on from them.
        let mut saved = last_of_processes(saved, rows);
        let processes = join_restored(join_recorded(processes, &mut saved));
        let (processes, saved) = join_saved(processes, saved);
        if saved.is_empty() {
            mark_others(rows, recorded, &processes, &totals.places);
        }
        for process in processes {
            totals.add_process(process.total);
        }
        for running in saved {
            totals.add_place(running.source, &running.last);
            totals.api_duration_ms = add(totals.api_duration_ms, running.last.api_duration_ms);
            totals.add_process(running);
        }
        totals.steps = runs.outer();
        totals.is_minimum |= totals.steps.iter().any(|(_, total)| total.is_minimum);
        totals.steps.extend(thread_steps(threads));
        totals.migrated = largest_migrated(migrated);
        totals
    }

    /// Adds what a total of a process reports besides tokens and cost. `is_new`: it is not a copy of another one.
    fn add_facts(&mut self, source: usize, total: &Total, is_new: bool) {
        self.add_place(source, total);
        if is_new {
            self.duration_ms = add(self.duration_ms, total.duration_ms);
            self.api_duration_ms = add(self.api_duration_ms, total.api_duration_ms);
        }
    }

    /// Adds the place of a total and the names of its models.
    fn add_place(&mut self, source: usize, total: &Total) {
        self.places.add(source, total);
        let names = total.models.iter().map(|model| model.model.as_deref().map(canonical));
        self.names_in_files.entry(source).or_default().extend(names);
    }

    /// Adds the total of a process.
    fn add_process(&mut self, total: RunningTotal) {
        for (source, part) in total.of_days() {
            self.add_part(source, part);
        }
    }

    fn add_part(&mut self, source: usize, mut last: Total) {
        self.turns = add(self.turns, last.turns);
        self.covers_subagents &= last.covers_subagents;
        self.is_sum_of_counts |= last.is_sum_of_counts;
        self.is_minimum |= last.is_minimum;
        if last.models.is_empty() && last.cost.is_some() {
            // A cost without usage still counts.
            last.models.push(ModelTotal { cost: last.cost, ..ModelTotal::default() });
        }
        let costs = unassigned_costs(&last);
        for (total, cost) in last.models.iter().zip(costs) {
            let sum = self.models.entry(total.model.as_deref().map(canonical));
            sum.or_insert_with(|| ModelSum::new(source, &last, total)).add(source, &last, total, cost);
        }
    }
}

/// For each model of a total, its part of the cost beyond the costs of the models: it is that of the models without one, in proportion
/// to their tokens, else of the largest model.
fn unassigned_costs(total: &Total) -> Vec<Option<f64>> {
    let assigned: f64 = total.models.iter().filter_map(|model| model.cost).sum();
    let cost = total.cost.map(|cost| cost - assigned).filter(|cost| *cost > NEGLIGIBLE_USD);
    let tokens = |model: &ModelTotal| model.tokens.total().unwrap_or(0);
    let largest = (0..total.models.len()).max_by_key(|index| total.models.get(*index)?.tokens.total());
    let without: i64 = total.models.iter().filter(|model| model.cost.is_none()).map(tokens).sum();
    let share = |(index, model): (usize, &ModelTotal)| {
        if without > 0 {
            let is_without = model.cost.is_none() && tokens(model) > 0;
            cost.filter(|_| is_without).map(|cost| cost * tokens(model) as f64 / without as f64)
        } else {
            cost.filter(|_| Some(index) == largest)
        }
    };
    total.models.iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Tokens;

    fn total(key: &str, kind: TotalKind, input: i64) -> Total {
        let tokens = Tokens { input: Some(input), ..Tokens::UNKNOWN };
        let models = vec![ModelTotal { model: Some("m".into()), tokens, ..ModelTotal::default() }];
        Total { key: key.to_owned(), kind, models, duration_ms: Some(input), ..Total::default() }
    }

    /// The totals of files, in which no session ends.
    fn of_files(files: impl IntoIterator<Item = Vec<Total>>) -> StatedTotals {
        let files = files.into_iter().enumerate();
        let files = files.map(|(source, totals)| FileTotals { source, totals, ended_at: None });
        StatedTotals::of_files(files.collect(), &mut [], &[])
    }

    #[test]
    fn processes_and_runs_are_counted_once() {
        let file = || {
            let process = total("p", TotalKind::Process, 10);
            let next = Total { is_of_new_process: true, ..total("q", TotalKind::Process, 20) };
            vec![process, next, total("r", TotalKind::Run, 5)]
        };
        for files in [vec![file()], vec![file(), file()]] {
            let totals = of_files(files);
            let sums: Vec<_> = totals.models.values().map(|sum| sum.all.total.tokens.input).collect();
            assert_eq!((sums, totals.steps.len(), totals.duration_ms), (vec![Some(30)], 1, Some(30)));
        }
    }

    #[test]
    fn of_states_of_a_migrated_log_the_largest_counts() {
        let sum = |input: i64| total(&format!("sum {input}"), TotalKind::Migrated, input);
        for files in [vec![vec![sum(10)], vec![sum(30)]], vec![vec![sum(30)], vec![sum(10), sum(10)], vec![sum(30)]]] {
            let totals = of_files(files);
            let sums: Vec<_> = totals.migrated.iter().map(|(_, total)| total.tokens().input).collect();
            assert_eq!(sums, [Some(30)]);
        }
        let both = of_files([vec![sum(10), sum(30)]]);
        assert_eq!(both.migrated.len(), 2, "sums of one file");
    }

    #[test]
    fn a_cost_beyond_that_of_the_models_is_kept() {
        let model = |cost| ModelTotal { model: Some("m".into()), cost, ..ModelTotal::default() };
        let cases = [(vec![model(Some(1.0))], Some(0.5)), (vec![model(None)], Some(1.5)), (vec![], None)];
        for (models, expected) in cases {
            let total = Total { key: "p".to_owned(), cost: Some(1.5), models, ..Total::default() };
            let totals = of_files([vec![total]]);
            let costs: Vec<_> = totals.models.values().map(|sum| sum.all.unassigned_cost).collect();
            assert_eq!(costs, [expected]);
        }
    }
}
