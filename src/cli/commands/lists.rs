//! `agentlogs schema` and `man`.

use std::io::{self, Write};

use agentlogs::analysis::present::Roles;
use agentlogs::store::frames::{self, LABELS, names_of_tables};
use agentlogs::store::query::nearest;
use anyhow::{Context, bail};
use polars::prelude::*;

use super::output::{Layout, WITH_ABOUT, is_on_terminal, print, say};
use super::{Outcome, WrongCommandLine};
use crate::cli::args::{self, Man, Schema};

pub fn schema(args: &Schema) -> anyhow::Result<Outcome> {
    let columns: Vec<_> = frames::all_columns().collect();
    let Some(table) = &args.table else {
        if is_on_terminal(args.printed) && !args.printed.wide {
            return tables(&columns, args);
        }
        return columns_of(&columns, true, args);
    };
    let of_table: Vec<_> = columns.into_iter().filter(|it| it.table.eq_ignore_ascii_case(table)).collect();
    if of_table.is_empty() {
        let near = nearest(table, names_of_tables());
        return Err(WrongCommandLine(format!("no table {table:?}{near}")).into());
    }
    let done = columns_of(&of_table, false, args)?;
    if table.eq_ignore_ascii_case(LABELS) {
        say("and a column for each key of a label: `agentlogs query 'DESCRIBE labels'` lists those of the archive");
    }
    Ok(done)
}

/// Prints columns with their meaning.
fn columns_of(columns: &[frames::Described], with_table: bool, args: &Schema) -> anyhow::Result<Outcome> {
    let mut frame = df!(
        "table" => columns.iter().map(|it| it.table).collect::<Vec<_>>(),
        "column" => columns.iter().map(|it| it.column).collect::<Vec<_>>(),
        "type" => columns.iter().map(frames::Described::type_name).collect::<Vec<_>>(),
        "about" => columns.iter().map(|it| it.about).collect::<Vec<_>>(),
    )?;
    if !with_table && is_on_terminal(args.printed) {
        frame = frame.drop("table")?;
    }
    print(&frame, args.printed, WITH_ABOUT)?;
    Ok(Outcome::Done)
}

/// Prints the tables with the names of their columns.
fn tables(columns: &[frames::Described], args: &Schema) -> anyhow::Result<Outcome> {
    let names =
        |table: &str| -> Vec<&str> { columns.iter().filter(|it| it.table == table).map(|it| it.column).collect() };
    let frame = df!(
        "table" => names_of_tables(),
        "columns" => names_of_tables().into_iter().map(|table| names(table).join(", ")).collect::<Vec<_>>(),
    )?;
    let roles = Roles { sentences: &["columns"], ..Roles::default() };
    print(&frame, args.printed, Layout { roles, ..Layout::default() })?;
    say("`agentlogs schema TABLE` describes the columns of a table, --wide those of all");
    Ok(Outcome::Done)
}

pub fn man(man: &Man) -> anyhow::Result<Outcome> {
    let command = args::command(&[]);
    if let Some(directory) = &man.directory {
        if directory.is_file() {
            bail!("{} is a file, not a directory", directory.display());
        }
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        clap_mangen::generate_to(command, directory).with_context(|| directory.display().to_string())?;
        say(&format!("{}: the pages of all commands", directory.display()));
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        io::stdout().lock().write_all(&page)?;
    }
    Ok(Outcome::Done)
}
