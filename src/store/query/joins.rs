//! Rewrites joins for polars, which takes equalities of two tables in ON only: it applies other conditions of an inner join to the wrong
//! table, and removes rows from an outer join with them.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, ExcludeSelectItem, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Query, Select,
    SelectItem, Statement, TableFactor, TableWithJoins, Value, ValueWithSpan, VisitMut, VisitorMut, With,
};

use super::scope::{Relation, Scope, Tables, uses};

/// Rewrites the joins of a statement.
///
/// # Errors
/// When polars would answer a join wrongly, and no rewrite prevents it.
pub(super) fn rewrite_joins(statement: &mut Statement, tables: &Tables) -> Result<(), String> {
    let mut joins = Joins { scope: Scope::new(tables), entered: Vec::new(), relations: Vec::new() };
    match statement.visit(&mut joins) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Joins<'a> {
    scope: Scope<'a>,
    /// For each query that is visited, the number of queries of WITH outside of it, and its own WITH.
    entered: Vec<(usize, Option<With>)>,
    /// The tables of each SELECT that is visited.
    relations: Vec<Vec<Relation>>,
}

impl VisitorMut for Joins<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        let before = self.scope.depth();
        let mut with = query.with.take();
        for query in with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let columns = self.scope.columns_of_with(query);
            query.query.visit(self)?;
            self.scope.enter(&mut query.alias.name, columns);
        }
        self.entered.push((before, with));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        if let Some((before, with)) = self.entered.pop() {
            self.scope.leave(before);
            query.with = with;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        if let Err(error) = self.select(select) {
            return ControlFlow::Break(error);
        }
        let relations = select.from.iter().flat_map(factors).filter_map(|factor| self.scope.relation(factor));
        self.relations.push(relations.collect());
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<String> {
        self.relations.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        // polars finds columns of subqueries ambiguous if two tables outside of the subquery have them.
        if let (Some((inner, outer)), Expr::Identifier(name)) = (self.relations.split_last(), &*expr)
            && outer.iter().any(|relations| relations.len() > 1)
            && let [relation] = &inner[..]
            && relation.columns.as_ref().is_some_and(|columns| columns.contains(&name.value))
        {
            *expr = Expr::CompoundIdentifier(vec![relation.name.clone(), name.clone()]);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<String> {
        self.scope.rename(factor);
        ControlFlow::Continue(())
    }
}

/// How the rows of two tables are joined.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Inner,
    /// LEFT, RIGHT, FULL, SEMI and ANTI, where a condition decides which rows match, and not which rows there are.
    Matching,
}

impl Joins<'_> {
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

/// The tables of an item of FROM.
fn factors(from: &TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
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

/// Whether a join keeps rows of the right table without rows of the left ones.
fn keeps_right(operator: &JoinOperator) -> bool {
    matches!(operator, JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_))
}

/// A join of the last of these relations with those before it.
struct OneJoin<'a> {
    relations: &'a [Relation],
    /// Whether a RIGHT or FULL JOIN follows: WHERE would remove rows that it keeps.
    is_before_outer: bool,
}

