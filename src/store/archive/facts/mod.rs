//! Facts: what each source contains before the ledger. A part has one file of them.

mod chunks;
pub mod codec;
mod file;

pub use chunks::{Chunk, Chunks, PART_BYTES, ReconcileBatch, SMALL_PART, read_at};
pub use codec::{MANY_ROWS, rows_of};
pub use file::{FactsFile, Place, checksum_at, decode_source, encode_source, scan};
