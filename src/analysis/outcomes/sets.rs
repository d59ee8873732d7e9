//! The two sets of tasks for improving a prompt: tasks to learn from, and tasks that are held out to test what was learned.
//!
//! The set of a task depends on its name only, so that all attempts of a task are in one set, in each evaluation.

use twox_hash::XxHash3_64;

/// The set of tasks to learn from.
pub(in crate::analysis) const LEARN: &str = "learn";
/// The set of tasks that are held out.
pub(in crate::analysis) const HELD_OUT: &str = "held_out";

/// The set of a task: three of ten tasks are held out.
pub(in crate::analysis) fn set_of_task(task: &str) -> &'static str {
    if XxHash3_64::oneshot(task.as_bytes()) % 10 < 3 { HELD_OUT } else { LEARN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_ten_tasks_are_held_out() {
        let held_out = (0..10_000).filter(|number| set_of_task(&format!("task-{number}")) == HELD_OUT).count();
        assert!((2_800..3_200).contains(&held_out), "{held_out}");
        // The sets of a task must not change: what was learned from would be tested.
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(set_of_task),
            ["learn", "learn", "held_out", "learn", "learn", "held_out"]
        );
    }
}
