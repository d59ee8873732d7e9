//! Bills to compare with an archive: invoices, usage reports and exports of providers and gateways. See docs/bill.md, which names the
//! source of each format.
//!
//! ```text
//! line        a line of a bill
//! content     what a file contains
//! read        a file -> its lines: finds the format
//! csv_table   a table of CSV; json_record a record of JSON: named values
//! anthropic, openai, openrouter, litellm, focus
//!             the formats
//! log         a log that `ingest` reads, such as that of a gateway
//! ```

mod anthropic;
mod content;
mod csv_table;
mod focus;
mod json_record;
mod line;
mod litellm;
mod log;
mod openai;
mod openrouter;
mod read;

pub use focus::UNKNOWN as UNKNOWN_IN_FOCUS;
pub use line::BillLine;
pub use read::{BillFile, read};
