//! The turns and the states of limits that the windows are made of, from the columns of the tables.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _};
use polars::prelude::*;

use super::logged::State;
use crate::base::time::Time;
use crate::store::frames::{TypedRows, for_each_batch, limits, rows, turns};

/// A row of the ledger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnFacts {
    pub time: Time,
    /// The number of its session, if that logged a limit.
    pub session: Option<u32>,
    pub tokens: Option<i64>,
    pub cost_usd: Option<f64>,
    pub is_response: bool,
}

/// The numbers of the sessions that logged a limit, by runtime and id.
pub type SessionNumbers = HashMap<String, HashMap<String, u32>>;

rows! {
    /// The columns of states of limits.
    struct StateColumns {
        runtime: limits::RUNTIME,
        session: limits::SESSION_ID,
        limit_id: limits::LIMIT_ID,
        window_name: limits::WINDOW_NAME,
        plan: limits::PLAN,
        reached: limits::REACHED,
        window_minutes: limits::WINDOW_MINUTES,
        used_percent: limits::USED_PERCENT,
        resets_at: limits::RESETS_AT,
        time: limits::OCCURRED_AT,
    }

    /// The columns of turns.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        time: turns::OCCURRED_AT,
        tokens: turns::TOTAL_TOKENS,
        cost_usd: turns::COST_USD,
        grain: turns::GRAIN,
        session: turns::SESSION_ID,
    }

    /// The columns of turns of which only the times matter.
    struct TimeColumns {
        runtime: turns::RUNTIME,
        time: turns::OCCURRED_AT,
    }
}

/// The states of limits in the rows of `limits`, whose time is the start of their session where they have none.
pub fn states(rows: LazyFrame) -> PolarsResult<(Vec<State>, SessionNumbers)> {
    let states = StateColumns::read(rows)?;
    let mut numbers = SessionNumbers::new();
    let mut count = 0;
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let found = (0..states.height()).map(|row| {
        let of_runtime = numbers.entry(owned(states.runtime(row)).unwrap_or_default()).or_default();
        let number = *of_runtime.entry(owned(states.session(row)).unwrap_or_default()).or_insert(count);
        count = count.max(number.saturating_add(1));
        State {
            runtime: owned(states.runtime(row)).unwrap_or_default(),
            limit_id: owned(states.limit_id(row)),
            window_name: window_name(states.window_name(row).unwrap_or_default(), states.window_minutes(row)),
            plan: owned(states.plan(row)),
            window_minutes: states.window_minutes(row),
            used_percent: states.used_percent(row),
            resets_at: states.resets_at(row),
            reached: owned(states.reached(row)),
            session: Some(number),
            time: states.time(row),
        }
    });
    let found = found.collect();
    Ok((found, numbers))
}

/// The name of a window. A name that is only a rank, which differs between plans, is replaced by the length.
fn window_name(logged: &str, minutes: Option<i64>) -> String {
    const RANKS: [&str; 2] = ["primary", "secondary"];
    let Some(minutes) = minutes.filter(|minutes| RANKS.contains(&logged) && *minutes > 0) else {
        return logged.to_owned();
    };
    // The first versions of Codex log 299 and 10,079 minutes.
    let minutes = if minutes % 60 == 59 { minutes + 1 } else { minutes };
    match (minutes % 60, minutes / 60 % 24, minutes / 1440) {
        (0, 0, 7) => "week".to_owned(),
        (0, 0, 30) => "month".to_owned(),
        (0, 0, days) => format!("{days}d"),
        (0, ..) => format!("{}h", minutes / 60),
        _ => format!("{minutes}m"),
    }
}

/// The number of a session, if it logged a limit.
pub fn number_of(numbers: &SessionNumbers, runtime: &str, session_id: Option<&str>) -> Option<u32> {
    numbers.get(runtime)?.get(session_id?).copied()
}

/// Values of turns by their runtime.
pub type ByRuntime<T> = BTreeMap<String, Vec<T>>;

/// Adds the value of a turn.
pub fn push<T>(by_runtime: &mut ByRuntime<T>, runtime: &str, value: T) {
    match by_runtime.get_mut(runtime) {
        Some(values) => values.push(value),
        None => drop(by_runtime.insert(runtime.to_owned(), vec![value])),
    }
}

/// The times of the rows of `turns` of some runtimes.
pub fn times(rows: LazyFrame, runtimes: &[&str]) -> PolarsResult<ByRuntime<Time>> {
    let mut by_runtime = ByRuntime::new();
    for_each_batch(rows.filter(col(turns::OCCURRED_AT).is_not_null()), |turns: &TimeColumns| {
        for row in 0..turns.height() {
            let (Some(runtime), Some(time)) = (turns.runtime(row), turns.time(row)) else { continue };
            if runtimes.contains(&runtime) {
                push(&mut by_runtime, runtime, time);
            }
        }
        Ok(())
    })?;
    Ok(by_runtime)
}

/// Calls a function with the runtime and the facts of each row of `turns` that has a time.
pub fn for_each_turn(
    rows: LazyFrame,
    numbers: &SessionNumbers,
    mut each: impl FnMut(&str, &TurnFacts),
) -> PolarsResult<()> {
    let rows = rows.filter(col(turns::OCCURRED_AT).is_not_null());
    // The ids of sessions are read only if they matter.
    let rows = if numbers.is_empty() { rows.with_column(lit("").alias(turns::SESSION_ID)) } else { rows };
    for_each_batch(rows, |turns: &TurnColumns| {
        for row in 0..turns.height() {
            let (Some(runtime), Some(time)) = (turns.runtime(row), turns.time(row)) else { continue };
            let facts = TurnFacts {
                time,
                session: number_of(numbers, runtime, turns.session(row)),
                tokens: turns.tokens(row),
                cost_usd: turns.cost_usd(row),
                is_response: turns.grain(row) == Some("turn"),
            };
            each(runtime, &facts);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::window_name;

    #[test]
    fn a_rank_is_replaced_by_the_length() {
        for (logged, minutes, expected) in [
            ("primary", Some(300), "5h"),
            ("secondary", Some(10_080), "week"),
            ("primary", Some(43_200), "month"),
            ("primary", Some(2880), "2d"),
            ("primary", Some(1500), "25h"),
            ("primary", Some(299), "5h"),
            ("primary", Some(90), "90m"),
            ("primary", None, "primary"),
            ("five_hour", Some(300), "five_hour"),
        ] {
            assert_eq!(window_name(logged, minutes), expected, "{logged} {minutes:?}");
        }
    }
}
