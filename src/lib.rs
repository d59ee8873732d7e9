//! agentlogs: what AI coding agents' logs tell of cost, tokens, tools and turns, right, fast and open.
//!
//! The way of the data, which is the way to read the code:
//!
//! ```text
//! discover   paths -> files, each once
//! log        file -> bytes: mapped, read or decompressed   (mapped; behind the reader: behind, hash)
//! containers tar or zip archive -> the content of each member
//! database   SQLite file -> lines: the rows of the tables that formats know
//! lines      bytes -> numbered records
//! adapters   records -> SessionResult, one file a format   (scan, json, wire, text, builder, tools, shell, errors, time)
//! prices     a model's name and a time -> what its tokens cost
//! ledger     SessionResults of all files -> tables: copies removed, counters derived
//! costs      what the tables' rows cost: reported, or tokens times prices
//! ingest     the pipeline itself                                (labels: what a path says; privacy)
//! ---------- below here only with the feature `archive` (polars)
//! frames     tables -> polars frames, and rows of files; the only place that spells column names
//! archive    tables <-> parquet                                  (parquet: files that every engine reads; pages)
//! query, reports, compare, dashboard, export, render, chart, measure
//! ```
//!
//! What is nowhere: adapters do no I/O and know neither clock nor environment nor polars; no format's name stands outside
//! `adapters`; no local time before `reports`; the library never prints; `unsafe` stands in `mapped`, `scan`, `hash` and
//! `archive::disk` only, and in the program's `allocator`.

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
pub mod archive;
mod behind;
pub mod builder;
#[cfg(feature = "archive")]
pub mod chart;
#[cfg(feature = "archive")]
pub mod compare;
pub mod containers;
pub mod costs;
#[cfg(feature = "archive")]
pub mod dashboard;
pub mod database;
pub mod discover;
pub mod errors;
#[cfg(feature = "archive")]
pub mod export;
#[cfg(feature = "archive")]
pub mod frames;
mod hash;
pub mod health;
pub mod ingest;
pub mod json;
pub mod known;
pub mod labels;
pub mod ledger;
pub mod lines;
pub mod log;
pub mod mapped;
#[cfg(feature = "archive")]
pub mod measure;
pub mod name;
#[cfg(feature = "archive")]
pub mod pages;
#[cfg(feature = "archive")]
pub mod parquet;
pub mod prices;
pub mod privacy;
#[cfg(feature = "archive")]
pub mod query;
#[cfg(feature = "archive")]
pub mod render;
#[cfg(feature = "archive")]
pub mod reports;
pub mod rows;
pub mod scan;
pub mod session;
mod shell;
pub mod source;
pub mod tables;
pub mod text;
pub mod time;
pub mod tools;
pub mod wire;
