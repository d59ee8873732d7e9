//! Where NULL is in an order.

use sqlparser::ast::{OrderByExpr, OrderByOptions};

use super::parse::parsed;

/// Makes NULL the last in an order.
pub(super) fn nulls_last(order: &mut [OrderByExpr]) {
    for OrderByExpr { options: OrderByOptions { nulls_first, .. }, .. } in order {
        *nulls_first = nulls_first.or(Some(false));
    }
}

/// In windows polars ignores where NULLs are ordered: it ranks them first in descending order, or not at all. So whether the first value
/// is NULL becomes a key before it. A second such key would have the same name in polars.
pub(super) fn order_nulls_by_key(order: &mut Vec<OrderByExpr>) {
    let Some(first) = order.first() else { return };
    let is_descending = first.options.asc == Some(false);
    // The later value in the direction of the order.
    let is_null_later = first.options.nulls_first != Some(true);
    let (of_null, of_value) = if is_null_later == is_descending { (0, 1) } else { (1, 0) };
    let key = parsed(&format!("CASE WHEN {} IS NULL THEN {of_null} ELSE {of_value} END", first.expr));
    let key = key.map(|expr| OrderByExpr { expr, options: first.options, with_fill: None });
    order.splice(..0, key);
}
