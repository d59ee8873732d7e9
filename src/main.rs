//! The `agentlogs` program: parses the command line, runs one command, and returns an exit status.
//!
//! Rows are printed to stdout, everything else to stderr. Exit status: 0 success; 1 failure; 2 wrong command line; 3 with
//! `--strict`: lines were rejected, or files could not be read; 4 with `check`: a bound is exceeded; 5 with `check`: a filter matches no
//! session.

// No input may cause a panic; tests may panic.
#![cfg_attr(
    not(test),
    warn(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod cli;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use crate::cli::args::{self, Cli, Command};
use crate::cli::commands::{self, Outcome, WrongCommandLine};
#[cfg(unix)]
use crate::cli::memory;
use crate::cli::panics;
use crate::cli::settings::Settings;
use crate::cli::terminal;

#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: memory::MiMalloc = memory::MiMalloc;

/// What follows a message about parquet that does not name the file. Files of archives are verified before they are read, those of lakes
/// are not.
const DAMAGED_TABLE: &str = "; `agentlogs archive check --archive LAKE` names the damaged files of a lake";

fn main() -> ExitCode {
    #[cfg(unix)]
    memory::set_up();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match commands::completions::answered(&arguments) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return commands::wrong_arguments(error, &args::command(&arguments), &arguments),
    }
    let mut command = args::command(&arguments);
    let cli = match Cli::of(&mut command, &arguments) {
        Ok(cli) => cli,
        Err(error) => return commands::wrong_arguments(error, &command, &arguments),
    };
    terminal::set_up(cli.color, cli.verbose);
    let status = match panics::contained(|| run(cli)) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NotAllDone) => ExitCode::from(1),
        Ok(Outcome::Lost) => ExitCode::from(3),
        Ok(Outcome::Exceeded) => ExitCode::from(4),
        Ok(Outcome::NothingMatched) => ExitCode::from(5),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // What polars reports about the content of a parquet file begins so.
            let is_damaged_table = error.chain().any(|error| error.to_string().starts_with("parquet:"));
            let remedy = if is_damaged_table { DAMAGED_TABLE } else { "" };
            if error.chain().any(<dyn std::error::Error>::is::<toml::de::Error>) {
                commands::complain_in_lines(&format!("{error:#}"));
            } else {
                commands::complain(format_args!("{error:#}{remedy}"));
            }
            ExitCode::from(if error.is::<WrongCommandLine>() { 2 } else { 1 })
        }
    };
    #[cfg(unix)]
    memory::shut_down();
    status
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    let settings = match &cli.command {
        // These do not depend on settings, so that a broken configuration file does not stop them.
        Some(Command::Schema(_) | Command::Man(_) | Command::Completions(_) | Command::Skill) => Settings::default(),
        _ => Settings::load()?,
    };
    let Some(command) = cli.command else { return commands::overview::run(cli.now, &settings) };
    match command {
        Command::Ingest(args) => commands::ingest::run(args, &settings),
        Command::Watch(args) => commands::watch::run(*args, &settings),
        Command::Report(args) => commands::report::run(*args, &settings),
        Command::Sessions(args) => commands::sessions::run(*args, &settings),
        Command::Browse(args) => commands::browse::run(*args, &settings),
        Command::Show(args) => commands::show::run(*args, &settings),
        Command::Query(args) => commands::query::run(args, &settings),
        Command::Check(args) => commands::check::run(*args, &settings),
        Command::Git(args) => commands::git::run(args, &settings),
        Command::Bill(args) => commands::bill::run(*args, &settings),
        Command::Compare(args) => commands::compare::run(args, &settings),
        Command::Dashboard(args) => commands::dashboard::run(*args, &settings),
        Command::Export(args) => commands::export::run(*args, &settings),
        Command::Statusline(args) => commands::statusline::run(&args, &settings),
        Command::Mcp(args) => commands::mcp::run(*args, settings),
        Command::Skill => commands::mcp::skill(),
        Command::Archive(args) => commands::archive::run(args, &settings),
        Command::Verdicts(args) => commands::verdicts::run(args, &settings),
        Command::Prices(args) => commands::prices::run(args, &settings),
        Command::Bench(args) => commands::bench::run(&args, &settings),
        Command::Extract(args) => commands::extract::run(*args, &settings),
        Command::Inspect(args) => commands::inspect::run(&args, &settings),
        Command::Runtimes(args) => commands::runtimes::run(&args, &settings),
        Command::Config(args) => commands::config::run(args, &settings),
        Command::Schema(args) => commands::lists::schema(&args),
        Command::Man(args) => commands::lists::man(&args),
        Command::Completions(args) => commands::completions::run(&args),
    }
}

/// Whether the reader of stdout has closed it, as in `agentlogs … | head`, which is not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
