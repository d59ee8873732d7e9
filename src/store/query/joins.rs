//! Rewrites joins for polars, which takes equalities of two tables in ON only: it applies other conditions of an inner join to the wrong
//! table, and removes rows from an outer join with them.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, ExcludeSelectItem, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart,
    OrderBy, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, Value, Visit, VisitorMut,
    With,
};

use super::conditions::{OneJoin, all, conjuncts, keeps_right, quoted};
use super::explained::nearest;
use super::groups::rewrite_groups;
use super::scope::{Relation, Scope, Tables, factors};
use super::subqueries::rewrite_subquery;
use super::visit::{relations_of, visit_mut};

/// Rewrites the joins of a statement.
///
/// # Errors
/// When polars would answer a join wrongly, and no rewrite prevents it.
pub(super) fn rewrite_joins(statement: &mut Statement, tables: &Tables) -> Result<(), String> {
    let mut joins = Joins { scope: Scope::new(tables), entered: Vec::new(), open: Vec::new(), correlated: Vec::new() };
    visit_mut(statement, &mut joins)
}

struct Joins<'a> {
    scope: Scope<'a>,
    /// For each query that is visited, the number of queries of WITH outside of it, and its own WITH.
    entered: Vec<(usize, Option<With>)>,
    /// The SELECTs that are visited, the innermost last.
    open: Vec<Open>,
    /// Columns of outer queries that a subquery may use, as they are written.
    correlated: Vec<String>,
}

/// A SELECT that is visited.
struct Open {
    relations: Vec<Relation>,
    /// Whether the relations are all tables of FROM.
    is_complete: bool,
    /// Whether the SELECT is a query, and not a part of UNION: the order is visited after it.
    is_query: bool,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Before,
    Within,
    Order,
}

