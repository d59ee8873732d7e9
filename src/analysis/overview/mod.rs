//! What a user spent lately, for `agentlogs` without a command and for `agentlogs watch`: see docs/configuration.md#overview.
//!
//! ```text
//! periods  a time and its zone -> the last days, and the periods that they are compared with
//! sums     rows of the ledger -> sums of the periods, days, models, projects and sessions
//! turns    the table of the ledger -> these sums, and the windows of limits
//! compute  the tables of an archive -> the overview
//! text     the overview -> text; period_rows, tops, lost and chart are parts of it
//! layout   blocks of text -> as much as fits on a terminal
//! style    the terminal: its size, styles and characters
//! ```

mod chart;
mod compute;
mod layout;
mod lost;
mod period_rows;
mod periods;
mod style;
mod sums;
mod text;
mod tops;
mod turns;

pub use compute::{Lost, Overview, Tool};
pub use period_rows::change;
pub use periods::DAYS;
pub use style::{Look, Space};
pub use sums::{Day, Period, Sums, Top, TopSession};
