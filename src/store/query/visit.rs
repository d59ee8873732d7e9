//! Visits the parts of an expression, except those of its subqueries.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Visit, VisitMut, Visitor, VisitorMut};

/// A function for each expression, and the number of subqueries around the present one.
struct Own<F> {
    visit: F,
    depth: usize,
}

/// Calls a function for an expression and for each one in it, until it breaks.
pub(super) fn visit_own<B>(expr: &Expr, visit: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    expr.visit(&mut Own { visit, depth: 0 })
}

/// As [`visit_own`], with a function that may replace the expressions.
pub(super) fn visit_own_mut<B>(expr: &mut Expr, visit: impl FnMut(&mut Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    expr.visit(&mut Own { visit, depth: 0 })
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
    expr.visit(&mut Queries).is_break()
}

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Own<F> {
    type Break = B;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<B> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<B> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        if self.depth > 0 { ControlFlow::Continue(()) } else { (self.visit)(expr) }
    }
}

impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for Own<F> {
    type Break = B;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<B> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<B> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        if self.depth > 0 { ControlFlow::Continue(()) } else { (self.visit)(expr) }
    }
}
