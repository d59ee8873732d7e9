//! Rewrites a query for polars: what other engines understand and polars does not, and NULLs last in every order.

use std::ops::ControlFlow;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sqlparser::ast::{
    DataType, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Interval, OrderBy,
    OrderByExpr, OrderByKind, OrderByOptions, Query, Select, SelectItem, Statement, Value, VisitMut, VisitorMut,
    WindowType,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::error::Error;
use super::joins::rewrite_joins;
use super::scope::Tables;

/// Functions that compute one value of many rows.
const AGGREGATES: &[&str] = &[
    "avg",
    "corr",
    "count",
    "covar",
    "covar_samp",
    "first",
    "last",
    "max",
    "median",
    "min",
    "percentile_cont",
    "quantile_cont",
    "quantile_disc",
    "stddev",
    "stddev_samp",
    "sum",
    "var_samp",
    "variance",
];

/// The text of a statement for polars. `sql` is the text as written, which is used if nothing has to change. `now` is the time of
/// `NOW()` and of the other names of the present.
///
/// # Errors
/// When a literal is no date or time, or an aggregate contains another one.
pub(super) fn rewrite(mut statement: Statement, sql: &str, tables: &Tables, now: Timestamp) -> Result<String, Error> {
    let before = statement.clone();
    rewrite_joins(&mut statement, tables).map_err(Error::Refused)?;
    match statement.visit(&mut Rewriter { now }) {
        ControlFlow::Break(error) => Err(Error::Refused(error)),
        ControlFlow::Continue(()) if statement == before => Ok(sql.to_owned()),
        ControlFlow::Continue(()) => Ok(statement.to_string()),
    }
}

struct Rewriter {
    now: Timestamp,
}

impl VisitorMut for Rewriter {
    type Break = String;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        if let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = &mut query.order_by
            && let Some(select) = query.body.as_select()
        {
            for order in order.iter_mut() {
                use_alias(order, select);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        match query.order_by.as_mut().map(|order| &mut order.kind) {
            Some(OrderByKind::Expressions(order)) => nulls_last(order),
            Some(OrderByKind::All(options)) => options.nulls_first = options.nulls_first.or(Some(false)),
            None => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        name_counts(&mut select.projection);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<String> {
        match expression {
            Expr::Function(function) if contains_nested_aggregate(function) => ControlFlow::Break(format!(
                "{function}: an aggregate of an aggregate has to be computed in two steps: SELECT …, SUM(x) OVER (…) FROM \
                 (SELECT …, SUM(…) AS x FROM … GROUP BY …)"
            )),
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<String> {
        match self.replacement(expression) {
            Ok(Some(replacement)) => *expression = replacement,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        if let Expr::Function(function) = expression
            && let Some(WindowType::WindowSpec(window)) = &mut function.over
        {
            nulls_last(&mut window.order_by);
            order_nulls_by_key(&mut window.order_by);
        }
        ControlFlow::Continue(())
    }
}

impl Rewriter {
    /// What is in the place of an expression for polars; `None` if it stays.
    fn replacement(&self, expression: &Expr) -> Result<Option<Expr>, String> {
        match expression {
            Expr::TypedString(typed) => match &typed.value.value {
                Value::SingleQuotedString(text) => literal(&typed.data_type, text),
                _ => Ok(None),
            },
            Expr::Cast { expr, data_type, .. } => match text_of(expr) {
                Some(text) => literal(data_type, text),
                None => Ok(None),
            },
            Expr::Interval(interval) => Ok(interval_in_words(interval)),
            Expr::Function(function) => self.function(function),
            _ => Ok(None),
        }
    }

    fn function(&self, function: &Function) -> Result<Option<Expr>, String> {
        let name = function.name.to_string().to_ascii_lowercase();
        let arguments = arguments_of(function);
        match (name.as_str(), &arguments[..]) {
            ("now" | "current_timestamp" | "localtimestamp", []) => Ok(Some(time(self.now))),
            ("current_date", []) => Ok(Some(day(&self.now.to_zoned(TimeZone::UTC).date().to_string()))),
            ("date_trunc" | "datetrunc", [unit, value]) => match text_of(unit) {
                Some(unit) => truncated(unit, value).map(Some),
                None => Ok(None),
            },
            ("percentile_cont", [quantile]) => {
                let [order] = &function.within_group[..] else { return Ok(None) };
                // polars takes a number only.
                let number = quantile.to_string().parse::<f64>();
                let number = number.map_err(|_| "PERCENTILE_CONT takes a number from 0 to 1")?;
                let quantile = if order.options.asc == Some(false) { 1.0 - number } else { number };
                Ok(parsed(&format!("QUANTILE_CONT({}, {quantile})", order.expr)))
            }
            _ => Ok(None),
        }
    }
}

/// Names a column of the result by its alias in an order: polars finds an aggregate there only by name.
fn use_alias(order: &mut OrderByExpr, select: &Select) {
    let named = select.projection.iter().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } if *expr == order.expr => Some(alias.clone()),
        _ => None,
    });
    if let (Some(alias), Expr::Function(_)) = (named, &order.expr) {
        order.expr = Expr::Identifier(alias);
    }
}

fn nulls_last(order: &mut [OrderByExpr]) {
    for OrderByExpr { options: OrderByOptions { nulls_first, .. }, .. } in order {
        *nulls_first = nulls_first.or(Some(false));
    }
}

/// In windows polars ignores where NULLs are ordered: it ranks them first in descending order, or not at all. So whether the first value
/// is NULL becomes a key before it. A second such key would have the same name in polars.
fn order_nulls_by_key(order: &mut Vec<OrderByExpr>) {
    let Some(first) = order.first() else { return };
    let is_descending = first.options.asc == Some(false);
    // The later value in the direction of the order.
    let is_null_later = first.options.nulls_first != Some(true);
    let (of_null, of_value) = if is_null_later == is_descending { (0, 1) } else { (1, 0) };
    let key = parsed(&format!("CASE WHEN {} IS NULL THEN {of_null} ELSE {of_value} END", first.expr));
    let key = key.map(|expr| OrderByExpr { expr, options: first.options, with_fill: None });
    order.splice(..0, key);
}

/// Gives `COUNT(*)` without an alias the name `count`, unless another column has it. polars would name it `len`.
fn name_counts(projection: &mut [SelectItem]) {
    let is_count = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(expr) if expr.to_string().eq_ignore_ascii_case("count(*)"));
    let has_name = projection.iter().any(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => alias.value.eq_ignore_ascii_case("count"),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => name.value.eq_ignore_ascii_case("count"),
        _ => false,
    });
    let mut counts = projection.iter_mut().filter(|item| is_count(item));
    if let (Some(item), None, false) = (counts.next(), counts.next(), has_name)
        && let SelectItem::UnnamedExpr(expr) = item
    {
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', "count") };
    }
}

/// Whether an aggregate or a window contains an aggregate, except those of subqueries.
fn contains_nested_aggregate(function: &Function) -> bool {
    let is_aggregate = AGGREGATES.contains(&function.name.to_string().to_ascii_lowercase().as_str());
    let window = match &function.over {
        Some(WindowType::WindowSpec(window)) => Some(window),
        _ => None,
    };
    let arguments = arguments_of(function);
    let mut of_window = window.into_iter().flat_map(|window| {
        window.partition_by.iter().chain(window.order_by.iter().map(|order| &order.expr)).map(contains_aggregate)
    });
    (is_aggregate || function.over.is_some()) && arguments.iter().any(|argument| contains_aggregate(argument))
        || of_window.any(|contains| contains)
}

/// Whether an expression contains an aggregate that is no window function.
fn contains_aggregate(expression: &Expr) -> bool {
    match expression {
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_lowercase();
            function.over.is_none() && AGGREGATES.contains(&name.as_str())
                || arguments_of(function).iter().any(|argument| contains_aggregate(argument))
        }
        Expr::BinaryOp { left, right, .. } => contains_aggregate(left) || contains_aggregate(right),
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) | Expr::Cast { expr, .. } => contains_aggregate(expr),
        Expr::Case { operand, conditions, else_result, .. } => {
            let parts = conditions.iter().flat_map(|case| [&case.condition, &case.result]);
            parts.chain(operand.as_deref()).chain(else_result.as_deref()).any(contains_aggregate)
        }
        _ => false,
    }
}

