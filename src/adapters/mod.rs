//! The formats: a file and a line in [`ADAPTERS`] for each, and one record loop for all.
//!
//! An adapter performs no I/O and uses neither clock nor environment. It decides whether a record is one of its own
//! ([`Adapter::claims`]), and folds typed records into sessions ([`Fold`]). Parsing cannot fail: what cannot be used is
//! counted in [`Health`](crate::model::health::Health).
//!
//! `ARCHITECTURE.md` lists the steps to add a format. The formats of one runtime share a file with its name, such as `claude`,
//! `codex`, `opencode` and `pi`.
//!
//! ```text
//! api          what an adapter is, and what it sees
//! file_id      ids in the path of a log
//! probe        the top level of one record, for `Adapter::claims`
//! record_loop  lines -> records -> sessions, for one format
//! text_loop    the same for logs that are plain text
//! registry     all adapters
//! detect       which adapters claim a log
//! unknown      types and contents of records that no adapter knows
//! vocabulary   the words that an adapter knows
//! driver       one log from its first byte to its sessions, in steps
//! document     logs that are one JSON document
//! sessions     states of several sessions in one log
//! described    formats that are described by data, as those of the user
//! common       what several adapters share
//! ```

mod api;
pub mod common;
pub mod described;
mod detect;
mod driver;
mod file_id;
mod probe;
mod record_loop;
mod registry;
mod text_loop;

mod aider;
mod amp_thread;
mod antigravity_transcript;
mod atif;
mod claude;
mod claude_stream_json;
mod claude_transcript;
mod cline_session;
mod cline_task;
mod codex;
mod codex_exec;
mod codex_exec_legacy;
mod codex_rollout;
mod continue_dev_data;
mod continue_session;
mod copilot_chat;
mod copilot_events;
mod crush;
mod cursor_stream_json;
mod cursor_transcript;
mod document;
mod droid_session;
mod drover_events;
mod gemini_chat;
mod gemini_json;
mod gh_aw_token_usage;
mod goose;
mod hermes;
mod inspect_log;
mod kimi_wire;
mod kiro;
mod mini_swe_agent;
mod openclaw_events;
mod openclaw_session;
mod openclaw_trajectory;
mod opencode;
mod opencode_db;
mod opencode_export;
mod opencode_run;
mod opencode_storage;
mod openhands;
mod otlp;
mod pi;
mod pi_json;
mod pi_session;
mod pi_subagent;
mod qwen_chat;
mod sessions;
mod side_files;
mod swe_agent;
mod trial_results;
pub mod unknown;
pub mod vocabulary;
mod zag_json;
mod zag_log;
mod zed_db;

pub use api::{Adapter, Context, Fold, Hints, Parsed, RecordErrors, RecordKind};
pub use described::UserFormat;
pub use detect::{Claims, detect, is_auxiliary};
pub use driver::{Driver, Step, parse};
pub use probe::Probe;
pub use registry::{ADAPTERS, TABLES, maker_with_known_prices};
pub use trial_results::{agent_of_run, trial_of, trials_of};

// What adapters use of each other's foundations, as `super::NAME`.
pub(crate) use common::ids::{counts_name, hashed_id, push_counts_name};
pub(crate) use record_loop::fold;
