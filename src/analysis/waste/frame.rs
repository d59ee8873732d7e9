//! The waste of sessions as rows of a report.

use std::sync::{Mutex, PoisonError};

use foldhash::HashSet;
use polars::prelude::*;
use rayon::prelude::*;

use super::cause::{CAUSES, Cause};
use super::causes::Finding;
use super::names::{AllNames, Numbers};
use super::read::{Choices, WasteRows};
use super::rows::{Place, Session};
use super::session::findings;
use crate::analysis::outcomes::frame::{TRIAL_PASSED, add_outcomes};
use crate::analysis::rows::{
    Context, CostBasis, Extended, Find, Frames, KEY, ReportRows, Sessions, for_sessions, known_sum,
};
use crate::prices::Catalog;
use crate::store::frames::{events, sessions, tool_calls, turns, verdicts};

/// Columns that rows of findings have, and which the sessions have without values until [`rows_of_waste`].
pub(in crate::analysis) const CAUSE: &str = "cause";
pub(in crate::analysis) const TOOL: &str = "tool";

/// The cost of the sessions with the same dimensions, apart from cause and tool.
pub(in crate::analysis) const GROUP_COST: &str = "group_cost_usd";
/// The waste by its basis, and that of results in the context.
pub(in crate::analysis) const EXACT: &str = "exact_usd";
pub(in crate::analysis) const ESTIMATE: &str = "estimate_usd";
pub(in crate::analysis) const CARRIED: &str = "carried_usd";
/// The cost of all sessions.
const TOTAL_COST: &str = "total_cost_usd";

/// Whether a row is the first one with waste of its session and group, so that these rows can be counted instead of distinct
/// sessions. All dimensions other than cause and tool have one value for each session.
pub(in crate::analysis) const IS_FIRST: &str = "is_first";
/// Whether it is the first one with waste of its session.
const IS_FIRST_OF_ALL: &str = "is_first_of_all";

/// Columns of findings with numbers in place of sessions and texts. Numbers other than tokens and dollars have 32 bits: there are
/// millions of findings.
const NUMBER_OF_SESSION: &str = "session_number";
const NUMBER_OF_CAUSE: &str = "cause_number";
const NUMBER_OF_TOOL: &str = "tool_number";
const NUMBER_OF_PATH: &str = "path_number";

/// The sessions, with rows for each cause and tool.
#[derive(Debug)]
pub(in crate::analysis) struct Waste;

impl ReportRows for Waste {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE, turns::TABLE, tool_calls::TABLE, events::TABLE, verdicts::TABLE]
    }

    fn has(&self, column: &str) -> bool {
        [CAUSE, TOOL].contains(&column) || Sessions.has(column)
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        let unknown = |name: &str| lit(NULL).cast(DataType::String).alias(name);
        Ok(Sessions.frame(tables)?.with_columns([unknown(CAUSE), unknown(TOOL)]))
    }

    fn extend(&self, rows: LazyFrame, context: &Context<'_>) -> PolarsResult<Extended> {
        let Context { tables, by, keys, cost, catalog, .. } = *context;
        let [rows, all] = rows_of_waste(rows, tables, by, keys, cost, catalog)?;
        Ok(Extended { rows, rows_of_total: Some(all), judged: None })
    }
}

