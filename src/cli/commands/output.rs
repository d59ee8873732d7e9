//! Prints rows to stdout and messages to stderr.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use agentlogs::analysis::overview::Room;
use agentlogs::analysis::present::{self, ReportStyle, TableStyle};
use comfy_table::Table;
use polars::prelude::DataFrame;

use super::WrongCommandLine;
use crate::cli::args;
use crate::cli::screen::Screen;
use crate::cli::settings::Settings;
pub use crate::cli::stderr::{complain, complain_in_lines, complain_of_path, say};

/// Prints what clap reports: help, or an error that may repeat an argument. Returns the exit status.
pub fn wrong_arguments(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() || text.lines().all(|line| present::visible(line) == line) {
        // With colours, if the terminal has them.
        let _ = error.print();
    } else {
        text.lines().for_each(say);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Prints the currency of the amounts in a table, if they are not US dollars.
pub fn state_currency(settings: &Settings) {
    let currency = settings.shown_currency();
    if currency.is_other() {
        say(&format!("amounts in {}: {} for a US dollar", currency.code(), currency.rate));
    }
}

/// The width of the terminal in columns, if stdout is a terminal.
pub fn terminal_width() -> Option<u16> {
    io::stdout().is_terminal().then(|| Table::new().width()).flatten()
}

/// The space for a text on the terminal, above the next prompt; `None` if stdout is not a terminal.
pub fn room() -> Option<Room> {
    /// The command and the prompt after it.
    const OTHERS: usize = 2;
    let (width, height) = io::stdout().is_terminal().then(Screen::size)?;
    Some(Room { width, height: height.saturating_sub(OTHERS) })
}

/// Whether stdout is a terminal on which text may be bold or coloured.
pub fn has_color() -> bool {
    io::stdout().is_terminal() && !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether the terminal has no control sequences.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Prints rows to stdout. Returns the columns of a report that the terminal is too narrow for.
///
/// # Errors
/// When stdout cannot be written.
pub fn print(frame: &DataFrame, printed: args::Printed, report: Option<ReportStyle>) -> anyhow::Result<Vec<String>> {
    let format = match printed.format {
        args::Format::Table => present::Format::Table,
        args::Format::Json => present::Format::Json,
        args::Format::Csv => present::Format::Csv,
        args::Format::Markdown => present::Format::Markdown,
        args::Format::Arrow if io::stdout().is_terminal() => {
            return Err(WrongCommandLine("--format arrow is binary; redirect it to a file or a pipe".to_owned()).into());
        }
        args::Format::Arrow => present::Format::Arrow,
    };
    let stdout = io::stdout();
    let style = TableStyle {
        // Some terminals report a width of 0 or 1.
        width: terminal_width().filter(|width| *width >= 40),
        is_terminal: stdout.is_terminal(),
        color: has_color(),
        report,
    };
    let mut out = io::BufWriter::new(stdout.lock());
    if printed.bom {
        if format != present::Format::Csv {
            return Err(WrongCommandLine("--bom is for --format csv".to_owned()).into());
        }
        out.write_all(present::BYTE_ORDER_MARK)?;
    }
    let hidden = present::render(frame, format, style, &mut out)?;
    out.flush()?;
    Ok(hidden)
}
