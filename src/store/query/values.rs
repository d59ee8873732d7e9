//! Puts the values of subqueries into a statement: polars takes no query as a value.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use polars::prelude::*;
use sqlparser::ast::{Cte, Expr, Query, Statement, TableFactor, Value, Visitor, VisitorMut, With};

use super::error::Error;
use super::parse::parsed;
use super::visit::{visit, visit_mut};

/// Replaces each subquery that is a value, and EXISTS, by what `run` answers to it. Subqueries that use columns of the query around them
/// stay.
///
/// # Errors
/// When a subquery has several rows or columns, or cannot be run.
pub(super) fn insert_values(
    statement: &mut Statement,
    run: &mut dyn FnMut(Query) -> Result<DataFrame, Error>,
) -> Result<(), Error> {
    visit_mut(statement, &mut Values { run, with: Vec::new(), entered: Vec::new() })
}

struct Values<'a> {
    run: &'a mut dyn FnMut(Query) -> Result<DataFrame, Error>,
    /// The queries of WITH that can be named.
    with: Vec<Cte>,
    /// For each query that is visited, the number of queries of WITH outside of it, and its own WITH.
    entered: Vec<(usize, Option<With>)>,
}

impl VisitorMut for Values<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let before = self.with.len();
        let mut with = query.with.take();
        for query in with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            if let Err(error) = visit_mut(&mut query.query, self) {
                return ControlFlow::Break(error);
            }
            self.with.push(query.clone());
        }
        self.entered.push((before, with));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Some((before, with)) = self.entered.pop() {
            self.with.truncate(before);
            query.with = with;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match expr {
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } if matches!(**right, Expr::Subquery(_)) => {
                ControlFlow::Break(Error::Refused(
                    "ANY and ALL take no subquery here: write IN (SELECT …), or compare with (SELECT MAX(x) …)"
                        .to_owned(),
                ))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let value = match &*expr {
            Expr::Subquery(query) => self.value(query),
            Expr::Exists { subquery, negated } => Ok(self.exists(subquery, *negated)),
            _ => return ControlFlow::Continue(()),
        };
        match value {
            Ok(Some(value)) => *expr = value,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

impl Values<'_> {
    fn value(&mut self, query: &Query) -> Result<Option<Expr>, Error> {
        let refused = |text: String| Err(Error::Refused(text));
        if let Some(column) = outer_column(query) {
            return refused(format!(
                "{column} is a column of the outer query, which a subquery as a value cannot use; join a subquery with GROUP BY"
            ));
        }
        let query = self.complete(query);
        let rows = (self.run)(query.clone())?;
        let ([column], ..=1) = (rows.columns(), rows.height()) else {
            return refused(format!(
                "a subquery as a value has to have one row and one column, and this one has {} and {}: ({query})",
                rows.height(),
                rows.width()
            ));
        };
        let value = column.get(0).unwrap_or(AnyValue::Null);
        match literal(&value) {
            Some(literal) => Ok(Some(literal)),
            None => refused(format!("a subquery cannot be a value of the type {}: ({query})", column.dtype())),
        }
    }

    fn exists(&mut self, query: &Query, is_negated: bool) -> Option<Expr> {
        if outer_column(query).is_some() {
            return None;
        }
        // A column without the name of its table may be one of the outer query.
        let query = self.complete(query);
        let rows = (self.run)(query).ok()?;
        Some(Expr::value(Value::Boolean((rows.height() > 0) != is_negated)))
    }

    /// The query with the queries of WITH around it.
    fn complete(&self, query: &Query) -> Query {
        let mut query = query.clone();
        let mut all = self.with.clone();
        if let Some(with) = query.with.take() {
            all.extend(with.cte_tables);
        }
        if !all.is_empty() {
            let token = sqlparser::ast::helpers::attached_token::AttachedToken::empty();
            query.with = Some(With { with_token: token, recursive: false, cte_tables: all });
        }
        query
    }
}

/// A column of a table that is in no FROM of the query.
fn outer_column(query: &Query) -> Option<String> {
    #[derive(Default)]
    struct Tables {
        named: BTreeSet<String>,
        used: Vec<(String, String)>,
    }
    impl Visitor for Tables {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let name = match factor {
                TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
                    Some(alias.name.value.clone())
                }
                TableFactor::Table { name, .. } => {
                    name.0.last().and_then(|it| it.as_ident()).map(|it| it.value.clone())
                }
                _ => None,
            };
            self.named.extend(name);
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(names) = expr
                && let [table, _] = &names[..]
            {
                self.used.push((table.value.clone(), expr.to_string()));
            }
            ControlFlow::Continue(())
        }
    }
    let mut tables = Tables::default();
    let _: ControlFlow<()> = visit(query, &mut tables);
    tables.used.into_iter().find(|(table, _)| !tables.named.contains(table)).map(|(_, column)| column)
}

/// A value as SQL; `None` if it has no literal.
fn literal(value: &AnyValue<'_>) -> Option<Expr> {
    let sql = match value {
        AnyValue::Null => "NULL".to_owned(),
        AnyValue::Boolean(is_true) => is_true.to_string(),
        AnyValue::Float64(number) if number.is_finite() => match number.to_string() {
            text if text.contains('.') => text,
            text => format!("{text}.0"),
        },
        AnyValue::String(_) | AnyValue::StringOwned(_) => {
            return Some(Expr::value(Value::SingleQuotedString(value.get_str()?.to_owned())));
        }
        AnyValue::Date(_) => format!("DATE '{value}'"),
        AnyValue::Datetime(..) | AnyValue::DatetimeOwned(..) => {
            let time = value.extract::<i64>()?;
            format!("TIMESTAMP '{}'", jiff::Timestamp::from_microsecond(time).ok()?)
        }
        value if value.dtype().is_integer() => value.extract::<i64>()?.to_string(),
        _ => return None,
    };
    parsed(&sql)
}
