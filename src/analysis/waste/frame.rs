//! The waste of sessions as rows of a report.

use polars::prelude::*;
use rayon::prelude::*;

use super::cause::{CAUSES, Cause};
use super::read::{AllNames, Read, read};
use super::rows::Session;
use super::session::{Finding, findings};
use crate::analysis::behaviour::{Find, for_sessions};
use crate::analysis::outcomes::frame::{TRIAL_PASSED, add_outcomes};
use crate::analysis::reports::Cost;
use crate::analysis::reports::spec::known_sum;
use crate::analysis::reports::tables::{Frames, KEY, SESSION_KEY};
use crate::prices::Catalog;

/// Columns that rows of findings have, and which the sessions have without values until [`rows_of_waste`].
pub(in crate::analysis) const CAUSE: &str = "cause";
pub(in crate::analysis) const TOOL: &str = "tool";

/// The cost of the sessions with the same dimensions, apart from cause and tool.
pub(in crate::analysis) const GROUP_COST: &str = "group_cost_usd";
/// The cost of all sessions.
const TOTAL_COST: &str = "total_cost_usd";

/// Columns of findings with numbers, which take less memory than texts: there are millions of findings.
const NUMBER_OF_CAUSE: &str = "cause_number";
const NUMBER_OF_TOOL: &str = "tool_number";
const NUMBER_OF_PATH: &str = "path_number";

/// The waste of sessions: rows for each session, cause and tool. `keys` are the dimensions of a report other than cause and tool. The
/// second result is for the total.
pub(in crate::analysis) fn rows_of_waste(
    sessions: LazyFrame,
    tables: &Frames,
    keys: &[Expr],
    cost: Cost,
    catalog: &Catalog,
) -> PolarsResult<[LazyFrame; 2]> {
    let Findings { sessions: numbers, rows, names } = findings_of(&sessions, tables, cost, catalog)?;
    let sessions = sessions.drop(cols([CAUSE, TOOL]));
    let sum = known_sum("cost_usd");
    let of_group = if keys.is_empty() { sum.clone() } else { sum.clone().over(keys)? };
    let sessions = sessions.with_columns([of_group.alias(GROUP_COST), sum.alias(TOTAL_COST)]);
    let sessions = sessions.join(numbers, KEY.map(col), KEY.map(col), JoinType::Left.into());
    // Each session has many findings, so that the hash table of the join is smaller with the sessions in it.
    let join = JoinArgs::new(JoinType::Left).with_build_side(Some(JoinBuildSide::ForceLeft));
    let rows = sessions.join(rows, [col(SESSION_KEY)], [col(SESSION_KEY)], join).with_columns([
        texts(NUMBER_OF_CAUSE, CAUSES.map(Cause::as_str)).alias(CAUSE),
        texts(NUMBER_OF_CAUSE, CAUSES.map(Cause::basis)).alias("basis"),
        texts(NUMBER_OF_TOOL, names.tools.texts()).alias(TOOL),
        texts(NUMBER_OF_PATH, names.paths.texts()).alias("worst_path"),
    ]);
    Ok([rows.clone(), rows.with_column(col(TOTAL_COST).alias(GROUP_COST))])
}

/// The texts of the numbers in a column.
fn texts<'n>(numbers: &str, names: impl IntoIterator<Item = &'n str>) -> Expr {
    let names: StringChunked = names.into_iter().map(Some).collect();
    let names = names.into_column();
    col(numbers).map(
        move |numbers| Ok(names.take(numbers.idx()?)?.with_name(numbers.name().clone())),
        |_, field| Ok(Field::new(field.name().clone(), DataType::String)),
    )
}

/// The findings of sessions.
struct Findings {
    /// The sessions with their numbers.
    sessions: LazyFrame,
    /// The findings, with numbers in place of sessions and texts.
    rows: LazyFrame,
    names: AllNames,
}

fn findings_of(sessions: &LazyFrame, tables: &Frames, cost: Cost, catalog: &Catalog) -> PolarsResult<Findings> {
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
    let mut names = AllNames::default();
    let read = |partition: &Frames, find: Find<'_>| read(partition, find, &starts, cost, catalog, &mut names);
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
        frame_of(&findings.collect::<Vec<_>>())
    };
    let rows = for_sessions(&frame, tables, read, compute)?;
    Ok(Findings { sessions: frame.select(KEY)?.with_row_index(SESSION_KEY.into(), None)?.lazy(), rows, names })
}

/// Findings with the indices of their sessions as a frame.
fn frame_of(findings: &[(usize, Finding)]) -> PolarsResult<DataFrame> {
    let all = || findings.iter().map(|(_, finding)| finding);
    let place = |finding: &Finding| finding.place.filter(|_| finding.cases > 0);
    let numbers = |name: &str, of: &dyn Fn(&(usize, Finding)) -> Option<usize>| {
        let number = |finding| of(finding).and_then(|number| IdxSize::try_from(number).ok());
        findings.iter().map(number).collect::<IdxCa>().with_name(name.into()).into_column()
    };
    let number_of_cause = |finding: &Finding| CAUSES.iter().position(|cause| *cause == finding.cause);
    DataFrame::new_infer_height(vec![
        numbers(SESSION_KEY, &|(session, _)| Some(*session)),
        numbers(NUMBER_OF_CAUSE, &|(_, finding)| number_of_cause(finding)),
        numbers(NUMBER_OF_TOOL, &|(_, finding)| finding.tool.map(|tool| tool as usize)),
        Column::new("waste_usd".into(), all().map(|it| it.waste_usd).collect::<Vec<_>>()),
        Column::new("wasted_tokens".into(), all().map(|it| it.tokens).collect::<Vec<_>>()),
        Column::new("cases".into(), all().map(|it| it.cases).collect::<Vec<_>>()),
        numbers(NUMBER_OF_PATH, &|(_, finding)| place(finding).map(|place| place.path as usize)),
        Column::new("worst_line".into(), all().map(|it| place(it).and_then(|it| it.line.get())).collect::<Vec<_>>()),
    ])
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
