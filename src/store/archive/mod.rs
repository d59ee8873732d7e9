//! The archive: a directory of generations, of which one is current.
//!
//! ```text
//! agentlogs.json     contains the version of the layout and the number of the current generation; replaced by one rename, the only
//!                    step that changes what readers see
//! lock               locked by the process that writes
//! prices             the user's own prices
//! history/           commits of repositories, and pull requests: files that a manifest lists, as in a generation
//! current            -> generation-N, where the file system has links; only for other programs
//! generation-N/      not written again once it is current
//!     manifest.json  the parts, their checksums and sums
//!     sessions/, turns/, …, one parquet file per part
//!     facts/         the content of each source before the ledger, one file per part
//!     index/         an entry for each source: whether its file changed, its links, where its facts are; one file per part
//! ```
//!
//! Any engine reads `current/turns/*.parquet`. A part contains whole groups of sources, which nothing links to other parts
//! ([`crate::ledger::groups`]): when sources change, their parts are reconciled again from the facts; the other parts are linked into
//! the next generation as they are. Facts of files that are gone stay: the archive outlives the logs.
//!
//! An interrupted process leaves the current generation and a directory `next`, which the next writer removes. The generation before
//! the current one stays until the next write, and any generation as long as a reader has a [`Snapshot`] of it.
//!
//! Damage: the manifest contains the hash of its own text, and the hashes, sizes and times of all other files of its generation. A file
//! that does not have its size and time is compared with its hash before it is read. The facts of each source have a checksum in the
//! index, so that [`Archive::repair`] keeps all but those that are damaged.

mod check;
mod disk;
mod error;
mod facts;
mod generations;
mod hashed_file;
mod history;
mod index;
mod layout;
mod manifest;
mod open;
mod part;
mod prices;
mod repair;
mod state;
mod stored_facts;
mod table_files;
mod tables;
mod upgrade;
mod verdicts;
mod writer;

pub use check::Checked;
pub use error::{Error, Problem};
pub use generations::Snapshot;
pub use history::{Histories, RepositoryFacts};
pub use index::IndexEntry;
pub use manifest::Sums;
pub use open::Archive;
pub use repair::{Lost, Repair};
pub use stored_facts::StoredFacts;
pub use verdicts::VERDICTS;
pub use writer::{PartsWritten, Writer, Written, reconciled_with};

pub(crate) use disk::{Waited, remove_directory, sync_all};
pub(crate) use facts::codec::{decode as decode_value, encode as encode_value};
pub(crate) use facts::scan as scan_sources;
pub use facts::{decode_source, encode_source};
pub(crate) use hashed_file::{Checksum, HashedFile, checksum, hash};
pub(crate) use layout::{OLDEST_VERSION, VERSION};
