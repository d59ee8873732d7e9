//! Prints rows to stdout and messages to stderr.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use agentlogs::analysis::export::{Access, write_file};
use agentlogs::analysis::present::{self, Currency, Numbers, ReportStyle, Roles, TableStyle, counted};
use agentlogs::base::byte_order_mark::BYTE_ORDER_MARK;
use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use polars::prelude::DataFrame;

use super::WrongCommandLine;
use crate::cli::args;
use crate::cli::settings::Settings;
pub use crate::cli::stderr::{complain, complain_in_lines, complain_of_path, say};
use crate::cli::terminal;
pub use crate::cli::terminal::has_color;

/// Prints what clap reports: help, or an error that may repeat an argument. An option of another program is answered with the one that
/// does the same here. Returns the exit status.
pub fn wrong_arguments(mut error: clap::Error, command: &clap::Command, arguments: &[OsString]) -> ExitCode {
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
    {
        let here = args::other_option(command, arguments, option);
        // A tip of clap is to write the option as a value, but it was meant as an option.
        if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
            tips.retain(|tip| !tip.to_string().starts_with("to pass '--"));
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
        if let Some(here) = here {
            error.remove(ContextKind::SuggestedArg);
            let tip = format!("write '{here}'").into();
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        }
    }
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && arguments
            .iter()
            .skip(1)
            .find(|it| !it.to_string_lossy().starts_with('-'))
            .is_some_and(|it| it == name.as_str())
    {
        let here = args::other_command(command, name);
        error.remove(ContextKind::SuggestedSubcommand);
        if let Some(here) = here {
            let tip = format!("write '{here}'").into();
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        }
    }
    if error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(tip) = args::tip_of_missing(command, arguments)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let text = error.render().to_string();
    if error.kind() == ErrorKind::ValueValidation
        && let Some((before, after, words)) = of_number(&text)
    {
        format!("{before}{words}{after}").lines().for_each(say);
    } else if !error.use_stderr() || text.lines().all(|line| present::visible(line) == line) {
        // With colours, if the terminal has them.
        let _ = error.print();
    } else {
        text.lines().for_each(say);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// What is before and after the reason why a text is not a number, and the reason in the words of this program.
fn of_number(text: &str) -> Option<(&str, &str, &'static str)> {
    const REASONS: &[(&str, &str)] = &[
        ("invalid digit found in string", "not a whole number"),
        ("cannot parse integer from empty string", "not a whole number"),
        ("invalid float literal", "not a number"),
        ("cannot parse float from empty string", "not a number"),
        ("number too large to fit in target type", "the number is too large"),
    ];
    let found = |(reason, words): &(&str, &'static str)| {
        let (before, after) = text.split_once(&format!(": {reason}"))?;
        Some((text.get(..before.len() + 2)?, after, *words))
    };
    REASONS.iter().find_map(found)
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
    terminal::screen().map(|screen| screen.width)
}

/// What a command states about the rows that it prints.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout<'a> {
    /// What the columns are for.
    pub roles: Roles<'a>,
    /// The style, if the rows are those of a report.
    pub report: Option<ReportStyle>,
    /// Whether there may be any number of rows, of which a terminal shows [`row_limit`] without `--limit`.
    pub is_long: bool,
    /// The number of rows that the command itself left out.
    pub more: usize,
    /// Why there are no rows, if there are none.
    pub empty: Option<&'a str>,
}

/// The layout of rows whose column `about` contains sentences.
pub const WITH_ABOUT: Layout<'static> = Layout {
    roles: Roles { names: None, main: None, also: &[], sentences: &["about"], least: &[], fine: &[] },
    report: None,
    is_long: false,
    more: 0,
    empty: None,
};

/// The maximum number of rows to print: that of `--limit`; on a terminal 20, or fewer, so that the header stays visible above the total,
/// the notes and the next prompt.
pub fn row_limit(printed: args::Printed) -> Option<u32> {
    const OTHER_LINES: u16 = 11;
    let screen = || terminal::screen().filter(|_| printed.format == args::Format::Table);
    printed.limit.or_else(|| Some(screen()?.height.saturating_sub(OTHER_LINES).clamp(5, 20).into()))
}

