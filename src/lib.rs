//! agentlogs: offline analytics of the session logs of AI coding agents: cost, tokens, tools, turns and outcomes.
//!
//! Each directory of `src/` is a layer, and a layer imports only layers to its left (`tests/layers.rs`). `ARCHITECTURE.md`
//! describes the invariants, and where to add a runtime, a column, a report or a price:
//!
//! ```text
//! base ← {json, model} ← {input, prices, adapters} ← {ledger, ingest} ← store ← analysis ← cli
//! ```
//!
//! The layers and their modules, in the order in which data flows:
//!
//! ```text
//! input     paths -> bytes; all I/O on logs
//!   discover    paths -> files, each once
//!   open        file -> bytes: mapped, read or decompressed
//!   containers  tar or zip archive -> the content of each member
//!   database    SQLite file -> lines: the rows of the tables that formats know
//!   labels      labels in the path of a log
//!   sidecar     metadata in a file next to a log
//! json      bytes -> records
//!   lines       bytes -> numbered records
//!   scan        ends of strings and of nested values, with SIMD
//!   fields      types of members, which accept any value
//!   record      structs of records, read in the usual order of their members
//! adapters  records -> SessionResult, one file per format
//!   engine      what an adapter is, and the loops that run it
//!   shared      builder, tools, shell, ids: used by several formats
//!   formats     a directory per family of formats
//!   driver      a log -> its sessions, in steps that the caller takes
//! model     the data types: session, source, tables, id_hash, health, errors, sqlite_schema
//! prices    model name, time and tokens -> US dollars
//! ledger    SessionResults of all files -> tables: duplicates removed, counters derived
//!   costs       the cost of each row: reported, or tokens times prices
//! ingest    reads and parses files in parallel; privacy (`--redact`)
//! base      hash, compact_option, rows, text, time: types without knowledge of logs
//! ---------- the following only with the feature `archive` (polars)
//! store     tables <-> files
//!   frames      tables -> polars frames, and rows of files; the only module with names of columns
//!   archive     tables <-> the parquet archive
//!   parquet     parquet files; pages
//!   query       SQL
//! analysis
//!   reports     rows grouped by dimensions; the only module with local times
//!   compare     two cohorts of sessions, with confidence intervals
//!   dashboard   one HTML file with charts and filters
//!   export      tables as files, sessions as trajectories
//!   measure     speed of reading logs, by format and stage
//!   present     rows as table, JSON, CSV, Markdown or chart
//! cli       the program: arguments and commands
//! ```
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
