//! What a user spent lately, for `agentlogs` without a command and for `agentlogs watch`: see docs/configuration.md#overview.
//!
//! ```text
//! periods  a time and its zone -> the last days, and the periods that they are compared with
//! sums     rows of the ledger -> sums of the periods, days, models and projects
//! turns    the table of the ledger -> these sums, and the windows of limits
//! compute  the tables of an archive -> the overview
//! text     the overview -> text
//! ```

mod compute;
mod periods;
mod sums;
mod text;
mod turns;

pub use compute::{Lost, Overview, Tool};
pub use periods::DAYS;
pub use sums::{Day, Period, Sums, Top};
pub use text::{Look, change};
