//! Rewrites EXISTS and IN whose subquery uses columns of the outer query: polars takes only equalities of two columns there.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Ident, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor,
    TableWithJoins, Value,
};

use super::conditions::{MOST_KEYS_WITH_NULLS, all, conjuncts};
use super::names::contains_aggregate;
use super::scope::{Relation, Scope, factors};
use super::visit::visit_own;

/// The name of the subquery for polars.
const NAME: &str = "rows of subquery";

/// Rewrites a condition with a subquery that uses columns of these tables. Returns the columns, as they are written then.
///
/// # Errors
/// When the subquery uses them otherwise than in equalities.
pub(super) fn rewrite_subquery(
    condition: &mut Expr,
    outer: &[Relation],
    scope: &Scope<'_>,
) -> Result<Vec<String>, String> {
    let (query, is_in) = match condition {
        Expr::Exists { subquery, .. } => (subquery, false),
        Expr::InSubquery { subquery, .. } => (subquery, true),
        _ => return Ok(Vec::new()),
    };
    let SetExpr::Select(select) = &mut *query.body else { return Ok(Vec::new()) };
    let tables = select.from.iter().flat_map(factors);
    let Some(inner) = tables.map(|factor| scope.relation(factor)).collect::<Option<Vec<_>>>() else {
        return Ok(Vec::new());
    };
    let both = Both { inner: &inner, outer };
    let conditions = select.selection.clone().map(conjuncts).unwrap_or_default();
    let (keys, mut local): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|it| both.uses_outer(it));
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let groups = matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let has_aggregates = select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => contains_aggregate(expr),
        _ => false,
    });
    if !groups || has_aggregates || select.having.is_some() || query.limit_clause.is_some() || query.with.is_some() {
        return Err("a subquery of EXISTS or IN that uses columns of the outer query takes no aggregates, GROUP BY, LIMIT or WITH; join a \
                    subquery with GROUP BY"
            .to_owned());
    }
    let mut projection = Vec::new();
    let mut equalities = Vec::new();
    let mut columns = Vec::new();
    for (place, key) in keys.iter().enumerate() {
        let (inner, outer) = both.key(key)?;
        let name = Ident::with_quote('"', format!("key {place}"));
        projection.push(SelectItem::ExprWithAlias { expr: inner, alias: name.clone() });
        columns.push(outer.to_string());
        let inner = Expr::CompoundIdentifier(vec![Ident::with_quote('"', NAME), name]);
        equalities.push(Expr::BinaryOp { left: Box::new(inner), op: BinaryOperator::Eq, right: Box::new(outer) });
    }
    if keys.len() + usize::from(is_in) > MOST_KEYS_WITH_NULLS {
        let known = projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { expr, .. } => Some(Expr::IsNotNull(Box::new(expr.clone()))),
            _ => None,
        });
        local.extend(known);
    }
    let value = if is_in {
        let [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] = &select.projection[..] else {
            return Err("IN takes a subquery with one column".to_owned());
        };
        let name = Ident::with_quote('"', "value");
        projection.push(SelectItem::ExprWithAlias { expr: expr.clone(), alias: name.clone() });
        Expr::CompoundIdentifier(vec![Ident::with_quote('"', NAME), name])
    } else {
        Expr::value(Value::Number("1".to_owned(), false))
    };
    let shell = Select { projection: Vec::new(), from: Vec::new(), selection: None, ..(**select).clone() };
    let local = Select { projection, from: std::mem::take(&mut select.from), selection: all(local), ..shell.clone() };
    let body = Box::new(SetExpr::Select(Box::new(local)));
    let local = Query { body, order_by: None, ..(**query).clone() };
    let alias = TableAlias { explicit: true, name: Ident::with_quote('"', NAME), columns: Vec::new(), at: None };
    let from = TableFactor::Derived { lateral: false, subquery: Box::new(local), alias: Some(alias), sample: None };
    let from = vec![TableWithJoins { relation: from, joins: Vec::new() }];
    let projection = vec![SelectItem::UnnamedExpr(value)];
    let rewritten = Select { projection, from, selection: all(equalities), distinct: None, ..shell };
    query.order_by = None;
    *query.body = SetExpr::Select(Box::new(rewritten));
    Ok(columns)
}

/// The tables of a subquery and those of the query around it.
struct Both<'a> {
    inner: &'a [Relation],
    outer: &'a [Relation],
}

impl Both<'_> {
    /// The place of the outer table that a column belongs to; `None` if it belongs to the subquery.
    fn outer_place(&self, column: &Expr) -> Option<usize> {
        match column {
            Expr::CompoundIdentifier(names) => {
                let table = &names.first()?.value;
                if self.inner.iter().any(|relation| relation.name.value == *table) {
                    return None;
                }
                self.outer.iter().position(|relation| relation.name.value == *table)
            }
            Expr::Identifier(name) => {
                let has = |it: &Relation| it.columns.as_ref().map(|columns| columns.contains(&name.value));
                if self.inner.iter().any(|relation| has(relation) != Some(false)) {
                    return None;
                }
                self.outer.iter().position(|relation| has(relation) == Some(true))
            }
            _ => None,
        }
    }

    fn uses_outer(&self, expr: &Expr) -> bool {
        columns_in(expr).iter().any(|column| self.outer_place(column).is_some())
    }

    /// The side of the subquery and the outer column of an equality.
    fn key(&self, condition: &Expr) -> Result<(Expr, Expr), String> {
        let refused = || {
            format!(
                "{condition}: a subquery of EXISTS or IN can use columns of the outer query in equalities only, such as a.x = b.x; write a \
                 JOIN"
            )
        };
        let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = condition else { return Err(refused()) };
        for (inner, outer) in [(left, right), (right, left)] {
            if let Some(place) = self.outer_place(outer)
                && !self.uses_outer(inner)
                && !columns_in(inner).is_empty()
            {
                return Ok(((**inner).clone(), self.outer_column(place, outer).ok_or_else(refused)?));
            }
        }
        Err(refused())
    }

    /// A column of an outer table by its name in polars, which ends with that of the table if a table before has the same column.
    fn outer_column(&self, place: usize, column: &Expr) -> Option<Expr> {
        let name = super::scope::column_name(column)?;
        let table = self.outer.get(place)?;
        let before = self.outer.get(..place)?;
        let mut is_taken = false;
        for relation in before {
            is_taken |= relation.columns.as_ref()?.contains(&name.value);
        }
        let name = if is_taken {
            Ident::with_quote('"', format!("{}:{}", name.value, table.name.value))
        } else {
            name.clone()
        };
        Some(Expr::CompoundIdentifier(vec![table.name.clone(), name]))
    }
}

/// The columns in an expression, except those in its subqueries.
fn columns_in(expr: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    let _: ControlFlow<()> = visit_own(expr, |expr| {
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            found.push(expr.clone());
        }
        ControlFlow::Continue(())
    });
    found
}
