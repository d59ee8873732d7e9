//! The arguments of the command line. These types only validate; the commands resolve them.

mod archive;
mod check;
mod compare;
mod export;
mod extract;
mod filters;
mod ingest;
mod prices;
mod program;
mod query;
mod report;
mod shared;
mod show;
mod statusline;
mod tools;
mod verdicts;
mod watch;

pub use archive::ArchiveCommand;
pub use check::Check;
pub use compare::Compare;
pub use export::{Dashboard, Export, Kind, Period};
pub use extract::Extract;
pub use filters::{Cost, Filters, Undated, Unjudged};
pub use ingest::{Content, Ingest, Reading};
pub use prices::Prices;
pub use program::{Cli, Command};
pub use query::Query;
pub use report::Report;
pub use shared::{DataSource, Format, Printed, label, timezone};
pub use show::Show;
pub use statusline::Statusline;
pub use tools::{Bench, Completions, Inspect, Man, Runtimes, Schema};
pub use verdicts::{Import, Verdicts};
pub use watch::Watch;
