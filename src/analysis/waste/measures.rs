//! `report waste`: its measures over the waste of sessions by cause and tool. docs/waste.md defines them.

use std::collections::HashMap;

use polars::prelude::*;

use super::frame::{CARRIED, CAUSE, ESTIMATE, EXACT, GROUP_COST, IS_FIRST, TOOL};
use crate::analysis::rows::Top;
use crate::analysis::rows::measure::{Measure, derived, measure, ratio, sum};
use crate::store::frames::turns;

/// The columns that state where the most expensive case is.
const PLACE: [&str; 2] = ["worst_path", "worst_line"];
const WASTE: &str = "waste_usd";
/// The rows of `--top`.
pub(in crate::analysis) const TOP: Top =
    Top { by: &[CAUSE, "session", TOOL], columns: &[WASTE, PLACE[0], PLACE[1]], first: top };

/// The measures.
pub(in crate::analysis) const MEASURES: &[Measure] = &[
    sum(WASTE, "US dollars that were wasted, by the choice of --cost"),
    measure("session_cost_usd", "Cost of the same sessions, whatever the cause and tool", || col(GROUP_COST).first())
        .wide(),
    derived("waste_share", "waste_usd / session_cost_usd", || ratio(WASTE, "session_cost_usd")),
    sum(EXACT, "The part of waste_usd that follows from billed tokens and prices"),
    sum(ESTIMATE, "The part of waste_usd that needs an assumption"),
    sum(CARRIED, "The waste of output_carried, which is in no sum of several causes").wide(),
    measure("basis", "exact, estimate, or mixed: how the amount is known", || {
        let basis = || col("basis");
        when(basis().min().eq(basis().max())).then(basis().first()).otherwise(lit("mixed"))
    })
    .no_amount()
    .wide(),
    sum("cases", "Responses or calls"),
    measure("sessions", "Distinct sessions with waste", || col(IS_FIRST).sum().cast(DataType::Int64)).wide(),
    sum("wasted_tokens", "Tokens, of causes that are about tokens").wide(),
    measure("worst_usd", "The most waste of a session, cause and tool", || col(WASTE).max()).wide(),
    measure("worst_session", "The session with it", || worst(turns::SESSION_ID)).no_amount().wide(),
    measure("worst_cause", "Its cause", || worst(CAUSE)).no_amount().wide(),
    measure("worst_tool", "Its tool", || worst(TOOL)).no_amount().wide(),
    measure(PLACE[0], "The log with the most expensive case of it", || worst(PLACE[0])).no_amount().wide(),
    measure(PLACE[1], "The line there", || worst(PLACE[1])).no_amount().wide(),
];

/// The value in the row with the most waste.
fn worst(column: &str) -> Expr {
    let order =
        SortMultipleOptions::default().with_order_descending_multi([true, false, false, false]).with_nulls_last(true);
    let rows = col(column).sort_by([col(WASTE), col(turns::SESSION_ID), col(CAUSE), col(TOOL)], order);
    when(col(WASTE).max().gt(lit(0.0))).then(rows.first()).otherwise(lit(NULL))
}

/// The `count` groups with the most waste of each cause; the cause with the most waste first. `by` are the dimensions.
fn top(groups: LazyFrame, by: &[&str], count: u32) -> PolarsResult<LazyFrame> {
    let columns = [&[WASTE], by].concat();
    let is_descending: Vec<bool> = columns.iter().map(|column| *column == WASTE).collect();
    let order = SortMultipleOptions::default().with_order_descending_multi(is_descending).with_nulls_last(true);
    let frame = groups.sort(columns, order).collect()?;
    let waste = frame.column(WASTE)?.f64()?.clone();
    let causes = frame.column(CAUSE).ok().map(|causes| causes.str().cloned()).transpose()?;
    let cause = |row: usize| causes.as_ref().and_then(|causes| causes.get(row)).unwrap_or_default().to_owned();
    let mut sums: HashMap<String, (f64, u32)> = HashMap::new();
    let mut rows: Vec<(usize, String)> = Vec::new();
    for row in 0..frame.height() {
        let Some(waste) = waste.get(row).filter(|waste| *waste > 0.0) else { continue };
        let (sum, seen) = sums.entry(cause(row)).or_default();
        *sum += waste;
        *seen += 1;
        if *seen <= count {
            rows.push((row, cause(row)));
        }
    }
    let sum = |cause: &str| sums.get(cause).map_or(0.0, |(sum, _)| *sum);
    rows.sort_by(|(_, a), (_, b)| sum(b).total_cmp(&sum(a)).then_with(|| a.cmp(b)));
    let indices: Vec<IdxSize> = rows.iter().filter_map(|(row, _)| IdxSize::try_from(*row).ok()).collect();
    Ok(frame.take(&IdxCa::from_vec("row".into(), indices))?.lazy())
}
