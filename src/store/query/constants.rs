//! Rewrites aggregates and windows of constants, such as `SUM(1)`: for polars, a constant is one value, however many rows there are.

use std::ops::ControlFlow;

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Statement,
    VisitorMut,
};

use super::names::{arguments_of, is_aggregate};
use super::parse::parsed;
use super::visit::{contains_query, visit_mut, visit_own};

/// Rewrites the aggregates and windows of constants in a statement.
///
/// # Errors
/// When there is one whose result is not computed from the number of rows.
pub(super) fn rewrite_constants(statement: &mut Statement) -> Result<(), String> {
    visit_mut(statement, &mut Constants)
}

struct Constants;

impl VisitorMut for Constants {
    type Break = String;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let Expr::Function(function) = &*expr else { return ControlFlow::Continue(()) };
        match of_constant(function) {
            Ok(Some(replacement)) => *expr = replacement,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// Windows that are not aggregates, and whose value is that of a row.
const WINDOWS: [&str; 4] = ["first_value", "last_value", "lag", "lead"];

/// What is in the place of an aggregate or a window of a constant; `None` for other functions.
fn of_constant(function: &Function) -> Result<Option<Expr>, String> {
    let name = function.name.to_string().to_ascii_lowercase();
    let is_window = function.over.is_some() && WINDOWS.contains(&name.as_str());
    if !(is_window || is_aggregate(function)) {
        return Ok(None);
    }
    let arguments = arguments_of(function);
    // A window has its own count, that of the same rows.
    let count = count_of_rows(function);
    let Some(value) = function.within_group.first().map(|order| &order.expr).or(arguments.first().copied()) else {
        // `COUNT(*)` with a filter that is a constant.
        let is_count = name == "count" && function.filter.as_ref().is_some_and(|filter| is_constant(filter));
        return Ok(if is_count { parsed(&count) } else { None });
    };
    if !is_constant(value) {
        return Ok(None);
    }
    let is_distinct = matches!(
        &function.args,
        FunctionArguments::List(list) if list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
    );
    let if_any = |result: &str| format!("CASE WHEN {count} > 0 THEN {result} END");
    let sql = match name.as_str() {
        "count" if is_distinct => {
            format!("CASE WHEN {count} > 0 AND ({value}) IS NOT NULL THEN 1 ELSE 0 END")
        }
        "count" => format!("CASE WHEN ({value}) IS NOT NULL THEN {count} ELSE 0 END"),
        "sum" | "total" if !is_distinct => if_any(&format!("({value}) * {count}")),
        "avg" => if_any(&format!("CAST({value} AS DOUBLE)")),
        "sum" | "total" | "min" | "max" | "first" | "last" | "first_value" | "last_value" | "median"
        | "percentile_cont" | "quantile_cont" | "quantile_disc" => if_any(&format!("({value})")),
        _ => return Err(format!("{function}: {name} of a constant is not supported; name a column")),
    };
    parsed(&sql).map(Some).ok_or_else(|| format!("{function} is not supported"))
}

/// Whether an expression has the same value for all rows.
fn is_constant(expr: &Expr) -> bool {
    let visited = visit_own(expr, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => {
            ControlFlow::Break(())
        }
        Expr::Function(function) if function.over.is_some() || is_aggregate(function) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    visited.is_continue() && !contains_query(expr)
}

/// `COUNT(*)` with the filter and the window of a function. A filter that is a constant is a condition of the count.
fn count_of_rows(function: &Function) -> String {
    let mut count = Function {
        name: ObjectName::from(vec![Ident::new("COUNT")]),
        within_group: Vec::new(),
        null_treatment: None,
        ..function.clone()
    };
    if let FunctionArguments::List(list) = &mut count.args {
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Wildcard)];
        list.duplicate_treatment = None;
        list.clauses.clear();
    }
    match count.filter.take_if(|filter| is_constant(filter)) {
        Some(filter) => format!("(CASE WHEN {filter} THEN {count} ELSE 0 END)"),
        None => count.to_string(),
    }
}
