//! Which rows a question is about: its filters, and the dimensions by which rows are grouped and filtered. Some dimensions are computed:
//! `outcomes` and `failures` are below this module, all that answers questions is above it.
//!
//! ```text
//! scope        the filters
//! edges        the points in time of a scope's bounds
//! dimension    the names by which rows are grouped and filtered
//! grouping     the rows in scope, with their dimensions
//! left_out     rows without a time that a scope excludes
//! error        why a question cannot be answered
//! ```

mod dimension;
mod edges;
mod error;
mod grouping;
mod left_out;
mod scope;

pub use dimension::tables_of_dimension;
pub use dimension::{DIMENSIONS, Dimension, is_time};
pub(super) use dimension::{LABEL, order_of};
pub(super) use error::names;
pub use error::{Error, other_report};
pub(super) use grouping::Grouping;
pub use grouping::sessions;
pub use left_out::LeftOut;
pub use scope::{Scope, Undated};
