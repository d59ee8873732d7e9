//! Totals of runs: see docs/accounting.md#run-totals.

use foldhash::{HashMap, HashSet};

use crate::model::session::Total;

/// The counts of a run's tokens.
type Counts = [Option<i64>; 4];

/// The runs that the logs of a session state, each once.
#[derive(Default)]
pub(super) struct Runs {
    /// The runs, each with the index of its file.
    runs: Vec<(usize, Total)>,
    /// The index of each run in `runs`, by its key; `None` if another file states it under another key.
    by_key: HashMap<String, Option<usize>>,
    /// The first file with a run of these counts, for each of several such runs.
    by_counts: HashMap<(Counts, usize), usize>,
}

impl Runs {
    /// Adds the runs of the next file.
    pub(super) fn add_file(&mut self, source: usize, runs: Vec<Total>) {
        let mut numbers: HashMap<Counts, usize> = HashMap::default();
        for run in runs {
            let tokens = run.tokens();
            let number = numbers.entry(tokens.kinds()).or_default();
            *number += 1;
            if let Some(known) = self.by_key.get(&run.key) {
                if let Some((_, known)) = known.and_then(|index| self.runs.get_mut(index)) {
                    join_copies(known, &run);
                }
                continue;
            }
            // Two files can state one run, with keys of their own: a trajectory, and what the program printed.
            let has_counts = tokens.output.is_some() && tokens.total().is_some_and(|total| total > 0);
            let is_new = !has_counts || *self.by_counts.entry((tokens.kinds(), *number)).or_insert(source) == source;
            self.by_key.insert(run.key.clone(), is_new.then_some(self.runs.len()));
            if is_new {
                self.runs.push((source, run));
            }
        }
    }

    /// The runs that add up: without those inside of others, whose sums contain them.
    pub(super) fn outer(self) -> Vec<(usize, Total)> {
        let is_inside = |run: &Total| run.place.is_some() && self.runs.iter().any(|(_, outer)| run.is_inside_of(outer));
        let inner = self.runs.iter().filter(|(_, run)| is_inside(run)).map(|(_, run)| run.key.clone());
        let inner: HashSet<String> = inner.collect();
        self.runs.into_iter().filter(|(_, run)| !inner.contains(&run.key)).collect()
    }
}

/// Joins two copies of a run, of which one may be older: the larger of each amount counts.
fn join_copies(known: &mut Total, copy: &Total) {
    if let ([known], [copy]) = (known.models.as_mut_slice(), copy.models.as_slice()) {
        known.tokens = known.tokens.max(copy.tokens);
        known.cost = known.cost.into_iter().chain(copy.cost).reduce(f64::max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{ModelTotal, Tokens};

    fn run(key: &str, input: i64, output: Option<i64>) -> Total {
        let tokens = Tokens { input: Some(input), output, ..Tokens::UNKNOWN };
        Total { key: key.to_owned(), models: vec![ModelTotal { tokens, ..ModelTotal::default() }], ..Total::default() }
    }

    fn of_files(files: impl IntoIterator<Item = Vec<Total>>) -> Vec<(usize, Total)> {
        let mut runs = Runs::default();
        for (source, file) in files.into_iter().enumerate() {
            runs.add_file(source, file);
        }
        runs.outer()
    }

    #[test]
    fn a_run_that_two_files_state_is_counted_once_if_its_tokens_are_known() {
        let count = |a: Total, b: Total| of_files([vec![a], vec![b]]).len();
        assert_eq!(count(run("a", 5, Some(2)), run("b", 5, Some(2))), 1);
        assert_eq!(count(run("a", 5, Some(2)), run("b", 5, Some(3))), 2);
        assert_eq!(count(run("a", 5, None), run("b", 5, None)), 2);
        let mut cached = run("b", 3, Some(2));
        cached.models[0].tokens.cache_read = Some(2);
        assert_eq!(count(run("a", 5, Some(2)), cached), 2);
        // One file states each run once.
        let both = || vec![run("a", 5, Some(2)), run("b", 5, Some(2))];
        let one = |key| vec![run(key, 5, Some(2))];
        for (files, expected) in
            [(vec![both()], 2), (vec![one("c"), both()], 2), (vec![both(), one("c")], 2), (vec![one("c"), one("d")], 1)]
        {
            assert_eq!(of_files(files).len(), expected);
        }
    }

    /// One of two copies of a file is older: its last run has grown since, and the other file has a further run of equal counts.
    #[test]
    fn the_larger_copy_of_a_run_counts() {
        let older = || vec![run("a", 5, None), run("b", 3, None)];
        let newer = || vec![run("a", 5, None), run("b", 8, None), run("c", 5, None)];
        for files in [[older(), newer()], [newer(), older()]] {
            let mut inputs: Vec<_> = of_files(files).iter().map(|(_, run)| run.tokens().input).collect();
            inputs.sort_unstable();
            assert_eq!(inputs, [Some(5), Some(5), Some(8)]);
        }
    }
}
