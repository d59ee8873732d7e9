//! Formats of OpenCode.

pub(crate) mod common;
pub(crate) mod db;
pub(crate) mod export;
pub(crate) mod run;
pub(crate) mod storage;
