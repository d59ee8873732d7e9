//! `report sessions --tree`: the sessions, each below the one that started it, with their own values and those of their trees.

use polars::prelude::*;

use super::answer::Answer;
use super::options::Options;
use crate::analysis::rows::{Frames, KEY, Sessions, round};
use crate::analysis::selection::{Error, Grouping, names};
use crate::analysis::show::short_ids;
use crate::ledger::trees::Forest;
use crate::store::frames::{sessions, turns};

/// The number of sessions above a session in its tree.
const DEPTH: &str = "depth";
/// The dimension of that name: the id of the root.
const ROOT: &str = "root";
/// The id of the session.
const SESSION: &str = "session";
const INCLUSIVE_TURNS: &str = "inclusive_turns";
const INCLUSIVE_TOOL_CALLS: &str = "inclusive_tool_calls";
/// The sum of the durations: sessions that ran at the same time add up.
const INCLUSIVE_DURATION_MS: &str = "inclusive_duration_ms";

/// The columns, in their order.
const COLUMNS: &[&str] = &[
    ROOT,
    DEPTH,
    SESSION,
    sessions::AGENT,
    sessions::MODEL,
    sessions::STATUS,
    sessions::OWN_COST_USD,
    sessions::INCLUSIVE_COST_USD,
    sessions::TURNS,
    INCLUSIVE_TURNS,
    sessions::TOTAL_TOKENS,
    sessions::INCLUSIVE_TOTAL_TOKENS,
    sessions::TOOL_CALLS,
    INCLUSIVE_TOOL_CALLS,
    sessions::DURATION_MS,
    INCLUSIVE_DURATION_MS,
    sessions::DESCENDANTS,
    sessions::MISSING_DESCENDANTS,
    sessions::STARTED_AT,
    sessions::RUNTIME,
];

/// Columns that tables omit unless `--wide` is given, or they are sorted by.
const WIDE: &[&str] = &[
    sessions::TURNS,
    INCLUSIVE_TURNS,
    sessions::TOTAL_TOKENS,
    sessions::TOOL_CALLS,
    INCLUSIVE_TOOL_CALLS,
    sessions::DURATION_MS,
    INCLUSIVE_DURATION_MS,
    sessions::STARTED_AT,
    sessions::RUNTIME,
];

/// The columns with sums over trees, and what they add up.
const INCLUSIVE: [(&str, &str); 4] = [
    (sessions::INCLUSIVE_TOTAL_TOKENS, sessions::TOTAL_TOKENS),
    (INCLUSIVE_TURNS, sessions::TURNS),
    (INCLUSIVE_TOOL_CALLS, sessions::TOOL_CALLS),
    (INCLUSIVE_DURATION_MS, sessions::DURATION_MS),
];

/// The rows: the sessions in scope. Their sums are those of whole trees, also of sessions out of scope.
pub(super) fn run(tables: &Frames, options: &Options) -> Result<Answer, Error> {
    let sort = options.order();
    if let Some((column, _)) = sort.filter(|(column, _)| !COLUMNS.contains(column)) {
        return Err(Error::Sort { column: column.to_owned(), list: names(COLUMNS.iter().copied()) });
    }
    let (column, is_descending) = sort.unwrap_or((sessions::INCLUSIVE_COST_USD, true));
    let order = SortMultipleOptions::default().with_nulls_last(true);
    let all = tables.table(sessions::TABLE).with_columns(options.cost.columns());
    let all = all.with_columns([
        col(turns::COST_USD).alias(sessions::OWN_COST_USD),
        col(sessions::CANONICAL_MODEL).alias(sessions::MODEL),
        col(sessions::ROOT_SESSION_ID).alias(ROOT),
        col(sessions::SESSION_ID).alias(SESSION),
    ]);
    // Children are in the order of their start, unless the options sort them.
    let all = all.sort([sessions::STARTED_AT, sessions::SESSION_ID, sessions::RUNTIME], order.clone()).collect()?;
    let all = with_sums(all)?;
    let directions = order.with_order_descending(is_descending).with_maintain_order(true);
    let all = all.lazy().sort([column], directions).collect()?;
    let forest = forest(&all)?;
    let positions: IdxCa = forest.order().iter().map(|session| IdxSize::try_from(*session).ok()).collect();
    let all = all.take(&positions)?.lazy();
    let mut grouping = Grouping::new(sessions::TABLE, &Sessions, tables, &options.scope, options.cost)?;
    let in_scope = std::mem::take(&mut grouping.rows).select(KEY.map(col));
    let semi = JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Semi) };
    let rows = all.join(in_scope, KEY.map(col), KEY.map(col), semi);
    let is_shown = |name: &&&str| options.wide || !WIDE.contains(*name) || **name == column;
    let shown: Vec<Expr> = COLUMNS.iter().filter(is_shown).map(|name| col(*name)).collect();
    let (rows, more) = options.limited(round(rows.select(shown)).collect()?);
    Ok(Answer { rows, dimensions: 0, total: None, more, left_out: grouping.left_out, judged: None })
}

