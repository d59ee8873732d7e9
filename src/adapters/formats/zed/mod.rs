//! Formats of Zed.

pub(crate) mod db;
