//! Formats of Crush.

pub(crate) mod db;
