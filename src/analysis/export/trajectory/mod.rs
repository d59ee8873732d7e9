//! Sessions as trajectories of ATIF, the Agent Trajectory Interchange Format of Harbor (version 1.7).
//!
//! A turn becomes a step with metrics and its tool calls; subagents become embedded trajectories. Usage that is known only
//! as a total of the session is in `final_metrics`. As in the schema of ATIF, `prompt_tokens` is the whole prompt; tokens
//! written to a cache are in `extra`, under the name that Harbor's converter for Claude Code uses. A computed cost is marked
//! as an estimate. Texts are included if the archive contains them.

mod atif;
mod document;
mod export;
mod spent;
mod steps;
mod tables;

pub use export::{Trajectories, Trajectory};
