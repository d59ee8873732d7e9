//! agentlogs: what AI coding agents' logs tell of cost, tokens, tools and turns, right, fast and open.
//!
//! The way of the data, which is the way to read the code:
//!
//! ```text
//! discover   paths -> files, each once
//! log        file -> bytes: mapped, read or decompressed
//! lines      bytes -> numbered records
//! adapters   records -> SessionResult, one file a format   (json, wire, builder, tools, errors, time)
//! ledger     SessionResults of all files -> tables: copies removed, counters derived
//! ingest     the pipeline itself
//! ```
//!
//! What is nowhere: adapters do no I/O and know neither clock nor environment nor polars; no format's name stands outside
//! `adapters`; no local time before `reports`; the library never prints; `unsafe` stands in `log` only.

pub mod adapters;
pub mod builder;
pub mod discover;
pub mod errors;
pub mod health;
pub mod ingest;
pub mod json;
pub mod ledger;
pub mod lines;
pub mod log;
pub mod session;
pub mod source;
pub mod tables;
pub mod time;
pub mod tools;
pub mod wire;
