//! Expressions and queries of their text.

use sqlparser::ast::{Expr, Query, Value};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

/// The text of a quoted literal.
pub(super) fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// An expression of its text.
pub(super) fn parsed(sql: &str) -> Option<Expr> {
    Parser::new(&GenericDialect).try_with_sql(sql).and_then(|mut parser| parser.parse_expr()).ok()
}

/// A query of its text.
pub(super) fn parsed_query(sql: &str) -> Option<Query> {
    Parser::new(&GenericDialect).try_with_sql(sql).and_then(|mut parser| parser.parse_query()).map(|query| *query).ok()
}
