//! Rewrites arithmetic and comparisons of dates and times for polars, which computes durations of dates, and compares no texts with them.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, DateTimeField, Expr, Function, Statement, VisitorMut};

use super::names::arguments_of;
use super::numbers::short;
use super::parse::{parsed, text_of};
use super::types::{Temporal, Types, temporal};
use super::visit::visit_mut;

/// Rewrites the dates and times of a statement.
///
/// # Errors
/// When a text is compared with a date or time, and has not the form of one.
pub(super) fn rewrite_dates(statement: &mut Statement, types: &Types) -> Result<(), String> {
    visit_mut(statement, &mut Dates { types })
}

/// What `DATE_DIFF` takes.
const DATE_DIFF: &str = "DATE_DIFF takes 'second', 'minute', 'hour', 'day', 'month', 'quarter' or 'year' and two times, such as \
                         DATE_DIFF('hour', started_at, ended_at); for weeks write DATE_DIFF('day', a, b) // 7";

struct Dates<'a> {
    types: &'a Types,
}

impl VisitorMut for Dates<'_> {
    type Break = String;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match self.replacement(expr) {
            Ok(Some(replacement)) => *expr = replacement,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

impl Dates<'_> {
    fn temporal(&self, expr: &Expr) -> Option<Temporal> {
        temporal(expr, self.types)
    }

    fn replacement(&self, expr: &Expr) -> Result<Option<Expr>, String> {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::Minus, right }
                if self.temporal(left) == Some(Temporal::Date) && self.temporal(right) == Some(Temporal::Date) =>
            {
                Ok(parsed(&format!("({} - {})", days(left), days(right))))
            }
            Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right }
                if self.temporal(left) == Some(Temporal::Date) && right.to_string().parse::<u32>().is_ok() =>
            {
                Ok(parsed(&format!("CAST(CAST(CAST(({left}) AS DATE) AS INTEGER) {op} {right} AS DATE)")))
            }
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                let compared = |left: &Expr, right: &Expr| Expr::BinaryOp {
                    left: Box::new(left.clone()),
                    op: op.clone(),
                    right: Box::new(right.clone()),
                };
                if let Some(literal) = self.literal(left, right)? {
                    return Ok(Some(compared(left, &literal)));
                }
                Ok(self.literal(right, left)?.map(|literal| compared(&literal, right)))
            }
            Expr::Between { expr, negated, low, high } => {
                let (from, to) = (self.literal(expr, low)?, self.literal(expr, high)?);
                if from.is_none() && to.is_none() {
                    return Ok(None);
                }
                Ok(Some(Expr::Between {
                    expr: expr.clone(),
                    negated: *negated,
                    low: from.map_or_else(|| low.clone(), Box::new),
                    high: to.map_or_else(|| high.clone(), Box::new),
                }))
            }
            Expr::InList { expr, list, negated } => {
                let mut literals = Vec::new();
                for item in list {
                    literals.push(self.literal(expr, item)?.unwrap_or_else(|| item.clone()));
                }
                let changed = Expr::InList { expr: expr.clone(), list: literals, negated: *negated };
                Ok(Some(changed))
            }
            // A duration in seconds: polars has microseconds.
            Expr::Extract { field: DateTimeField::Epoch, expr, .. } if self.is_duration(expr) => {
                Ok(parsed(&format!("(CAST(({expr}) AS BIGINT) / 1000000.0)")))
            }
            Expr::Function(function) => self.function(function),
            _ => Ok(None),
        }
    }

    fn function(&self, function: &Function) -> Result<Option<Expr>, String> {
        let replacement = match (function.name.to_string().to_ascii_lowercase().as_str(), &arguments_of(function)[..]) {
            (part @ ("year" | "quarter" | "month" | "week" | "day" | "hour" | "minute" | "second"), [value]) => {
                parsed(&format!("EXTRACT({part} FROM {value})"))
            }
            ("date", [value]) => parsed(&format!("CAST({value} AS DATE)")),
            ("date_part" | "datepart", [part, value]) if self.is_duration(value) && text_of(part) == Some("epoch") => {
                parsed(&format!("(CAST(({value}) AS BIGINT) / 1000000.0)"))
            }
            ("date_diff" | "datediff", [unit, from, to]) => {
                let [from, to] = [count_of(unit, from)?, count_of(unit, to)?];
                parsed(&format!("({to} - {from})"))
            }
            ("date_diff" | "datediff", _) => return Err(DATE_DIFF.to_owned()),
            _ => None,
        };
        Ok(replacement)
    }

    /// Whether an expression is the difference of two times.
    fn is_duration(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Nested(inner) => self.is_duration(inner),
            Expr::BinaryOp { left, op: BinaryOperator::Minus, right } => {
                self.temporal(left) == Some(Temporal::Time) || self.temporal(right) == Some(Temporal::Time)
            }
            _ => false,
        }
    }

    /// The date or time of a text that is compared with an expression.
    fn literal(&self, compared: &Expr, value: &Expr) -> Result<Option<Expr>, String> {
        let Some(text) = text_of(value) else { return Ok(None) };
        let kind = match self.temporal(compared) {
            Some(Temporal::Date) if text.trim().parse::<jiff::civil::Date>().is_ok() && text.trim().len() == 10 => {
                "DATE"
            }
            // A time of a day.
            Some(Temporal::Date | Temporal::Time) => "TIMESTAMP",
            None => return Ok(None),
        };
        let literal = parsed(&format!("{kind} '{}'", text.trim().replace('\'', "''")));
        literal.map(Some).ok_or_else(|| format!("'{text}' is not a date or time"))
    }
}

/// The number of a unit since a fixed time: differences of it are the boundaries of the unit between two times.
fn count_of(unit: &Expr, time: &Expr) -> Result<String, String> {
    let unit = text_of(unit).ok_or(DATE_DIFF)?.to_ascii_lowercase();
    let time =
        text_of(time).map_or_else(|| short(time), |text| Ok(format!("TIMESTAMP '{}'", text.replace('\'', "''"))))?;
    // A date has no hours in polars.
    let part = |part: &str| format!("CAST(EXTRACT({part} FROM CAST(({time}) AS TIMESTAMP)) AS BIGINT)");
    let days = days(&time);
    let hours = || format!("({days} * 24 + {})", part("hour"));
    let minutes = || format!("({} * 60 + {})", hours(), part("minute"));
    match unit.strip_suffix('s').unwrap_or(&unit) {
        "year" => Ok(part("year")),
        "quarter" => Ok(format!("({} * 4 + {})", part("year"), part("quarter"))),
        "month" => Ok(format!("({} * 12 + {})", part("year"), part("month"))),
        "day" => Ok(days),
        "hour" => Ok(hours()),
        "minute" => Ok(minutes()),
        "second" => Ok(format!("({} * 60 + {})", minutes(), part("second"))),
        // Versions of DuckDB differ in whether whole weeks or Mondays are counted.
        _ => Err(DATE_DIFF.to_owned()),
    }
}

/// The days of a date since 1970.
fn days(date: impl std::fmt::Display) -> String {
    format!("CAST(CAST(CAST(({date}) AS DATE) AS INTEGER) AS BIGINT)")
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}
