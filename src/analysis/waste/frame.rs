//! The waste of sessions as rows of a report.

use polars::prelude::*;

use super::cause::Cause;
use super::read::read;
use super::rows::Session;
use super::session::{Finding, findings};
use crate::analysis::behaviour::indices_of;
use crate::analysis::outcomes::frame::{TRIAL_PASSED, add_outcomes};
use crate::analysis::reports::Cost;
use crate::analysis::reports::spec::known_sum;
use crate::analysis::reports::tables::Frames;
use crate::prices::Catalog;

/// Columns that rows of findings have, and which the sessions have without values until [`rows_of_waste`].
pub(in crate::analysis) const CAUSE: &str = "cause";
pub(in crate::analysis) const TOOL: &str = "tool";

/// The columns that identify a session.
const KEY: [&str; 2] = ["runtime", "session_id"];

/// The cost of a session, in one of its rows.
const SESSION_COST: &str = "session_cost_usd";
/// The cost of the sessions with the same dimensions, apart from cause and tool.
pub(in crate::analysis) const GROUP_COST: &str = "group_cost_usd";

/// The waste of sessions: rows for each session, cause and tool. `keys` are the dimensions of a report other than cause and tool. The
/// second result is for the total.
pub(in crate::analysis) fn rows_of_waste(
    sessions: LazyFrame,
    tables: &Frames,
    keys: &[Expr],
    cost: Cost,
    catalog: &Catalog,
) -> PolarsResult<[LazyFrame; 2]> {
    let findings = findings_of(&sessions, tables, cost, catalog)?.lazy();
    let rows = sessions.drop(cols([CAUSE, TOOL])).join(findings, KEY.map(col), KEY.map(col), JoinType::Left.into());
    // Computed once: both results read them.
    let rows = rows.collect()?.lazy();
    let sum = known_sum(SESSION_COST);
    let of_all = rows.clone().with_column(sum.clone().alias(GROUP_COST));
    let of_groups = if keys.is_empty() { of_all.clone() } else { rows.with_column(sum.over(keys)?.alias(GROUP_COST)) };
    Ok([of_groups, of_all])
}

/// The findings of sessions.
fn findings_of(sessions: &LazyFrame, tables: &Frames, cost: Cost, catalog: &Catalog) -> PolarsResult<DataFrame> {
    const COLUMNS: [&str; 6] = ["status", "cost_usd", "tool_calls", "retries", "user_turns", TRIAL_PASSED];
    let columns = KEY.into_iter().chain(COLUMNS).map(col).chain([col("started_at").to_physical()]);
    let mut frame = add_outcomes(sessions.clone(), tables)?.select(columns.collect::<Vec<_>>()).collect()?;
    // Values are read by their index.
    frame.rechunk_mut();
    let [runtimes, ids] = KEY.map(|name| frame.column(name).and_then(|column| column.str()));
    let (runtimes, ids) = (runtimes?, ids?);
    let count = frame.height();
    let indices = indices_of(&frame)?;
    let find = |runtime: Option<&str>, id: Option<&str>| indices.get(&(runtime, id)).copied();
    let starts: Vec<Option<i64>> = frame.column("started_at")?.i64()?.iter().collect();
    let read = read(tables, &find, &starts, cost, catalog)?;
    let (statuses, costs) = (frame.column("status")?.str()?, frame.column("cost_usd")?.f64()?);
    let passed = frame.column(TRIAL_PASSED)?.bool()?;
    let whole = |name: &str| frame.column(name).and_then(|column| column.i64());
    let (calls, retries, prompts) = (whole("tool_calls")?, whole("retries")?, whole("user_turns")?);
    let mut rows: Vec<(usize, Finding)> = Vec::with_capacity(count);
    for index in 0..count {
        let of_session = read.calls.of(index);
        let session = Session {
            turns: read.turns.of(index),
            calls: of_session,
            events: read.events.of(index),
            rates: &read.rates,
            user_turns: prompts.get(index),
            failed: failed(passed.get(index), statuses.get(index)),
            // Some logs contain only the number of calls.
            shows_calls: calls.get(index).is_some_and(|count| count == 0 || !of_session.is_empty()),
            shows_retries: retries.get(index).is_some(),
        };
        rows.extend(findings(session).into_iter().map(|finding| (index, finding)));
    }
    let text = |name: &str, of: &dyn Fn(&(usize, Finding)) -> Option<String>| {
        Column::new(name.into(), rows.iter().map(of).collect::<Vec<_>>())
    };
    let place = |finding: &Finding| finding.place.filter(|_| finding.cases > 0);
    let path = |(_, it): &(usize, Finding)| place(it).and_then(|place| read.paths.name(place.path)).map(str::to_owned);
    let lines = rows.iter().map(|(_, finding)| place(finding).and_then(|place| place.line.get()));
    let mut first = None;
    let costs = rows.iter().map(|(index, _)| {
        let is_first = first.replace(*index) != Some(*index);
        costs.get(*index).filter(|_| is_first)
    });
    let columns = vec![
        text("runtime", &|(index, _)| runtimes.get(*index).map(str::to_owned)),
        text("session_id", &|(index, _)| ids.get(*index).map(str::to_owned)),
        text(CAUSE, &|(_, finding)| Some(finding.cause.as_str().to_owned())),
        text("basis", &|(_, finding)| Some(Cause::basis(finding.cause).to_owned())),
        text(TOOL, &|(_, finding)| finding.tool.and_then(|tool| read.tools.name(tool)).map(str::to_owned)),
        Column::new("waste_usd".into(), rows.iter().map(|(_, it)| it.waste_usd).collect::<Vec<Option<f64>>>()),
        Column::new("wasted_tokens".into(), rows.iter().map(|(_, it)| it.tokens).collect::<Vec<Option<i64>>>()),
        Column::new("cases".into(), rows.iter().map(|(_, it)| it.cases).collect::<Vec<i64>>()),
        text("worst_path", &path),
        Column::new("worst_line".into(), lines.collect::<Vec<Option<i64>>>()),
        Column::new(SESSION_COST.into(), costs.collect::<Vec<Option<f64>>>()),
    ];
    DataFrame::new(rows.len(), columns)
}

/// Whether a session failed: by its verdicts, else an error at its end. How others ended does not show whether they failed, but one
/// that ended cleanly has no known failure.
fn failed(passed: Option<bool>, status: Option<&str>) -> Option<bool> {
    match (passed, status) {
        (Some(passed), _) => Some(!passed),
        (None, Some("error")) => Some(true),
        (None, Some("success")) => Some(false),
        _ => None,
    }
}
