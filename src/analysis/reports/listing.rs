//! Reports that are lists: their rows are not grouped, only sorted, limited and without the columns that tables omit.

use polars::prelude::*;

use super::options::Options;
use crate::analysis::selection::{Error, names};

/// The rows of a list, in their order unless the options sort them. `wide` names the columns that tables omit unless `--wide` is
/// given, or they are sorted by. Returns also the number of rows beyond the limit.
pub(super) fn listed(mut rows: LazyFrame, wide: &[&str], options: &Options) -> Result<(DataFrame, usize), Error> {
    let schema = rows.collect_schema()?;
    let sort = options.order().map(|(column, _)| column);
    if let Some((column, is_descending)) = options.order() {
        if !schema.contains(column) {
            let list = names(schema.iter_names().map(PlSmallStr::as_str));
            return Err(Error::Sort { column: column.to_owned(), list });
        }
        let descending = SortMultipleOptions::default().with_order_descending(is_descending).with_nulls_last(true);
        rows = rows.sort([column], descending.with_maintain_order(true));
    }
    if !options.wide {
        let is_shown = |name: &&str| !wide.contains(name) || sort == Some(*name);
        let names = schema.iter_names().map(PlSmallStr::as_str).filter(is_shown);
        rows = rows.select(names.map(col).collect::<Vec<_>>());
    }
    Ok(options.limited(rows.collect()?))
}
