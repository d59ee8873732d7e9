//! What all machines of a cluster must have in common.

use serde::Serialize;

use crate::base::time::Day;
use crate::ingest::Options;
use crate::prices::Catalog;
use crate::store::archive::{self, reconciled_with};
use crate::store::frames::schema_hash;
use crate::store::lake;

/// The versions of a program and its options. Programs with equal descriptions give equal rows.
#[derive(Debug, Serialize)]
pub struct Description {
    /// The program and its version.
    pub written_by: &'static str,
    /// The version of the layout of lakes.
    pub lake: u32,
    /// Hash of the columns of all tables.
    pub schema: String,
    /// The version of the encoding of facts.
    pub facts: u32,
    /// The day of the built-in prices.
    pub prices: Day,
    /// What the same bytes are parsed by: with other options files are read again.
    pub parsed_with: String,
    /// What the same facts are reconciled by: with another text all tables are computed again.
    pub reconciled_with: String,
}

impl Description {
    /// The description of this program with these options.
    pub fn of(options: &Options, catalog: &Catalog) -> Self {
        Self {
            written_by: concat!("agentlogs ", env!("CARGO_PKG_VERSION")),
            lake: lake::VERSION,
            schema: schema_hash(),
            facts: archive::VERSION,
            prices: catalog.date,
            parsed_with: options.fingerprint(),
            reconciled_with: reconciled_with(catalog),
        }
    }
}
