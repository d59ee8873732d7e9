//! Compares two cohorts of sessions: the difference of each measure, with a bootstrap confidence interval of 95 %.
//!
//! Where verdicts are present, trials are compared too. The measures of `report outcomes` have the same numbers here. If both cohorts
//! have tasks in common, the means over these tasks (`paired_…`) are compared in pairs ([`pairs`](crate::analysis::outcomes)), and
//! decide in place of the measures of the same kind.
//!
//! Sessions are resampled as a whole, as the turns of a session depend on each other. The interval contains the middle 95 %
//! of the differences between resampled cohorts. The seed and the order of sessions are fixed, so that the same question
//! always has the same answer.

use polars::prelude::*;

use crate::analysis::outcomes::frame::{Trial, judged_trials};
use crate::analysis::outcomes::pairs::{self, MIN_PAIRS, Paired, Tasks};
use crate::analysis::outcomes::statistics::SEED;
use crate::analysis::reports::with_reports;
use crate::analysis::rows::{self, Error, Frames, Judged, LeftOut, Scope, Unjudged};
use crate::store::frames::sessions;

/// The minimum number of sessions of a cohort for an interval.
const MIN_SESSIONS: usize = 10;
/// The number of resamples. Large cohorts have fewer, so that a comparison takes seconds at most.
const MAX_RESAMPLES: usize = 2000;
const MIN_RESAMPLES: usize = 400;
const MAX_SESSIONS_DRAWN: usize = 200_000_000;

/// A number of a cohort, computed from its sessions.
struct Measure {
    name: &'static str,
    of: Of,
}

enum Of {
    /// The sum of one column divided by the sum of another, over sessions that have both.
    Ratio(Column, Column),
    /// The median of a column.
    Median(Column),
}

/// A number of a session: an index into [`Row`].
#[derive(Clone, Copy)]
enum Column {
    /// 1 for every session.
    One,
    /// 1 if it ended cleanly, or as a trial passed, 0 if not; unknown if the log does not contain how it ended, or without a
    /// verdict.
    Success,
    Cost,
    Tokens,
    Turns,
    Duration,
    Calls,
    Errors,
    /// Its cost if its outcome is known.
    CostIfOutcomeKnown,
}

const N_COLUMNS: usize = 9;

/// All measures, in the order in which they are shown.
static MEASURES: &[Measure] = &[
    Measure { name: "ended_cleanly_rate", of: Of::Ratio(Column::Success, Column::One) },
    Measure { name: "cost_per_session_usd", of: Of::Ratio(Column::Cost, Column::One) },
    Measure { name: "p50_cost_usd", of: Of::Median(Column::Cost) },
    Measure { name: "cost_per_clean_end_usd", of: Of::Ratio(Column::CostIfOutcomeKnown, Column::Success) },
    Measure { name: "tokens_per_session", of: Of::Ratio(Column::Tokens, Column::One) },
    Measure { name: "turns_per_session", of: Of::Ratio(Column::Turns, Column::One) },
    Measure { name: "p50_turns", of: Of::Median(Column::Turns) },
    Measure { name: "p50_duration_ms", of: Of::Median(Column::Duration) },
    Measure { name: "tool_calls_per_session", of: Of::Ratio(Column::Calls, Column::One) },
    Measure { name: "tool_errors_per_session", of: Of::Ratio(Column::Errors, Column::One) },
    Measure { name: "tool_error_rate", of: Of::Ratio(Column::Errors, Column::Calls) },
];

/// The measures of trials, in the order in which they are shown: those of `report outcomes`.
static OF_TRIALS: &[Measure] = &[
    Measure { name: "pass_rate", of: Of::Ratio(Column::Success, Column::One) },
    Measure { name: "cost_per_trial_usd", of: Of::Ratio(Column::Cost, Column::One) },
    Measure { name: "cost_per_passed_usd", of: Of::Ratio(Column::CostIfOutcomeKnown, Column::Success) },
    Measure { name: "tokens_per_trial", of: Of::Ratio(Column::Tokens, Column::One) },
    Measure { name: "turns_per_trial", of: Of::Ratio(Column::Turns, Column::One) },
    Measure { name: "mean_duration_ms", of: Of::Ratio(Column::Duration, Column::One) },
];

/// The smallest p-value that is still taken for chance.
const SIGNIFICANCE: f64 = 0.05;

/// The columns of a session; NaN is unknown.
type Row = [f64; N_COLUMNS];

