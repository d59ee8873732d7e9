//! `agentlogs schema`, `completions` and `man`.

use std::io::{self, Write};

use agentlogs::store::frames;
use anyhow::{Context, bail};
use clap::CommandFactory;
use polars::prelude::*;

use super::Outcome;
use super::output::print;
use crate::cli::args::{Cli, Completions, Man, Printed};

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

pub fn man(args: &Man) -> anyhow::Result<Outcome> {
    let command = Cli::command();
    if let Some(directory) = &args.directory {
        if directory.is_file() {
            bail!("{} is a file, not a directory", directory.display());
        }
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        clap_mangen::generate_to(command, directory).with_context(|| directory.display().to_string())?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        io::stdout().lock().write_all(&page)?;
    }
    Ok(Outcome::Done)
}
