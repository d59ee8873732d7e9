//! Rewrites arithmetic and comparisons of dates and times for polars, which computes durations of dates, and compares no texts with them.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, DateTimeField, Expr, Function, Statement, VisitorMut};

use super::names::arguments_of;
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
            Expr::Function(function) => Ok(self.function(function)),
            _ => Ok(None),
        }
    }

    fn function(&self, function: &Function) -> Option<Expr> {
        match (function.name.to_string().to_ascii_lowercase().as_str(), &arguments_of(function)[..]) {
            (part @ ("year" | "quarter" | "month" | "week" | "day" | "hour" | "minute" | "second"), [value]) => {
                parsed(&format!("EXTRACT({part} FROM {value})"))
            }
            ("date", [value]) => parsed(&format!("CAST({value} AS DATE)")),
            ("date_part" | "datepart", [part, value]) if self.is_duration(value) && text_of(part) == Some("epoch") => {
                parsed(&format!("(CAST(({value}) AS BIGINT) / 1000000.0)"))
            }
            ("date_diff" | "datediff", [part, from, to]) if text_of(part)?.eq_ignore_ascii_case("day") => {
                parsed(&format!("({} - {})", days(to), days(from)))
            }
            _ => None,
        }
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
        literal.map(Some).ok_or_else(|| format!("'{text}' is no date or time"))
    }
}

/// The days of a date since 1970.
fn days(date: &Expr) -> String {
    format!("CAST(CAST(CAST(({date}) AS DATE) AS INTEGER) AS BIGINT)")
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}
