//! Rewrites grouped queries for polars: groups and aggregates are computed in a subquery, and everything else is computed of its columns.
//! polars alone finds aggregates outside of the list of columns by name only, and returns lists for columns that are not grouped.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, GroupByExpr, Ident, NamedWindowExpr, ObjectName, OrderBy, OrderByExpr, OrderByKind, Query, Select,
    SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, Value, VisitorMut,
};

use super::explained::no_function;
use super::names::{canonical_name, contains_aggregate, is_aggregate, output_names};
use super::scope::{Relation, column_name, factors};
use super::visit::{visit_mut, visit_own_mut};

/// Rewrites a SELECT with groups or aggregates, and the order of its query. These are the tables of its FROM.
///
/// # Errors
/// When a column is neither grouped nor in an aggregate.
pub(super) fn rewrite_groups(
    select: &mut Select,
    order: &mut Option<OrderBy>,
    relations: &[Relation],
) -> Result<(), String> {
    if let GroupByExpr::All(modifiers) = &select.group_by {
        select.group_by = GroupByExpr::Expressions(all_keys(&select.projection), modifiers.clone());
    }
    let GroupByExpr::Expressions(written, modifiers) = &select.group_by else { return Ok(()) };
    let is_grouped = !written.is_empty() || select.having.is_some() || contains_aggregates(select);
    if !is_grouped || !modifiers.is_empty() {
        return Ok(());
    }
    if written.iter().any(|key| matches!(key, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_))) {
        return Err("ROLLUP, CUBE and GROUPING SETS are not supported; write UNION ALL of several GROUP BY".to_owned());
    }
    let Some(keys) = keys_of(written, select, relations)? else { return Ok(()) };
    let mut lift = Lift { keys, aggregates: Vec::new(), aliases: aliases_of(select), is_order: false };
    let names = output_names(&select.projection);
    for (item, name) in select.projection.iter_mut().zip(names) {
        match item {
            SelectItem::ExprWithAlias { expr, .. } => lift.lift(expr)?,
            SelectItem::UnnamedExpr(expr) => {
                let mut expr = expr.clone();
                lift.lift(&mut expr)?;
                *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
            }
            _ => return Err("* cannot be used with GROUP BY or aggregates: name the columns".to_owned()),
        }
    }
    let mut having = select.having.take();
    if let Some(having) = &mut having {
        // A subquery without a name may have any column.
        let has_unnamed = select.from.iter().flat_map(factors).count() > relations.len();
        lift.insert_aliases(having, relations, has_unnamed);
        lift.lift(having)?;
    }
    for window in &mut select.named_window {
        if let NamedWindowExpr::WindowSpec(window) = &mut window.1 {
            let order = window.order_by.iter_mut().map(|order| &mut order.expr);
            for expr in window.partition_by.iter_mut().chain(order) {
                lift.lift(expr)?;
            }
        }
    }
    if let Some(qualify) = &mut select.qualify {
        lift.is_order = true;
        lift.lift(qualify)?;
    }
    if let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = order {
        lift.is_order = true;
        for OrderByExpr { expr, .. } in order {
            lift.lift(expr)?;
        }
    }
    let from = grouped(select, &lift);
    select.from = vec![TableWithJoins { relation: from, joins: Vec::new() }];
    select.selection = having;
    select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    Ok(())
}

/// The columns without an aggregate, which GROUP BY ALL groups by.
fn all_keys(projection: &[SelectItem]) -> Vec<Expr> {
    let key = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            (!matches!(expr, Expr::Value(_)) && !contains_aggregate(expr)).then(|| expr.clone())
        }
        _ => None,
    };
    projection.iter().filter_map(key).collect()
}

/// The subquery that computes groups and aggregates.
fn grouped(select: &mut Select, lift: &Lift) -> TableFactor {
    let item = |(expr, alias): (&Expr, String)| SelectItem::ExprWithAlias {
        expr: expr.clone(),
        alias: Ident::with_quote('"', alias),
    };
    let keys = lift.keys.iter().enumerate().map(|(place, (key, _))| (key, key_name(place)));
    let aggregates = lift.aggregates.iter().enumerate().map(|(place, it)| (it, aggregate_name(place)));
    let mut projection: Vec<SelectItem> = keys.chain(aggregates).map(item).collect();
    if projection.is_empty() {
        projection.push(item((&Expr::value(Value::Number("1".to_owned(), false)), key_name(0))));
    }
    let ordinals = (1..=lift.keys.len()).map(|place| Expr::value(Value::Number(place.to_string(), false)));
    let inner = Select {
        projection,
        from: std::mem::take(&mut select.from),
        selection: select.selection.take(),
        group_by: GroupByExpr::Expressions(ordinals.collect(), Vec::new()),
        distinct: None,
        qualify: None,
        having: None,
        named_window: Vec::new(),
        ..select.clone()
    };
    let query = Query {
        with: None,
        body: Box::new(SetExpr::Select(Box::new(inner))),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    };
    let alias =
        TableAlias { explicit: true, name: Ident::with_quote('"', "groups of rows"), columns: Vec::new(), at: None };
    TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(alias), sample: None }
}

fn key_name(place: usize) -> String {
    format!("group {place}")
}

fn aggregate_name(place: usize) -> String {
    format!("aggregate {place}")
}

/// Whether the columns contain an aggregate.
fn contains_aggregates(select: &Select) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => contains_aggregate(expr),
        _ => false,
    })
}

/// Whether a function is an aggregate and no window.
fn is_plain_aggregate(function: &Function) -> bool {
    function.over.is_none() && is_aggregate(function)
}

/// The columns of a SELECT with an alias.
pub(super) fn aliases_of(select: &Select) -> Vec<(String, Expr)> {
    let alias = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr.clone())),
        _ => None,
    };
    select.projection.iter().filter_map(alias).collect()
}

