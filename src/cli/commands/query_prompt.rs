//! `agentlogs query` without SQL on a terminal: a prompt.

use agentlogs::store::frames::TABLES;
use polars::prelude::df;

use super::Outcome;
use super::lists::schema;
use super::output::{WITH_ABOUT, complain, has_color, print, say};
use super::reopened::Reopened;
use super::sql::{answer, named_queries, sql_of};
use crate::cli::args::{DataSource, Format, Printed, Schema};
use crate::cli::panics::caught;
use crate::cli::prompt::{COMMANDS, Command, Interrupts, Read, Statement, Words, editor, read};
use crate::cli::settings::Settings;

/// The file of the history in the user's directory for data.
const HISTORY: &str = "query-history";

/// Runs what a person writes, until the end.
///
/// # Errors
/// When the archive or the terminal cannot be read. An error of a query is printed, and does not end the prompt.
pub fn run(source: DataSource, printed: Printed, settings: &Settings) -> anyhow::Result<Outcome> {
    // An archive that cannot be read is an error before the first prompt.
    let mut source = Reopened::new(source, settings, &TABLES)?;
    source.close();
    let words = Words::new(named_queries());
    let history = settings.machine.own_data().map(|data| data.join(HISTORY));
    let mut editor = editor(&words, history, has_color());
    let mut printed = printed;
    let interrupts = Interrupts::new();
    say("SQL ends with a semicolon; Tab completes, .help lists the commands, Ctrl-D ends");
    loop {
        let text = match read(&mut editor)? {
            Read::End => return Ok(Outcome::Done),
            Read::Cleared => continue,
            Read::Text(text) => text,
        };
        // A history that cannot be written has no effect on the answers.
        let _ = editor.sync_history();
        let done = match Statement::of(&text) {
            Err(message) => Err(anyhow::anyhow!(message)),
            Ok(Statement::Command(Command::Quit)) => return Ok(Outcome::Done),
            Ok(statement) => {
                let run = || interrupts.run(|| carry_out(statement, &mut printed, &mut source));
                caught(run).and_then(|done| done)
            }
        };
        source.close();
        if let Err(error) = done {
            complain(format_args!("{error:#}"));
        }
    }
}

fn carry_out(statement: Statement, printed: &mut Printed, source: &mut Reopened<'_>) -> anyhow::Result<()> {
    match statement {
        Statement::Nothing | Statement::Command(Command::Quit) => Ok(()),
        Statement::Sql(text) => {
            let sql = sql_of(&text)?;
            answer(source.tables(&TABLES)?, &sql, *printed)
        }
        Statement::Command(Command::Tables) => schema(&Schema { table: None, printed: *printed }).map(drop),
        Statement::Command(Command::Schema(table)) => schema(&Schema { table, printed: *printed }).map(drop),
        Statement::Command(Command::Queries) => names(named_queries().unzip(), *printed),
        Statement::Command(Command::Help) => {
            names(COMMANDS.iter().copied().unzip(), Printed { format: Format::Table, ..*printed })
        }
        Statement::Command(Command::Mode(format)) => {
            printed.format = format;
            Ok(())
        }
        Statement::Command(Command::Expanded) => {
            printed.wide = !printed.wide;
            say(if printed.wide { "all columns" } else { "the columns that fit" });
            Ok(())
        }
    }
}

/// Prints names with their descriptions.
fn names((names, abouts): (Vec<&str>, Vec<&str>), printed: Printed) -> anyhow::Result<()> {
    print(&df!("name" => names, "about" => abouts)?, printed, WITH_ABOUT)
}