/// One line of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The name of the measure.
    pub measure: &'static str,
    /// The number of the first cohort; `None` if it is unknown for all of its sessions.
    pub a: Option<f64>,
    /// The number of the second cohort.
    pub b: Option<f64>,
    /// The sessions of the first cohort for which the number is known.
    pub a_sessions: usize,
    /// The sessions of the second cohort for which the number is known.
    pub b_sessions: usize,
    /// The 95 % confidence interval of `b - a`.
    pub interval: Option<(f64, f64)>,
    /// The second cohort compared to the first: `higher`, `lower`, `inconclusive` or `too few`. `None` for the number of
    /// sessions, and where the means over pairs decide.
    pub result: Option<&'static str>,
    /// The test that decided: `mcnemar`, `bootstrap` or `paired_bootstrap`. The last two state whether the interval contains 0.
    pub test: Option<&'static str>,
    /// The number of tasks over which both are means; `None` if the cohorts are not paired by task.
    pub pairs: Option<usize>,
    /// The exact p-value of McNemar's test.
    pub p_value: Option<f64>,
}

impl Compared {
    /// `b - a`.
    pub fn difference(&self) -> Option<f64> {
        Some(self.b? - self.a?)
    }
}

/// The comparison of two cohorts.
#[derive(Debug)]
pub struct Comparison {
    /// The number of sessions, then all measures.
    pub lines: Vec<Compared>,
    /// The number of sessions that are in both cohorts.
    pub shared: usize,
    /// How the tasks match; `None` unless both cohorts have a judged trial.
    pub tasks: Option<Tasks>,
    /// Sessions without a start that the first and the second scope exclude.
    pub left_out: [LeftOut; 2],
    /// How many trials of the first and the second scope are judged.
    pub judged: [Judged; 2],
}

/// Compares the sessions in two scopes.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn compare(tables: &Frames, a: &Scope, b: &Scope, unjudged: Unjudged) -> Result<Comparison, Error> {
    let (a, b) = (Cohort::read(tables, a, unjudged)?, Cohort::read(tables, b, unjudged)?);
    let shared = b.keys.iter().filter(|key| a.keys.binary_search(key).is_ok()).count();
    let sessions = |cohort: &Cohort| Some(cohort.rows.len() as f64);
    let mut lines = vec![Compared {
        measure: "sessions",
        a: sessions(&a),
        b: sessions(&b),
        a_sessions: a.rows.len(),
        b_sessions: b.rows.len(),
        interval: None,
        result: None,
        test: None,
        pairs: None,
        p_value: None,
    }];
    let are_judged = !a.trials.is_empty() && !b.trials.is_empty();
    let tasks = are_judged.then(|| {
        let (paired, tasks) = pairs::compare(&a.trials, &b.trials);
        lines.extend(compare_trials(&a.trials, &b.trials, &paired));
        tasks
    });
    lines.extend(MEASURES.iter().map(|measure| measure.compare(&a.rows, &b.rows)));
    Ok(Comparison { lines, shared, tasks, left_out: [a.left_out, b.left_out], judged: [a.judged, b.judged] })
}

/// The lines of trials: the measures of `report outcomes`, then the means over the tasks of both cohorts.
fn compare_trials(a: &[Trial], b: &[Trial], paired: &[Paired]) -> Vec<Compared> {
    let (a, b): (Vec<Row>, Vec<Row>) = (a.iter().map(row_of_trial).collect(), b.iter().map(row_of_trial).collect());
    let line = |measure: &Measure| {
        let line = measure.compare(&a, &b);
        let decides_in_pairs = paired.iter().any(|pair| pair.replaces == measure.name);
        if decides_in_pairs { Compared { interval: None, result: None, test: None, ..line } } else { line }
    };
    OF_TRIALS.iter().map(line).chain(paired.iter().map(line_of_pairs)).collect()
}

fn line_of_pairs(pair: &Paired) -> Compared {
    let (result, test) = match (pair.interval, pair.p_value) {
        (None, _) => ("too few", None),
        (Some(interval), None) => (result_of(interval), Some("paired_bootstrap")),
        (_, Some(p)) if p >= SIGNIFICANCE => ("inconclusive", Some("mcnemar")),
        (_, Some(_)) => (if pair.b > pair.a { "higher" } else { "lower" }, Some("mcnemar")),
    };
    Compared {
        measure: pair.measure,
        a: Some(pair.a),
        b: Some(pair.b),
        a_sessions: pair.a_trials,
        b_sessions: pair.b_trials,
        interval: pair.interval,
        result: Some(result),
        test,
        pairs: Some(pair.pairs),
        p_value: pair.p_value,
    }
}