impl VisitorMut for Joins<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        let before = self.scope.depth();
        let mut with = query.with.take();
        for query in with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let columns = self.scope.columns_of_with(query);
            flow(visit_mut(&mut query.query, self))?;
            self.scope.enter(&mut query.alias.name, columns);
        }
        self.entered.push((before, with));
        match &mut *query.body {
            SetExpr::Select(select) => self.open(select, true),
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        if let Some((before, with)) = self.entered.pop() {
            self.scope.leave(before);
            query.with = with;
        }
        match &mut *query.body {
            SetExpr::Select(select) => self.close(select, &mut query.order_by),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        match self.open.last_mut() {
            Some(open) if open.state == State::Before => open.state = State::Within,
            _ => return self.open(select, false),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        match self.open.last_mut() {
            Some(open) if open.is_query => open.state = State::Order,
            _ => return self.close(select, &mut None),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let Some((inner, outer)) = self.open.split_last() else { return ControlFlow::Continue(()) };
        match &*expr {
            // polars finds columns of subqueries ambiguous if two tables outside of the subquery have them.
            Expr::Identifier(name) if inner.state == State::Within => {
                if outer.iter().any(|outer| outer.relations.len() > 1)
                    && let [relation] = &inner.relations[..]
                    && relation.columns.as_ref().is_some_and(|columns| columns.contains(&name.value))
                {
                    *expr = Expr::CompoundIdentifier(vec![relation.name.clone(), name.clone()]);
                }
                ControlFlow::Continue(())
            }
            Expr::CompoundIdentifier(names) => match &names[..] {
                [table, _] => self.known(inner, outer, table, expr),
                _ => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<String> {
        self.scope.rename(factor);
        ControlFlow::Continue(())
    }
}

fn flow(result: Result<(), String>) -> ControlFlow<String> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl Joins<'_> {
    fn open(&mut self, select: &mut Select, is_query: bool) -> ControlFlow<String> {
        flow(self.select(select))?;
        flow(unmistakable(select))?;
        let tables: Vec<&TableFactor> = select.from.iter().flat_map(factors).collect();
        let relations: Vec<Relation> = tables.iter().filter_map(|factor| self.scope.relation(factor)).collect();
        let is_complete = tables.iter().all(|it| matches!(it, TableFactor::Table { .. } | TableFactor::Derived { .. }));
        for condition in select.selection.iter_mut().flat_map(conjuncts_of) {
            match rewrite_subquery(condition, &relations, &self.scope) {
                Ok(columns) => self.correlated.extend(columns),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        let state = if is_query { State::Before } else { State::Within };
        self.open.push(Open { relations, is_complete, is_query, state });
        ControlFlow::Continue(())
    }

    fn close(&mut self, select: &mut Select, order: &mut Option<OrderBy>) -> ControlFlow<String> {
        let relations = self.open.pop().map(|open| open.relations).unwrap_or_default();
        flow(rewrite_groups(select, order, &relations))
    }

    /// Refuses a column of a table that is not in FROM: polars takes a column of the same name of another table.
    fn known(&self, inner: &Open, outer: &[Open], table: &Ident, column: &Expr) -> ControlFlow<String> {
        let has = |open: &Open| open.relations.iter().any(|relation| relation.name.value == table.value);
        if !inner.is_complete || has(inner) || self.correlated.contains(&column.to_string()) {
            return ControlFlow::Continue(());
        }
        if outer.iter().any(has) {
            return ControlFlow::Break(format!(
                "{column} is a column of the outer query. EXISTS and IN with such a subquery are conditions of WHERE, joined to others by \
                 AND; elsewhere join a subquery with GROUP BY"
            ));
        }
        let names = inner.relations.iter().map(|relation| relation.name.value.as_str()).collect();
        ControlFlow::Break(format!("{column}: no table {:?} in this FROM{}", table.value, nearest(&table.value, names)))
    }

    fn select(&self, select: &mut Select) -> Result<(), String> {
        let is_lateral = |factor: &TableFactor| matches!(factor, TableFactor::UNNEST { .. });
        if select.from.iter().flat_map(factors).any(is_lateral) {
            return Ok(());
        }
        flatten(&mut select.from)?;
        let [from] = &mut select.from[..] else { return Ok(()) };
        if from.joins.is_empty() {
            return Ok(());
        }
        let mut relations = vec![self.named(&from.relation)?];
        let mut conditions: Vec<Expr> = select.selection.take().map(conjuncts).unwrap_or_default();
        let mut merged = Vec::new();
        let reaches_outer: Vec<bool> = (0..from.joins.len())
            .map(|place| from.joins.iter().skip(place + 1).any(|join| keeps_right(&join.join_operator)))
            .collect();
        for (join, is_before_outer) in from.joins.iter_mut().zip(reaches_outer) {
            let right = self.named(&join.relation)?;
            if relations.iter().any(|left| left.name.value == right.name.value) {
                return Err(format!(
                    "two tables of the join have the name {}: give one of them another with AS",
                    right.name
                ));
            }
            relations.push(right);
            let one = OneJoin { relations: &relations, is_before_outer };
            merged.extend(one.rewrite(join, &mut conditions)?);
        }
        select.selection = all(conditions);
        exclude(&mut select.projection, &merged);
        Ok(())
    }

    fn named(&self, factor: &TableFactor) -> Result<Relation, String> {
        self.scope.relation(factor).ok_or_else(|| match factor {
            TableFactor::Derived { .. } => "a subquery in a join needs a name: (SELECT …) AS name".to_owned(),
            TableFactor::NestedJoin { .. } => {
                "a join in parentheses is not supported; write it as a subquery: (SELECT … FROM … JOIN …) AS name"
                    .to_owned()
            }
            _ => format!("{factor} is not supported in a join"),
        })
    }
}

/// Refuses a subquery in FROM with the name of a table that the SELECT reads elsewhere: polars would read the subquery there, too.
fn unmistakable(select: &Select) -> Result<(), String> {
    for factor in select.from.iter().flat_map(factors) {
        let TableFactor::Derived { subquery, alias: Some(alias), .. } = factor else { continue };
        let name = alias.name.value.as_str();
        if count_of(select, name) > count_of(subquery, name) {
            return Err(format!(
                "the subquery {name} has the name of a table that the query reads: give it another with AS"
            ));
        }
    }
    Ok(())
}

/// How often a table of that name is read.
fn count_of(visited: &impl Visit, name: &str) -> usize {
    let is_named =
        |relation: &&ObjectName| matches!(&relation.0[..], [ObjectNamePart::Identifier(table)] if table.value == name);
    relations_of(visited).iter().filter(is_named).count()
}

/// Makes one list of joins of `a, b JOIN c` and of `(a JOIN b) JOIN c`: polars loses the names of tables in them.
fn flatten(from: &mut Vec<TableWithJoins>) -> Result<(), String> {
    for tables in from.iter_mut() {
        while let TableFactor::NestedJoin { table_with_joins, alias: None } = &mut tables.relation {
            let nested =
                std::mem::replace(&mut **table_with_joins, TableWithJoins { relation: no_table(), joins: Vec::new() });
            tables.relation = nested.relation;
            tables.joins.splice(..0, nested.joins);
        }
    }
    let mut rest = std::mem::take(from).into_iter();
    let Some(mut first) = rest.next() else { return Ok(()) };
    for tables in rest {
        if tables.joins.iter().any(|join| keeps_right(&join.join_operator)) {
            return Err(
                "RIGHT JOIN and FULL JOIN after a comma are not supported; write JOIN in place of the comma".to_owned()
            );
        }
        let join_operator = JoinOperator::CrossJoin(JoinConstraint::None);
        first.joins.push(Join { relation: tables.relation, global: false, join_operator });
        first.joins.extend(tables.joins);
    }
    from.push(first);
    Ok(())
}

/// Takes the place of a table that is moved.
fn no_table() -> TableFactor {
    TableFactor::TableFunction { expr: Expr::value(Value::Null), alias: None }
}

/// Leaves columns out of `*`.
fn exclude(projection: &mut [SelectItem], columns: &[String]) {
    if columns.is_empty() {
        return;
    }
    let names: Vec<ObjectName> = columns.iter().map(|column| quoted(column)).collect();
    for item in projection {
        let SelectItem::Wildcard(options) = item else { continue };
        let mut all = match options.opt_exclude.take() {
            Some(ExcludeSelectItem::Single(name)) => vec![name],
            Some(ExcludeSelectItem::Multiple(names)) => names,
            None => Vec::new(),
        };
        all.extend(names.iter().cloned());
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(all));
    }
}

/// The conditions that AND joins, in their place.
fn conjuncts_of(condition: &mut Expr) -> Vec<&mut Expr> {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let mut conditions = conjuncts_of(left);
            conditions.extend(conjuncts_of(right));
            conditions
        }
        Expr::Nested(inner) => conjuncts_of(inner),
        condition => vec![condition],
    }
}
