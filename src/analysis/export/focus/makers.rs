//! The provider of a response and the maker of its model: FOCUS requires both, and many logs contain neither.

use std::collections::HashMap;
use std::sync::Arc;

use polars::prelude::*;

use crate::ingest::bill_files::UNKNOWN_IN_FOCUS as UNKNOWN;
use crate::prices::{Catalog, Pricer};
use crate::store::frames::turns;

/// The entity that serves the model: as logged, else its maker.
pub(super) const PROVIDER: &str = "focus_provider";
/// The entity that makes the model: by the catalog, else the provider.
pub(super) const PUBLISHER: &str = "focus_publisher";

/// Adds the provider and the maker to rows of the ledger.
pub(super) fn with_providers(rows: LazyFrame, catalog: &Catalog) -> LazyFrame {
    let catalog = Arc::new(catalog.clone());
    let maker = col(turns::CANONICAL_MODEL).map(
        move |models| {
            let mut pricer = Pricer::new(&catalog);
            // A log has few models and many rows.
            let mut makers: HashMap<&str, Option<&str>> = HashMap::new();
            let models = models.str()?;
            let maker = |model: Option<_>| *makers.entry(model?).or_insert_with_key(|model| pricer.maker(model));
            let makers: StringChunked = models.iter().map(maker).collect();
            Ok(makers.with_name(PUBLISHER.into()).into_column())
        },
        |_, _| Ok(Field::new(PUBLISHER.into(), DataType::String)),
    );
    let logged = || col(turns::PROVIDER);
    let rows = rows.with_column(maker.alias(PUBLISHER));
    rows.with_columns([
        coalesce(&[logged(), col(PUBLISHER), lit(UNKNOWN)]).alias(PROVIDER),
        coalesce(&[col(PUBLISHER), logged(), lit(UNKNOWN)]).alias(PUBLISHER),
    ])
}
