//! Visits the parts of a statement or of an expression.
//!
//! The compiler generates sqlparser's traversal of all SQL syntax once for each type of visitor. Here all visitors are called through one
//! type, [`Dynamic`], so that the program is some megabytes smaller.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};

/// Calls a visitor for each part, until it breaks.
pub(super) fn visit<B>(whole: &impl Visit, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
    whole.visit(&mut Dynamic(visitor))
}

/// As [`visit`], with a visitor that may change the parts.
///
/// # Errors
/// What the visitor breaks with.
pub(super) fn visit_mut<B>(whole: &mut impl VisitMut, visitor: &mut dyn VisitorMut<Break = B>) -> Result<(), B> {
    match whole.visit(&mut Dynamic(visitor)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The names of the tables, as often as they are read.
pub(super) fn relations_of(whole: &impl Visit) -> Vec<ObjectName> {
    struct Relations(Vec<ObjectName>);
    impl Visitor for Relations {
        type Break = ();

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            self.0.push(relation.clone());
            ControlFlow::Continue(())
        }
    }
    let mut relations = Relations(Vec::new());
    let _: ControlFlow<()> = visit(whole, &mut relations);
    relations.0
}

/// Calls a function for each expression, after those within it.
pub(super) fn change_expressions(whole: &mut impl VisitMut, change: impl FnMut(&mut Expr)) {
    struct Each<F>(F);
    impl<F: FnMut(&mut Expr)> VisitorMut for Each<F> {
        type Break = String;

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
            (self.0)(expr);
            ControlFlow::Continue(())
        }
    }
    // It never breaks.
    let _: Result<(), String> = visit_mut(whole, &mut Each(change));
}

/// A function for each expression, and the number of subqueries around the present one.
struct Own<F> {
    visit: F,
    depth: usize,
}

/// Calls a function for an expression and for each one in it, except those of its subqueries, until it breaks.
pub(super) fn visit_own(expr: &Expr, function: impl FnMut(&Expr) -> ControlFlow<()>) -> ControlFlow<()> {
    visit(expr, &mut Own { visit: function, depth: 0 })
}

/// As [`visit_own`], with a function that may replace the expressions.
///
/// # Errors
/// What the function breaks with.
pub(super) fn visit_own_mut(
    expr: &mut Expr,
    function: impl FnMut(&mut Expr) -> ControlFlow<String>,
) -> Result<(), String> {
    visit_mut(expr, &mut Own { visit: function, depth: 0 })
}

/// Whether an expression contains a query.
pub(super) fn contains_query(expr: &Expr) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    visit(expr, &mut Queries).is_break()
}

impl<F: FnMut(&Expr) -> ControlFlow<()>> Visitor for Own<F> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth > 0 { ControlFlow::Continue(()) } else { (self.visit)(expr) }
    }
}

impl<F: FnMut(&mut Expr) -> ControlFlow<String>> VisitorMut for Own<F> {
    type Break = String;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        if self.depth > 0 { ControlFlow::Continue(()) } else { (self.visit)(expr) }
    }
}

/// A reference to a visitor. The compiler knows only the type with which it breaks.
struct Dynamic<'a, V: ?Sized>(&'a mut V);

/// All methods of a visitor. Each calls the same method of the referenced visitor.
macro_rules! methods {
    ($($method:ident($part:ty),)+) => {
        $(fn $method(&mut self, part: $part) -> ControlFlow<B> {
            self.0.$method(part)
        })+
    };
}

impl<B> Visitor for Dynamic<'_, dyn Visitor<Break = B> + '_> {
    type Break = B;

    methods! {
        pre_visit_statement(&Statement),
        post_visit_statement(&Statement),
        pre_visit_query(&Query),
        post_visit_query(&Query),
        pre_visit_select(&Select),
        post_visit_select(&Select),
        pre_visit_table_factor(&TableFactor),
        post_visit_table_factor(&TableFactor),
        pre_visit_relation(&ObjectName),
        post_visit_relation(&ObjectName),
        pre_visit_expr(&Expr),
        post_visit_expr(&Expr),
        pre_visit_value(&ValueWithSpan),
        post_visit_value(&ValueWithSpan),
    }
}

impl<B> VisitorMut for Dynamic<'_, dyn VisitorMut<Break = B> + '_> {
    type Break = B;

    methods! {
        pre_visit_statement(&mut Statement),
        post_visit_statement(&mut Statement),
        pre_visit_query(&mut Query),
        post_visit_query(&mut Query),
        pre_visit_select(&mut Select),
        post_visit_select(&mut Select),
        pre_visit_table_factor(&mut TableFactor),
        post_visit_table_factor(&mut TableFactor),
        pre_visit_relation(&mut ObjectName),
        post_visit_relation(&mut ObjectName),
        pre_visit_expr(&mut Expr),
        post_visit_expr(&mut Expr),
        pre_visit_value(&mut ValueWithSpan),
        post_visit_value(&mut ValueWithSpan),
    }
}
