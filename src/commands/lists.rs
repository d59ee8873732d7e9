//! The commands that list what the program knows: formats, columns, its own command line.

use std::io::{self, Write};

use agentlogs::{adapters, frames};
use clap::CommandFactory;
use polars::prelude::*;

use super::{Outcome, print};
use crate::cli::{Cli, Completions, Printed};

pub fn runtimes(printed: Printed) -> anyhow::Result<Outcome> {
    let column = |of: fn(&adapters::Adapter) -> &'static str| adapters::ADAPTERS.iter().map(of).collect::<Vec<_>>();
    let frame = df!(
        "format" => column(|it| it.id),
        "runtime" => column(|it| it.runtime),
        "about" => column(|it| it.about),
    )?;
    print(&frame, printed, None)?;
    Ok(Outcome::Done)
}

pub fn schema(printed: Printed) -> anyhow::Result<Outcome> {
    let schema = frames::schema();
    let frame = df!(
        "table" => schema.iter().map(|it| it.table).collect::<Vec<_>>(),
        "column" => schema.iter().map(|it| it.column).collect::<Vec<_>>(),
        "type" => schema.iter().map(frames::Described::type_name).collect::<Vec<_>>(),
        "about" => schema.iter().map(|it| it.about).collect::<Vec<_>>(),
    )?;
    print(&frame, printed, None)?;
    Ok(Outcome::Done)
}

pub fn completions(args: &Completions) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "agentlogs", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Outcome::Done)
}
