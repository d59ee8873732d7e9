//! The dashboard: an archive as one HTML file without external resources.
//!
//! The page is built in `dashboard/` into `dashboard/dist/`. This module creates its data: the aggregates that the page adds
//! up, all sessions, and the timelines of some of them. The data is base64 of gzipped JSON, so that no text of a log is
//! markup.

mod cells;
mod groups;
mod health;
mod listing;
mod page;
mod sessions;
mod table;
mod timelines;
mod vocabulary;

pub use page::{About, Page, page};
