//! Names of functions and of columns of a result.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, SelectItem, Statement, VisitorMut,
};

use super::scope::column_name;
use super::visit::{visit_mut, visit_own};

/// Functions that compute one value of many rows.
const AGGREGATES: &[&str] = &[
    "array_agg",
    "avg",
    "corr",
    "count",
    "covar",
    "covar_pop",
    "covar_samp",
    "first",
    "group_concat",
    "last",
    "listagg",
    "max",
    "median",
    "min",
    "percentile_cont",
    "quantile_cont",
    "quantile_disc",
    "stddev",
    "stddev_samp",
    "stdev",
    "stdev_samp",
    "string_agg",
    "sum",
    "total",
    "var",
    "var_samp",
    "variance",
];

/// The unnamed arguments of a function.
pub(super) fn arguments_of(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let expression = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expression)) => Some(expression),
        _ => None,
    };
    list.args.iter().filter_map(expression).collect()
}

/// Whether a function computes one value of many rows, also as a window.
pub(super) fn is_aggregate(function: &Function) -> bool {
    AGGREGATES.contains(&function.name.to_string().to_ascii_lowercase().as_str())
}

/// The name of an aggregate that has several.
pub(super) fn canonical_name(function: &Function) -> String {
    let name = function.name.to_string().to_ascii_lowercase();
    match name.as_str() {
        "stddev_samp" | "stdev" | "stdev_samp" => "stddev".to_owned(),
        "var" | "var_samp" => "variance".to_owned(),
        "covar_samp" => "covar".to_owned(),
        _ => name,
    }
}

/// Whether an expression contains an aggregate that is not a window, except those of its subqueries.
pub(super) fn contains_aggregate(expr: &Expr) -> bool {
    let visited = visit_own(expr, |expr| match expr {
        Expr::Function(function) if function.over.is_none() && is_aggregate(function) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    visited.is_break()
}

/// Gives a column without an alias its text as name, if another column of the SELECT has its name, too: polars refuses equal names.
pub(super) fn name_equal_columns(statement: &mut Statement) {
    struct Names;
    impl VisitorMut for Names {
        type Break = String;

        fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
            name_equal(&mut select.projection);
            ControlFlow::Continue(())
        }
    }
    // It never breaks.
    let _: Result<(), String> = visit_mut(statement, &mut Names);
}

fn name_equal(projection: &mut [SelectItem]) {
    let names = output_names(projection);
    let is_shared = |name: &String| names.iter().filter(|it| *it == name).count() > 1;
    let is_first = |place: usize, name: &String| names.iter().position(|it| it == name) == Some(place);
    let text_of = |(place, (item, name)): (usize, (&SelectItem, &String))| match item {
        SelectItem::UnnamedExpr(expr) if is_shared(name) && column_name(expr).is_none() => {
            // Of equal expressions only one can have their text.
            let is_repeated = projection.iter().filter(|it| *it == item).count() > 1;
            (!(is_repeated && is_first(place, name))).then(|| expr.to_string())
        }
        _ => None,
    };
    let texts: Vec<Option<String>> = projection.iter().zip(&names).enumerate().map(text_of).collect();
    for (item, text) in projection.iter_mut().zip(texts) {
        if let (SelectItem::UnnamedExpr(expr), Some(text)) = (&*item, text) {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', text) };
        }
    }
}

/// The names of the columns of a result. Those without an alias have the name of the first column in them, and `COUNT(*)` the name
/// `count`, unless another column has it.
pub(super) fn output_names(projection: &[SelectItem]) -> Vec<String> {
    let is_count = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(expr) if is_count_of_rows(expr));
    let named = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(expr) if !is_count_of_rows(expr) => Some(name_of(expr)),
        _ => None,
    };
    let is_taken = projection.iter().filter_map(named).any(|name| name.eq_ignore_ascii_case("count"));
    let is_only = projection.iter().filter(|item| is_count(item)).count() == 1;
    let count = if is_only && !is_taken { "count" } else { "len" };
    projection.iter().map(|item| named(item).unwrap_or_else(|| count.to_owned())).collect()
}

/// Whether an expression is `COUNT(*)`.
pub(super) fn is_count_of_rows(expr: &Expr) -> bool {
    expr.to_string().eq_ignore_ascii_case("count(*)")
}

/// The name of an expression without an alias: as in polars that of the first column in it.
fn name_of(expr: &Expr) -> String {
    if let Some(name) = column_name(expr) {
        return name.value.clone();
    }
    match expr {
        Expr::Function(function) => match &function.args {
            FunctionArguments::List(list) => match list.args.first() {
                Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) => name_of(first),
                _ => "len".to_owned(),
            },
            _ => "literal".to_owned(),
        },
        Expr::BinaryOp { left, .. } => name_of(left),
        Expr::Case { conditions, .. } => {
            conditions.first().map_or_else(|| "literal".to_owned(), |it| name_of(&it.result))
        }
        Expr::Nested(expr)
        | Expr::Cast { expr, .. }
        | Expr::Extract { expr, .. }
        | Expr::Ceil { expr, .. }
        | Expr::Floor { expr, .. }
        | Expr::Substring { expr, .. }
        | Expr::Trim { expr, .. }
        | Expr::IsNull(expr)
        | Expr::IsNotNull(expr)
        | Expr::Between { expr, .. }
        | Expr::InList { expr, .. }
        | Expr::Like { expr, .. } => name_of(expr),
        _ => "literal".to_owned(),
    }
}