/// The expressions of the groups with their texts; `None` if only polars knows what a name means.
fn keys_of(written: &[Expr], select: &Select, relations: &[Relation]) -> Result<Option<Vec<(Expr, String)>>, String> {
    let aliases = aliases_of(select);
    let mut keys: Vec<(Expr, String)> = Vec::new();
    for key in written {
        let key = match key {
            Expr::Value(value) => {
                let place = value.to_string().parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                match place.and_then(|place| select.projection.get(place)) {
                    Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => expr.clone(),
                    _ => return Err(format!("GROUP BY {value}: there is no column of that number")),
                }
            }
            Expr::Identifier(name) => match aliases.iter().find(|(alias, _)| *alias == name.value) {
                Some((_, expr)) => {
                    let has = |it: &Relation| it.columns.as_ref().map(|columns| columns.contains(&name.value));
                    if relations.iter().any(|it| has(it) == Some(true)) || column_name(expr) == Some(name) {
                        key.clone()
                    } else if relations.iter().all(|it| has(it) == Some(false)) {
                        expr.clone()
                    } else {
                        return Ok(None);
                    }
                }
                None => key.clone(),
            },
            key => key.clone(),
        };
        let mut key = key;
        while let Expr::Nested(inner) = key {
            key = *inner;
        }
        let text = key.to_string();
        if !keys.iter().any(|(_, other)| *other == text) {
            keys.push((key, text));
        }
    }
    Ok(Some(keys))
}

/// Puts the expressions of aliases in the place of their names.
struct InsertAliases<'a> {
    lift: &'a Lift,
    relations: &'a [Relation],
    /// Whether there are other tables, of which nothing is known.
    has_unnamed: bool,
    /// The number of aggregates around the present expression.
    aggregates: usize,
}

impl InsertAliases<'_> {
    /// Whether a name is that of a group, or within an aggregate perhaps that of a column.
    fn is_column(&self, name: &Ident) -> bool {
        let can_be_of = |it: &Relation| it.columns.as_ref().is_none_or(|columns| columns.contains(&name.value));
        self.lift.keys.iter().any(|(key, _)| column_name(key) == Some(name))
            || self.aggregates > 0 && (self.has_unnamed || self.relations.iter().any(can_be_of))
    }
}

impl VisitorMut for InsertAliases<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        self.aggregates += usize::from(matches!(expr, Expr::Function(function) if is_plain_aggregate(function)));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match &*expr {
            Expr::Function(function) if is_plain_aggregate(function) => self.aggregates -= 1,
            Expr::Identifier(name) if !self.is_column(name) => {
                let of_alias = self.lift.aliases.iter().find(|(alias, _)| *alias == name.value);
                if let Some((_, of_alias)) = of_alias {
                    *expr = Expr::Nested(Box::new(of_alias.clone()));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Replaces groups and aggregates by the columns of the subquery.
struct Lift {
    keys: Vec<(Expr, String)>,
    aggregates: Vec<Expr>,
    aliases: Vec<(String, Expr)>,
    /// Whether names of the result can be used.
    is_order: bool,
}

impl Lift {
    fn lift(&mut self, expr: &mut Expr) -> Result<(), String> {
        if self.is_order && matches!(expr, Expr::Identifier(name) if self.is_alias(&name.value)) {
            return Ok(());
        }
        visit_own_mut(expr, |expr| self.replace(expr))
    }

    fn is_alias(&self, name: &str) -> bool {
        self.aliases.iter().any(|(alias, _)| alias == name)
    }

    /// Puts the expressions of aliases in their place, which HAVING may use. Within an aggregate, a name is first that of a column.
    fn insert_aliases(&self, having: &mut Expr, relations: &[Relation], has_unnamed: bool) {
        let mut inserted = InsertAliases { lift: self, relations, has_unnamed, aggregates: 0 };
        // It never breaks.
        let _: Result<(), String> = visit_mut(having, &mut inserted);
    }

    /// The place of the group that an expression is.
    fn key(&self, expr: &Expr) -> Option<usize> {
        let text = expr.to_string();
        let is_same = |key: &Expr| match (key, expr) {
            // The one with the name of its table, the other without.
            (Expr::Identifier(key), Expr::CompoundIdentifier(names)) => names.last() == Some(key),
            (Expr::CompoundIdentifier(names), Expr::Identifier(name)) => names.last() == Some(name),
            _ => false,
        };
        let place = self.keys.iter().position(|(_, key)| *key == text);
        place.or_else(|| self.keys.iter().position(|(key, _)| is_same(key)))
    }

    /// Puts the column of the subquery in the place of a group or an aggregate.
    fn replace(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        if let Some(place) = self.key(expr) {
            *expr = Expr::Identifier(Ident::with_quote('"', key_name(place)));
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Function(function) if is_plain_aggregate(function) => {
                // polars refuses to compute the same aggregate twice, also under two names.
                function.name = ObjectName::from(vec![Ident::new(canonical_name(function))]);
                let known = self.aggregates.iter().position(|it| it == expr);
                let place = known.unwrap_or_else(|| {
                    self.aggregates.push(expr.clone());
                    self.aggregates.len() - 1
                });
                *expr = Expr::Identifier(Ident::with_quote('"', aggregate_name(place)));
            }
            Expr::Identifier(name) if self.is_order && self.is_alias(&name.value) => {}
            Expr::Function(function) => {
                if let Some(error) = no_function(&function.name.to_string()) {
                    return ControlFlow::Break(error);
                }
            }
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                return ControlFlow::Break(format!(
                    "{expr} has to be in GROUP BY, or in an aggregate such as MAX({expr})"
                ));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