impl OneJoin<'_> {
    /// Rewrites the condition of a join. Conditions of inner joins are added to those of WHERE. Returns the columns that USING merges, by
    /// their names in polars.
    fn rewrite(&self, join: &mut Join, conditions: &mut Vec<Expr>) -> Result<Vec<String>, String> {
        let written = join.to_string();
        let keeps_right = keeps_right(&join.join_operator);
        let is_cross = matches!(join.join_operator, JoinOperator::CrossJoin(_));
        let Some((kind, constraint)) = parts(&mut join.join_operator) else {
            return Err(format!("{}: this kind of join is not supported", written.trim()));
        };
        if *constraint == JoinConstraint::Natural {
            *constraint = JoinConstraint::Using(self.common_columns(&written)?);
        }
        let on = match constraint {
            JoinConstraint::On(on) => conjuncts(on.clone()),
            JoinConstraint::Using(_) if keeps_right => {
                return Err("RIGHT JOIN and FULL JOIN with USING or NATURAL are not supported; write ON a.x = b.x, and COALESCE(a.x, b.x) for the column of both".to_owned());
            }
            JoinConstraint::Using(columns) => return Ok(self.merged(columns)),
            JoinConstraint::None if !is_cross => return Err(format!("{}: a join needs ON or USING", written.trim())),
            _ => Vec::new(),
        };
        let mut keys = Vec::new();
        match kind {
            Kind::Inner => {
                for condition in on {
                    match self.key(&condition) {
                        Some(key) => keys.push(key),
                        None if is_true(&condition) => {}
                        None if self.is_before_outer => {
                            return Err(format!(
                                "{condition}: before a RIGHT or FULL JOIN, ON takes equalities of columns of two tables; put this condition into a subquery: (SELECT … WHERE …) AS name"
                            ));
                        }
                        None => conditions.push(condition),
                    }
                }
                if keys.is_empty() && !self.is_before_outer {
                    conditions.retain(|condition| match self.key(condition) {
                        Some(key) => {
                            keys.push(key);
                            false
                        }
                        None => true,
                    });
                }
            }
            Kind::Matching => {
                for condition in on {
                    keys.push(match self.key(&condition) {
                        Some(key) => key,
                        None => self.key_of_condition(&condition)?,
                    });
                }
            }
        }
        match all(keys) {
            Some(keys) if kind == Kind::Inner => join.join_operator = JoinOperator::Join(JoinConstraint::On(keys)),
            Some(keys) => *constraint = JoinConstraint::On(keys),
            None => join.join_operator = JoinOperator::CrossJoin(JoinConstraint::None),
        }
        Ok(Vec::new())
    }

    /// The place of the right table.
    fn right(&self) -> usize {
        self.relations.len() - 1
    }

    /// An equality of an expression of the left tables and one of the right table, the left one first: polars mistakes the sides if a
    /// column is in several tables.
    fn key(&self, condition: &Expr) -> Option<Expr> {
        let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = condition else { return None };
        match (self.side(left)?, self.side(right)?) {
            (Side::Left, Side::Right) => Some(equal((**left).clone(), (**right).clone())),
            (Side::Right, Side::Left) => Some(equal((**right).clone(), (**left).clone())),
            _ => None,
        }
    }

    /// The side of the only table or tables that an expression uses.
    fn side(&self, expr: &Expr) -> Option<Side> {
        let uses = uses(expr, self.relations);
        if uses.undecided.is_some() || uses.has_query || uses.places.is_empty() {
            return None;
        }
        let right = self.right();
        if uses.places.iter().all(|place| *place == right) {
            Some(Side::Right)
        } else if uses.places.iter().all(|place| *place < right) {
            Some(Side::Left)
        } else {
            None
        }
    }

    /// A condition about one side as an equality with what is true for every row of the other side.
    fn key_of_condition(&self, condition: &Expr) -> Result<Expr, String> {
        let uses = uses(condition, self.relations);
        if let Some(column) = uses.undecided {
            return Err(format!("{column} in ON: write the name of its table before it, as in t.{column}"));
        }
        let right = self.right();
        let (is_left, is_right) = (uses.places.iter().any(|place| *place < right), uses.places.contains(&right));
        if uses.has_query || is_left && is_right {
            return Err(format!(
                "{condition}: ON of this join takes equalities between the tables, and conditions about one of them; join the rows \
                 that match in a subquery: LEFT JOIN (SELECT … FROM … JOIN … ON … WHERE {condition}) AS name ON …"
            ));
        }
        let others = if is_right { self.relations.get(..right) } else { self.relations.get(right..) };
        let always = others.unwrap_or_default().iter().find_map(always_true).ok_or_else(|| {
            format!(
                "{condition}: this condition in ON needs a table with known columns; name the columns of the subquery"
            )
        })?;
        let condition = Expr::Nested(Box::new(condition.clone()));
        // A constant is no expression of the left tables.
        let condition = if is_left || is_right {
            condition
        } else {
            let left = self.relations.get(..right).unwrap_or_default().iter().find_map(always_true);
            let left =
                left.ok_or("a constant in ON needs a table with known columns; name the columns of the subquery")?;
            both(left, condition)
        };
        Ok(if is_right { equal(always, condition) } else { equal(condition, always) })
    }

    /// The columns that NATURAL compares.
    fn common_columns(&self, written: &str) -> Result<Vec<ObjectName>, String> {
        let unknown = || format!("{}: the columns are not known here; write USING", written.trim());
        let (right, left) = self.relations.split_last().ok_or_else(unknown)?;
        let of_right = right.columns.as_ref().ok_or_else(unknown)?;
        let mut of_left = Vec::new();
        for relation in left {
            of_left.extend(relation.columns.as_ref().ok_or_else(unknown)?);
        }
        let common: Vec<ObjectName> = of_right.iter().filter(|it| of_left.contains(it)).map(|it| quoted(it)).collect();
        if common.is_empty() {
            return Err(format!("{}: the tables have no column of the same name", written.trim()));
        }
        Ok(common)
    }

    /// The names of the right columns of USING in polars, which keeps them.
    fn merged(&self, columns: &[ObjectName]) -> Vec<String> {
        let names = columns.iter().filter_map(|column| column.0.last()?.as_ident());
        let table = self.relations.last().map(|right| right.name.value.clone()).unwrap_or_default();
        names.map(|name| format!("{}:{table}", name.value)).collect()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// The kind and the constraint of a join; `None` if it is not supported.
fn parts(operator: &mut JoinOperator) -> Option<(Kind, &mut JoinConstraint)> {
    match operator {
        JoinOperator::Join(on) | JoinOperator::Inner(on) | JoinOperator::CrossJoin(on) => Some((Kind::Inner, on)),
        JoinOperator::Left(on)
        | JoinOperator::LeftOuter(on)
        | JoinOperator::Right(on)
        | JoinOperator::RightOuter(on)
        | JoinOperator::FullOuter(on)
        | JoinOperator::Semi(on)
        | JoinOperator::LeftSemi(on)
        | JoinOperator::Anti(on)
        | JoinOperator::LeftAnti(on) => Some((Kind::Matching, on)),
        _ => None,
    }
}

/// An expression that is true for every row of a table, also for the empty row of an outer join.
fn always_true(relation: &Relation) -> Option<Expr> {
    let column = relation.columns.as_ref()?.first()?;
    let column = Expr::CompoundIdentifier(vec![relation.name.clone(), Ident::with_quote('"', column)]);
    let is_null = Expr::IsNull(Box::new(column.clone()));
    let is_not_null = Expr::IsNotNull(Box::new(column));
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(is_null),
        op: BinaryOperator::Or,
        right: Box::new(is_not_null),
    })))
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

