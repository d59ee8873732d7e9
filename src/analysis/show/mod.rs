//! One session as a timeline: its responses, calls, changes and events in their order. docs/reports.md#one-session describes it.
//!
//! ```text
//! find        a text of the command line -> the session that it means
//! short       ids of sessions -> short ones, which find accepts
//! read        the tables -> the session, and its entries
//! timeline    entries -> their order, and phases
//! collapsed   repeated entries -> one line
//! tree        the session with its subagents, and the sessions that it started
//! facts       the session -> lines of names and values
//! fact_lines  names and values -> lines of text
//! details     everything that is known about one entry
//! spans       lines of text with colours, and what they lead to
//! style       how text is printed
//! text        the timeline -> text for a terminal
//! frame       the timeline -> rows, for other programs and Markdown
//! ```

mod collapsed;
mod details;
mod entry;
mod fact_lines;
mod facts;
mod find;
mod frame;
mod read;
mod short;
mod spans;
mod style;
mod text;
mod timeline;
mod tree;

pub use find::{Error, SessionKey, find, newest};
pub use read::TABLES;
pub use short::short_ids;
pub use spans::{Paint, Target, TextLine};
pub use style::TextStyle;
pub(super) use style::fitted;
pub use timeline::Timeline;
