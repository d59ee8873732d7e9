//! The commands `mcp` and `skill`.

use std::io::{self, Write};

use super::{data, install, server};
use crate::cli::args::{Mcp, McpCommand};
use crate::cli::commands::Outcome;
use crate::cli::settings::Settings;

/// The file that teaches an agent to use agentlogs.
const SKILL: &str = include_str!("SKILL.md");

pub fn run(args: Mcp, settings: Settings) -> anyhow::Result<Outcome> {
    match args.command {
        Some(McpCommand::Install(install)) => install::run(&install, &settings),
        None => server::run(data::Data::new(args.archive, &args.limits, settings)),
    }
}

/// `agentlogs skill`.
pub fn skill() -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    out.write_all(SKILL.as_bytes())?;
    out.flush()?;
    Ok(Outcome::Done)
}