fn quoted(name: &str) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', name)])
}

/// The conditions that AND joins, without parentheses.
fn conjuncts(condition: Expr) -> Vec<Expr> {
    let mut conditions = Vec::new();
    let mut rest = vec![condition];
    while let Some(condition) = rest.pop() {
        match condition {
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => rest.extend([*right, *left]),
            Expr::Nested(inner) if matches!(*inner, Expr::BinaryOp { .. } | Expr::Nested(_)) => match *inner {
                Expr::BinaryOp { ref op, .. } if !matches!(op, BinaryOperator::And | BinaryOperator::Eq) => {
                    conditions.push(Expr::Nested(inner));
                }
                inner => rest.push(inner),
            },
            condition => conditions.push(condition),
        }
    }
    conditions
}

/// All conditions, joined by AND.
fn all(conditions: Vec<Expr>) -> Option<Expr> {
    conditions.into_iter().reduce(both)
}

fn both(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(closed(left)), op: BinaryOperator::And, right: Box::new(closed(right)) }
}

fn equal(left: Expr, right: Expr) -> Expr {
    let closed = |side| match side {
        side @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Function(_) | Expr::Nested(_)) => side,
        side => Expr::Nested(Box::new(side)),
    };
    Expr::BinaryOp { left: Box::new(closed(left)), op: BinaryOperator::Eq, right: Box::new(closed(right)) }
}

/// A condition with parentheses if AND would split it: the text of a tree has only those of the tree.
fn closed(condition: Expr) -> Expr {
    match condition {
        Expr::BinaryOp { op: BinaryOperator::Or | BinaryOperator::Xor, .. } => Expr::Nested(Box::new(condition)),
        condition => condition,
    }
}

fn is_true(condition: &Expr) -> bool {
    matches!(condition, Expr::Value(ValueWithSpan { value: Value::Boolean(true), .. }))
}
