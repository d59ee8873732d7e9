//! The steps of a lake that many machines write together: see docs/cluster.md.
//!
//! ```text
//! extracted   sources -> rows with their facts and links
//! reconcile   facts of linked sources -> fragments: rows of one file of the lake
//! merge       fragments of a file -> the file
//! ```
//!
//! Each step is a pure function of rows, which the engine of the cluster passes from one machine to another. The rules of accounting
//! are those of the ledger alone.

mod description;
mod extracted;
mod merge;
mod reconcile;

pub use description::Description;
pub use extracted::{extracted, extracted_schema};
pub use merge::{merge_fragments, written_schema};
pub use reconcile::{Layout, Reconciler, fragment_schema};
