//! What a reader of a comparison of two cohorts has to know.

use agentlogs::analysis::compare::{Compared, Comparison, SIGNIFICANCE, has_few_pairs};
use agentlogs::analysis::outcomes::Tasks;
use agentlogs::analysis::present::{self, Currency};

use crate::cli::commands::output::{complain, say};

/// A sentence about a comparison.
pub enum Note {
    Fact(String),
    /// Why a reader may be misled.
    Warning(String),
}

impl Note {
    pub(super) fn print(&self) {
        match self {
            Self::Fact(text) => say(text),
            Self::Warning(text) => complain(format_args!("{text}")),
        }
    }

    /// Its sentence.
    pub fn into_text(self) -> String {
        match self {
            Self::Fact(text) | Self::Warning(text) => text,
        }
    }
}

/// About the sessions and tasks of the cohorts.
pub fn of_sessions(found: &Comparison) -> Vec<Note> {
    let shared = (found.shared > 0)
        .then(|| Note::Fact(format!("in both cohorts: {}", present::counted(found.shared, "session"))));
    shared.into_iter().chain(found.tasks.into_iter().flat_map(of_tasks)).collect()
}

/// About the tests.
pub fn of_lines(lines: &[Compared], currency: Currency) -> Vec<Note> {
    lines.iter().filter_map(disagreement).chain(correction(lines)).chain(power(lines, currency)).collect()
}

/// Which results are no longer more than chance once it counts that several lines are tested.
fn correction(lines: &[Compared]) -> Option<Note> {
    let is_found = |line: &&Compared| matches!(line.result, Some("higher" | "lower")) && line.test.is_some();
    let remains = |line: &&Compared| line.p_adjusted.is_some_and(|p_value| p_value < SIGNIFICANCE);
    let tested = lines.iter().filter(|line| line.p_adjusted.is_some()).count();
    let found: Vec<&Compared> = lines.iter().filter(is_found).collect();
    let names = |kept: bool| {
        let names = found.iter().filter(|line| remains(line) == kept).map(|line| line.measure);
        names.collect::<Vec<_>>().join(", ")
    };
    let (kept, lost) = (names(true), names(false));
    let kept = if kept.is_empty() { String::new() } else { format!("; those of {kept} are more") };
    (!lost.is_empty()).then(|| {
        Note::Fact(format!(
            "{tested} lines are tested, of which some differ by chance: by Holm's correction, the differences of {lost} can be chance{kept}"
        ))
    })
}

/// Which difference of the main measure is found, if it is inconclusive.
fn power(lines: &[Compared], currency: Currency) -> Option<Note> {
    const MAIN: [&str; 3] = ["paired_pass_rate", "pass_rate", "cost_per_session_usd"];
    let main = MAIN.iter().find_map(|name| lines.iter().find(|line| line.measure == *name && line.test.is_some()));
    let (main, least) = main.and_then(|line| Some((line, line.detectable?)))?;
    if main.result != Some("inconclusive") || least <= 0.0 {
        return None;
    }
    let least = present::in_points(&present::measured(main.measure, currency.value_of(main.measure, least)));
    let things = if main.pairs.is_some() { "tasks" } else { "sessions" };
    let needed = main.needed.filter(|_| main.difference() != Some(0.0));
    let needed = needed.map_or_else(String::new, |count| {
        format!("; the observed difference needs about {} {things} in each cohort", present::grouped(count))
    });
    let what = format!("with a power of 80 %, only differences from {least} on are found here{needed}");
    Some(Note::Fact(format!("{}: {what}", currency.name_of(main.measure))))
}

/// Which test decided a line if the interval alone would lead to another result.
fn disagreement(line: &Compared) -> Option<Note> {
    if !line.is_of_mcnemar() {
        return None;
    }
    let ((low, high), p_value, result) = (line.interval?, line.p_value?, line.result?);
    let excludes_0 = low > 0.0 || high < 0.0;
    let contains = if excludes_0 { "does not contain" } else { "contains" };
    (excludes_0 == (result == "inconclusive")).then(|| {
        Note::Fact(format!(
            "{}: {result} by McNemar's test (p = {p_value:.3}), which compares how many tasks pass in one cohort only; the interval \
             {contains} 0",
            line.measure
        ))
    })
}

/// How the tasks of both cohorts match.
pub(super) fn of_tasks(tasks: Tasks) -> Vec<Note> {
    let Tasks { both, only_a, only_b } = tasks;
    if both == 0 {
        let text = "no task is judged in both cohorts: trials are compared without pairs";
        return vec![Note::Warning(text.to_owned())];
    }
    let mut notes = vec![Note::Fact(format!("trials are paired by task: {}", present::counted(both, "task")))];
    if only_a + only_b > 0 {
        notes.push(Note::Warning(format!(
            "the tasks differ: {} judged only in a and {} judged only in b are not compared in pairs, and lines without pairs can differ for this reason \
             alone",
            present::counted(only_a, "task"),
            present::counted(only_b, "task")
        )));
    }
    if has_few_pairs(tasks) {
        notes.push(Note::Warning(format!("too few pairs for an interval: {}", present::grouped(both))));
    }
    notes
}
