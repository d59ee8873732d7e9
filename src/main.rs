//! The `agentlogs` program: the command line in, one command, an exit status out.
//!
//! Rows go to stdout, all else to stderr. Exit status: 0 done; 1 it could not be done; 2 the command line is wrong; 3 with
//! `--strict`, something was lost.

mod cli;

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::args::{Cli, Command};
use crate::cli::commands::{self, Outcome, WrongCommandLine};
#[cfg(unix)]
use crate::cli::memory;

#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: memory::MiMalloc = memory::MiMalloc;

/// What is said of a panic.
const FAILED: &str =
    "the program failed, see above; whether an archive that it read is damaged, `agentlogs archive check` tells";

fn main() -> ExitCode {
    #[cfg(unix)]
    memory::set_up();
    let cli = Cli::parse();
    // Below the rows of a damaged table polars may panic, and so may we: the message stands on stderr already.
    let done = panic::catch_unwind(AssertUnwindSafe(|| run(cli)));
    let status = match done.unwrap_or_else(|_| Err(anyhow::anyhow!(FAILED))) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NotAllDone) => ExitCode::from(1),
        Ok(Outcome::Lost) => ExitCode::from(3),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            commands::complain(format_args!("{error:#}"));
            ExitCode::from(if error.is::<WrongCommandLine>() { 2 } else { 1 })
        }
    };
    #[cfg(unix)]
    memory::shut_down();
    status
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    match cli.command {
        Command::Ingest(args) => commands::ingest::run(args),
        Command::Report(args) => commands::report::run(*args),
        Command::Query(args) => commands::query::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Dashboard(args) => commands::dashboard::run(*args),
        Command::Export(args) => commands::export::run(*args),
        Command::Archive(args) => commands::archive::run(args),
        Command::Prices(args) => commands::prices::run(args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Runtimes(args) => commands::lists::runtimes(args),
        Command::Schema(args) => commands::lists::schema(args),
        Command::Man(args) => commands::lists::man(&args),
        Command::Completions(args) => commands::lists::completions(&args),
    }
}

/// `agentlogs … | head` is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|it| it.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe))
}
