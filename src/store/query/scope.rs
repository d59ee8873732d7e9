//! The tables of a FROM with the names of their columns, as far as the text of the query contains them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Cte, Expr, Ident, ObjectNamePart, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins,
    WildcardAdditionalOptions,
};

use super::parse::parsed_query;
use super::visit::{contains_query, visit_own};

/// The columns of the tables, by name.
pub(super) type Tables = BTreeMap<String, Vec<String>>;

/// A table of a FROM.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    /// Its alias, or its name.
    pub name: Ident,
    /// Its columns; `None` if the text of the query does not contain them.
    pub columns: Option<Vec<String>>,
}

/// The tables that a query can name.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    tables: &'a Tables,
    /// The queries of WITH, the innermost last.
    with: Vec<Named>,
}

/// A query of WITH.
#[derive(Debug)]
struct Named {
    name: String,
    columns: Option<Vec<String>>,
    /// Its name for polars, which would read the table if it has the name of one.
    renamed: Option<Ident>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(tables: &'a Tables) -> Self {
        Self { tables, with: Vec::new() }
    }

    /// Adds a query of WITH, and changes its name if a table has it.
    pub(super) fn enter(&mut self, name: &mut Ident, columns: Option<Vec<String>>) {
        let is_table = self.tables.contains_key(&name.value);
        let renamed = is_table.then(|| Ident::with_quote('"', format!("with {}", name.value)));
        self.with.push(Named { name: name.value.clone(), columns, renamed: renamed.clone() });
        if let Some(renamed) = renamed {
            *name = renamed;
        }
    }

    /// The number of queries of WITH.
    pub(super) fn depth(&self) -> usize {
        self.with.len()
    }

    /// Removes all queries of WITH but this number.
    pub(super) fn leave(&mut self, depth: usize) {
        self.with.truncate(depth);
    }

    /// The columns of a query of WITH.
    pub(super) fn columns_of_with(&self, query: &Cte) -> Option<Vec<String>> {
        named_by(&query.alias).or_else(|| self.columns_of_query(&query.query))
    }

    /// Gives a table of a FROM the name that a query of WITH has for polars.
    pub(super) fn rename(&self, factor: &mut TableFactor) {
        let TableFactor::Table { name, alias, .. } = factor else { return };
        let [ObjectNamePart::Identifier(table)] = &name.0[..] else { return };
        let found = self.with.iter().rev().find(|with| with.name == table.value);
        let Some(renamed) = found.and_then(|with| with.renamed.clone()) else { return };
        let alias = alias.as_ref().map_or(table, |alias| &alias.name);
        let sql = format!("SELECT * FROM (SELECT * FROM {renamed}) AS {alias}");
        if let Some(replaced) = factor_of(&sql) {
            *factor = replaced;
        }
    }

    /// A table of a FROM; `None` if it has no name.
    pub(super) fn relation(&self, factor: &TableFactor) -> Option<Relation> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let table = name.0.last()?.as_ident()?;
                let with = self.with.iter().rev().find(|with| with.name == table.value);
                let columns = match with {
                    Some(with) => with.columns.clone(),
                    None => self.tables.get(&table.value).cloned(),
                };
                let name = alias.as_ref().map_or_else(|| table.clone(), |alias| alias.name.clone());
                Some(Relation { name, columns })
            }
            TableFactor::Derived { subquery, alias: Some(alias), .. } => {
                let columns = named_by(alias).or_else(|| self.columns_of_query(subquery));
                Some(Relation { name: alias.name.clone(), columns })
            }
            _ => None,
        }
    }

    fn columns_of_query(&self, query: &Query) -> Option<Vec<String>> {
        if query.with.is_some() {
            return None;
        }
        let mut body = &*query.body;
        loop {
            match body {
                SetExpr::Select(select) => return self.columns_of_select(select),
                SetExpr::SetOperation { left, .. } => body = left,
                SetExpr::Query(query) => return self.columns_of_query(query),
                _ => return None,
            }
        }
    }

    fn columns_of_select(&self, select: &Select) -> Option<Vec<String>> {
        let mut columns = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => columns.push(column_name(expr)?.value.clone()),
                SelectItem::ExprWithAlias { alias, .. } => columns.push(alias.value.clone()),
                SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
                    match &select.from[..] {
                        [from] if from.joins.is_empty() => columns.extend(self.relation(&from.relation)?.columns?),
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        Some(columns)
    }
}

/// The tables of an item of FROM.
pub(super) fn factors(from: &TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
}

/// The only table of the FROM of a query.
pub(super) fn factor_of(sql: &str) -> Option<TableFactor> {
    match *parsed_query(sql)?.body {
        SetExpr::Select(select) => select.from.into_iter().next().map(|from| from.relation),
        _ => None,
    }
}

/// The columns that an alias names: `AS t (a, b)`.
fn named_by(alias: &TableAlias) -> Option<Vec<String>> {
    let names: Vec<String> = alias.columns.iter().map(|column| column.name.value.clone()).collect();
    (!names.is_empty()).then_some(names)
}

/// The name of a column, without that of its table.
pub(super) fn column_name(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => names.last(),
        _ => None,
    }
}

/// Which tables the columns of an expression belong to.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Uses {
    /// The places of the tables, in the order of the relations.
    pub places: Vec<usize>,
    /// A column whose table the text of the query does not determine.
    pub undecided: Option<String>,
    /// Whether the expression contains a query.
    pub has_query: bool,
}

/// Which of these tables the columns of an expression belong to.
pub(super) fn uses(expr: &Expr, relations: &[Relation]) -> Uses {
    let mut uses = Uses { has_query: contains_query(expr), ..Uses::default() };
    let _: ControlFlow<()> = visit_own(expr, |expr| {
        let place = match expr {
            Expr::Identifier(name) => place_of(&name.value, relations),
            Expr::CompoundIdentifier(names) => {
                let table = names.first().map(|it| it.value.as_str());
                relations.iter().position(|relation| Some(relation.name.value.as_str()) == table)
            }
            _ => return ControlFlow::Continue(()),
        };
        match place {
            Some(place) => uses.places.push(place),
            None => uses.undecided = Some(expr.to_string()),
        }
        ControlFlow::Continue(())
    });
    uses
}

/// The only one of these tables that has a column of that name.
fn place_of(column: &str, relations: &[Relation]) -> Option<usize> {
    let has = |relation: &Relation| relation.columns.as_ref().map(|it| it.iter().any(|name| name == column));
    let mut can = relations.iter().enumerate().filter(|(_, it)| has(it) != Some(false)).map(|(place, _)| place);
    match (can.next(), can.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}
