//! Running totals of processes: which results belong to one process. See docs/accounting.md#process-totals.

use std::collections::BTreeSet;

use crate::model::session::Total;

/// The results of one process. They are running totals, so the last one counts.
#[derive(Debug)]
pub(super) struct Process {
    /// Index of the file that contains the last result.
    pub source: usize,
    /// The keys of all results.
    keys: BTreeSet<String>,
    pub last: Total,
}

/// Adds the next result of a file to the processes of that file.
pub(super) fn add_result(processes: &mut Vec<Process>, source: usize, result: Total) {
    // A recording may be in the file twice.
    if processes.iter().any(|process| process.keys.contains(&result.key)) {
        return;
    }
    match processes.last_mut() {
        Some(process) if !result.is_of_new_process && !has_fallen(&process.last, &result) => {
            process.keys.insert(result.key.clone());
            process.last = result;
        }
        _ => processes.push(Process { source, keys: BTreeSet::from([result.key.clone()]), last: result }),
    }
}

/// Adds a process of the next file to the processes of the files before it. Captures of one process share results: they are
/// joined, and the latest result counts.
pub(super) fn join_captures(processes: &mut Vec<Process>, mut process: Process) {
    let is_capture = |known: &mut Process| !known.keys.is_disjoint(&process.keys);
    let captures: Vec<Process> = processes.extract_if(.., is_capture).collect();
    for mut known in captures {
        process.keys.append(&mut known.keys);
        if has_fallen(&known.last, &process.last) || known.last == process.last {
            (process.source, process.last) = (known.source, known.last);
        }
    }
    processes.push(process);
}

/// Whether a count or the cost fell between two results: running totals do not fall, so the next one is of another process.
fn has_fallen(last: &Total, next: &Total) -> bool {
    if let (Some(last), Some(next)) = (last.cost, next.cost)
        && next < last - 1e-9
    {
        return true;
    }
    last.models.iter().any(|old| {
        let Some(new) = next.models.iter().find(|new| new.model == old.model) else { return last.covers_subagents };
        let mut counts = new.tokens.kinds().into_iter().zip(old.tokens.kinds());
        last.covers_subagents && counts.any(|(new, old)| new < old)
    })
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

    /// The last result of each process.
    fn last_keys(processes: &[Process]) -> Vec<&str> {
        processes.iter().map(|process| process.last.key.as_str()).collect()
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
                let process = Process { source: known.source, keys: known.keys.clone(), last: known.last.clone() };
                join_captures(&mut processes, process);
            }
            let mut keys = last_keys(&processes);
            keys.sort_unstable();
            assert_eq!(keys, ["c", "x"], "{order:?}");
        }
    }
}
