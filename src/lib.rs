//! agentlogs: offline analytics of the session logs of AI coding agents: cost, tokens, tools, turns and outcomes.
//!
//! Each directory of `src/` is a layer, and a layer imports only layers to its left (`tests/layers.rs`):
//!
//! ```text
//! base ← {json, model} ← {input, prices, adapters} ← {ledger, ingest} ← store ← analysis ← cli
//! ```
//!
//! `ARCHITECTURE.md` describes each layer, the path of an ingest, the invariants, and where to add a runtime, a column, a report or a
//! price. The first lines of a module state its purpose. From `store` on, all needs the feature `archive` (polars).
//!
//! Further invariants: adapters perform no I/O and do not use the clock, the environment or polars; the name of a format
//! occurs only in `adapters`; no local time below `analysis::reports`; the library never prints; `unsafe` occurs only in
//! `input::mapped`, `json::scan`, `json::short`, `json::simd` and `store::archive::disk`, and in the program's `cli::memory`.

// No input may cause a panic; tests may panic.
#![cfg_attr(
    not(test),
    warn(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

pub mod adapters;
#[cfg(feature = "archive")]
pub mod analysis;
pub mod base;
pub mod ingest;
pub mod input;
pub mod json;
pub mod ledger;
pub mod model;
pub mod prices;
#[cfg(feature = "archive")]
pub mod store;
