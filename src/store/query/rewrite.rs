//! Rewrites a query for polars: what other engines understand and polars does not, and NULLs last in every order.

use std::ops::ControlFlow;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sqlparser::ast::{
    DataType, DateTimeField, Expr, Function, Ident, Interval, NamedWindowDefinition, OrderByKind, Query, Select,
    SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, Value, VisitMut, VisitorMut,
};

use super::constants::rewrite_constants;
use super::dates::rewrite_dates;
use super::error::Error;
use super::forms::form_of;
use super::groups::aliases_of;
use super::joins::rewrite_joins;
use super::lists::without_empty_lists;
use super::names::{arguments_of, contains_aggregate, is_aggregate, name_equal_columns};
use super::numbers::{number, short, wide, with_long_numbers};
use super::orders::nulls_last;
use super::parse::{parsed, parsed_query, text_of};
use super::scope::Tables;
use super::types::{Temporal, Types, temporal};
use super::visit::{change_expressions, visit_mut};
use super::windows::{insert_named_window, window};

/// The text of a statement for polars. `sql` is the text as written, which is used if nothing has to change. `now` is the time of
/// `NOW()` and of the other names of the present.
///
/// # Errors
/// When a literal is not a date or time, or polars would answer wrongly, and no rewrite prevents it.
pub(super) fn rewrite(
    mut statement: Statement,
    sql: &str,
    (tables, types): (&Tables, &Types),
    now: Timestamp,
) -> Result<String, Error> {
    let before = statement.clone();
    name_equal_columns(&mut statement);
    with_long_numbers(&mut statement);
    rewrite_constants(&mut statement).map_err(Error::Refused)?;
    rewrite_dates(&mut statement, types).map_err(Error::Refused)?;
    rewrite_joins(&mut statement, tables).map_err(Error::Refused)?;
    visit_mut(&mut statement, &mut Rewriter { now, types }).map_err(Error::Refused)?;
    Ok(if statement == before { sql.to_owned() } else { statement.to_string() })
}

struct Rewriter<'a> {
    now: Timestamp,
    types: &'a Types,
}

