//! The conditions of one join, as polars takes them.

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, TableFactor, Value, ValueWithSpan,
};

use super::scope::{Relation, column_name, factor_of, uses};
use super::visit::change_expressions;

/// How the rows of two tables are joined.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Inner,
    /// LEFT, RIGHT, FULL, SEMI and ANTI, where a condition decides which rows match, and not which rows there are.
    Matching,
}

/// Whether a join keeps rows of the right table without rows of the left ones.
pub(super) fn keeps_right(operator: &JoinOperator) -> bool {
    matches!(operator, JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_))
}

/// In a join of more keys than these, polars takes NULLs as equal if each row has a NULL in one of the keys.
pub(super) const MOST_KEYS_WITH_NULLS: usize = 3;

/// A join of the last of these relations with those before it.
pub(super) struct OneJoin<'a> {
    pub relations: &'a [Relation],
    /// Whether a RIGHT or FULL JOIN follows: WHERE would remove rows that it keeps.
    pub is_before_outer: bool,
}

impl OneJoin<'_> {
    /// Rewrites the condition of a join. Conditions of inner joins are added to those of WHERE. Returns the columns that USING merges, by
    /// their names in polars.
    pub(super) fn rewrite(&self, join: &mut Join, conditions: &mut Vec<Expr>) -> Result<Vec<String>, String> {
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
            JoinConstraint::Using(columns) => {
                let columns = columns.clone();
                let keys = columns.iter().filter_map(|column| self.of_right(column)).collect();
                self.without_nulls(kind, keys, &mut join.relation, conditions)?;
                return Ok(self.merged(&columns));
            }
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
        if keys.len() > MOST_KEYS_WITH_NULLS && keeps_right {
            return Err(format!(
                "{}: RIGHT JOIN and FULL JOIN take at most {MOST_KEYS_WITH_NULLS} conditions in ON; compare several columns as one, with \
                 CONCAT_WS in subqueries",
                written.trim()
            ));
        }
        let of_right = keys.iter().filter_map(right_of).collect();
        self.without_nulls(kind, of_right, &mut join.relation, conditions)?;
        match all(keys) {
            Some(keys) if kind == Kind::Inner => join.join_operator = JoinOperator::Join(JoinConstraint::On(keys)),
            Some(keys) => *constraint = JoinConstraint::On(keys),
            None => join.join_operator = JoinOperator::CrossJoin(JoinConstraint::None),
        }
        Ok(Vec::new())
    }

    /// Excludes the rows whose keys are NULL, which match no row, where polars would take them as equal: in WHERE, or in the right table
    /// of a join that keeps the rows of the left ones.
    fn without_nulls(
        &self,
        kind: Kind,
        keys: Vec<Expr>,
        right: &mut TableFactor,
        conditions: &mut Vec<Expr>,
    ) -> Result<(), String> {
        if keys.len() <= MOST_KEYS_WITH_NULLS {
            return Ok(());
        }
        let known = keys.into_iter().map(|key| Expr::IsNotNull(Box::new(key)));
        if kind == Kind::Inner && !self.is_before_outer {
            conditions.extend(known);
            return Ok(());
        }
        let name = self.relations.last().map(|right| right.name.clone()).ok_or("a join without a table")?;
        let condition = all(known.collect()).map(|condition| condition.to_string()).unwrap_or_default();
        *right = factor_of(&format!("SELECT * FROM (SELECT * FROM {right} WHERE {condition}) AS {name}"))
            .ok_or_else(|| format!("{right} is not supported in a join with so many conditions"))?;
        Ok(())
    }

    /// The column of the right table that USING names.
    fn of_right(&self, column: &ObjectName) -> Option<Expr> {
        let name = column.0.last()?.as_ident()?;
        Some(Expr::CompoundIdentifier(vec![self.relations.last()?.name.clone(), name.clone()]))
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
            (Side::Left, Side::Right) => Some(equal(self.left((**left).clone()), (**right).clone())),
            (Side::Right, Side::Left) => Some(equal(self.left((**right).clone()), (**left).clone())),
            _ => None,
        }
    }

    /// An expression of the left tables with the names of columns in polars: it takes no others in expressions of a join.
    fn left(&self, mut expr: Expr) -> Expr {
        if column_name(&expr).is_some() {
            return expr;
        }
        change_expressions(&mut expr, |expr| {
            if let Expr::CompoundIdentifier(names) = &*expr
                && let [table, name] = &names[..]
                && let Some(place) = self.relations.iter().position(|it| it.name.value == table.value)
                && self.relations.iter().take(place).any(|it| it.columns.iter().flatten().any(|it| *it == name.value))
            {
                *expr = Expr::Identifier(Ident::with_quote('"', format!("{}:{}", name.value, table.value)));
            }
        });
        expr
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
        // A constant is not an expression of the left tables.
        let condition = if is_left || is_right {
            condition
        } else {
            let left = self.relations.get(..right).unwrap_or_default().iter().find_map(always_true);
            let left =
                left.ok_or("a constant in ON needs a table with known columns; name the columns of the subquery")?;
            both(left, condition)
        };
        Ok(if is_right { equal(self.left(always), condition) } else { equal(self.left(condition), always) })
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

/// The right side of an equality.
fn right_of(key: &Expr) -> Option<Expr> {
    match key {
        Expr::BinaryOp { right, .. } => Some((**right).clone()),
        _ => None,
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

/// A name of a column as it is.
pub(super) fn quoted(name: &str) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', name)])
}

/// The conditions that AND joins, without parentheses.
pub(super) fn conjuncts(condition: Expr) -> Vec<Expr> {
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
pub(super) fn all(conditions: Vec<Expr>) -> Option<Expr> {
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
