//! Types of expressions, as far as names show them.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{BinaryOperator, DataType, Expr, UnaryOperator, Value};

use super::names::arguments_of;
use super::scope::column_name;

/// The type of an expression that contains a date or time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Temporal {
    Date,
    Time,
}

/// The types of the columns of the tables that a statement reads, by their names.
#[derive(Debug, Default)]
pub(super) struct Types {
    temporal: BTreeMap<String, Temporal>,
    booleans: BTreeSet<String>,
}

impl Types {
    /// Adds a column.
    pub(super) fn add(&mut self, column: &str, data_type: &polars::prelude::DataType) {
        match data_type {
            polars::prelude::DataType::Date => drop(self.temporal.insert(column.to_owned(), Temporal::Date)),
            polars::prelude::DataType::Datetime(..) => drop(self.temporal.insert(column.to_owned(), Temporal::Time)),
            polars::prelude::DataType::Boolean => drop(self.booleans.insert(column.to_owned())),
            _ => {}
        }
    }

    /// Whether an expression is true or false.
    pub(super) fn is_boolean(&self, expr: &Expr) -> bool {
        use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
        match expr {
            Expr::Nested(inner) => self.is_boolean(inner),
            Expr::BinaryOp { op: And | Eq | Gt | GtEq | Lt | LtEq | NotEq | Or, .. }
            | Expr::UnaryOp { op: UnaryOperator::Not, .. }
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::InList { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. } => true,
            _ => column_name(expr).is_some_and(|name| self.booleans.contains(&name.value)),
        }
    }
}

/// Whether an expression is a date or a time, as its names show: a column is one if its name is that of such a column of a table.
pub(super) fn temporal(expr: &Expr, types: &Types) -> Option<Temporal> {
    let of = |expr: &Expr| temporal(expr, types);
    if let Some(name) = column_name(expr) {
        return types.temporal.get(&name.value).copied();
    }
    match expr {
        Expr::Nested(inner) => of(inner),
        Expr::TypedString(typed) => of_type(&typed.data_type),
        Expr::Cast { data_type, .. } => of_type(data_type),
        Expr::Case { conditions, .. } => conditions.first().and_then(|case| of(&case.result)),
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => match **right {
            Expr::Interval(_) => of(left),
            _ => None,
        },
        Expr::Function(function) => {
            let arguments = arguments_of(function);
            match (function.name.to_string().to_ascii_lowercase().as_str(), &arguments[..]) {
                ("date" | "current_date", _) => Some(Temporal::Date),
                ("now" | "current_timestamp" | "localtimestamp" | "strptime", _) => Some(Temporal::Time),
                ("date_trunc" | "datetrunc", [unit, _]) => {
                    let is_short = ["hour", "minute", "second"].iter().any(|it| {
                        matches!(unit, Expr::Value(value) if matches!(&value.value, Value::SingleQuotedString(unit) if unit.eq_ignore_ascii_case(it)))
                    });
                    Some(if is_short { Temporal::Time } else { Temporal::Date })
                }
                (
                    "min" | "max" | "first" | "last" | "first_value" | "last_value" | "lag" | "lead" | "coalesce"
                    | "least" | "greatest",
                    [first, ..],
                ) => of(first),
                _ => None,
            }
        }
        _ => None,
    }
}

fn of_type(data_type: &DataType) -> Option<Temporal> {
    match data_type {
        DataType::Date => Some(Temporal::Date),
        DataType::Timestamp(..) | DataType::Datetime(_) => Some(Temporal::Time),
        _ => None,
    }
}
