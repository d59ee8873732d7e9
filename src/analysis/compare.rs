//! Two cohorts of sessions side by side, and whether they differ by more than chance.
//!
//! A session is drawn as a whole: its turns depend on each other. Each cohort is drawn from anew, with replacement, many
//! times; the middle 95 of 100 differences are the interval. The draws are those of a fixed seed over sessions in a fixed
//! order, so that the answer is the same each time.

use polars::prelude::*;

use crate::analysis::reports::{self, Error, Frames, LeftOut, Scope};

/// What a cohort needs at least for its interval to mean something.
const FEWEST: usize = 10;
const SEED: u128 = 0x0061_6765_6e74_6c6f_6773;
/// How often cohorts are drawn from: seldom enough that large ones take seconds at most.
const DRAWS: usize = 2000;
const FEWEST_DRAWS: usize = 400;
const SESSIONS_DRAWN: usize = 200_000_000;

/// What is compared: one number of a cohort, made of its sessions.
struct Measure {
    name: &'static str,
    of: Of,
}

enum Of {
    /// The sum of one column over the sum of another, of sessions that have both.
    Ratio(Column, Column),
    /// The middle value of a column.
    Median(Column),
}

/// A number of a session, by its place in [`COLUMNS`].
#[derive(Clone, Copy)]
enum Column {
    /// 1 for every session.
    One,
    /// 1 if it succeeded, 0 if not; unknown if the log does not say.
    Success,
    Cost,
    Tokens,
    Turns,
    Duration,
    Calls,
    Errors,
    /// Its cost, where its end is known.
    CostOfKnown,
}

const N_COLUMNS: usize = 9;

/// All that is compared, in the order in which it is shown.
static MEASURES: &[Measure] = &[
    Measure { name: "success_rate", of: Of::Ratio(Column::Success, Column::One) },
    Measure { name: "cost_per_session_usd", of: Of::Ratio(Column::Cost, Column::One) },
    Measure { name: "p50_cost_usd", of: Of::Median(Column::Cost) },
    Measure { name: "cost_per_success_usd", of: Of::Ratio(Column::CostOfKnown, Column::Success) },
    Measure { name: "tokens_per_session", of: Of::Ratio(Column::Tokens, Column::One) },
    Measure { name: "turns_per_session", of: Of::Ratio(Column::Turns, Column::One) },
    Measure { name: "p50_turns", of: Of::Median(Column::Turns) },
    Measure { name: "p50_duration_ms", of: Of::Median(Column::Duration) },
    Measure { name: "tool_calls_per_session", of: Of::Ratio(Column::Calls, Column::One) },
    Measure { name: "tool_errors_per_session", of: Of::Ratio(Column::Errors, Column::One) },
    Measure { name: "tool_error_rate", of: Of::Ratio(Column::Errors, Column::Calls) },
];

/// What a session gives, NaN where it is unknown.
type Row = [f64; N_COLUMNS];

/// One line of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// What is compared.
    pub measure: &'static str,
    /// The first cohort's number; unknown if no session of it has one.
    pub a: Option<f64>,
    /// The second cohort's.
    pub b: Option<f64>,
    /// Sessions of the first cohort that the number is of.
    pub a_sessions: usize,
    /// Sessions of the second cohort.
    pub b_sessions: usize,
    /// `b` less `a`, and the interval that it lies in, if it is more than chance.
    pub interval: Option<(f64, f64)>,
    /// `higher`, `lower`, `not told apart` or `too few`: the second cohort's beside the first one's. None of the number of
    /// sessions, which is no measure of them.
    pub verdict: Option<&'static str>,
}

impl Compared {
    /// `b` less `a`.
    pub fn difference(&self) -> Option<f64> {
        Some(self.b? - self.a?)
    }
}

/// Two cohorts, compared.
#[derive(Debug)]
pub struct Comparison {
    /// The number of sessions, then all that is measured.
    pub lines: Vec<Compared>,
    /// Sessions that are in both cohorts.
    pub shared: usize,
    /// Sessions without a start that the first and the second cohort leave out.
    pub left_out: [LeftOut; 2],
}

/// Compares the sessions in two scopes.
///
/// # Errors
/// When something is asked for that is not there.
pub fn compare(tables: &Frames, a: &Scope, b: &Scope) -> Result<Comparison, Error> {
    let (a, b) = (Cohort::read(tables, a)?, Cohort::read(tables, b)?);
    let shared = b.keys.iter().filter(|it| a.keys.binary_search(it).is_ok()).count();
    let sessions = |it: &Cohort| Some(it.rows.len() as f64);
    let mut lines = vec![Compared {
        measure: "sessions",
        a: sessions(&a),
        b: sessions(&b),
        a_sessions: a.rows.len(),
        b_sessions: b.rows.len(),
        interval: None,
        verdict: None,
    }];
    lines.extend(MEASURES.iter().map(|it| it.compare(&a.rows, &b.rows)));
    Ok(Comparison { lines, shared, left_out: [a.left_out, b.left_out] })
}

/// The sessions in a scope, in the order of their keys.
struct Cohort {
    keys: Vec<(String, String)>,
    rows: Vec<Row>,
    left_out: LeftOut,
}

impl Cohort {
    fn read(tables: &Frames, scope: &Scope) -> Result<Self, Error> {
        let number = |name: &'static str| col(name).cast(DataType::Float64).fill_null(lit(f64::NAN)).alias(name);
        let numbers = ["cost_usd", "total_tokens", "turns", "duration_ms", "tool_calls", "tool_errors"];
        let texts = ["runtime", "session_id", "status"].map(col).into_iter();
        let (sessions, left_out) = reports::sessions(tables, scope)?;
        let frame = sessions
            .select(texts.chain(numbers.map(number)).collect::<Vec<_>>())
            .sort(["runtime", "session_id"], SortMultipleOptions::default())
            .collect()?;
        let text = |name: &str| frame.column(name)?.str().cloned();
        let (runtime, session, status) = (text("runtime")?, text("session_id")?, text("status")?);
        let values = numbers.map(|it| frame.column(it).and_then(|it| it.f64().cloned()));
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
        Ok(Self { keys, rows, left_out })
    }
}