/// The forest of sessions in their order.
fn forest(sessions: &DataFrame) -> PolarsResult<Forest> {
    let texts = |name: &str| sessions.column(name).and_then(|column| column.str());
    let (runtimes, ids, parents) =
        (texts(sessions::RUNTIME)?, texts(sessions::SESSION_ID)?, texts(sessions::PARENT_SESSION_ID)?);
    let keys =
        (0..sessions.height()).map(|row| (runtimes.get(row), ids.get(row).unwrap_or_default(), parents.get(row)));
    Ok(Forest::of_keys(keys))
}

/// Adds the columns with the depths, and with sums over trees.
fn with_sums(mut frame: DataFrame) -> PolarsResult<DataFrame> {
    let forest = forest(&frame)?;
    let costs = forest.sums(frame.column(sessions::OWN_COST_USD)?.f64()?.iter().collect());
    let mut columns =
        vec![Column::new(DEPTH.into(), forest.depths()), Column::new(sessions::INCLUSIVE_COST_USD.into(), costs)];
    for (name, of) in INCLUSIVE {
        columns.push(Column::new(name.into(), forest.sums(frame.column(of)?.i64()?.iter().collect())));
    }
    for column in columns {
        frame.with_column(column)?;
    }
    Ok(frame)
}

/// The rows for people: short ids, each indented below that of its parent, and no number of missing descendants if none is missing.
///
/// # Errors
/// When the tables cannot be read.
pub fn tree_for_people(rows: &DataFrame, tables: &Frames) -> PolarsResult<DataFrame> {
    let all = tables.table(sessions::TABLE).select([col(sessions::SESSION_ID)]).collect()?;
    let all = all.column(sessions::SESSION_ID)?.str()?;
    let ids: Vec<&str> = rows.column(SESSION)?.str()?.iter().map(Option::unwrap_or_default).collect();
    let depths = rows.column(DEPTH)?.i64()?;
    let indented = short_ids(&ids, all.iter().flatten()).into_iter().zip(depths.iter()).map(|(id, depth)| {
        // Deeper trees than this are of no use on a screen.
        const DEEPEST: i64 = 12;
        let depth = usize::try_from(depth.unwrap_or(0).clamp(0, DEEPEST)).unwrap_or(0);
        if depth == 0 { id.to_owned() } else { format!("{}└ {id}", "  ".repeat(depth - 1)) }
    });
    let is_complete = rows.column(sessions::MISSING_DESCENDANTS)?.i64()?.sum() == Some(0);
    let mut shown =
        rows.drop_many([ROOT, DEPTH].into_iter().chain(is_complete.then_some(sessions::MISSING_DESCENDANTS)));
    shown.with_column(Column::new(SESSION.into(), indented.collect::<Vec<String>>()))?;
    Ok(shown)
}