/// The columns of a trial.
fn row_of_trial(trial: &Trial) -> Row {
    let number = |value: Option<i64>| value.map_or(f64::NAN, |value| value as f64);
    let passed = trial.passed.map_or(f64::NAN, |passed| f64::from(u8::from(passed)));
    let cost = trial.cost.unwrap_or(f64::NAN);
    let known = if passed.is_nan() { f64::NAN } else { cost };
    let (tokens, turns, duration) = (number(trial.tokens), number(trial.turns), number(trial.duration_ms));
    [1.0, passed, cost, tokens, turns, duration, f64::NAN, f64::NAN, known]
}

/// Whether `b - a` is more than chance, by its interval.
fn result_of((low, high): (f64, f64)) -> &'static str {
    if low > 0.0 {
        "higher"
    } else if high < 0.0 {
        "lower"
    } else {
        "inconclusive"
    }
}

/// Whether there are too few pairs for an interval.
pub fn has_few_pairs(tasks: Tasks) -> bool {
    tasks.both < MIN_PAIRS
}

/// The sessions in a scope, in the order of their keys.
struct Cohort {
    keys: Vec<(String, String)>,
    rows: Vec<Row>,
    /// Empty if none is judged.
    trials: Vec<Trial>,
    judged: Judged,
    left_out: LeftOut,
}

impl Cohort {
    fn read(tables: &Frames, scope: &Scope, unjudged: Unjudged) -> Result<Self, Error> {
        let number = |name: &'static str| col(name).cast(DataType::Float64).fill_null(lit(f64::NAN)).alias(name);
        let numbers = [
            sessions::COST_USD,
            sessions::TOTAL_TOKENS,
            sessions::TURNS,
            sessions::DURATION_MS,
            sessions::TOOL_CALLS,
            sessions::TOOL_ERRORS,
        ];
        let texts = [sessions::RUNTIME, sessions::SESSION_ID, sessions::STATUS].map(col).into_iter();
        let (sessions, left_out) = rows::sessions(tables, scope).map_err(with_reports)?;
        let (trials, judged) = judged_trials(&sessions, tables, unjudged)?;
        let frame = sessions
            .select(texts.chain(numbers.map(number)).collect::<Vec<_>>())
            .sort([sessions::RUNTIME, sessions::SESSION_ID], SortMultipleOptions::default())
            .collect()?;
        let text = |name: &str| frame.column(name)?.str().cloned();
        let (runtime, session, status) =
            (text(sessions::RUNTIME)?, text(sessions::SESSION_ID)?, text(sessions::STATUS)?);
        let values = numbers.map(|name| frame.column(name).and_then(|column| column.f64().cloned()));
        let [cost, tokens, turns, duration, calls, errors] = values;
        let (cost, tokens, turns) = (cost?, tokens?, turns?);
        let (duration, calls, errors) = (duration?, calls?, errors?);
        let row = |row: usize| {
            let of = |column: &Float64Chunked| column.get(row).unwrap_or(f64::NAN);
            let success = match status.get(row) {
                Some("success") => 1.0,
                Some("unknown") | None => f64::NAN,
                Some(_) => 0.0,
            };
            let known = if success.is_nan() { f64::NAN } else { of(&cost) };
            [1.0, success, of(&cost), of(&tokens), of(&turns), of(&duration), of(&calls), of(&errors), known]
        };
        let key = |row: usize| [&runtime, &session].map(|it| it.get(row).unwrap_or_default().to_owned()).into();
        let (keys, rows) = ((0..frame.height()).map(key).collect(), (0..frame.height()).map(row).collect());
        Ok(Self { keys, rows, trials, judged, left_out })
    }
}

impl Measure {
    fn compare(&self, a: &[Row], b: &[Row]) -> Compared {
        let (a, b) = (self.values(a), self.values(b));
        let all = |values: &[(f64, f64)]| self.of.value(values.iter().copied(), &mut Vec::new());
        let (value_a, value_b) = (all(&a), all(&b));
        let is_enough = a.len() >= MIN_SESSIONS && b.len() >= MIN_SESSIONS && value_a.is_some() && value_b.is_some();
        let interval = if is_enough { self.interval(&a, &b) } else { None };
        let result = interval.map_or("too few", result_of);
        Compared {
            measure: self.name,
            a: value_a.map(|value| self.rounded(value)),
            b: value_b.map(|value| self.rounded(value)),
            a_sessions: a.len(),
            b_sessions: b.len(),
            interval,
            result: Some(result),
            test: interval.map(|_| "bootstrap"),
            pairs: None,
            p_value: None,
        }
    }

    /// The value as reports show it: tokens and times are whole numbers there.
    fn rounded(&self, value: f64) -> f64 {
        if self.name.starts_with("tokens") || self.name.ends_with("_ms") { value.round() } else { value }
    }