impl Measure {
    fn compare(&self, a: &[Row], b: &[Row]) -> Compared {
        let (a, b) = (self.values(a), self.values(b));
        let all = |it: &[(f64, f64)]| self.of.value(it.iter().copied(), &mut Vec::new());
        let (value_a, value_b) = (all(&a), all(&b));
        let is_enough = a.len() >= FEWEST && b.len() >= FEWEST && value_a.is_some() && value_b.is_some();
        let interval = if is_enough { self.interval(&a, &b) } else { None };
        let verdict = match interval {
            None => "too few",
            Some((low, _)) if low > 0.0 => "higher",
            Some((_, high)) if high < 0.0 => "lower",
            Some(_) => "not told apart",
        };
        Compared {
            measure: self.name,
            a: value_a,
            b: value_b,
            a_sessions: a.len(),
            b_sessions: b.len(),
            interval,
            verdict: Some(verdict),
        }
    }

    /// Of each session that has both the number and what it is divided by.
    fn values(&self, rows: &[Row]) -> Vec<(f64, f64)> {
        let (of, by) = match self.of {
            Of::Ratio(of, by) => (of, by),
            Of::Median(of) => (of, Column::One),
        };
        let number = |row: &Row, it: Column| row.get(it as usize).copied().unwrap_or(f64::NAN);
        let pair = |row: &Row| (number(row, of), number(row, by));
        rows.iter().map(pair).filter(|(of, by)| !of.is_nan() && !by.is_nan()).collect()
    }

    fn interval(&self, a: &[(f64, f64)], b: &[(f64, f64)]) -> Option<(f64, f64)> {
        let draws = (SESSIONS_DRAWN / (a.len() + b.len())).clamp(FEWEST_DRAWS, DRAWS);
        let mut random = oorandom::Rand64::new(SEED);
        let mut scratch = Vec::new();
        let mut draw = |from: &[(f64, f64)]| {
            let count = from.len() as u64;
            let drawn =
                (0..count).filter_map(|_| from.get(usize::try_from(random.rand_range(0..count)).ok()?).copied());
            self.of.value(drawn, &mut scratch)
        };
        // A draw in which nothing succeeded has no cost of a success; it says nothing of the difference.
        let mut differences: Vec<f64> =
            (0..draws).filter_map(|_| Some((draw(a)?, draw(b)?))).map(|(a, b)| b - a).collect();
        if differences.len() * 10 < draws * 9 {
            return None;
        }
        differences.sort_by(f64::total_cmp);
        let at = |part: usize| differences.get(differences.len() * part / 1000).copied();
        Some((at(25)?, at(975)?))
    }
}

impl Of {
    /// The number of a cohort or of a draw from it.
    fn value(&self, values: impl Iterator<Item = (f64, f64)>, scratch: &mut Vec<f64>) -> Option<f64> {
        match self {
            Self::Ratio(..) => {
                let (sum, by, any) = values.fold((0.0, 0.0, false), |it, (of, by)| (it.0 + of, it.1 + by, true));
                (any && by > 0.0).then(|| sum / by)
            }
            Self::Median(_) => {
                scratch.clear();
                scratch.extend(values.map(|it| it.0));
                let middle = scratch.len() / 2;
                let is_even = scratch.len().is_multiple_of(2);
                if scratch.is_empty() {
                    return None;
                }
                let (below, at, _) = scratch.select_nth_unstable_by(middle, f64::total_cmp);
                let before = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
                Some(before.map_or(*at, |it| f64::midpoint(it, *at)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many sessions of a cost around this one.
    fn rows(count: u32, cost: f64) -> Vec<Row> {
        let row = |it: u32| {
            let of = cost * (0.5 + f64::from(it * 37 % 100) / 100.0);
            [1.0, f64::from(it % 2), of, 10.0, f64::NAN, of * 1e3, 4.0, f64::from(it % 4), of]
        };
        (0..count).map(row).collect()
    }

    fn verdict(name: &str, a: &[Row], b: &[Row]) -> &'static str {
        MEASURES.iter().find(|it| it.name == name).unwrap().compare(a, b).verdict.unwrap()
    }

    #[test]
    fn a_difference_is_told_where_it_is_more_than_chance() {
        let (a, b, few) = (rows(100, 1.0), rows(60, 1.5), rows(9, 9.0));
        for name in ["cost_per_session_usd", "p50_cost_usd", "cost_per_success_usd", "p50_duration_ms"] {
            assert_eq!([verdict(name, &a, &b), verdict(name, &b, &a)], ["higher", "lower"], "{name}");
            assert_eq!([verdict(name, &a, &a), verdict(name, &a, &few)], ["not told apart", "too few"], "{name}");
        }
        for name in ["success_rate", "tokens_per_session", "tool_error_rate"] {
            assert_eq!(verdict(name, &a, &b), "not told apart", "{name}");
        }
        assert_eq!(verdict("turns_per_session", &a, &b), "too few");
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
    fn the_median_is_the_middle() {
        let median =
            |values: &[f64]| Of::Median(Column::Cost).value(values.iter().map(|it| (*it, 1.0)), &mut Vec::new());
        assert_eq!(
            [median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 3.0, 2.0]), median(&[])],
            [Some(2.0), Some(2.5), None]
        );
    }
}
