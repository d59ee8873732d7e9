//! Sessions, timelines and reports with a cursor, for a program that has all of a terminal. docs/browse.md describes it.
//!
//! State and drawing are apart: a key changes the state, and what a terminal shows is a function of the state. Neither reads a
//! terminal; rows of tables are read only by [`Browser::load`].
//!
//! ```text
//! key       the keys, apart from those of a terminal
//! keys      what each key does, for people
//! cursor    the selected row, and which rows are visible
//! filters   which sessions are included
//! session   a session of the list
//! sessions  the list with its order and filters
//! pane      rows above the list: a timeline, details, a choice, a report, the keys
//! report    a report as rows
//! pending   what a key needs from tables
//! browser   the state, and what keys do
//! load      reads what is pending
//! style     the currency, the time zone and colours
//! draw      the state -> cells of a terminal; columns is the list of sessions
//! ```

mod browser;
mod columns;
mod cursor;
mod draw;
mod filters;
mod key;
mod keys;
mod load;
mod pane;
mod pending;
mod report;
mod session;
mod sessions;
mod style;

pub use browser::{Browser, Place, Step};
pub use key::Key;
pub use load::Open;
pub use style::Look;
