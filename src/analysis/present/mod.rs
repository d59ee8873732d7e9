//! Frames as text: tables for people; JSON, CSV, Markdown and Arrow for programs; charts.
//!
//! Text from logs is escaped where it could have an effect: control characters in tables and Markdown, on terminals and in
//! JSON; formulas of spreadsheets in CSV. CSV that is not printed on a terminal otherwise contains the text unchanged.
//!
//! ```text
//! render   prints a frame in any format
//! screen   tables on a terminal: they fit its width. Texts are shortened first, then columns are hidden, then each row is a
//!          block of lines. [`Roles`] are what a command knows of its columns
//! plain    tables elsewhere: every row and column, whatever the width
//! grid     aligned columns, for both
//! human    values as people read them, by the name of their column
//! shorten  texts that are cut to a width
//! value    values as text for programs; escape makes it harmless
//! number   numbers and counts for people; numbers are those of measures, currency their amounts of money, local their times
//! csv, json, markdown
//!          the formats
//! chart    charts of reports
//! structure
//!          parsed logs without text
//! style    how rows are printed
//! ```

pub mod chart;
mod csv;
mod currency;
mod escape;
mod grid;
mod human;
mod json;
mod local;
mod markdown;
mod number;
mod numbers;
mod plain;
mod render;
mod screen;
mod shorten;
mod structure;
mod style;
mod value;

pub use csv::csv;
pub use currency::Currency;
pub use escape::{harmless_json, in_shell, visible};
pub use human::{UNKNOWN, human, named};
pub use json::jsonl;
pub use local::in_local_time;
pub use markdown::markdown_text;
pub use number::{are, counted, grouped, short, short_time};
pub use numbers::{Numbers, in_points};
pub use render::render;
pub use shorten::{both_ends, path_end};
pub use structure::structure;
pub use style::{Format, ReportStyle, Roles, Screen, TableStyle};
pub use value::{exact_amount, is_share, measured};