impl VisitorMut for Rewriter<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        if let (Some(select), Some(order)) = (query.body.as_select(), &mut query.order_by) {
            let named = select.named_window.clone();
            insert_named_windows(order, &named);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        match query.order_by.as_mut().map(|order| &mut order.kind) {
            Some(OrderByKind::Expressions(order)) => nulls_last(order),
            Some(OrderByKind::All(options)) => options.nulls_first = options.nulls_first.or(Some(false)),
            None => {}
        }
        order_of_union(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        if !select.named_window.is_empty() {
            let named = std::mem::take(&mut select.named_window);
            insert_named_windows(select, &named);
        }
        // Without a table, polars computes functions of literals for no row, and ignores conditions.
        let is_literal = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(Expr::Value(_)));
        let is_list = select.selection.is_none() && select.projection.iter().all(is_literal);
        if select.from.is_empty() && !is_list {
            select.from =
                select_of("SELECT 1 FROM (VALUES (1)) AS \"one row\"").map(|one| one.from).unwrap_or_default();
        }
        without_empty_lists(select);
        filter_windows(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<String> {
        match expression {
            Expr::Function(function)
                if function.over.is_none()
                    && is_aggregate(function)
                    && arguments_of(function).iter().any(|argument| contains_aggregate(argument)) =>
            {
                ControlFlow::Break(format!(
                    "{function}: an aggregate of an aggregate has to be computed in two steps: SELECT MAX(x) FROM (SELECT …, SUM(…) AS \
                     x FROM … GROUP BY …)"
                ))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<String> {
        match self.replacement(expression) {
            Ok(Some(replacement)) => *expression = replacement,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// Puts named windows in the place of their names.
fn insert_named_windows(whole: &mut impl VisitMut, named: &[NamedWindowDefinition]) {
    change_expressions(whole, |expression| {
        if let Expr::Function(function) = expression {
            insert_named_window(function, named);
        }
    });
}

/// Orders the rows of UNION, INTERSECT and EXCEPT in a query around them: polars would order each part of them by columns of the first.
fn order_of_union(query: &mut Query) {
    if query.order_by.is_none() || !matches!(*query.body, SetExpr::SetOperation { .. }) {
        return;
    }
    let Some(mut around) = parsed_query("SELECT * FROM (SELECT 1) AS \"rows of union\"") else { return };
    if let SetExpr::Select(select) = &mut *around.body
        && let Some(TableWithJoins { relation: TableFactor::Derived { subquery, .. }, .. }) = select.from.first_mut()
    {
        std::mem::swap(&mut subquery.body, &mut query.body);
        query.body = around.body;
    }
}

/// Makes QUALIFY a condition of a query around the SELECT: polars computes it of the columns of the result only.
fn filter_windows(select: &mut Select) {
    let Some(mut condition) = select.qualify.take() else { return };
    let aliases = aliases_of(select);
    change_expressions(&mut condition, |expression| {
        if let Expr::Identifier(name) = &*expression
            && let Some((_, of_alias)) = aliases.iter().find(|(alias, _)| *alias == name.value)
        {
            *expression = Expr::Nested(Box::new(of_alias.clone()));
        }
    });
    let name = Ident::with_quote('"', "is qualified");
    let around = format!("SELECT * EXCLUDE ({name}) FROM (SELECT 1) AS \"qualified rows\" WHERE {name}");
    let Some(mut around) = select_of(&around) else { return };
    around.distinct = select.distinct.take();
    select.projection.push(SelectItem::ExprWithAlias { expr: condition, alias: name });
    let inner = select.clone();
    if let Some(TableWithJoins { relation: TableFactor::Derived { subquery, .. }, .. }) = around.from.first_mut() {
        *subquery.body = SetExpr::Select(Box::new(inner));
        *select = around;
    }
}

/// A SELECT of its text.
fn select_of(sql: &str) -> Option<Select> {
    match *parsed_query(sql)?.body {
        SetExpr::Select(select) => Some(*select),
        _ => None,
    }
}

impl Rewriter<'_> {
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
            Expr::Function(function) => match (self.function(function)?, window(function)?) {
                (Some(replacement), _) => Ok(Some(replacement)),
                (None, Some(window)) => Ok(Some(wide(function, &window.to_string()).unwrap_or(window))),
                (None, None) => number(expression, self.types),
            },
            _ => number(expression, self.types),
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
            ("strftime", [value, form]) => match text_of(form) {
                Some(form) => {
                    let form = form_of(form).replace('\'', "''");
                    let is_date = temporal(value, self.types) == Some(Temporal::Date);
                    // polars writes no time of a date.
                    let value = if is_date { format!("CAST({value} AS TIMESTAMP)") } else { value.to_string() };
                    Ok(parsed(&format!("STRFTIME({value}, '{form}')")))
                }
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

/// A literal of a date or a time as a function of polars, which has times in UTC: other literals have no time zone there, and cannot be
/// compared with the columns.
fn literal(data_type: &DataType, text: &str) -> Result<Option<Expr>, String> {
    match data_type {
        DataType::Date => match text.trim().parse::<jiff::civil::Date>() {
            Ok(date) => Ok(Some(day(&date.to_string()))),
            Err(_) => Err(format!("DATE '{text}' is not a day, such as DATE '2026-10-05'")),
        },
        DataType::Timestamp(..) | DataType::Datetime(_) => match instant(text.trim()) {
            Some(instant) => Ok(Some(time(instant))),
            None => Err(format!("TIMESTAMP '{text}' is not a time, such as TIMESTAMP '2026-10-05 08:00:00'")),
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
    let value = short(value)?;
    let days = format!("CAST(CAST({value} AS DATE) AS INTEGER)");
    let sql = match unit.to_ascii_lowercase().as_str() {
        "day" => format!("CAST({value} AS DATE)"),
        "week" => format!("CAST({days} - DATE_PART('isodow', {value}) + 1 AS DATE)"),
        "month" => format!("CAST({days} - DATE_PART('day', {value}) + 1 AS DATE)"),
        "year" => format!("CAST({days} - DATE_PART('doy', {value}) + 1 AS DATE)"),
        // Unlike CONCAT, || of NULL is NULL.
        "quarter" => format!(
            "DATE(STRFTIME({value}, '%Y-') || CASE DATE_PART('quarter', {value}) WHEN 1 THEN '01' WHEN 2 THEN '04' WHEN 3 THEN '07' ELSE \
             '10' END || '-01', '%Y-%m-%d')"
        ),
        "hour" => of_time(&value, "%Y-%m-%d %H:00:00+0000"),
        "minute" => of_time(&value, "%Y-%m-%d %H:%M:00+0000"),
        "second" => of_time(&value, "%Y-%m-%d %H:%M:%S+0000"),
        _ => {
            return Err(format!(
                "DATE_TRUNC takes second, minute, hour, day, week, month, quarter or year, not {unit}"
            ));
        }
    };
    parsed(&sql).ok_or_else(|| format!("DATE_TRUNC cannot be used with {value}"))
}

fn of_time(value: &str, form: &str) -> String {
    format!("STRPTIME(STRFTIME({value}, '{form}'), '%Y-%m-%d %H:%M:%S%z')")
}

fn or_null(expression: Option<Expr>) -> Expr {
    expression.unwrap_or_else(|| Expr::value(Value::Null))
}
