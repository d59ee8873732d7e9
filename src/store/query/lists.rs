//! Lists in SELECT: `UNNEST(list)` gives a row for each value. polars gives one row, with NULL, for a list without values.

use sqlparser::ast::{Expr, Select, SelectItem};

use super::conditions::{all, conjuncts};
use super::names::arguments_of;
use super::parse::parsed;

/// Excludes the rows whose list is empty or NULL from a SELECT with `UNNEST`, as other engines do. Lists of several lengths beside each
/// other are an error of polars.
pub(super) fn without_empty_lists(select: &mut Select) {
    let lists: Vec<String> = select.projection.iter().filter_map(unnested).collect();
    let [list] = &lists[..] else { return };
    let Some(has_values) = parsed(&format!("ARRAY_LENGTH({list}) > 0")) else { return };
    let mut conditions = select.selection.take().map(conjuncts).unwrap_or_default();
    conditions.push(has_values);
    select.selection = all(conditions);
}

/// The list of an item that is `UNNEST`.
fn unnested(item: &SelectItem) -> Option<String> {
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { return None };
    let Expr::Function(function) = expr else { return None };
    match &arguments_of(function)[..] {
        [list] if function.name.to_string().eq_ignore_ascii_case("unnest") => Some(list.to_string()),
        _ => None,
    }
}
