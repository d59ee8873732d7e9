//! The waste of sessions as rows of a report.

use polars::prelude::*;
use rayon::prelude::*;

use super::cause::Cause;
use super::read::{Read, read};
use super::rows::Session;
use super::session::{Finding, findings};
use crate::analysis::behaviour::{for_sessions, take};
use crate::analysis::outcomes::frame::{TRIAL_PASSED, add_outcomes};
use crate::analysis::reports::Cost;
use crate::analysis::reports::spec::known_sum;
use crate::analysis::reports::tables::{Frames, KEY};
use crate::prices::Catalog;

/// Columns that rows of findings have, and which the sessions have without values until [`rows_of_waste`].
pub(in crate::analysis) const CAUSE: &str = "cause";
pub(in crate::analysis) const TOOL: &str = "tool";

/// The cost of the sessions with the same dimensions, apart from cause and tool.
pub(in crate::analysis) const GROUP_COST: &str = "group_cost_usd";
/// The cost of all sessions.
const TOTAL_COST: &str = "total_cost_usd";

/// The waste of sessions: rows for each session, cause and tool. `keys` are the dimensions of a report other than cause and tool. The
/// second result is for the total.
pub(in crate::analysis) fn rows_of_waste(
    sessions: LazyFrame,
    tables: &Frames,
    keys: &[Expr],
    cost: Cost,
    catalog: &Catalog,
) -> PolarsResult<[LazyFrame; 2]> {
    let findings = findings_of(&sessions, tables, cost, catalog)?;
    let sessions = sessions.drop(cols([CAUSE, TOOL]));
    let sum = known_sum("cost_usd");
    let of_group = if keys.is_empty() { sum.clone() } else { sum.clone().over(keys)? };
    let sessions = sessions.with_columns([of_group.alias(GROUP_COST), sum.alias(TOTAL_COST)]);
    // Each session has many findings, so that the hash table of the join is smaller with the sessions in it.
    let join = JoinArgs::new(JoinType::Left).with_build_side(Some(JoinBuildSide::ForceLeft));
    let rows = sessions.join(findings, KEY.map(col), KEY.map(col), join);
    Ok([rows.clone(), rows.with_column(col(TOTAL_COST).alias(GROUP_COST))])
}

/// The findings of sessions.
fn findings_of(sessions: &LazyFrame, tables: &Frames, cost: Cost, catalog: &Catalog) -> PolarsResult<LazyFrame> {
    const COLUMNS: [&str; 5] = ["status", "tool_calls", "retries", "user_turns", TRIAL_PASSED];
    let columns = KEY.into_iter().chain(COLUMNS).map(col).chain([col("started_at").to_physical()]);
    let mut frame = add_outcomes(sessions.clone(), tables)?.select(columns.collect::<Vec<_>>()).collect()?;
    // Values are read by their index.
    frame.rechunk_mut();
    let starts: Vec<Option<i64>> = frame.column("started_at")?.i64()?.iter().collect();
    let statuses = frame.column("status")?.str()?;
    let passed = frame.column(TRIAL_PASSED)?.bool()?;
    let whole = |name: &str| frame.column(name).and_then(|column| column.i64());
    let (calls, retries, prompts) = (whole("tool_calls")?, whole("retries")?, whole("user_turns")?);
    let keys = frame.select(KEY)?;
    let compute = |read: &Read, indices: &[usize]| {
        let findings = indices.par_iter().flat_map_iter(|index| {
            let of_session = read.calls.of(*index);
            let session = Session {
                turns: read.turns.of(*index),
                calls: of_session,
                events: read.events.of(*index),
                rates: &read.rates,
                user_turns: prompts.get(*index),
                failed: failed(passed.get(*index), statuses.get(*index)),
                // Some logs contain only the number of calls.
                shows_calls: calls.get(*index).is_some_and(|count| count == 0 || !of_session.is_empty()),
                shows_retries: retries.get(*index).is_some(),
            };
            findings(session).into_iter().map(|finding| (*index, finding))
        });
        frame_of(&findings.collect::<Vec<_>>(), &keys, read)
    };
    for_sessions(&frame, tables, |partition, find| read(partition, find, &starts, cost, catalog), compute)
}

/// Findings with the indices of their sessions as a frame. `keys` identify the sessions, and `read` has the names of tools and paths.
fn frame_of(findings: &[(usize, Finding)], keys: &DataFrame, read: &Read) -> PolarsResult<DataFrame> {
    let all = || findings.iter().map(|(_, finding)| finding);
    let place = |finding: &Finding| finding.place.filter(|_| finding.cases > 0);
    let text = |name: &str, of: fn(Cause) -> &'static str| {
        Column::new(name.into(), all().map(|finding| of(finding.cause)).collect::<Vec<_>>())
    };
    let lines = all().map(|finding| place(finding).and_then(|place| place.line.get()));
    let mut frame = take(keys, findings.iter().map(|(index, _)| *index))?;
    for column in [
        text(CAUSE, Cause::as_str),
        text("basis", Cause::basis),
        read.tools.take(TOOL, all().map(|finding| finding.tool))?,
        Column::new("waste_usd".into(), all().map(|it| it.waste_usd).collect::<Vec<_>>()),
        Column::new("wasted_tokens".into(), all().map(|it| it.tokens).collect::<Vec<_>>()),
        Column::new("cases".into(), all().map(|it| it.cases).collect::<Vec<_>>()),
        read.paths.take("worst_path", all().map(|finding| place(finding).map(|place| place.path)))?,
        Column::new("worst_line".into(), lines.collect::<Vec<_>>()),
    ] {
        frame.with_column(column)?;
    }
    Ok(frame)
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