/// The unnamed arguments of a function.
fn arguments_of(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let expression = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expression)) => Some(expression),
        _ => None,
    };
    list.args.iter().filter_map(expression).collect()
}

/// A literal of a date or a time as a function of polars, which has times in UTC: other literals have no time zone there, and cannot be
/// compared with the columns.
fn literal(data_type: &DataType, text: &str) -> Result<Option<Expr>, String> {
    match data_type {
        DataType::Date => match text.trim().parse::<jiff::civil::Date>() {
            Ok(date) => Ok(Some(day(&date.to_string()))),
            Err(_) => Err(format!("DATE '{text}' is no day, such as DATE '2026-10-05'")),
        },
        DataType::Timestamp(..) | DataType::Datetime(_) => match instant(text.trim()) {
            Some(instant) => Ok(Some(time(instant))),
            None => Err(format!("TIMESTAMP '{text}' is no time, such as TIMESTAMP '2026-10-05 08:00:00'")),
        },
        _ => Ok(None),
    }
}

/// The instant of a text: with an offset, in UTC, or the beginning of a day.
fn instant(text: &str) -> Option<Timestamp> {
    text.parse().ok().or_else(|| {
        let local = text.parse::<jiff::civil::DateTime>().ok()?;
        Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })
}

fn day(date: &str) -> Expr {
    or_null(parsed(&format!("DATE('{date}', '%Y-%m-%d')")))
}

