//! The turns and the states of limits that the windows are made of, from the columns of the tables.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _};
use polars::prelude::*;

use super::logged::State;
use crate::analysis::reports::tables::for_each_batch;
use crate::base::time::Time;

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

/// The states of limits in the rows of `limits`, whose time is the start of their session where they have none.
pub fn states(rows: LazyFrame) -> PolarsResult<(Vec<State>, SessionNumbers)> {
    let texts = ["runtime", "session_id", "limit_id", "window_name", "plan", "reached"]
        .map(|name| col(name).cast(DataType::String));
    let rest = ["window_minutes", "used_percent"].map(col);
    let times = ["resets_at", "occurred_at"].map(|name| col(name).to_physical());
    let rows = rows.select(texts.into_iter().chain(rest).chain(times).collect::<Vec<_>>()).collect()?;
    let text = |name: &str| rows.column(name)?.str();
    let number = |name: &str| rows.column(name)?.i64();
    let (runtime, session, limit) = (text("runtime")?, text("session_id")?, text("limit_id")?);
    let (window, plan, reached) = (text("window_name")?, text("plan")?, text("reached")?);
    let (minutes, reset, time) = (number("window_minutes")?, number("resets_at")?, number("occurred_at")?);
    let used = rows.column("used_percent")?.f64()?;
    let mut numbers = SessionNumbers::new();
    let mut count = 0;
    let owned = |column: &StringChunked, row| column.get(row).map(str::to_owned);
    let states = (0..rows.height()).map(|row| {
        let of_runtime = numbers.entry(owned(runtime, row).unwrap_or_default()).or_default();
        let number = *of_runtime.entry(owned(session, row).unwrap_or_default()).or_insert(count);
        count = count.max(number.saturating_add(1));
        State {
            runtime: owned(runtime, row).unwrap_or_default(),
            limit_id: owned(limit, row),
            window_name: window_name(window.get(row).unwrap_or_default(), minutes.get(row)),
            plan: owned(plan, row),
            window_minutes: minutes.get(row),
            used_percent: used.get(row),
            resets_at: reset.get(row).map(Time::from_micros),
            reached: owned(reached, row),
            session: Some(number),
            time: time.get(row).map(Time::from_micros),
        }
    });
    let states = states.collect();
    Ok((states, numbers))
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
    let columns = [col("runtime"), col("occurred_at").to_physical()];
    for_each_batch(rows.filter(col("occurred_at").is_not_null()).select(columns), |rows| {
        let ([runtime], [time]) = (rows.texts(["runtime"])?, rows.wholes(["occurred_at"])?);
        for (runtime, time) in runtime.iter().zip(time.iter()) {
            let (Some(runtime), Some(time)) = (runtime, time) else { continue };
            if runtimes.contains(&runtime) {
                push(&mut by_runtime, runtime, Time::from_micros(time));
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
    let mut columns = vec![
        col("runtime"),
        col("occurred_at").to_physical(),
        col("total_tokens"),
        col("cost_usd"),
        col("grain").eq(lit("turn")).alias("is_response"),
    ];
    if !numbers.is_empty() {
        columns.push(col("session_id"));
    }
    for_each_batch(rows.filter(col("occurred_at").is_not_null()).select(columns), |rows| {
        let [runtime] = rows.texts(["runtime"])?;
        let [time, tokens] = rows.wholes(["occurred_at", "total_tokens"])?;
        let [cost] = rows.floats(["cost_usd"])?;
        let is_response = rows.flag("is_response")?;
        let session = if numbers.is_empty() { None } else { Some(rows.texts(["session_id"])?) };
        let values = runtime.iter().zip(time.iter()).zip(tokens.iter()).zip(cost.iter()).zip(is_response.iter());
        for (row, ((((runtime, time), tokens), cost_usd), is_response)) in values.enumerate() {
            let (Some(runtime), Some(time)) = (runtime, time) else { continue };
            let facts = TurnFacts {
                time: Time::from_micros(time),
                session: session.and_then(|[session]| number_of(numbers, runtime, session.get(row))),
                tokens,
                cost_usd,
                is_response: is_response == Some(true),
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