    /// The pairs of numerator and denominator, of sessions that have both.
    fn values(&self, rows: &[Row]) -> Vec<(f64, f64)> {
        let (of, by) = match self.of {
            Of::Ratio(of, by) => (of, by),
            Of::Median(of) => (of, Column::One),
        };
        let number = |row: &Row, column: Column| row.get(column as usize).copied().unwrap_or(f64::NAN);
        let pair = |row: &Row| (number(row, of), number(row, by));
        rows.iter().map(pair).filter(|(of, by)| !of.is_nan() && !by.is_nan()).collect()
    }

    fn interval(&self, a: &[(f64, f64)], b: &[(f64, f64)]) -> Option<(f64, f64)> {
        let resamples = (MAX_SESSIONS_DRAWN / (a.len() + b.len())).clamp(MIN_RESAMPLES, MAX_RESAMPLES);
        let mut random = oorandom::Rand64::new(SEED);
        let mut scratch = Vec::new();
        let mut draw = |from: &[(f64, f64)]| {
            let count = from.len() as u64;
            let drawn =
                (0..count).filter_map(|_| from.get(usize::try_from(random.rand_range(0..count)).ok()?).copied());
            self.of.value(drawn, &mut scratch)
        };
        // Some resamples have no value: without a success there is no cost per success. They are skipped.
        let mut differences: Vec<f64> =
            (0..resamples).filter_map(|_| Some((draw(a)?, draw(b)?))).map(|(a, b)| b - a).collect();
        if differences.len() * 10 < resamples * 9 {
            return None;
        }
        differences.sort_by(f64::total_cmp);
        let at = |per_mille: usize| differences.get(differences.len() * per_mille / 1000).copied();
        Some((at(25)?, at(975)?))
    }
}

impl Of {
    /// The number of a cohort or of a resample.
    fn value(&self, values: impl Iterator<Item = (f64, f64)>, scratch: &mut Vec<f64>) -> Option<f64> {
        match self {
            Self::Ratio(..) => {
                let (sum, divisor) = values.fold((0.0, 0.0), |sums, (of, by)| (sums.0 + of, sums.1 + by));
                (divisor > 0.0).then(|| sum / divisor)
            }
            Self::Median(_) => {
                scratch.clear();
                scratch.extend(values.map(|(value, _)| value));
                if scratch.is_empty() {
                    return None;
                }
                // Of an even number of values the upper one in the middle, as in reports.
                let middle = scratch.len() / 2;
                let (_, median, _) = scratch.select_nth_unstable_by(middle, f64::total_cmp);
                Some(*median)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This number of sessions, with costs around `cost`.
    fn rows(count: u32, cost: f64) -> Vec<Row> {
        let row = |it: u32| {
            let of = cost * (0.5 + f64::from(it * 37 % 100) / 100.0);
            [1.0, f64::from(it % 2), of, 10.0, f64::NAN, of * 1e3, 4.0, f64::from(it % 4), of]
        };
        (0..count).map(row).collect()
    }

    fn result(name: &str, a: &[Row], b: &[Row]) -> &'static str {
        MEASURES.iter().find(|it| it.name == name).unwrap().compare(a, b).result.unwrap()
    }

    #[test]
    fn a_difference_is_reported_if_it_is_more_than_chance() {
        let (a, b, few) = (rows(100, 1.0), rows(60, 1.5), rows(9, 9.0));
        for name in ["cost_per_session_usd", "p50_cost_usd", "cost_per_clean_end_usd", "p50_duration_ms"] {
            assert_eq!([result(name, &a, &b), result(name, &b, &a)], ["higher", "lower"], "{name}");
            assert_eq!([result(name, &a, &a), result(name, &a, &few)], ["inconclusive", "too few"], "{name}");
        }
        for name in ["ended_cleanly_rate", "tokens_per_session", "tool_error_rate"] {
            assert_eq!(result(name, &a, &b), "inconclusive", "{name}");
        }
        assert_eq!(result("turns_per_session", &a, &b), "too few");
    }

    #[test]
    fn the_same_question_has_the_same_answer() {
        let (a, b) = (rows(30, 1.0), rows(40, 1.1));
        for measure in MEASURES {
            assert_eq!(measure.compare(&a, &b), measure.compare(&a, &b));
        }
        let compared = MEASURES[1].compare(&a, &b);
        let (low, high) = compared.interval.unwrap();
        let difference = compared.difference().unwrap();
        assert!(low < difference && difference < high && high - low < 0.5, "{low} {difference} {high}");
    }

    #[test]
    fn the_median_is_the_middle_value() {
        let median =
            |values: &[f64]| Of::Median(Column::Cost).value(values.iter().map(|it| (*it, 1.0)), &mut Vec::new());
        assert_eq!(
            [median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 3.0, 2.0]), median(&[])],
            [Some(2.0), Some(3.0), None]
        );
    }
}