fn time(time: Timestamp) -> Expr {
    let text = time.strftime("%Y-%m-%d %H:%M:%S.%6f+0000");
    or_null(parsed(&format!("STRPTIME('{text}', '%Y-%m-%d %H:%M:%S%.f%z')")))
}

/// An interval as one text: `INTERVAL '7 days'`.
fn interval_in_words(interval: &Interval) -> Option<Expr> {
    let unit = match interval.leading_field.as_ref()? {
        DateTimeField::Custom(_) | DateTimeField::NoDateTime => return None,
        unit => unit.to_string().to_ascii_lowercase(),
    };
    let value = text_of(&interval.value).map_or_else(|| interval.value.to_string(), str::to_owned);
    let count: i64 = value.trim().parse().ok()?;
    parsed(&format!("INTERVAL '{count} {unit}{}'", if unit.ends_with('s') { "" } else { "s" }))
}

/// `DATE_TRUNC`: a date for units of a day and more, as in Spark, else a time.
fn truncated(unit: &str, value: &Expr) -> Result<Expr, String> {
    let days = format!("CAST(CAST({value} AS DATE) AS INTEGER)");
    let sql = match unit.to_ascii_lowercase().as_str() {
        "day" => format!("CAST({value} AS DATE)"),
        "week" => format!("CAST({days} - DATE_PART('isodow', {value}) + 1 AS DATE)"),
        "month" => format!("CAST({days} - DATE_PART('day', {value}) + 1 AS DATE)"),
        "year" => format!("CAST({days} - DATE_PART('doy', {value}) + 1 AS DATE)"),
        "quarter" => format!(
            "DATE(CONCAT(STRFTIME({value}, '%Y'), '-', CASE DATE_PART('quarter', {value}) WHEN 1 THEN '01' WHEN 2 THEN '04' WHEN 3 \
             THEN '07' ELSE '10' END, '-01'), '%Y-%m-%d')"
        ),
        "hour" => of_time(value, "%Y-%m-%d %H:00:00+0000"),
        "minute" => of_time(value, "%Y-%m-%d %H:%M:00+0000"),
        "second" => of_time(value, "%Y-%m-%d %H:%M:%S+0000"),
        _ => {
            return Err(format!(
                "DATE_TRUNC takes second, minute, hour, day, week, month, quarter or year, not {unit}"
            ));
        }
    };
    parsed(&sql).ok_or_else(|| format!("DATE_TRUNC cannot be used with {value}"))
}

fn of_time(value: &Expr, form: &str) -> String {
    format!("STRPTIME(STRFTIME({value}, '{form}'), '%Y-%m-%d %H:%M:%S%z')")
}

/// The text of a quoted literal.
fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn parsed(sql: &str) -> Option<Expr> {
    Parser::new(&GenericDialect).try_with_sql(sql).and_then(|mut parser| parser.parse_expr()).ok()
}

fn or_null(expression: Option<Expr>) -> Expr {
    expression.unwrap_or_else(|| Expr::value(Value::Null))
}