/// The waste of sessions: rows for each session, cause and tool. `by` are the dimensions of a report, and `keys` their values. The
/// second result is for the total.
pub(in crate::analysis) fn rows_of_waste(
    sessions: LazyFrame,
    tables: &Frames,
    by: &[&str],
    keys: &[Expr],
    cost: CostBasis,
    catalog: &Catalog,
) -> PolarsResult<[LazyFrame; 2]> {
    let dimensions = Dimensions { cause: by.contains(&CAUSE), tool: by.contains(&TOOL) };
    let Findings { sessions: numbers, rows, names } = findings_of(&sessions, tables, dimensions, cost, catalog)?;
    let keys = by.iter().zip(keys).filter(|(name, _)| ![CAUSE, TOOL].contains(name));
    let keys: Vec<Expr> = keys.map(|(_, key)| key.clone()).collect();
    let sessions = sessions.drop(cols([CAUSE, TOOL]));
    let sum = known_sum(sessions::COST_USD);
    let of_group = if keys.is_empty() { sum.clone() } else { sum.clone().over(keys)? };
    let sessions = sessions.with_columns([of_group.alias(GROUP_COST), sum.alias(TOTAL_COST)]);
    let sessions = sessions.join(numbers, KEY.map(col), KEY.map(col), JoinType::Left.into());
    // Each session has many findings, so that the hash table of the join is smaller with the sessions in it.
    let join = JoinArgs::new(JoinType::Left).with_build_side(Some(JoinBuildSide::ForceLeft));
    let rows = sessions.join(rows, [col(NUMBER_OF_SESSION)], [col(NUMBER_OF_SESSION)], join).with_columns([
        texts(NUMBER_OF_CAUSE, CAUSES.map(Cause::as_str)).alias(CAUSE),
        texts(NUMBER_OF_CAUSE, CAUSES.map(Cause::basis)).alias("basis"),
        texts(NUMBER_OF_TOOL, names.tools.texts()).alias(TOOL),
        texts(NUMBER_OF_PATH, names.paths.texts()).alias("worst_path"),
        col("cases").cast(DataType::Int64),
        col("worst_line").cast(DataType::Int64),
    ]);
    let amount =
        |is_counted: Expr, name: &str| when(is_counted).then(col("waste_usd")).otherwise(lit(NULL)).alias(name);
    let is_of = |basis: &str| col("basis").eq(lit(basis));
    let rows = rows.with_columns([
        amount(is_of("exact"), EXACT),
        amount(is_of("estimate"), ESTIMATE),
        amount(is_carried(), CARRIED),
    ]);
    let all = [col(TOTAL_COST).alias(GROUP_COST), col(IS_FIRST_OF_ALL).alias(IS_FIRST)];
    let all = rows.clone().with_columns(all).with_columns(without_carried());
    let rows = if dimensions.cause { rows } else { rows.with_columns(without_carried()) };
    Ok([rows, all])
}

fn is_carried() -> Expr {
    col(CAUSE).eq(lit(Cause::OutputCarried.as_str()))
}

/// The sums of several causes do not contain the price of results in the context, of which some is useful.
fn without_carried() -> Vec<Expr> {
    let names = ["waste_usd", ESTIMATE, "cases", "wasted_tokens", "basis"];
    names.map(|name| when(is_carried()).then(lit(NULL)).otherwise(col(name)).alias(name)).to_vec()
}

/// The texts of the numbers in a column. An empty one is the name of a tool that the log does not name.
fn texts<'n>(numbers: &str, names: impl IntoIterator<Item = &'n str>) -> Expr {
    let names: StringChunked = names.into_iter().map(|name| Some(name).filter(|it| !it.is_empty())).collect();
    let names = names.into_column();
    col(numbers).map(
        move |numbers| Ok(names.take(numbers.idx()?)?.with_name(numbers.name().clone())),
        |_, field| Ok(Field::new(field.name().clone(), DataType::String)),
    )
}

/// Which of the columns that only rows of findings have are dimensions.
#[derive(Clone, Copy)]
struct Dimensions {
    cause: bool,
    tool: bool,
}

impl Dimensions {
    /// For each finding of a session, whether it is the first one with waste of its group.
    fn are_first(self, findings: &[Finding]) -> Vec<bool> {
        let mut groups = HashSet::default();
        let group = |finding: &Finding| (self.cause.then_some(finding.cause), self.tool.then_some(finding.tool));
        let is_counted = |finding: &Finding| self.cause || finding.cause != Cause::OutputCarried;
        let has_waste = |finding: &Finding| is_counted(finding) && finding.waste_usd.is_some_and(|waste| waste > 0.0);
        findings.iter().map(|finding| has_waste(finding) && groups.insert(group(finding))).collect()
    }
}

/// A finding of a session.
struct Row {
    /// The index of the session.
    session: usize,
    finding: Finding,
    is_first: bool,
    is_first_of_all: bool,
}

/// The findings of sessions.
struct Findings {
    /// The sessions with their numbers.
    sessions: LazyFrame,
    /// The findings, with numbers in place of sessions and texts.
    rows: LazyFrame,
    names: AllNames,
}

