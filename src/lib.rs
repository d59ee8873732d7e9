//! agentlogs: what AI coding agents' logs tell of cost, tokens, tools and turns, right, fast and open.
//!
//! Each directory of `src/` is a layer, and a layer imports only layers below it (`tests/layers.rs`). `ARCHITECTURE.md` has
//! the invariants, and where to add what:
//!
//! ```text
//! base ← {json, model} ← {input, prices, adapters} ← {ledger, ingest} ← store ← analysis ← cli
//! ```
//!
//! The layers and their modules, in the order of the data:
//!
//! ```text
//! input     paths -> bytes; all I/O on logs
//!   discover    paths -> files, each once
//!   open        file -> bytes: mapped, read or decompressed
//!   containers  tar or zip archive -> the content of each member
//!   database    SQLite file -> lines: the rows of the tables that formats know
//!   labels      labels in the path of a log
//!   sidecar     what the recording process wrote beside a log
//! json      bytes -> records
//!   lines       bytes -> numbered records
//!   scan        ends of strings and of nested values, with SIMD
//!   fields      types of members, which accept any value
//!   record      structs of records, read in the usual order of their members
//! adapters  records -> SessionResult, one file per format
//!   driver      a log -> its sessions, in steps that the caller takes
//!   common      builder, tools, shell, ids: what several formats share
//! model     the data: session, source, tables, name, health, errors, sqlite_schema
//! prices    a model's name and a time -> what its tokens cost
//! ledger    SessionResults of all files -> tables: copies removed, counters derived
//!   costs       what the rows of the tables cost: reported, or tokens times prices
//! ingest    all of the above but the ledger, over files in parallel; privacy (`--redact`)
//! base      hash, known, rows, text, time: types without knowledge of logs
//! ---------- below here only with the feature `archive` (polars)
//! store     tables <-> files
//!   frames      tables -> polars frames, and rows of files; the only place that spells column names
//!   archive     tables <-> the parquet archive
//!   parquet     files that every engine reads; pages
//!   query       SQL
//! analysis  reports, compare, dashboard, export, render, chart, measure
//! cli       the program: arguments and commands
//! ```
//!
//! Rules besides the layers: adapters perform no I/O and use neither clock nor environment nor polars; the name of a format
//! occurs only in `adapters`; no local time below `analysis::reports`; the library never prints; `unsafe` occurs only in
//! `input::mapped`, `json::scan`, `json::short`, `json::simd` and `store::archive::disk`, and in the program's `cli::memory`.

// What input can reach must not end the program; tests may.
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
