//! Frames as text: tables for people; JSON, CSV, Markdown and Arrow for programs; charts.
//!
//! Text from logs is escaped where it could have an effect: control characters in tables and Markdown, on terminals and in
//! JSON; formulas of spreadsheets in CSV. CSV that is not printed on a terminal otherwise contains the text unchanged.

pub mod chart;
mod csv;
mod currency;
mod escape;
mod json;
mod local;
mod markdown;
mod number;
mod render;
mod structure;
mod style;
mod table;
mod value;

pub use csv::{BYTE_ORDER_MARK, csv};
pub use currency::Currency;
pub use escape::{harmless_json, visible};
pub use json::jsonl;
pub use local::in_local_time;
pub use markdown::markdown_text;
pub use number::{counted, grouped, short, short_time};
pub use render::render;
pub use structure::structure;
pub use style::{Format, ReportStyle, TableStyle};
pub use value::measured;