fn findings_of(
    sessions: &LazyFrame,
    tables: &Frames,
    dimensions: Dimensions,
    cost: CostBasis,
    catalog: &Catalog,
) -> PolarsResult<Findings> {
    const COLUMNS: [&str; 4] = [sessions::TOOL_CALLS, sessions::RETRIES, sessions::USER_TURNS, TRIAL_PASSED];
    let columns = KEY.into_iter().chain(COLUMNS).map(col).chain([col(sessions::STARTED_AT).to_physical()]);
    let mut frame = add_outcomes(sessions.clone(), tables)?.select(columns.collect::<Vec<_>>()).collect()?;
    // Values are read by their index.
    frame.rechunk_mut();
    let starts: Vec<Option<i64>> = frame.column(sessions::STARTED_AT)?.i64()?.iter().collect();
    let passed = frame.column(TRIAL_PASSED)?.bool()?;
    let whole = |name: &str| frame.column(name).and_then(|column| column.i64());
    let (calls, retries, prompts) =
        (whole(sessions::TOOL_CALLS)?, whole(sessions::RETRIES)?, whole(sessions::USER_TURNS)?);
    let names = Mutex::new(AllNames::default());
    let choices = Choices { starts: &starts, cost, catalog };
    let read = |partition: &Frames, find: Find<'_>| WasteRows::read(partition, find, choices);
    let compute = |of_sessions: &WasteRows, indices: &[usize]| {
        let rows = indices.par_iter().flat_map_iter(|index| {
            let calls_of_session = of_sessions.calls.of(*index);
            let session = Session {
                turns: of_sessions.turns.of(*index),
                calls: calls_of_session,
                events: of_sessions.events.of(*index),
                rates: &of_sessions.rates,
                models: &of_sessions.models,
                user_turns: prompts.get(*index),
                failed: passed.get(*index).map(|passed| !passed),
                // Some logs contain only the number of calls.
                shows_calls: calls.get(*index).is_some_and(|count| count == 0 || !calls_of_session.is_empty()),
                shows_retries: retries.get(*index).is_some(),
            };
            let findings = findings(session);
            let first = dimensions.are_first(&findings);
            let first_of_all = Dimensions { cause: false, tool: false }.are_first(&findings);
            let rows = findings.into_iter().zip(first).zip(first_of_all);
            rows.map(|((finding, is_first), is_first_of_all)| Row {
                session: *index,
                finding,
                is_first,
                is_first_of_all,
            })
        });
        let rows: Vec<Row> = rows.collect();
        let numbers = names.lock().unwrap_or_else(PoisonError::into_inner).numbers_of(&of_sessions.names);
        frame_of(&rows, &numbers)
    };
    let rows = for_sessions(&frame, tables, read, compute)?;
    let names = names.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Findings { sessions: frame.select(KEY)?.with_row_index(NUMBER_OF_SESSION.into(), None)?.lazy(), rows, names })
}

/// Rows of findings as a frame. `numbers` are those of their names.
fn frame_of(rows: &[Row], numbers: &Numbers) -> PolarsResult<DataFrame> {
    let findings = || rows.iter().map(|row| &row.finding);
    let places = || findings().map(|finding| finding.place);
    let small = |number: usize| u32::try_from(number).ok();
    let number_of_cause = |finding: &Finding| CAUSES.iter().position(|cause| *cause == finding.cause).and_then(small);
    let line = |place: Place| place.line.get().and_then(|line| u32::try_from(line).ok());
    DataFrame::new_infer_height(vec![
        Column::new(NUMBER_OF_SESSION.into(), rows.iter().map(|row| small(row.session)).collect::<Vec<_>>()),
        Column::new(NUMBER_OF_CAUSE.into(), findings().map(number_of_cause).collect::<Vec<_>>()),
        Column::new(NUMBER_OF_TOOL.into(), findings().map(|it| numbers.tool(it.tool?)).collect::<Vec<_>>()),
        Column::new("waste_usd".into(), findings().map(|it| it.waste_usd).collect::<Vec<_>>()),
        Column::new("wasted_tokens".into(), findings().map(|it| it.tokens).collect::<Vec<_>>()),
        Column::new("cases".into(), findings().map(|it| it.cases).collect::<Vec<_>>()),
        Column::new(NUMBER_OF_PATH.into(), places().map(|place| numbers.path(place?.path)).collect::<Vec<_>>()),
        Column::new("worst_line".into(), places().map(|place| line(place?)).collect::<Vec<_>>()),
        Column::new(IS_FIRST.into(), rows.iter().map(|row| row.is_first).collect::<Vec<_>>()),
        Column::new(IS_FIRST_OF_ALL.into(), rows.iter().map(|row| row.is_first_of_all).collect::<Vec<_>>()),
    ])
}
