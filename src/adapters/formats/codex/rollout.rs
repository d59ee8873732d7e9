//! The files that Codex keeps, `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`: records `{timestamp, type, payload}`.
//!
//! A file begins with the session's own `session_meta`; a resume appends it again. A fork, and an agent that another one
//! started, may repeat the records of the other session at the beginning of their own (`docs/accounting.md`). Repeated responses are
//! identified by the thread that they come from, the totals that they reached and the calls that they made, so that the ledger
//! counts them once.

pub(crate) use log::ADAPTER;

mod calls;
mod code_mode;
mod completed;
mod history;
mod items;
mod limits;
mod log;
mod records;
mod review;
mod script;
mod shell_output;
mod state;
mod tasks;
mod thread;
mod times;
mod usage;