/// Whether numbers are abbreviated.
pub fn is_human(printed: args::Printed) -> bool {
    printed.human || is_on_terminal(printed) && !printed.exact
}

/// How numbers of measures are printed.
pub fn numbers(printed: args::Printed, settings: &Settings) -> Numbers {
    let is_for_people = printed.is_for_people();
    let currency = if is_for_people { settings.shown_currency() } else { Currency::default() };
    Numbers { is_for_people, is_human: is_human(printed), currency }
}

/// Whether a table is printed on a terminal.
pub fn is_on_terminal(printed: args::Printed) -> bool {
    printed.format == args::Format::Table && terminal::screen().is_some()
}

/// Prints rows to stdout, and to stderr how many rows and which columns are left out.
///
/// # Errors
/// When stdout cannot be written.
pub fn print(frame: &DataFrame, printed: args::Printed, layout: Layout<'_>) -> anyhow::Result<()> {
    let screen = terminal::screen();
    let format = present::Format::from(printed.format);
    if format == present::Format::Arrow && screen.is_some() {
        return Err(WrongCommandLine("--format arrow is binary; redirect it to a file or a pipe".to_owned()).into());
    }
    let is_for_people = printed.is_for_people();
    let style = TableStyle {
        screen,
        color: has_color(),
        is_human: is_human(printed),
        is_whole: printed.wide,
        roles: layout.roles,
        report: layout.report,
    };
    let limit = if layout.is_long { row_limit(printed) } else { printed.limit };
    let shown = match limit {
        // The command has applied it.
        Some(limit @ 1..) if layout.report.is_none() => &frame.head(Some(limit as usize)),
        _ => frame,
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    if printed.bom {
        if format != present::Format::Csv {
            return Err(WrongCommandLine("--bom is for --format csv".to_owned()).into());
        }
        out.write_all(BYTE_ORDER_MARK)?;
    }
    let hidden = present::render(shown, format, style, &mut out)?;
    out.flush()?;
    let more = layout.more + frame.height() - shown.height();
    match (frame.height(), layout.empty) {
        (0, Some(reason)) => say(&format!("no rows: {reason}")),
        (0, None) if is_for_people => say("no rows"),
        _ if is_on_terminal(printed) => state_hidden(more, &hidden),
        _ if more > 0 => say(&format!("{} more; --limit 0 shows all", counted(more, "row"))),
        _ => {}
    }
    Ok(())
}

/// The path by which a command line names standard output.
pub const STDOUT: &str = "-";

/// Writes a page or a picture to a file with the access that `access` returns, or to standard output.
///
/// # Errors
/// When it cannot be written.
pub fn write_page(path: &Path, access: impl FnOnce() -> anyhow::Result<Access>, text: &str) -> anyhow::Result<()> {
    if path.as_os_str() == STDOUT {
        return Ok(io::stdout().lock().write_all(text.as_bytes())?);
    }
    let written = write_file(path, access()?, |out| out.write_all(text.as_bytes()));
    written.with_context(|| path.display().to_string())
}

/// Prints in one line how many rows and which columns a terminal does not show.
fn state_hidden(more: usize, columns: &[String]) {
    const NAMED: usize = 6;
    let named: Vec<&str> = columns.iter().take(NAMED).map(String::as_str).collect();
    let others = match columns.len().saturating_sub(NAMED) {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let columns = (!columns.is_empty()).then(|| format!("hidden: {}{others} (--wide)", named.join(", ")));
    let rows = (more > 0).then(|| format!("{} more (--limit 0)", present::grouped(more)));
    let parts: Vec<String> = rows.into_iter().chain(columns).collect();
    if !parts.is_empty() {
        say(&parts.join("; "));
    }
}
